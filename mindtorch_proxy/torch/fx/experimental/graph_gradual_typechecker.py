"""Types of the values of a graph by the sizes of tensors, any of which may be left open."""

import itertools
import math
import operator

import torch

from ..node import Node, map_arg
from ..tensor_type import Dyn, TensorType, is_consistent, is_more_precise
from .refinement_types import Equality
from .unification import Var

__all__ = [
    "GraphTypeChecker",
    "Refine",
    "adaptiveavgpool2d_check",
    "adaptiveavgpool2d_inference_rule",
    "add_inference_rule",
    "all_eq",
    "bn2d_inference_rule",
    "broadcast_types",
    "calculate_out_dimension",
    "conv2d_inference_rule",
    "conv_refinement_rule",
    "conv_rule",
    "element_wise_eq",
    "expand_to_tensor_dim",
    "first_two_eq",
    "flatten_check",
    "flatten_inference_rule",
    "flatten_refinement_rule",
    "get_attr_inference_rule",
    "get_greatest_upper_bound",
    "get_parameter",
    "linear_check",
    "linear_inference_rule",
    "linear_refinement_rule",
    "maxpool2d_check",
    "maxpool2d_inference_rule",
    "register_algebraic_expressions_inference_rule",
    "register_inference_rule",
    "register_refinement_rule",
    "relu_inference_rule",
    "reshape_inference_rule",
    "transpose_inference_rule",
]
_INFERENCE_RULES, _REFINEMENT_RULES, _RULES = {}, {}, {}


def _registering(rules, what):
    """The decorator that enters a rule for a function, or a class of modules."""

    def register_for(call_target):
        def register(fn):
            if call_target in rules:
                raise RuntimeError(f"{what} already registered for {call_target}!")
            rules[call_target] = fn
            return fn

        return register

    return register_for


register_inference_rule = _registering(_INFERENCE_RULES, "Inference rule")
register_refinement_rule = _registering(_REFINEMENT_RULES, "Refinement rule")
register_algebraic_expressions_inference_rule = _registering(_RULES, "Rule")


def expand_to_tensor_dim(t, n):
    """A tensor type of ``n`` sizes: of Dyn, all of them open. TypeError for other types and other numbers of sizes."""
    if t == Dyn:
        return TensorType((Dyn,) * n)
    if not isinstance(t, TensorType):
        raise TypeError(f"Cannot match the type {t}")
    if len(t.dims) != n:
        raise TypeError(f"Cannot extend tensor. Tensor {t} has rank {len(t.dims)}. It should have rank {n}")
    return t


def broadcast_types(t1, t2):
    """Both types after broadcasting; open types stay as they are."""
    if any(t == Dyn or isinstance(t, Var) for t in (t1, t2)):
        return t1, t2
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        raise TypeError(f"Cannot broadcast types {t1} and {t2}")
    rank = max(len(t1.dims), len(t2.dims))
    padded = [(1,) * (rank - len(t.dims)) + tuple(t.dims) for t in (t1, t2)]
    pairs = [(b if a == 1 else a, a if b == 1 and a != 1 else b) for a, b in zip(*padded)]
    return tuple(TensorType(tuple(side)) for side in zip(*pairs)) if pairs else (TensorType(()), TensorType(()))


def get_greatest_upper_bound(type1, type2):
    """The most precise type that is consistent with both; TypeError where there is none."""
    if type1 == Dyn or type2 == Dyn:
        return type2 if type1 == Dyn else type1
    if not (isinstance(type1, TensorType) and isinstance(type2, TensorType)):
        return None
    if not is_consistent(type1, type2):
        raise TypeError(f"Inconsistent types {type1}, {type2}")
    return TensorType(tuple(a if is_more_precise(a, b) else b for a, b in zip(type1.dims, type2.dims)))


def calculate_out_dimension(d_in, module_instance, index):
    """One size of what a window slides over: a number, Dyn, or an expression of sympy's."""
    padding, kernel, stride, dilation = (
        (v, v) if isinstance(v, int) else v for v in (module_instance.padding, module_instance.kernel_size, module_instance.stride, module_instance.dilation)
    )
    if d_in == Dyn:
        return Dyn
    if not isinstance(d_in, int) and not hasattr(d_in, "free_symbols"):
        raise TypeError(f"{d_in} in {module_instance} must be a number or Dyn. Received {type(d_in)}")
    return (d_in + 2 * padding[index] - dilation[index] * (kernel[index] - 1) - 1) // stride[0] + 1


def _argument(n):
    """The node whose value the call of ``n`` takes first."""
    if not isinstance(n.args[0], Node):
        raise AssertionError(f"Expected Node, got {type(n.args[0])}")
    return n.args[0]


def _shapes(n):
    """The sizes of a node's first argument and of its own, or None where one of them is no tensor type."""
    argument = _argument(n).type
    return (argument.dims, n.type.dims) if isinstance(argument, TensorType) and isinstance(n.type, TensorType) else None


def _follow(n, output):
    """Give a node the type that ``output`` makes of its argument's, as far as its own does not say more."""
    argument = _argument(n)
    if argument.type == Dyn and isinstance(n.type, TensorType):
        argument.type = expand_to_tensor_dim(argument.type, len(n.type.dims))
    if isinstance(argument.type, TensorType):
        n.type = get_greatest_upper_bound(output(argument.type), n.type)
    return n.type


@register_inference_rule(torch.add)
@register_inference_rule(operator.add)
def add_inference_rule(n):
    """A sum: of a tensor and an int, or of tensors by broadcasting, where the less precise type counts."""
    for arg in n.args[:2]:
        if not isinstance(arg, Node):
            raise AssertionError(f"Expected Node, got {type(arg)}")
    left, right = n.args[:2]
    for number, tensor in ((left.type, right.type), (right.type, left.type)):
        if number is int and isinstance(tensor, TensorType):
            n.type = tensor
            return tensor
    t1, t2 = broadcast_types(left.type, right.type)
    n.meta["broadcast"] = t1 != left.type or t2 != right.type
    if n.meta["broadcast"]:
        n.meta[str(left)], n.meta[str(right)] = t1, t2
    if not is_consistent(t1, t2):
        raise TypeError(f"Cannot add arguments {left} ({left.type}) and {right} ({right.type}) in node {n}. Types should match ")
    n.type = t2 if is_more_precise(t1, t2) else t1
    return n.type


@register_inference_rule(getattr)
def get_attr_inference_rule(n, traced):
    """An attribute: of a tensor's shape no more than that there is one."""
    if n.args[1] != "shape":
        raise TypeError("Not yet implemented")
    n.type = Dyn
    return n.type


@register_inference_rule(torch.transpose)
def transpose_inference_rule(n):
    """Two sizes change places."""
    t, a, b = _argument(n).type, n.args[1], n.args[2]
    if t == Dyn:
        n.type = Dyn
        return n.type
    if not (isinstance(t, TensorType) and 0 <= a < len(t.dims) and 0 <= b < len(t.dims)):
        raise TypeError(f"Cannot transpose {a} and {b} in type {t} for node {n}")
    sizes = list(t.dims)
    sizes[a], sizes[b] = sizes[b], sizes[a]
    n.type = get_greatest_upper_bound(n.type, TensorType(sizes))
    return n.type


@register_inference_rule(torch.reshape)
def reshape_inference_rule(n):
    """The sizes asked for; their product and that of the known sizes of the argument must divide each other."""
    t, sizes = _argument(n).type, n.args[1]
    if not isinstance(sizes, list):
        raise AssertionError(f"Expected list, got {type(sizes)}")
    made = TensorType([Dyn if size == -1 else size for size in sizes])
    if t != Dyn:
        known = math.prod(size for size in t.dims if size != Dyn) if isinstance(t, TensorType) else None
        wanted = math.prod(sizes)
        if known is None or (known % wanted and wanted % known):
            raise TypeError(f"Cannot reshape in node {n} from {t} to {made}")
    n.type = made
    return made


def _refused(n, module_instance, argument):
    return TypeError(f"Cannot apply {module_instance} with input type {argument} and existing type {n.type} on {n}")


@register_inference_rule(torch.nn.BatchNorm2d)
def bn2d_inference_rule(n, module_instance):
    """Four sizes, the second of which is the module's."""
    argument = _argument(n)
    argument.type, n.type = expand_to_tensor_dim(argument.type, 4), expand_to_tensor_dim(n.type, 4)
    features = module_instance.num_features
    if not (is_consistent(argument.type.dims[1], features) and is_consistent(n.type.dims[1], features) and is_consistent(argument.type, n.type)):
        raise _refused(n, module_instance, argument.type)
    n.type = get_greatest_upper_bound(argument.type, n.type)
    return n.type


def _windows(dims, module_instance):
    """The last two sizes of what a window slides over."""
    return tuple(calculate_out_dimension(dims[index - 2], module_instance, index) for index in range(2))


@register_inference_rule(torch.nn.Conv2d)
def conv2d_inference_rule(n, module_instance):
    """Four sizes, the second of which is the module's, and goes over into another."""
    argument = _argument(n)
    argument.type = expand_to_tensor_dim(argument.type, 4)
    own, dims = expand_to_tensor_dim(n.type, 4), argument.type.dims
    if not is_consistent(dims[1], module_instance.in_channels):
        raise _refused(n, module_instance, argument.type)
    n.type = get_greatest_upper_bound(TensorType((dims[0], module_instance.out_channels, *_windows(dims, module_instance))), own)
    return n.type


@register_inference_rule(torch.nn.ReLU)
def relu_inference_rule(n, module_instance):
    """The sizes stay."""
    return _follow(n, lambda t: t)


def maxpool2d_check(typ, module_instance):
    """The type of what is pooled, of three or four sizes."""
    if len(typ.dims) not in (3, 4):
        raise TypeError(f"Wrong size {typ} for {module_instance}")
    return TensorType((*typ.dims[:-2], *_windows(typ.dims, module_instance)))


@register_inference_rule(torch.nn.MaxPool2d)
def maxpool2d_inference_rule(n, module_instance):
    """The last two sizes are the window's."""
    return _follow(n, lambda t: maxpool2d_check(t, module_instance))


def linear_check(tensor_type, module_instance):
    """The type of a linear module's result."""
    dims = tensor_type.dims
    if len(dims) < 2:
        raise TypeError(f"Type {tensor_type} must have rank 2 or more.")
    if not is_consistent(module_instance.in_features, dims[-1]):
        raise TypeError(f"Inconsistent {module_instance.in_features} and {dims[-1]} in {module_instance}")
    return TensorType((*dims[:-1], module_instance.out_features))


@register_inference_rule(torch.nn.Linear)
def linear_inference_rule(n, module_instance):
    """The last size is the module's."""
    return _follow(n, lambda t: linear_check(t, module_instance))


def adaptiveavgpool2d_check(tensor_type, module_instance):
    """The type of what is pooled to the sizes that the module says; of None it says the other one."""
    size = module_instance.output_size
    height, width = (size, size) if isinstance(size, int) else size
    if len(tensor_type.dims) not in (3, 4):
        raise TypeError(f"Tensor ranks must be 3 or 4. Got {tensor_type}")
    return TensorType((*tensor_type.dims[:-2], width if height is None else height, height if width is None else width))


@register_inference_rule(torch.nn.AdaptiveAvgPool2d)
def adaptiveavgpool2d_inference_rule(n, module_instance):
    """The last two sizes are the module's."""
    return _follow(n, lambda t: adaptiveavgpool2d_check(t, module_instance))


def _flattened(rank, start_dim, end_dim):
    """The dimensions that become one: the first, and that after the last."""
    return rank if start_dim == -1 else abs(start_dim), (rank + end_dim if end_dim < 0 else end_dim) + 1


def flatten_check(tensor_type, start_dim, end_dim):
    """The type of a flattened tensor: one size for several, open if one of them is."""
    dims = tuple(tensor_type.dims)
    start, end = _flattened(len(dims), start_dim, end_dim)
    if not 0 <= start < end <= len(dims):
        raise TypeError(f"Incompatible dimensions {start}, {end - 1} in type {tensor_type}")
    middle = dims[start:end]
    return TensorType((*dims[:start], Dyn if Dyn in middle else math.prod(middle), *dims[end:]))


def _flatten_arguments(n):
    """From which dimension to which a call flattens."""
    start, end = (*n.args[1:3], *(1, -1)[len(n.args) - 1 :])
    return start, end


@register_inference_rule(torch.flatten)
def flatten_inference_rule(n):
    """Several sizes become one."""
    return _follow(n, lambda t: flatten_check(t, *_flatten_arguments(n)))


class GraphTypeChecker:
    """Gives every node of a traced module a type.

    ``env`` is kept; rules are those of `register_inference_rule`.
    """

    def __init__(self, env, traced):
        self.env, self.traced = env, traced

    def type_check(self):
        """True when every node has its type; TypeError where types contradict, RuntimeError for what has no rule."""
        for n in self.traced.graph.nodes:
            self.type_check_node(n)
        return True

    def type_check_node(self, n):
        """Give one node a type, by those of its arguments."""
        if n.type is None:
            n.type = Dyn
        if n.op == "get_attr":
            n.type = TensorType(get_parameter(self.traced, n.target).data.shape)
        elif n.op == "output":
            n.type = map_arg(n.args[0], lambda a: a.type)
        elif n.op == "call_function":
            if n.target not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for target {n.target}!")
            return _INFERENCE_RULES[n.target](n, *(self.traced,) * (n.target is getattr))
        elif n.op == "call_module":
            module = self.traced.get_submodule(n.target)
            if type(module) not in _INFERENCE_RULES:
                raise RuntimeError(f"No inference rule registered for class {type(module)}!")
            return _INFERENCE_RULES[type(module)](n, module)
        elif n.op != "placeholder":
            raise NotImplementedError(f"Method {n.op} not yet implemented")
        return n.type


def _equal(n, which):
    """That sizes of a node's first argument are those of its own."""
    shapes = _shapes(n)
    return [] if shapes is None else [Equality(a, b) for a, b in zip(*(dims[which] for dims in shapes))]


@register_refinement_rule(torch.nn.Conv2d)
@register_refinement_rule(torch.nn.Linear)
def conv_refinement_rule(n):
    """The first size stays."""
    return _equal(n, slice(1))


linear_refinement_rule = conv_refinement_rule


@register_refinement_rule(torch.nn.BatchNorm2d)
@register_refinement_rule(torch.nn.ReLU)
def all_eq(n):
    """All sizes stay."""
    return _equal(n, slice(None))


@register_refinement_rule(torch.nn.AdaptiveAvgPool2d)
@register_refinement_rule(torch.nn.MaxPool2d)
def first_two_eq(n):
    """The first two sizes stay."""
    return _equal(n, slice(2))


@register_refinement_rule(torch.add)
@register_refinement_rule(operator.add)
def element_wise_eq(n):
    """The sizes that the arguments have in common are the result's."""
    kinds = [a.type for a in n.args[:2] if isinstance(a, Node)]
    if len(kinds) < 2 or not all(isinstance(t, TensorType) for t in (*kinds, n.type)):
        return []
    left, right = broadcast_types(*kinds)
    return [Equality(a, c) for a, b, c in zip(left.dims, right.dims, n.type.dims) if a == b]


@register_refinement_rule(torch.flatten)
def flatten_refinement_rule(n):
    """The sizes before and after those that become one stay."""
    shapes = _shapes(n)
    if shapes is None:
        return []
    start, end = _flattened(len(shapes[1]), *_flatten_arguments(n))
    return _equal(n, slice(start)) + _equal(n, slice(end, None))


@register_algebraic_expressions_inference_rule(torch.nn.Conv2d)
def conv_rule(n, module_instance):
    """The sizes of a convolution's result as expressions of its argument's."""
    shapes = _shapes(n)
    if shapes is None:
        return None
    n.type = TensorType((*shapes[1][:2], *_windows(shapes[0], module_instance)))
    return n.type


def _mapped(change, typ):
    """A type, its sizes changed."""
    if isinstance(typ, TensorType):
        return TensorType(tuple(_mapped(change, a) for a in typ.dims))
    return type(typ)(_mapped(change, t) for t in typ) if isinstance(typ, (list, tuple)) else change(typ)


class Refine:
    """Finds out which sizes of a traced module are the same: open ones become variables, ``constraints`` say which are equal."""

    def __init__(self, traced):
        self.constraints, self.traced, self.symbol_iter = [], traced, itertools.count()

    def refine(self):
        """Note what every node says of its sizes."""
        for n in self.traced.graph.nodes:
            self.refine_node(n)
        return True

    def symbolic_relations(self):
        """Write variables as symbols of sympy's, and sizes as expressions of them."""
        for n in self.traced.graph.nodes:
            self.infer_symbolic_relations(n)
        return True

    def replace_dyn_with_fresh_var(self, typ):
        """A type, each open size a variable of its own."""
        return _mapped(lambda t: Var(next(self.symbol_iter)) if t == Dyn else t, typ)

    def convert_to_sympy_symbols(self, typ):
        """A type, its variables symbols of sympy's."""
        import sympy

        return _mapped(lambda t: sympy.symbols(str(t)) if isinstance(t, Var) else t, typ)

    def _rule(self, rules, n):
        """The rule for what a node calls, and the module if it is one."""
        if n.op == "call_module":
            module = self.traced.get_submodule(n.target)
            return rules.get(type(module)), (module,)
        return (rules.get(n.target) if n.op == "call_function" else None), ()

    def refine_node(self, n):
        """Note what one node says of its sizes."""
        n.type = self.replace_dyn_with_fresh_var(Dyn if n.type is None else n.type)
        rule, _ = self._rule(_REFINEMENT_RULES, n)
        if rule is not None:
            self.constraints += rule(n)
        return self._output(n)

    def infer_symbolic_relations(self, n):
        """Write the sizes of one node as expressions."""
        n.type = self.convert_to_sympy_symbols(n.type)
        rule, module = self._rule(_RULES, n)
        return self._output(n) if rule is None else rule(n, *module)

    def _output(self, n):
        """The types of what a graph returns; None for other nodes."""
        if n.op != "output":
            return None
        n.type = map_arg(n.args[0], lambda a: a.type)
        return n.type


def get_parameter(traced, target):
    """The parameter of a dotted name; AttributeError if there is none."""
    path, _, name = target.rpartition(".")
    module = traced.get_submodule(path)
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
