"""Probes MindSpore's CPU primitives: there or not, the dtypes that run and give right values, time, memory lost.

    python tools/probe.py [NAME ...] > tools/probe-VERSION.tsv     all PyBoost primitives and recipes.txt's legacy ones,
    or only these
    python tools/probe.py --table OLD.tsv NEW.tsv                  writes backends/cpu/primitives.py: OLD in full, NEW
    where it differs

Each attempt runs in a forked child with a time limit, so that a crash or a late error poisons nothing. A primitive
without a recipe is only asked whether it has a CPU kernel. Columns: dtypes that give right values, wrong ones, those
wrong at the edges (NaN, infinities, extreme integers), unchecked ones that run without a reference; microseconds for a
few elements, ms for a million, the largest error there in units of torch.testing's float32 tolerance; bytes lost at
each call.
"""

import argparse
import json
import os
import re
import select
import signal
import sys
import time
from inspect import signature
from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from mindtorch_proxy.backends import host
from mindtorch_proxy.runtime import pyboost

# asked for in this order: what is measured is measured of the first that works
DTYPES = "f32 f64 i64 i32 bool f16 i8 bf16 u8 i16 c64 c128 u16 u32 u64".split()
WIDE = {"f16": np.float64, "bf16": np.float64, "f32": np.float64, "c64": np.complex128}
# a double kernel that computes in float32 is wrong
TOLERANCE = {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-4, "c64": 1e-4, "f64": 1e-10, "c128": 1e-10}
SHAPES = {
    "": "rn",
    "t": "nr",
    "s": "rr",
    "0": "",
    "1": "r",
    "n": "n",
    "3": "2rn",
    "b": "2nr",
    "4": "24rr",
    "5": "22rrr",
    "c": "4",
    "c4": "4433",
    "c5": "22333",
}
RANGES = dict(p=(0.5, 2), q=(0.5, 2), u=(-0.9, 0.9), g=(1.1, 3), w=(0.1, 0.9))
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, 2.5, -3.5, 50, -50, 1e20, 1e-6]
NAMES = {"np": np, "sp": special, "sliding_window_view": sliding_window_view}
COLUMNS = "primitive state dtypes wrong edges unchecked us ms_1M err_1M lost remark".split()
CALLS = 1000


class Samples(dict):
    """The values behind a recipe's letters, of one dtype, made when first named.

    `wide` ones hold the same values for the reference.
    """

    def __init__(self, dtype, size=6, edges="", wide=False):
        super().__init__(r=size, n=size + 2 if size < 100 else size, T=host.DTYPES[dtype].np.type)
        self.dtype, self.edges, self.wide = dtype, edges, wide

    def __missing__(self, name):
        m = re.fullmatch(r"([xyzpqugwmij])(|[01345ntsbc]|c4|c5)", name)
        if m is None:
            raise KeyError(name)
        r = self["r"] if self["r"] < 100 else {"3": 724, "4": 360, "5": 64}.get(m[2], self["r"])
        shape = tuple(int(s) if s.isdigit() else self["n"] if s == "n" else r for s in SHAPES[m[2]])
        a = self._values(m[1], shape, np.random.default_rng(sum(map(ord, name))))
        self[name] = a = a.astype(WIDE.get(self.dtype, a.dtype)) if self.wide and m[1] not in "mij" else a
        return a

    def _values(self, letter, shape, rng):
        dtype = host.DTYPES[self.dtype].np
        kind = "f" if self.dtype == "bf16" else dtype.kind
        if letter == "j":
            return rng.permuted(
                np.broadcast_to(np.arange(self["r"]).reshape(-1, *[1] * (len(shape) - 1)), shape), axis=0
            )
        if letter == "i":
            return rng.integers(0, self["r"], shape)
        if letter == "m" or kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        if kind in "iu":
            signs = [0, 1] if letter == "x" else [1]  # divisors are not zero
            a = rng.integers(1, 6, shape) * rng.choice(signs + [-1] * (letter in "xyz" and kind == "i"), shape)
        elif letter in RANGES:
            a = rng.uniform(*RANGES[letter], shape)
        else:
            a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind == "c" else 0)
        a = np.asarray(a, dtype)
        return self._edged(letter, a, kind) if self.edges and letter in "xypqg" and len(shape) == 2 else a

    def _edged(self, letter, a, kind):
        """`~`: a few edge values among the others.

        `=`: down the rows of x and along those of the others, so that all pairs meet.
        """
        high = np.iinfo(a.dtype).max if kind in "iu" else None
        if self.edges == "~":
            if high:
                a.flat[0] = min(high, 2**53 + 1)
            elif letter == "x":
                a[1, 1], a[2, 2], a[3, 3], a[4, 4] = np.nan, np.inf, -np.inf, 0
            return a
        values = EDGES
        if high:
            low = np.iinfo(a.dtype).min
            values = [min(high, v) for v in (1, 2, 3, 7, 100, high, 2**53 + 1, 2**31)]
            values += [0, low, low + 1, *([-1, -7] if low else [])] if letter == "x" else []  # divisors stay positive
        with np.errstate(all="ignore"):
            values = np.resize(
                np.array(values, a.dtype if high else np.float64).astype(a.dtype), a.shape[letter != "x"]
            )
        return np.broadcast_to(
            values[:, None] if letter == "x" else abs(values) if letter in "pqg" else values, a.shape
        ).copy()


def recipes():
    """{name: [(flag, arguments, constructor arguments, reference)]}."""
    found = {}
    for line in Path(__file__).with_name("recipes.txt").read_text().splitlines():
        if m := re.fullmatch(r"@ (\w+)\((.*?)\) = (.*)", line):
            NAMES[m[1]] = eval(f"lambda {m[2]}: {m[3]}", NAMES)
        elif line[0] != "#":
            flag, arguments, rest = re.fullmatch(r"(.) (.*?) \| (.*)", line).groups()
            for names, reference in (e.split(" ", 1) for e in rest.split("; ")):
                for name, init in re.findall(r"([\w.]+)(?:\{(.*?)\})?", names):
                    found.setdefault(name, []).append((flag, arguments, init, reference))
    return found


def evaluate(text, samples, **more):
    with np.errstate(all="ignore"):
        return eval(f"({text})", {**NAMES, **more}, samples)


def convert(a):
    if isinstance(a, np.ndarray):
        return pyboost.tensor_from_array(np.array(a, order="C"))
    if isinstance(a, (list, tuple)):
        return type(a)(map(convert, a))
    return pyboost.ms_dtype(np.dtype(a)) if isinstance(a, type) else a


def prepared(name, init, arguments, samples):
    """Three functions: the primitive's call on samples.

    The same with results as arrays; whether it has written into its arguments.
    """
    given = evaluate(arguments + ",", samples)
    args = [convert(a) for a in given]
    prim = pyboost.primitive(
        name.removeprefix("L."), *eval(f"({init},)" if init else "()"), legacy=name.startswith("L.")
    )

    def results():
        out = prim(*args)
        return [np.array(host.alias(t)) for t in (out if isinstance(out, (tuple, list)) else (out,))]

    def written():
        return any(isinstance(a, np.ndarray) and a.tobytes() != host.alias(b).tobytes() for a, b in zip(given, args))

    return lambda: prim(*args), results, written


def name_of(np_dtype):
    """What NumPy's dtype is called here, or None."""
    return next((name for name in DTYPES if host.DTYPES[name].np == np_dtype), None)


def difference(got, want, dtype):
    """What is wrong with a result, or ""."""
    want = np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if want.dtype.kind == "c":
        part = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
        with np.errstate(all="ignore"):  # close as a whole is close
            got = np.where(
                np.isfinite(want) & (abs(got - want) <= TOLERANCE.get(dtype, 1e-4) * (1 + abs(want))), want, got
            )
        return difference(got.real, want.real, part) or difference(got.imag, want.imag, part)
    got = got.astype(np.float32) if got.dtype == ml_dtypes.bfloat16 else got
    with np.errstate(all="ignore"):
        if want.dtype.kind in "biu":
            bad = got != want
        else:
            fit = want.astype(host.DTYPES[dtype].np if dtype in ("f16", "f32", "f64") else np.float32)
            bad = (np.isnan(got) != np.isnan(want)) | ~np.isnan(want) & (np.isinf(fit) | np.isinf(got)) & (got != fit)
            tolerance = max(TOLERANCE.get(dtype, 1e-4), TOLERANCE.get(name_of(want.dtype), 0))
            bad |= np.isfinite(fit) & (abs(got.astype(np.float64) - want) > tolerance * (1 + abs(want)))
    if not bad.any():
        return ""
    at = tuple(int(k[0]) for k in np.nonzero(bad)) if bad.ndim else ()
    return f"{got[at]} at {list(at)}, not {want[at]}"


def compare(outs, reference, samples, dtype):
    if re.search(r"\bout\b", reference):
        fits = evaluate(reference, samples, out=[o.astype(WIDE.get(name_of(o.dtype), o.dtype)) for o in outs])
        return "" if fits else "the parts do not make the whole"
    want = evaluate(reference, samples)
    wants = want if isinstance(want, tuple) else (want,)
    return next(filter(None, (difference(g, w, dtype) for g, w in zip(outs, wants))), "")


def attempt(name, recipe, dtype, measure, emit):
    """In the child: run, check, check at the edges, measure. What has been emitted outlives a crash."""
    flag, arguments, init, reference = recipe
    call, results, written = prepared(name, init, arguments, Samples(dtype))
    outs = results()
    emit(ran=True, writes=written())
    try:
        wrong = compare(outs, reference, Samples(dtype, wide=True), dtype)
    except TypeError as e:  # NumPy has no such operation for the dtype either
        return emit(unchecked=str(e))
    emit(wrong=wrong)
    if wrong:
        return
    if measure:
        emit(**cost(call))
    if flag in "=~" and dtype != "bool":
        emit(edges="crash")
        outs = prepared(name, init, arguments, Samples(dtype, 14, flag))[1]()
        emit(edges=compare(outs, reference, Samples(dtype, 14, flag, wide=True), dtype))
    if measure and flag != ".":
        call, results, _ = prepared(name, init, arguments, Samples(dtype, 1024))
        got, took = results()[0], []
        while len(took) < 6 and sum(took) < 0.3:
            start = time.perf_counter()
            call()
            took.append(time.perf_counter() - start)
        emit(ms_1M=float(f"{min(took) * 1e3:.3g}"))
        if got.dtype == np.float32:
            want = evaluate(reference, Samples(dtype, 1024, wide=True))
            want = np.asarray(want[0] if isinstance(want, tuple) else want)
            emit(err_1M=float(f"{np.nanmax(abs(got - want) / (1e-5 + 1.3e-6 * abs(want))):.2g}"))


def cost(call):
    best, lost = 1e9, []
    while len(lost) < 12 and (
        len(lost) < 2 or lost[-1] > 40
    ):  # legacy calls pay 600 bytes each until a table of 8192 is full
        before = resident()
        for _ in range(CALLS // 10):
            start = time.perf_counter()
            for _ in range(10):
                call()
            best = min(best, (time.perf_counter() - start) / 10)
        lost.append(max(0, round((resident() - before) / CALLS)))
    return {"us": round(best * 1e6, 1), "lost": min(lost)}


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def forked(fn, limit=30):
    """Run fn(emit) in a child; what it emitted, with `error` where it failed, crashed or was stopped."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)

        def emit(**message):
            os.write(w, (json.dumps(message) + "\n").encode())

        try:
            fn(emit)
        except BaseException as e:
            emit(error=" ".join(f"{type(e).__name__}: {e}".replace("-" * 52, "").split())[:160])
        os._exit(0)
    os.close(w)
    text, deadline = b"", time.monotonic() + limit
    while select.select([r], [], [], max(0, deadline - time.monotonic()))[0] and (chunk := os.read(r, 65536)):
        text += chunk
    if time.monotonic() >= deadline:
        os.kill(pid, signal.SIGKILL)
    os.close(r)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    result = {}
    for line in text.decode().splitlines():
        result.update(json.loads(line))
    return result | ({"error": f"killed by {signal.Signals(-status).name}"} if status else {})


def absent(error):
    return any(words in error for words in ("unregistered", "Not implement", "Unsupported op"))


def probe(name, recipe):
    """One row: the primitive with one recipe's constructor arguments."""
    row = dict.fromkeys(COLUMNS, "") | {"primitive": name + (f"{{{recipe[2]}}}" if recipe[2] else "")}
    if pyboost.primitive_class(name.removeprefix("L."), name.startswith("L.")) is None:
        return row | {"state": "no class"}
    found, remarks = {column: [] for column in ("dtypes", "wrong", "edges", "unchecked")}, {}
    for dtype in DTYPES:
        measure = row["us"] == "" and not re.search(r"\bT\b", recipe[1])
        got = forked(lambda emit, dtype=dtype, measure=measure: attempt(name, recipe, dtype, measure, emit))
        error = got.get("error", "")
        if absent(error):
            return row | {"state": "unregistered"}
        if got.get("wrong") == "":
            found["dtypes"].append(dtype)
            if got.get("edges"):
                found["edges"].append(dtype)
                remarks.setdefault("edges", f"{dtype}: {error if got['edges'] == 'crash' else got['edges']}")
        elif "wrong" in got or got.get("ran") and error:
            found["wrong"].append(dtype)
            remarks.setdefault("wrong", f"{dtype}: {got.get('wrong', error)}")
        elif "unchecked" in got:
            found["unchecked"].append(dtype)
        elif dtype == "f32" or "killed" in error:
            remarks.setdefault("error", f"{dtype}: {error}")
        if got.get("writes"):
            remarks["writes"] = "into its argument"
        row.update((k, got[k]) for k in ("us", "ms_1M", "err_1M", "lost") if k in got)
    state = "ok" if found["dtypes"] else "wrong" if found["wrong"] else "error"
    row |= {column: " ".join(dtypes) for column, dtypes in found.items()}
    return row | {"state": state, "remark": "; ".join(f"{k} {v}" for k, v in remarks.items())}


def unknown(name):
    """The row of a primitive without a recipe: called on arguments guessed from its own complaint, tensors of one shape
    after another.
    """

    def ask(emit, shape, dtype):
        cls = pyboost.primitive_class(name)
        need = [
            [p for p in [*signature(f).parameters.values()][1:] if p.default is p.empty]
            for f in (cls.__init__, cls.__call__)
        ]
        prim = cls(*[1 for _ in need[0]])
        prim.set_device("CPU")
        types = []
        try:
            prim(*[object() for _ in need[1]])
        except TypeError as e:
            types = re.findall(r"\w+=<(.*?)>[,)]", str(e).partition("valid calling should be")[2].rpartition(")(")[2])
        t = pyboost.tensor_from_array(np.ones(shape, dtype))
        guesses = {
            "Tensor": t,
            "int": 1,
            "bool": False,
            "Number": 1,
            "float": 0.5,
            "list of Tensor": [t, t],
            "list of tensor": [t, t],
            "list of int": [1] * len(shape),
            "tuple of int": (1,) * len(shape),
        }
        prim(*[next((guesses[k] for k in kinds.split(", ") if k in guesses), None) for kinds in types[: len(need[1])]])
        emit(state="runs")

    first = ""
    for shape, dtype in (
        ((2, 2), "f4"),
        ((2,), "f4"),
        ((2, 2), "i8"),
        ((2, 2, 2), "f4"),
        ((2, 2, 4, 4), "f4"),
        ((2, 2, 4, 4, 4), "f4"),
    ):
        got = forked(lambda emit, shape=shape, dtype=dtype: ask(emit, shape, dtype), 5)
        state = got.get("state") or ("unregistered" if absent(got["error"]) else "?")
        if state != "?":
            break
        first = first or got["error"]
    return dict.fromkeys(COLUMNS, "") | {"primitive": name, "state": state, "remark": first if state == "?" else ""}


def read(path):
    """{primitive: dtypes}. One counts where every recipe gives right values, for integers at the edges too: there is no
    almost right.
    """
    found = {}
    for line in path.read_text().splitlines()[1:]:
        row = dict(zip(COLUMNS, line.split("\t")))
        name = re.sub(r"^L\.|\{.*", "", row["primitive"])
        inexact = host.dtype_set(row["edges"]) & host.dtype_set(f"{host.INTS} {host.UNSIGNED}")
        right = host.dtype_set(row["dtypes"]) - inexact
        found[name] = found.get(name, right) & right
    return {name: takes for name, takes in found.items() if takes}


def table(*paths):
    """The text of backends/cpu/primitives.py."""

    def rows(entries):
        return "".join(f'    "{name}": "{host.words(takes)}",\n' for name, takes in sorted(entries))

    old, new = map(read, paths)
    versions = [p.stem.partition("-")[2] for p in paths]
    return TEMPLATE.format(
        *versions,
        tuple(map(int, versions[1].split(".")[:2])),
        rows(old.items()),
        rows((n, new.get(n, ())) for n in old | new if new.get(n) != old.get(n)),
    )


TEMPLATE = '''"""The dtypes that each MindSpore primitive takes on CPU and computes correctly.

Written by `python tools/probe.py --table tools/probe-{0}.tsv tools/probe-{1}.tsv`.
"""

from ...runtime import pyboost
from ..host import dtype_set

MEASURED = {{
{3}}}
# primitives that differ in {1}
CHANGES = {{
{4}}}
_installed = MEASURED | CHANGES if tuple(map(int, pyboost.version().split(".")[:2])) >= {2} else MEASURED
TAKES = {{primitive: dtype_set(names) for primitive, names in _installed.items()}}
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", nargs=2, type=Path)
    options = parser.parse_args()
    if options.table:
        return print(table(*options.table), end="")
    pyboost.mindspore()
    known, module = recipes(), sys.modules["mindspore.ops.auto_generate.gen_ops_prim"]
    classes = [n for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__]
    others = sorted(n for n in classes if not {n, "L." + n} & known.keys())
    print(*COLUMNS, sep="\t")
    for name in options.names or [*known, *others]:
        for row in (probe(name, recipe) for recipe in known[name]) if name in known else (unknown(name),):
            print(*row.values(), sep="\t", flush=True)


if __name__ == "__main__":
    sys.exit(main())
