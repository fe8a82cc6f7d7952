"""Samples of an operator, taken from PyTorch's own OpInfos, and what they give: forward, gradients, in-place, out=, on
meta.

samples(name, folder)  in the real torch: the samples as plain data, each with what the real torch gives for it
run(torch, sample)     the same for either torch; each result is plain data
"""

import random
from itertools import islice

import numpy as np

DTYPES = "float32 float64 bfloat16 float16 int64 int32 uint8 bool complex64".split()
FIRST, PICKED, REFERENCE, OTHERS = (
    3,
    2,
    4,
    1,
)  # samples: the first and some others in float32, reference inputs, and of each other dtype
LARGEST = 2000  # elements
SAVED = 2  # samples whose operands are changed before the backward


# ---------------------------------------------------------------- data
def encode(torch, x):
    """A value as plain data, tensors with their memory."""
    if isinstance(x, torch.Tensor):
        if (
            type(x) is not torch.Tensor
            and type(x) is not torch.nn.Parameter
            or x.layout is not torch.strided
            or x.is_conj()
            or x.is_neg()
        ):
            raise TypeError("no plain tensor")
        size = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride())) if x.numel() else 0
        raw = x.detach().as_strided((size,), (1,)).clone().view(torch.uint8).numpy().tobytes() if size else b""
        return ("tensor", str(x.dtype), raw, tuple(x.shape), tuple(x.stride()), x.requires_grad)
    if isinstance(x, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return ("named", str(x) if not isinstance(x, torch.device) else "torch.device", str(x))
    if isinstance(x, (list, tuple)):
        return (type(x).__name__ if type(x) in (list, tuple, torch.Size) else "tuple", [encode(torch, v) for v in x])
    if isinstance(x, dict):
        return ("dict", {k: encode(torch, v) for k, v in x.items()})
    if isinstance(x, slice):
        return ("slice", [encode(torch, v) for v in (x.start, x.stop, x.step)])
    if x is None or x is Ellipsis or isinstance(x, (bool, int, float, complex, str, np.generic)):
        return ("value", x)
    raise TypeError(f"no plain data: {type(x)}")


def decode(torch, x, device="cpu"):
    kind, value, *rest = x
    if kind == "tensor":
        raw, shape, stride, requires_grad = rest
        dtype = getattr(torch, value.removeprefix("torch."))
        flat = (
            torch.frombuffer(bytearray(raw), dtype=torch.uint8).clone().view(dtype)
            if raw
            else torch.empty(0, dtype=dtype)
        )
        t = (
            flat.to(device).as_strided(shape, stride)
            if raw
            else torch.empty_strided(shape, stride, dtype=dtype, device=device)
        )
        return t.requires_grad_() if requires_grad else t
    if kind == "named":
        return torch.device(device) if value == "torch.device" else getattr(torch, value.removeprefix("torch."))
    if kind == "dict":
        return {
            k: device if k == "device" and v[0] == "value" and v[1] else decode(torch, v, device)
            for k, v in value.items()
        }
    if kind == "value":
        return value
    return {"list": list, "tuple": tuple, "Size": torch.Size, "slice": lambda v: slice(*v)}[kind](
        [decode(torch, v, device) for v in value]
    )


def alone(x):
    """Whether each element of a tensor has memory of its own."""
    reach = 1
    for stride, size in sorted((s, n) for s, n in zip(x.stride(), x.shape) if n > 1):
        if stride < reach:
            return False
        reach = stride * (size - 1) + reach
    return True


def subsets(n):
    """The subsets of n operands that get gradients: all of them for few, each alone and all together for many."""
    if n <= 3:
        return [{i for i in range(n) if code >> i & 1} for code in range(1, 1 << n)]
    return [*({i} for i in range(n)), set(range(n))]


def tensors(torch, x):
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (list, tuple, dict)):
        for v in x.values() if isinstance(x, dict) else x:
            yield from tensors(torch, v)


# ---------------------------------------------------------------- what a sample gives
def resolve(torch, name):
    owner = torch
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner or getattr(torch.Tensor, name, None)


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as e:
        return (
            "raises",
            next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins"),
            str(e).split("\n")[0][:300],
        )


def run(torch, sample, plain, meta=False, device="cpu", without=()):
    """The results of a sample on a device, as `plain(torch, x)` makes them."""
    f, out = resolve(torch, sample["name"]), sample["out"]

    def arguments(device=device):
        return decode(torch, sample["args"], device), decode(torch, sample["kwargs"], device)

    def call(**extra):
        args, kwargs = arguments()
        return args, kwargs, f(*args, **kwargs, **extra)

    def forward():
        return plain(torch, call()[2])

    def gradients():
        args, kwargs, result = call()
        inputs = [t for t in tensors(torch, [args, kwargs]) if t.requires_grad]
        results = [t for t in tensors(torch, result) if t.requires_grad]
        weights = [
            torch.from_numpy(np.linspace(0.5, 1.5, t.numel(), dtype="f4")).reshape(t.shape).to(t) for t in results
        ]
        loss = sum(torch.real(t * w).double().cpu().sum() for t, w in zip(results, weights))
        return plain(
            torch,
            list(torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)) if results else None,
        )

    def layout():
        """The layout of gradients where the gradient that arrives is expanded, as that of a sum is."""
        args, kwargs, result = call()
        inputs = [t for t in tensors(torch, [args, kwargs]) if t.requires_grad]
        results = [t for t in tensors(torch, result) if t.requires_grad]
        found = torch.autograd.grad(
            [t.sum() for t in results], inputs, [torch.ones_like(t.sum()) for t in results], allow_unused=True
        )
        return [
            None if t is None else ("tensor", str(t.dtype), tuple(t.shape), tuple(t.stride()), t.is_conj(), None)
            for t in found
        ]

    def saved():
        """Which changes after the call make its backward refuse: of each operand, and of the results.

        One character for each operand ("1": refuses) and one for the results, for each subset of the operands with
        gradients.
        """
        return [refusals(subset) for subset in subsets(len(differentiable(*arguments())))]

    def differentiable(args, kwargs):
        return [t for t in tensors(torch, [args, kwargs]) if t.is_floating_point() or t.is_complex()]

    def refusals(subset):
        found = ""
        for k in range(len(differentiable(*arguments())) + 1):
            args, kwargs = arguments()
            operands = differentiable(args, kwargs)
            for i, t in enumerate(operands):
                t.requires_grad_(i in subset)
            results = [t for t in tensors(torch, f(*args, **kwargs)) if t.requires_grad]
            try:
                total = sum((torch.real(t).double() * 1).sum() for t in results)
                with torch.no_grad():
                    for t in [operands[k]] if k < len(operands) else results:
                        t.zero_()
                total.backward()
                found += "0"
            except RuntimeError as e:
                found += "1" if "modified by an inplace operation" in str(e) else "e"
        return found

    def inplace():
        args, kwargs = arguments()
        with torch.no_grad():
            result = getattr(args[0], sample["name"].split(".")[-1] + "_")(*args[1:], **kwargs)
        return plain(torch, [args[0], result is args[0]])

    def into():
        like = [torch.empty(0, dtype=t.dtype, device=device) for t in tensors(torch, call()[2])]
        with torch.no_grad():
            args, kwargs = arguments()
            f(*args, **kwargs, out=like[0] if out == 1 else tuple(like))
        return plain(torch, like)

    def on_meta():
        args, kwargs = arguments("meta")
        return [
            ("tensor", str(t.dtype), tuple(t.shape), tuple(t.stride()), None, None)
            for t in tensors(torch, f(*args, **kwargs))
        ]

    results = {}
    for kind, function, wanted in (
        ("forward", forward, True),
        ("gradients", gradients, sample["gradients"]),
        ("layout", layout, sample["gradients"]),
        ("saved", saved, sample.get("saved")),
        ("inplace", inplace, sample["inplace"]),
        ("out", into, out),
        ("meta", on_meta, meta),
    ):
        if wanted and kind not in without:
            torch.manual_seed(0)
            results[kind] = attempt(function)
    return results


# ---------------------------------------------------------------- in the real torch
def infos(name):
    """The OpInfos of a name: its own, those it is an alias of, or those of the same function in another namespace."""
    from torch.testing._internal.common_methods_invocations import op_db

    last = name.split(".")[-1]
    return (
        [o for o in op_db if o.name == name]
        or [o for o in op_db if name in [a.name for a in o.aliases]]
        or [o for o in op_db if o.name.split(".")[-1] == last and not o.name.startswith(("_", "masked.", "sparse."))]
    )


def chosen(info, dtype, requires_grad, pick):
    """Sample inputs of an OpInfo, few and small."""
    found = [s for s in islice(info.sample_inputs("cpu", dtype, requires_grad=requires_grad), 40)]
    if str(dtype) != "torch.float32":
        return pick.sample(found, min(OTHERS, len(found)))
    few = found[:FIRST] + pick.sample(found[FIRST:], min(PICKED, len(found[FIRST:])))
    try:
        reference = list(islice(info.reference_inputs("cpu", dtype, requires_grad=requires_grad), 120))
    except ValueError:  # some ask for gradients of masks
        reference = list(islice(info.reference_inputs("cpu", dtype, requires_grad=False), 120))
    few += pick.sample(reference, min(REFERENCE, len(reference)))
    return few + [s.noncontiguous() for s in few[:2]]


def as_data(torch, name, s):
    """A sample of an OpInfo as plain data, or None where it is too large, or holds a function or a sparse tensor."""
    args = (s.input, *s.args)
    if sum(t.numel() for t in tensors(torch, [args, s.kwargs])) > LARGEST:
        return None
    try:
        return {"name": name, "args": encode(torch, args), "kwargs": encode(torch, s.kwargs)}
    except TypeError:
        return None


def samples(name, folder):
    import torch
    from run_cases import plain

    result = []
    for info in infos(name):
        for dtype in (getattr(torch, d) for d in DTYPES):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            torch.manual_seed(0)
            requires_grad = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
            pick = random.Random(f"{name} {info.variant_test_name} {dtype}")
            for at, s in enumerate(chosen(info, dtype, requires_grad, pick)):
                if (sample := as_data(torch, name, s)) is None:
                    continue
                inplace = (
                    info.inplace_variant is not None
                    and not s.broadcasts_input
                    and isinstance(s.input, torch.Tensor)
                    and alone(s.input)
                )
                sample |= {
                    "label": f"{info.variant_test_name} {dtype} "
                    f"{s.input if not isinstance(s.input, torch.Tensor) else tuple(s.input.shape)} "
                    f"{[tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in s.args]} {s.kwargs}"[:300],
                    "gradients": requires_grad,
                    "saved": requires_grad and dtype is torch.float32 and at < SAVED,
                    "inplace": inplace,
                    "out": 0,
                }
                if info.supports_out and dtype is torch.float32:
                    sample["out"] = len(list(tensors(torch, attempt(lambda: info.op(s.input, *s.args, **s.kwargs)))))
                gives = run(torch, sample, plain)
                if gives["forward"][:1] != ("raises",) if isinstance(gives["forward"], tuple) else True:
                    result.append((sample, gives))  # else a sample for another form of the function
    return result
