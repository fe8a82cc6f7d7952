"""Types of a graph after what is known to be equal."""

from ..tensor_type import TensorType
from .graph_gradual_typechecker import Refine
from .unification import Var, unify

__all__ = [
    "check_for_type_equality",
    "convert_eq",
    "infer_symbolic_types",
    "infer_symbolic_types_single_pass",
    "substitute_all_types",
    "substitute_solution_one_type",
    "unify_eq",
]


def _pass(traced):
    refined = Refine(traced)
    refined.refine()
    substitute_all_types(traced.graph, unify_eq(refined.constraints))
    return refined


def infer_symbolic_types_single_pass(traced):
    """Give open sizes variables, and those that are equal the same one."""
    _pass(traced)


def infer_symbolic_types(traced):
    """The same twice, as sums need; sizes become expressions of sympy's."""
    _pass(traced)
    _pass(traced).symbolic_relations()


def convert_eq(list_of_eq):
    """The left sides of equalities and the right ones."""
    return tuple(e.lhs for e in list_of_eq), tuple(e.rhs for e in list_of_eq)


def unify_eq(list_of_eq):
    """What variables are by equalities."""
    return unify(*convert_eq(list_of_eq))


def substitute_solution_one_type(mapping, t):
    """A type, its variables replaced once."""
    if isinstance(t, Var):
        return mapping.get(t, t)
    if isinstance(t, TensorType):
        return TensorType(tuple(mapping.get(size, size) for size in t.dims))
    return type(t)(substitute_solution_one_type(mapping, part) for part in t) if isinstance(t, (list, tuple)) else t


def substitute_all_types(graph, mapping):
    """Replace the variables in the types of a graph by what they are, however many steps away."""
    for variable in mapping:
        while mapping[variable] in mapping:
            mapping[variable] = mapping[mapping[variable]]
    for n in graph.nodes:
        n.type = substitute_solution_one_type(mapping, n.type)


def check_for_type_equality(g1, g2):
    """Whether the nodes of two graphs have the same types."""
    return all(n.type == m.type for n, m in zip(g1.nodes, g2.nodes))
