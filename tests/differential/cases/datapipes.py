"""torch.utils.data.datapipes: programs that give what they give in PyTorch."""

import copy
import functools
import importlib
import operator
import pickle
import random
import tempfile
import warnings
from pathlib import Path

from comparing import STRICT

TOLERANCE = STRICT


def gist(f):
    """What f returns, or its error with how its text begins."""
    try:
        return f()
    except Exception as e:
        return [type(e).__name__, str(e).strip().split("\n")[0].rstrip("'")[:35]]


def add_one(x):
    return x + 1


def is_even(x):
    return x % 2 == 0


def parity(x):
    return x % 2


def thirds(x):
    return x % 3 if x % 5 else None


def pipes(torch):
    return torch.utils.data.datapipes.iter, torch.utils.data.datapipes.map


def source(torch, n=10):
    return torch.utils.data.datapipes.iter.IterableWrapper(range(n))


def case_pipe_names(torch):
    modules = (
        "iter.callable iter.combinatorics iter.combining iter.filelister iter.fileopener iter.grouping "
        "iter.selecting iter.sharding"
    )
    modules += " iter.streamreader iter.utils map.callable map.combinatorics map.combining map.grouping map.utils"
    out = []
    for m in modules.split():
        module = importlib.import_module(f"torch.utils.data.datapipes.{m}")
        out.append([[n, getattr(module, n).__module__, getattr(module, n).__name__] for n in module.__all__])
    I, M = pipes(torch)
    absent = {"RoutedDecoder", "_dataframes_as_tuples"}
    return [
        *out,
        sorted(set(I.__all__) - absent),
        M.__all__,
        sorted(
            n
            for n in torch.utils.data.IterDataPipe.functions
            if not n.startswith("_") and n not in ("routed_decode", "trace_as_dataframe")
        ),
        sorted(torch.utils.data.MapDataPipe.functions),
        repr(source(torch).map(add_one)),
        gist(lambda: source(torch).foo),
        gist(lambda: torch.utils.data.functional_datapipe("map")(I.Mapper)),
        "shuffle" in dir(source(torch)),
    ]


def case_pipe_values(torch):
    I, M = pipes(torch)
    s = lambda n=10: source(torch, n)
    rows = lambda: I.IterableWrapper([(1, 2, 3), (4, 5, 6)])
    dicts = lambda: I.IterableWrapper([{"a": 1, "b": 2}])
    add = lambda a, b: a + b
    return [
        gist(lambda: list(f()))
        for f in (
            lambda: s().map(add_one).filter(is_even).batch(2),
            lambda: s().batch(3, drop_last=True),
            lambda: s().batch(2).batch(2).unbatch(unbatch_level=2),
            lambda: s().batch(2).batch(2).unbatch(),
            lambda: s().batch(2).batch(2).unbatch(-1),
            lambda: s().unbatch(2),
            lambda: s().unbatch(-2),
            lambda: rows().map(add, input_col=[0, 2]),
            lambda: rows().map(add, input_col=[0, 2], output_col=-1),
            lambda: rows().map(add_one, input_col=1, output_col=[0]),
            lambda: dicts().map(add_one, "a", "c"),
            lambda: dicts().map(add, ["b", "a"]),
            lambda: s().map(add_one, output_col=1),
            lambda: s().map(3),
            lambda: s().map(add),
            lambda: s().map(lambda x, *, k: x),
            lambda: rows().map(add_one, [0, 1]),
            lambda: rows().filter(is_even, input_col=1),
            lambda: s().filter(add_one),
            lambda: s().groupby(parity),
            lambda: s().groupby(parity, keep_key=True, group_size=2),
            lambda: s().groupby(thirds, keep_key=True, buffer_size=4),
            lambda: s().groupby(parity, buffer_size=3, group_size=3, guaranteed_group_size=2),
            lambda: s().groupby(thirds, buffer_size=3, group_size=3),
            lambda: s().groupby(thirds, buffer_size=3, group_size=3, drop_remaining=True),
            lambda: s().groupby(parity, group_size=0),
            lambda: s(2).concat(s(3)),
            lambda: s(3).mux(s(5), s(4)),
            lambda: s(3).zip(s(5).map(add_one)),
            lambda: I.Zipper(s(3), [1]),
            lambda: I.Concater(),
            lambda: s(4).batch(2).collate(),
            lambda: s(2).collate(collate_fn=add_one),
            lambda: I.Sampler(s(4)),
            lambda: I.Sampler(s().filter(is_even)),
            lambda: s().batch(0),
            lambda: I.IterableWrapper(iter([1, 2])),
            lambda: M.SequenceWrapper(range(7)).map(add_one).batch(3),
            lambda: M.SequenceWrapper(range(7)).batch(3, drop_last=True),
            lambda: M.SequenceWrapper(range(2)).concat(M.SequenceWrapper([5])),
            lambda: M.SequenceWrapper(range(2)).zip(M.SequenceWrapper([5, 6, 7])),
            lambda: [M.SequenceWrapper({"a": 1})["a"]],
            lambda: M.Zipper(),
            lambda: M.Concater(s()),
        )
    ]


def case_pipe_lengths(torch):
    I, M = pipes(torch)
    s = lambda n=10: source(torch, n)
    m = M.SequenceWrapper(range(7))
    made = [
        s(),
        s().map(add_one),
        s().batch(3),
        s().batch(3, True),
        s().shuffle(),
        s().filter(is_even),
        s().concat(s(3)),
        s().zip(s(3)),
    ]
    made += [
        s().mux(s(3)),
        s().filter(is_even).map(add_one),
        s().groupby(parity),
        s().unbatch(),
        s().sharding_filter(),
        *s().fork(2),
    ]
    made += [
        *s().demux(2, parity),
        I.FileLister(length=3),
        I.FileOpener([]),
        I.Sampler(s()),
        m,
        m.map(),
        m.batch(2),
        m.zip(M.SequenceWrapper([1])),
    ]
    made += [m.concat(m), m.shuffle(), I.IterableWrapper(iter([1]))]
    return [gist(lambda: len(p)) for p in made]


def case_pipe_shuffles(torch):
    I, M = pipes(torch)
    s = lambda: source(torch, 20)
    seeded, drawn, off = (
        s().shuffle(buffer_size=5).set_seed(3),
        s().shuffle(),
        s().shuffle().set_seed(1).set_shuffle(False),
    )
    m = M.SequenceWrapper(range(8)).shuffle()
    return [
        list(seeded),
        list(seeded),
        list(drawn),
        list(drawn),
        list(off),
        list(off.set_shuffle()),
        list(s().batch(3).shuffle(unbatch_level=1).set_seed(0)),
        list(m),
        list(m.set_seed(0)),
        list(m.set_shuffle(False)),
        list(M.Shuffler(M.SequenceWrapper({"a": 1, "b": 2}), indices=["a", "b"]).set_seed(0)),
        gist(lambda: s().shuffle(buffer_size=0)),
        torch.rand(1),
    ]


def case_pipe_iterators(torch):
    D = torch.utils.data

    class Counts(D.IterDataPipe):
        def __init__(self, n):
            self.n, self.resets = n, 0

        def __iter__(self):
            yield from range(self.n)

        def reset(self):
            self.resets += 1

    class Itself(D.IterDataPipe):
        def __init__(self):
            self.i = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.i += 1
            if self.i > 3:
                raise StopIteration
            return self.i

        def reset(self):
            self.i = 0

    class Lists(D.IterDataPipe):
        def __iter__(self):
            return iter([1, 2, 3])

    class Fails(D.IterDataPipe):
        def __init__(self, error):
            self.error = error

        def __iter__(self):
            yield 1
            raise self.error

    out = []
    for make in (lambda: Counts(3), Itself, Lists, lambda: source(torch, 3), lambda: source(torch, 3).map(add_one)):
        p = make()
        a, b = iter(p), iter(p)
        out += [
            gist(lambda: next(b)),
            gist(lambda: next(a)),
            gist(lambda: list(b)),
            gist(lambda: list(a)),
            list(p),
            list(p),
        ]
    c = Counts(2)
    text = lambda f: "\n".join(gist_lines(f))

    def gist_lines(f):
        try:
            return [str(f())]
        except Exception as e:
            return [type(e).__name__, *str(e).split("\n")]

    first, second = iter(c), iter(c)
    next(first), next(second)
    return out + [
        [list(c), c.resets],
        text(lambda: list(Fails(ValueError("no")).map(add_one))),
        text(lambda: list(Fails(ValueError()))),
        text(lambda: list(Fails(KeyError(3)))),
        text(lambda: next(first)).split("\n")[1],
        gist(lambda: list(D.IterDataPipe())),
        gist(lambda: D.IterDataPipe[int].__origin__ is D.IterDataPipe),
    ]


def case_pipe_children(torch):
    s = lambda n=6: source(torch, n)
    out = []

    def steps(children, order):
        its = [iter(c) for c in children]
        return [gist(lambda: next(its[i])) for i in order]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        a, b = s().fork(2)
        out += [
            list(a),
            list(b),
            list(zip(a, b)),
            steps([a, b], [0, 0, 1, 0, 1]),
            steps([a, b], [1, 1, 0]),
            list(a),
            gist(lambda: list(b)),
        ]
        out += [steps(s().fork(2, buffer_size=2), [0, 0, 0, 0, 1, 0]), s().fork(1).__class__.__name__]
        even, odd = s().demux(2, parity)
        out += [list(even), list(odd), list(odd), list(even), steps([even, odd], [0, 0, 1, 1, 0, 1, 1]), list(even)]
        out += [
            [list(c) for c in s(20).demux(3, thirds, drop_none=True)],
            gist(lambda: [list(c) for c in s(20).demux(3, thirds)]),
        ]
        out += [
            steps(s(20).demux(2, parity, buffer_size=2), [0, 0, 0, 1, 0]),
            gist(lambda: list(s().demux(1, parity)[0])),
        ]
        out += [gist(lambda: s().fork(0)), gist(lambda: s().fork(2, copy="x")), gist(lambda: s().demux(2, 3))]
        items = torch.utils.data.datapipes.iter.IterableWrapper([[1], [2]])
        for how in (None, "shallow", "deep"):
            x, y = items.fork(2, copy=how)
            out.append([p is q for p, q in zip(x, y)])
        old, _ = a, iter(b)
        first = iter(a)
        next(first)
        out += [gist(lambda: list(a)), gist(lambda: next(first)), len(old)]
        s().fork(2, buffer_size=-1)
    return out + [sorted({str(w.message)[:60] for w in caught})]


def case_pipe_random_steps(torch):
    out = []
    for seed in range(40):
        r = random.Random(seed)
        n, k, size = r.randrange(1, 12), r.randrange(2, 4), r.choice([1, 2, 3, 1000])
        if seed % 2:
            kids = source(torch, n).fork(k, buffer_size=size)
        else:
            kids = source(torch, n).demux(
                k, lambda x: (x * 7 + seed) % k if x % 5 != 4 else None, drop_none=True, buffer_size=size
            )
        its = [iter(c) for c in kids]
        for _ in range(30):
            i, what = r.randrange(k), r.random()
            if what < 0.05:
                its[i] = iter(kids[i])
            elif what < 0.1:
                out.append([i, gist(lambda: list(its[i]))])
            else:
                out.append([i, gist(lambda: next(its[i]))])
    return out


def case_pipe_random_graphs(torch):
    def grown(r, p):
        for _ in range(r.randrange(5)):
            p = r.choice(
                [
                    lambda: p.map(lambda x: [x, 1]),
                    lambda: p.filter(lambda x: len(str(x)) % 2 == 0),
                    lambda: p.batch(r.randrange(1, 5), r.random() < 0.5),
                    lambda: p.unbatch(r.choice([-1, 1])),
                    lambda: p.shuffle(buffer_size=r.randrange(1, 9)),
                    lambda: p.groupby(
                        lambda x: len(str(x)),
                        keep_key=r.random() < 0.5,
                        buffer_size=r.randrange(2, 9),
                        group_size=r.choice([None, 2]),
                        drop_remaining=r.random() < 0.5,
                    ),
                    lambda: p.sharding_filter(),
                    lambda: p.zip(source(torch, 7).shuffle()),
                    lambda: p.concat(source(torch, 3)),
                ]
            )()
        return p

    out = []
    for seed in range(60):
        r = random.Random(seed)
        p = grown(r, torch.utils.data.datapipes.iter.IterableWrapper([r.randrange(9) for _ in range(r.randrange(30))]))
        loader = lambda: list(torch.utils.data.DataLoader(p, 2, collate_fn=list, shuffle=r.choice([None, True, False])))
        out += [gist(lambda: list(p)), gist(lambda: len(p)), gist(loader)]
    return out + [torch.rand(1)]


def case_pipe_pickles(torch):
    bit = functools.partial(operator.and_, 1)  # pickle finds it by name, in both
    again = lambda p: pickle.loads(pickle.dumps(p))
    shuffled = source(torch).shuffle(buffer_size=4).set_seed(2)
    a, b = again(source(torch).fork(2))
    even, odd = copy.deepcopy(source(torch).demux(2, bit))
    begun = source(torch).fork(2)
    next(iter(begun[0]))
    return [
        list(again(shuffled)),
        list(copy.deepcopy(shuffled)),
        list(again(source(torch).map(operator.neg).groupby(bit))),
        [list(a), list(b), list(even), list(odd)],
        [list(p) for p in again(begun)],
        gist(lambda: list(again(torch.utils.data.datapipes.map.SequenceWrapper(range(3)).map(operator.neg).batch(2)))),
    ]


def case_pipe_files(torch):
    I, _ = pipes(torch)
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("b.txt", "a.txt", "c.bin", "d/e.txt"):
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"text of {name}")
        short = lambda pairs: [[str(Path(p).relative_to(folder)), x] for p, x in pairs]
        listed = lambda **k: [str(Path(p).relative_to(folder)) for p in I.FileLister(folder, **k)]
        out += [listed(), listed(recursive=True), listed(masks="*.txt"), listed(masks=["*.bin", "a*"], recursive=True)]
        out += [short(I.IterableWrapper([folder]).list_files("*.txt").open_files("b").read_from_stream())]
        out += [short(I.StreamReader(I.FileOpener([folder + "/a.txt"]), chunk=5))]
        out += [list(I.FileLister(folder + "/a.txt", masks="b*"))]
        streams = [stream for _, stream in I.FileLister(folder).open_files()]
        out += [
            list(streams[0]),
            list(I.IterableWrapper(streams, deepcopy=False).filter(bool_false)),
            [s.closed for s in streams],
        ]
    return out + [
        gist(lambda: I.FileOpener([], "w")),
        gist(lambda: I.FileOpener([], "b", "utf8")),
        gist(lambda: list(I.FileOpener([3])))[0],
    ]


def bool_false(x):
    return False


def case_pipe_determinism(torch):
    D = torch.utils.data

    @D.non_deterministic
    class Noise(D.IterDataPipe):
        def __iter__(self):
            yield 1

    @D.non_deterministic(lambda n: n > 1)
    class Sometimes(D.IterDataPipe):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            yield self.n

    with D.guaranteed_datapipes_determinism():
        inside = [gist(f) for f in (Noise, lambda: list(Sometimes(1)), lambda: Sometimes(2))]
    return [
        inside,
        list(Noise()),
        list(Sometimes(2)),
        gist(lambda: D.non_deterministic(3)),
        gist(lambda: D.non_deterministic(int)),
    ]


def shape(graph):
    return [[type(p).__name__, shape(below)] for p, below in graph.values()]


def case_pipe_graphs(torch):
    G, S = (importlib.import_module(f"torch.utils.data.{m}") for m in ("graph", "graph_settings"))
    D = torch.utils.data

    base = source(torch)
    a, b = base.shuffle().fork(2)
    top = a.map(add_one).zip(b.shuffle())
    twice = base.sharding_filter().map(add_one).sharding_filter()
    shard = base.sharding_filter()
    groups = importlib.import_module("torch.utils.data.datapipes.iter.sharding").SHARDING_PRIORITIES
    out = [
        shape(G.traverse_dps(top)),
        shape(G.traverse_dps(D.datapipes.iter.IterableWrapper([base, {"x": [base.map(add_one)]}]))),
        shape(G.traverse_dps(D.datapipes.map.SequenceWrapper(range(3)).map(add_one).shuffle())),
        [type(p).__name__ for p in S.get_all_graph_pipes(G.traverse_dps(top))],
        gist(lambda: G.traverse_dps([1])),
        list(S.apply_random_seed(top, torch.Generator().manual_seed(1))),
        list(S.apply_shuffle_settings(base, True)),
        [
            p._enabled
            for p in S.get_all_graph_pipes(G.traverse_dps(S.apply_shuffle_settings(top, False)))
            if hasattr(p, "_enabled")
        ],
        gist(lambda: S.apply_sharding(twice, 2, 0)),
        [list(S.apply_sharding(shard, 3, i)) for i in range(3)] + [len(shard)],
        gist(lambda: shard.apply_sharding(2, 2)),
        gist(lambda: shard.apply_sharding(2, 1, groups.DISTRIBUTED)),
    ]
    nested = base.sharding_filter()
    nested.apply_sharding(2, 1, groups.DISTRIBUTED)
    nested.apply_sharding(2, 1, groups.MULTIPROCESSING)
    return out + [list(nested), gist(lambda: nested.apply_sharding(2, 0))]


def case_pipe_loaders(torch):
    D, (_, M) = torch.utils.data, pipes(torch)
    s = lambda: source(torch, 12)
    sharded = lambda: s().shuffle().sharding_filter().map(add_one)
    out = []
    for workers in (0, 2):
        L = lambda p, *a, **k: D.DataLoader(p, *a, num_workers=workers, **k)
        twice = L(sharded(), 3)
        out += [
            list(L(s(), 4)),
            list(twice),
            list(twice),
            list(L(sharded(), 3, shuffle=True)),
            list(L(sharded(), 3, shuffle=False)),
            list(L(s(), 3, shuffle=True)),
            list(L(s().shuffle(), 5, drop_last=True)),
            list(L(s().sharding_filter().batch(2), None)),
            list(L(sharded(), 2, generator=torch.Generator().manual_seed(5))),
            list(L(M.SequenceWrapper(range(6)).map(add_one), 2, shuffle=True)),
            list(L(M.SequenceWrapper(range(6)).shuffle(), 2)),
            len(L(s(), 5)),
            gist(lambda: len(L(s().filter(is_even), 5))),
            gist(lambda: L(s(), sampler=[1])),
            list(L(s().shuffle().map(lambda x: x + 2).sharding_filter(), 4)),
            torch.rand(1),
        ]
    persistent = D.DataLoader(sharded(), 3, num_workers=2, persistent_workers=True)
    return out + [
        list(persistent),
        list(persistent),
        list(persistent),
        torch.rand(1),
        type(persistent.dataset).__name__,
    ]


def case_pipe_chunks(torch):
    c = torch.utils.data.DataChunk([1, 2])
    return [c, c.as_str("  "), list(c.raw_iterator()), c.items, c + [3], isinstance(c, list), random.Random(0).random()]


def case_older_names_of_graphs(torch):
    import warnings

    from torch.utils.data.datapipes.iter import IterableWrapper
    from torch.utils.data.graph import traverse
    from torch.utils.data.graph_settings import apply_shuffle_seed

    pipe = IterableWrapper([1, 2, 3]).shuffle().map(abs)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        graphs = [traverse(pipe), traverse(pipe, True)]
        apply_shuffle_seed(pipe, torch.Generator().manual_seed(3))
    depths = []
    for graph in graphs:
        while graph:
            ((found, graph),) = graph.values()
            depths.append(type(found).__name__)
    return depths, [(w.category.__name__, str(w.message)) for w in seen], sorted(pipe)


def case_queues_of_tensors(torch):
    from torch.multiprocessing.queue import ConnectionWrapper, SimpleQueue

    context = torch.multiprocessing.get_context("fork")
    queue = SimpleQueue(ctx=context)
    queue.put(torch.arange(3))
    ours, theirs = (ConnectionWrapper(c) for c in context.Pipe())
    ours.send([torch.ones(2), "a"])
    return queue.get(), theirs.recv(), theirs.closed


def case_amp_of_the_cpu(torch):
    from torch.cpu.amp.autocast_mode import autocast
    from torch.cpu.amp.grad_scaler import GradScaler

    return (
        autocast is torch.cpu.amp.autocast,
        GradScaler is torch.cpu.amp.GradScaler,
        autocast.__module__,
        GradScaler.__module__,
    )
