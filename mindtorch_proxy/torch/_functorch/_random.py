"""Random numbers under vmap, as requested by `randomness`: an error, the same for all samples, or different ones.

"different" draws once for the whole batch, in the order of the samples. "same" draws for one sample; a function that
has no such form runs for each sample from the same generator state.
"""

import functools

import torch

from ..utils._pytree import tree_iter, tree_map
from .utils import argument

_FACTORIES = {"rand": 0, "randn": 0, "randint": 1, "normal": 2}  # position of the size argument
_LIKE = frozenset("rand_like randn_like randint_like".split())
_SAMPLERS = frozenset("bernoulli poisson normal binomial multinomial _standard_gamma _sample_dirichlet".split())
_FILLS = frozenset("bernoulli normal uniform cauchy exponential geometric log_normal random".split())
_DROPOUTS = frozenset(
    "dropout alpha_dropout native_dropout feature_dropout feature_alpha_dropout dropout1d dropout2d dropout3d".split()
)
# with at least this many dimensions, a sample is itself a batch and is merged with the other samples
_BATCH_OF_ITS_OWN = {
    "feature_dropout": 2,
    "feature_alpha_dropout": 2,
    "dropout1d": 3,
    "dropout2d": 3,
    "dropout3d": 5,
    "multinomial": 2,
}
_IN_PARTS = {  # functions that may draw random numbers, with a test of the arguments
    "gumbel_softmax": lambda at: True,
    "scaled_dot_product_attention": lambda at: at(4, "dropout_p", 0.0),
    "multi_head_attention_forward": lambda at: at(13, "training", True) and at(10, "dropout_p", 0.0),
    "fractional_max_pool2d": lambda at: at(5, "_random_samples") is None,
    "fractional_max_pool3d": lambda at: at(5, "_random_samples") is None,
    "rrelu": lambda at: True,
}
_REFUSED = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)
_OUT = (
    "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as "
    "a workaround"
)
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)


def draws(name, in_place, args, kwargs):
    """Whether a call draws random numbers."""
    at = functools.partial(argument, args, kwargs)
    if name in _DROPOUTS:
        return bool(at(2, "training", kwargs.get("train", True))) and (
            name == "native_dropout" or at(1, "p", 0.5) not in (0, 1)
        )
    if name in _IN_PARTS:
        return bool(_IN_PARTS[name](at))
    if in_place:
        return name in _FILLS
    return name in _FACTORIES or name in _LIKE or name in _SAMPLERS or name == "randperm"


class Draws:
    """Handles random calls at one level of vmap."""

    def __init__(self, level, size, randomness, wrap, is_batched, each):
        self.level, self.size, self.randomness = level, size, randomness
        self.wrap, self.each = wrap, each
        self.is_batched = lambda x: is_batched(x, level)

    def __call__(self, func, name, in_place, args, kwargs):
        if kwargs.get("out") is not None:
            raise RuntimeError(_OUT)
        if name == "rrelu":
            raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")
        if self.randomness == "error":
            raise RuntimeError(_REFUSED)
        batched = any(self.is_batched(x) for x in tree_iter((args, kwargs)))
        if in_place and name in _FILLS:
            return self._fill(func, name, args, kwargs)
        if self.randomness == "same":
            return self._same(func, name, args, kwargs) if batched else func(*args, **kwargs)
        if name in _FACTORIES and (
            name != "normal" or not any(isinstance(x, torch.Tensor) for x in tree_iter((args, kwargs)))
        ):
            return self.wrap(self._larger(func, name, args, kwargs), self.level)
        if name in _LIKE or name in _SAMPLERS or name in _DROPOUTS:
            return self._different(func, name, in_place, args, kwargs)
        return self.each(func, args, kwargs, self.level, self.size)

    def _same(self, func, name, args, kwargs):
        if name in _SAMPLERS:
            raise RuntimeError(_SAME)
        generator = kwargs.get("generator") or torch.default_generator
        state = generator.get_state()

        def again(*a, **k):
            generator.set_state(state)
            return func(*a, **k)

        return self.each(again, args, kwargs, self.level, self.size)

    def _larger(self, func, name, args, kwargs):
        """Call a factory function for the whole batch."""
        if "size" in kwargs:
            return func(*args, **kwargs | {"size": (self.size, *_sizes(kwargs["size"]))})
        at = _FACTORIES[name]
        if name == "randint" and len(args) > 2 and isinstance(args[2], (tuple, list)):  # there is a lower bound
            at = 2
        rest = args[at:]
        if at == 0 and rest and isinstance(rest[0], int):
            return func((self.size, *rest), **kwargs)
        return func(*args[:at], (self.size, *_sizes(rest[0])), *rest[1:], **kwargs)

    def _values(self, x, n):
        """Return the values of all samples of an argument, each with at least ``n`` dimensions."""
        if not isinstance(x, torch.Tensor):
            return x
        v = x._value if self.is_batched(x) else x.expand(self.size, *x.shape)
        return v.reshape(self.size, *(1,) * (n - x.dim()), *x.shape) if x.dim() < n else v

    def _different(self, func, name, in_place, args, kwargs):
        func, target, args, kwargs = _out_of_place(func, name, in_place, args, kwargs)
        n = max(x.dim() for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor))
        args, kwargs = tree_map(lambda x: self._values(x, n), (args, kwargs))
        if name in (
            "dropout",
            "alpha_dropout",
        ):  # the noise must be drawn in the order of the samples, not of their memory
            args, kwargs = tree_map(lambda x: x.contiguous() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        if n < _BATCH_OF_ITS_OWN.get(name, 100):
            result = tree_map(lambda t: self.wrap(t, self.level), func(*args, **kwargs))
        else:
            args, kwargs = tree_map(lambda x: x.flatten(0, 1) if isinstance(x, torch.Tensor) else x, (args, kwargs))
            result = self.wrap(func(*args, **kwargs).unflatten(0, (self.size, -1)), self.level)
        return result if target is None else target.copy_(result)

    def _fill(self, func, name, args, kwargs):
        key = next((k for k in ("tensor", "self", "input") if not args and k in kwargs), None)
        x = args[0] if args else kwargs[key]
        others = [t for t in tree_iter((args[1:], {k: v for k, v in kwargs.items() if k != key})) if self.is_batched(t)]
        if others and self.randomness == "same":
            raise RuntimeError(_SAME)
        if others and not self.is_batched(x):
            return func(*args, **kwargs)  # raises the error
        if not self.is_batched(x):
            if self.randomness == "different":
                raise RuntimeError(_UNBATCHED)
            return func(*args, **kwargs)

        def call(target):
            a, k = tree_map(lambda t: self._values(t, x.dim()) if self.is_batched(t) else t, (args[1:], kwargs))
            return func(target, *a, **k) if args else func(**k | {key: target})

        if self.randomness == "same":
            x._value.copy_(call(x._value.new_empty(x.shape)))
        else:
            call(x._value)
        return x


def _sizes(size):
    return (size,) if isinstance(size, int) else tuple(size)


def _out_of_place(func, name, in_place, args, kwargs):
    """Return (function, the tensor it writes to or None, arguments) of a dropout call, in out-of-place form."""
    if in_place:
        return getattr(torch, name), args[0], args, kwargs
    if name not in _DROPOUTS or name == "native_dropout" or not (kwargs.get("inplace") or args[3:] == (True,)):
        return func, None, args, kwargs
    return func, args[0] if args else kwargs["input"], args[:3], {k: v for k, v in kwargs.items() if k != "inplace"}
