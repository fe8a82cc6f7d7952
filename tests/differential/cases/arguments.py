"""Calls whose arguments fit no method or function of torch: the class of the error is PyTorch's for every one."""

import warnings

# what one side alone has: named tensors are PyTorch's past, npu() is an extension's, and the rest nobody calls
ONE_SIDE = "const_data_ptr has_names index npu reinforce slice_inverse to_mkldnn".split()
# more dimensions than a kernel of MindSpore's repeats; a stream that is none
KNOWN = {("repeat", "f(x, *[1] * 14)"), ("tile", "f(x, *[1] * 14)"), ("record_stream", "f(x, object())")}
CALLS = {
    "f(x, zzz=1)": lambda f, x: f(x, zzz=1),
    "f(x, *[1] * 14)": lambda f, x: f(x, *[1] * 14),
    "f(x, object())": lambda f, x: f(x, object()),
    "f(x, 'no', [1])": lambda f, x: f(x, "no", [1]),
    "f(x)": lambda f, x: f(x),
    "f()": lambda f, x: f(),
}


def _outcome(call, f, x):
    try:
        call(f, x)
    except Exception as e:
        return type(e).__name__
    return "returns"


def _outcomes(torch, functions):
    found = []
    for name, f in functions:
        for text, call in CALLS.items():
            if (name, text) in KNOWN:
                continue
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append([name, text, _outcome(call, f, torch.ones(2, 3))])
    return found


def _methods(torch):
    return [
        (name, getattr(torch.Tensor, name))
        for name in sorted(dir(torch.Tensor))
        if name[0] != "_" and name not in ONE_SIDE and callable(getattr(torch.Tensor, name))
    ]


def case_methods(torch):
    return _outcomes(torch, _methods(torch))


def case_functions(torch):
    """The functions of torch that methods are called like."""
    functions = [(name, getattr(torch, name, None)) for name, _ in _methods(torch)]
    return _outcomes(torch, [(name, f) for name, f in functions if callable(f) and not isinstance(f, type)])


def _calls_with_an_int(torch):
    """Calls with an int in one argument, which no 64 bits hold."""
    F, x = torch.nn.functional, torch.arange(12.0).view(3, 4)
    return {
        "diagonal": lambda n: x.diagonal(n),
        "diag": lambda n: torch.diag(x, n),
        "diag1": lambda n: torch.diag(x[0], n),
        "diag_embed": lambda n: torch.diag_embed(x, n),
        "diagflat": lambda n: torch.diagflat(x, n),
        "tril": lambda n: x.tril(n),
        "triu": lambda n: x.triu(n),
        "trace_o": lambda n: x.diagonal(0, n, 1),
        "narrow": lambda n: x.narrow(0, n, 1),
        "narrow2": lambda n: x.narrow(0, 0, n),
        "select": lambda n: x.select(0, n),
        "unfold": lambda n: x.unfold(0, n, 1),
        "unfold2": lambda n: x.unfold(0, 1, n),
        "chunk": lambda n: x.chunk(n),
        "split": lambda n: x.split(n),
        "tensor_split": lambda n: x.tensor_split(n),
        "hsplit": lambda n: x.hsplit(n),
        "roll": lambda n: x.roll(n),
        "rolldim": lambda n: x.roll(1, n),
        "roll2": lambda n: x.roll((1, n), (0, 1)),
        "rot90": lambda n: x.rot90(n),
        "flip": lambda n: x.flip(n),
        "cumsum": lambda n: x.cumsum(n),
        "topk": lambda n: x.topk(n),
        "kth": lambda n: x.kthvalue(n),
        "eye": lambda n: torch.eye(n),
        "eye2": lambda n: torch.eye(1, n),
        "tril_indices": lambda n: torch.tril_indices(2, 2, n),
        "triu_indices": lambda n: torch.triu_indices(2, 2, n),
        "combinations": lambda n: torch.combinations(x[0], n),
        "vander": lambda n: torch.vander(x[0], n),
        "one_hot": lambda n: F.one_hot(torch.tensor([1]), n),
        "bincount": lambda n: torch.bincount(torch.tensor([1]), minlength=n),
        "histc": lambda n: torch.histc(x, n),
        "matrix_power": lambda n: torch.matrix_power(x[:, :3], n),
        "repeat": lambda n: torch.zeros(0).repeat(n),
        "repeat_interleave": lambda n: torch.zeros(0).repeat_interleave(n),
        "sum": lambda n: x.sum(n),
        "sumk": lambda n: x.sum(dim=n),
        "mean": lambda n: x.mean(n),
        "softmax": lambda n: x.softmax(n),
        "cat": lambda n: torch.cat([x], n),
        "stack": lambda n: torch.stack([x], n),
        "squeeze": lambda n: x.squeeze(n),
        "unsqueeze": lambda n: x.unsqueeze(n),
        "transpose": lambda n: x.transpose(0, n),
        "permute": lambda n: x.permute(n, 0),
        "movedim": lambda n: x.movedim(0, n),
        "flatten": lambda n: x.flatten(n),
        "argmax": lambda n: x.argmax(n),
        "gather": lambda n: x.gather(n, torch.zeros(1, 1, dtype=torch.long)),
        "index_select": lambda n: x.index_select(n, torch.tensor([0])),
        "expand": lambda n: x.expand(n, 3, 4),
        "view": lambda n: x.view(n),
        "reshape": lambda n: x.reshape(n),
        "as_strided": lambda n: x.as_strided((1,), (1,), n),
        "as_strided2": lambda n: x.as_strided((1,), (n,)),
        "zeros": lambda n: torch.zeros(n),
        "zerost": lambda n: torch.zeros((n,)),
        "empty": lambda n: torch.empty(0, n),
        "full": lambda n: torch.full((n,), 1),
        "linspace": lambda n: torch.linspace(0, 1, n),
        "logspace": lambda n: torch.logspace(0, 1, n),
        "randint": lambda n: torch.randint(n, (1,)).shape,
        "randint2": lambda n: torch.randint(n, n + 4, (1,)).shape,
        "randperm": lambda n: torch.randperm(n),
        "random_": lambda n: torch.zeros(2).random_(n).shape,
        "random2_": lambda n: torch.zeros(2).random_(0, n).shape,
        "randint_like": lambda n: torch.randint_like(x, n).shape,
        "rand": lambda n: torch.rand(n),
        "multinomial": lambda n: torch.multinomial(x, n),
        "pixel_shuffle": lambda n: F.pixel_shuffle(torch.zeros(1, 4, 1, 1), n),
        "channel_shuffle": lambda n: F.channel_shuffle(torch.zeros(1, 4, 1, 1), n),
        "group_norm": lambda n: F.group_norm(torch.zeros(1, 4), n),
        "conv": lambda n: F.conv1d(torch.zeros(1, 1, 3), torch.zeros(1, 1, 3), stride=n),
        "convp": lambda n: F.conv1d(torch.zeros(1, 1, 3), torch.zeros(1, 1, 3), padding=n),
        "convg": lambda n: F.conv1d(torch.zeros(1, 1, 3), torch.zeros(1, 1, 3), groups=n),
        "pool": lambda n: F.max_pool1d(torch.zeros(1, 1, 3), n),
        "avg": lambda n: F.avg_pool1d(torch.zeros(1, 1, 3), n),
        "adaptive": lambda n: F.adaptive_avg_pool1d(torch.zeros(1, 1, 3), n),
        "pad": lambda n: F.pad(x, (n, 0)),
        "fft": lambda n: torch.fft.fft(x, n),
        "fftdim": lambda n: torch.fft.fft(x, dim=n),
        "fftshift": lambda n: torch.fft.fftshift(x, n),
        "renorm": lambda n: x.renorm(1, n, 1),
        "diff": lambda n: x.diff(n),
        "var": lambda n: x.var(n),
        "unbind": lambda n: x.unbind(n),
        "quantile": lambda n: x.quantile(0.5, n),
        "nll": lambda n: F.nll_loss(x, torch.tensor([0, 1, 2]), ignore_index=n),
        "logsumexp": lambda n: x.logsumexp(n),
        "take_along": lambda n: x.take_along_dim(torch.zeros(1, 1, dtype=torch.long), n),
        "polygamma": lambda n: torch.polygamma(n, x),
        "tensordot": lambda n: torch.tensordot(x, x, n),
        "bitshift": lambda n: torch.tensor([1]) << n,
        "new_zeros": lambda n: x.new_zeros(n),
        "nonzero": lambda n: torch.nonzero_static(x, size=n),
        "resize": lambda n: torch.zeros(1).resize_(n),
        "tile": lambda n: torch.zeros(0).tile(n),
        "block": lambda n: torch.zeros(2, 2).index_add(n, torch.tensor([0]), torch.zeros(1, 2)),
        "cross": lambda n: torch.linalg.cross(x[:, :3], x[:, :3], dim=n),
        "glu": lambda n: F.glu(x, n),
        "cosine": lambda n: F.cosine_similarity(x, x, n),
        "unique": lambda n: x.unique(dim=n),
        "searchs": lambda n: x.count_nonzero(n),
    }


def case_ints_beyond_64_bits(torch):
    """PyTorch refuses them everywhere; what passes here would be another number, or a loop without end."""
    found = {}
    for name, call in _calls_with_an_int(torch).items():
        for n in (2**63, -(2**63) - 1, 2**64):
            try:
                call(n)
            except Exception as e:
                found[f"{name} {n}"] = type(e).__name__, str(e).partition("\n")[0].rstrip('"')
            else:
                found[f"{name} {n}"] = "returns"
    return found


def case_sizes_beyond_64_bits(torch):
    """A torch.Size holds them, and neither prints nor multiplies them."""
    found = {}
    for n in (2**63, 2**64, -(2**63), 2**62):
        for size in ((n,), (n, 0), (2, n)):
            s = torch.Size(size)
            for name, call in {"numel": s.numel, "repr": s.__repr__, "sum": lambda s=s: tuple(s + (1,))}.items():
                try:
                    found[f"{name} of {size}"] = call()
                except ValueError as e:
                    found[f"{name} of {size}"] = str(e)
    return found


def case_what_a_size_is_added_to(torch):
    found, size = {}, torch.Size([1])
    for name, other in {
        "int": 2,
        "float": 2.5,
        "str": "a",
        "bool": True,
        "None": None,
        "tensor": torch.tensor(2),
    }.items():
        for side, add in {"left": lambda o: (o,) + size, "right": lambda o: size + (o,)}.items():
            try:
                found[f"{name} {side}"] = type(add(other)).__name__, tuple(add(other))
            except TypeError as e:
                found[f"{name} {side}"] = str(e)
    return found
