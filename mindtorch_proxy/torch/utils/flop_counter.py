"""torch.utils.flop_counter: counts the floating-point operations of matrix products and convolutions.

Counts are grouped by module and operator.
"""

import collections
import functools
import math
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]
aten = torch.ops.aten
flop_registry: dict = {}


def _shape(x):
    return x.shape if isinstance(x, torch.Tensor) else x


def _of_shapes(f):
    """Turn a formula over shapes into one over the arguments of a call and its result, out_val."""

    @functools.wraps(f)
    def formula(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return formula


def register_flop_formula(targets, get_raw=False):
    """Return a decorator that registers the formula for packets (torch.ops.NAMESPACE.NAME).

    The formula returns the number of operations of a call. It is called as f(*args, out_shape=..., **kwargs) with
    shapes in place of tensors; with get_raw, as f(*args, out_val=..., **kwargs) with the tensors.
    """

    def register(formula):
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, torch._ops.OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type "
                    f"{type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Return the operations of a product of (m, k) and (k, n)."""
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Return the operations of mm; the additions are not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Return the operations of a product of (b, m, k) and (b, k, n)."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Return the operations of bmm; the additions are not counted."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Return the operations of a convolution of x (batch, channels, ...) with w (out, in / groups, ...)."""
    return 2 * x_shape[0] * math.prod((x_shape if transposed else out_shape)[2:]) * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Return the operations of the forward of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_shape,
    x_shape,
    w_shape,
    _bias,
    _stride,
    _padding,
    _dilation,
    transposed,
    _extra,
    _groups,
    output_mask,
    out_shape=None,
):
    """Return the operations of the backward of a convolution: one convolution for each gradient in output_mask."""
    flop = 0
    if output_mask[0]:
        flop += conv_flop_count(grad_shape, w_shape, x_shape, not transposed)
    if output_mask[1]:
        small, large = (grad_shape, x_shape) if transposed else (x_shape, grad_shape)
        flop += 2 * small[1] * math.prod(w_shape[2:]) * math.prod(large)  # groups are ignored, as in PyTorch
    return flop


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Return the operations of scaled_dot_product_attention: two products for each head, of scores and of values."""
    b, h, s, d = query_shape
    return 2 * b * h * s * key_shape[-2] * (d + value_shape[-1])


# -------------------------------------------------------- kernels here that are several operators in PyTorch
def _linear(mode, out, x, weight, bias=None):
    return aten.mm if bias is None else aten.addmm, 2 * out.numel() * weight.shape[-1]


def _matmul(mode, out, a, b):
    several = a.ndim > 2 and b.ndim > 2
    return aten.bmm if several else aten.mm, 2 * out.numel() * a.shape[-1] if a.ndim > 1 and b.ndim > 1 else 0


_KERNELS = {"linear": _linear, "matmul": _matmul}


class FlopCounterMode:
    """Counts the operations of matrix products and convolutions within the block, forward and backward.

    display: whether to print the table at the end.
    depth: the depth of the modules in the table.
    custom_mapping: {packet: formula}, in addition to the registered ones; a formula with `_get_raw` gets tensors.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display, self.mode = depth, display, None
        self.flop_counts = collections.defaultdict(lambda: collections.defaultdict(int))
        own = {k: f if getattr(f, "_get_raw", False) else _of_shapes(f) for k, f in (custom_mapping or {}).items()}
        self.flop_registry = flop_registry | own
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self):
        """Return the total number of operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """Return {module: {packet: operations}}; the module "Global" has the total."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """Return the counts as a table; needs the package tabulate, as PyTorch does."""
        try:
            import tabulate
        except ImportError:
            raise ModuleNotFoundError(
                "FlopCounterMode's table needs the package tabulate, as PyTorch's does", name="tabulate"
            ) from None
        tabulate.PRESERVE_WHITESPACE = True
        depth, total = depth or self.depth or math.inf, self.get_total_flops()
        suffix, rows, covered = get_suffix_str(total), [], False

        def lines(module, indent):
            counts = self.flop_counts[module]
            named = [(indent + module, sum(counts.values())), *((f"{indent} - {op}", n) for op, n in counts.items())]
            return [[name, convert_num_with_suffix(n, suffix), convert_to_percent_str(n, total)] for name, n in named]

        for module in sorted(self.flop_counts):
            level = module.count(".")
            if module != "Global" and level < depth:
                covered = covered or sum(self.flop_counts[module].values()) >= total
                rows += lines(module, " " * level)
        if "Global" in self.flop_counts and not covered:
            rows = lines("Global", "") + [[" " + row[0], *row[1:]] for row in rows]
        return tabulate.tabulate(
            rows or [["Global", "0", "0%"]], headers=["Module", "FLOP", "% Total"], colalign=("left", "right", "right")
        )

    def __enter__(self):
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counter(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc):
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    @property
    def backward(self):
        """Whether a backward pass is running."""
        return self.mod_tracker.is_bw

    def _count(self, packet, out, args, kwargs):
        kernel = _KERNELS.get(packet.__name__)
        if packet in self.flop_registry and (
            kernel is None or self.flop_registry[packet] is not flop_registry.get(packet)
        ):
            n = self.flop_registry[packet](*args, **kwargs, out_val=out)
        elif kernel is not None:
            packet, n = kernel(self, out, *args, **kwargs)
            if not n:
                return
        else:
            return
        for module in set(self.mod_tracker.parents):
            self.flop_counts[module][packet] += n


class _Counter(TorchDispatchMode):
    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.counter._count(func.overloadpacket, out, args, kwargs)
        return out


_SUFFIXES = ["", "K", "M", "B", "T"]


def get_suffix_str(number):
    """Return the unit in which a number has two to four digits before the decimal point."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number, suffix):
    """Return a number in a unit: 1234567 in "M" is "1.235M"."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """Return num / denom in percent, as text."""
    return f"{num / denom:.2%}" if denom else "0%"
