"""What a class with __torch_function__ is asked by each function that PyTorch's own list of overridable functions has.

overridden(group, folder)  in the real torch: [(name, arguments, what arrives)] of a group of names
ask(torch, name, args)     the same for one call in either torch
A function that arrives is told by all the names under which the public namespaces have it.
"""

import inspect
import itertools

LETTERS = {"_": "_", "a": "abc", "d": "defgh", "i": "ijkl", "m": "mnopqr", "s": "stuvwxyz"}
SPACES = {"torch", "Tensor", "nn.functional", "linalg", "special", "fft", "_C._nn", "functional", "nn.init", "_C"}
GROUPS = [
    f"{space} {letter}" for space, letter in itertools.product(("torch", "Tensor", "nn.functional", "others"), LETTERS)
]
# how the arguments of a call are written down, by the types that PyTorch's parser has
PLAIN = {"Tensor": "x", "TensorList": "[x]", "IntArrayRef": "(1,)", "SymIntArrayRef": "(1,)", "ScalarType": "float32"}
PLAIN |= {"Scalar": 1, "int64_t": 1, "SymInt": 1, "double": 1.0, "bool": False, "c10::string_view": "none"}
PLAIN |= {
    "Dimname": "none",
    "Device": "cpu",
    "ITensorListRef": "[x]",
    "const c10::List<::std::optional<Tensor>> &": "[x]",
}


def group_of(name):
    space, _, last = name.rpartition(".")
    if last in ("__get__", "__set__", "__delete__"):
        space, _, last = space.rpartition(".")
    letter = next((k for k, letters in LETTERS.items() if last[0].lower() in letters), "_")
    return f"{space if space in ('torch', 'Tensor', 'nn.functional') else 'others'} {letter}"


def resolve(torch, name):
    owner = torch
    for part in name.removeprefix("torch.").split("."):
        owner = getattr(owner, part)
    return owner


def call(torch, name, args):
    """Call a function as programs do: methods and properties of Tensor through the instance."""
    space, *rest = name.split(".")
    if space != "Tensor":
        return resolve(torch, name)(*args)
    if len(rest) == 1:
        return getattr(args[0], rest[0])(*args[1:])
    return {"__get__": getattr, "__set__": setattr, "__delete__": delattr}[rest[1]](args[0], rest[0], *args[1:])


def names_of(torch, known={}):  # noqa: B006  (one table for a process)
    """Return {id of a function: its names, without "torch."}."""
    if not known:
        kept = []
        for space in SPACES:
            owner = torch if space == "torch" else resolve(torch, space)
            for n in dir(owner):
                try:
                    f = getattr(owner, n)
                except Exception:
                    continue
                found = {f"{space}.{n}": f}
                if owner is torch.Tensor and not callable(f):
                    found = {
                        f"{space}.{n}.{m}": getattr(f, m) for m in ("__get__", "__set__", "__delete__") if hasattr(f, m)
                    }
                for name, f in found.items():
                    if callable(f):
                        kept.append(f)
                        known.setdefault(key(f), []).append(name)
        known[None] = kept  # an id is unique as long as its object lives
    return known


def key(f):
    """Return what is equal for equal functions; a method of a descriptor is made anew each time."""
    return (f.__name__, id(f.__self__)) if type(f).__name__ == "method-wrapper" else id(f)


def ask(torch, name, args):
    """Return what arrives when a function is called: [(__name__, all names)], or the class of the error."""
    arrived = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            arrived.append((f.__name__, sorted(names_of(torch).get(key(f), ()))))

    with torch._C.DisableTorchFunctionSubclass():
        x = torch.ones(2, 3).as_subclass(Asked)
    given = {"x": x, "[x]": [x], "(1,)": (1,), "float32": torch.float32}
    try:
        call(torch, name, [given.get(a, a) if isinstance(a, str) else a for a in args])
    except Exception as e:
        if not arrived:
            return ["raises", type(e).__name__]
    return arrived[:1]


def alike(ours, theirs):
    """Whether the same function arrived: one of the names is the same; by __name__ alone if it has no name."""
    if ours[:1] == ["raises"] or len(ours) != len(theirs):
        return False
    return all(set(a[1]) & set(b[1]) if b[1] else a[0] == b[0] for a, b in zip(ours, theirs))


# ---------------------------------------------------------------- in the real torch
def arguments(f, override, types):
    """Return the arguments of a call of f: those that it must have."""
    if f in types:
        return [PLAIN.get(a["simple_type"], "x") for a in types[f] if a.get("is_kwarg_only") == "False"]
    required = [
        p.name
        for p in inspect.signature(override).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return ["[x]" if n in ("tensors", "operands") else "x" for n in required]


def overridden(group, folder):
    import torch
    from torch.testing._internal.generated.annotated_fn_args import annotated_args

    known, result = names_of(torch), []
    for f, override in torch.overrides.get_testing_overrides().items():
        for name in sorted(known.get(key(f), ()))[:1]:
            if group_of(name) == group:
                args = arguments(f, override, annotated_args)
                args = args or ["x"]
                result.append((name, args, ask(torch, name, args)))
    return sorted(result, key=lambda r: r[0])
