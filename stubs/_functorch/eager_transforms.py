"""grad, vjp, jvp and Jacobians of functions, by autograd.

Inputs get a graph of their own; what comes out keeps it only as far as it leads to something outside (an outer transform, a parameter
that the function uses). Inside vmap the values of the whole batch are differentiated at once: samples do not depend on each other.
"""

import functools

import torch

from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .vmap import _LEVELS, BatchedTensor, _is_batched, _wrap


def _batched(x, levels):
    """``x`` as batched at all the levels."""
    if not levels:
        return x
    (level, size), rest = levels[-1], levels[:-1]
    inner = x._value if isinstance(x, BatchedTensor) and x._level == level else x.expand(size, *x.shape)
    return _wrap(_batched(inner, rest), level)


def _base(x):
    while isinstance(x, BatchedTensor):
        x = x._value
    return x


def _rewrap(base, levels):
    def build(value, rest):
        return value if not rest else _wrap(build(value, rest[:-1]), rest[-1][0])

    return build(base, levels)


def _tensors(tree, what):
    leaves, spec = tree_flatten(tree)
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"{what}, got {type(x)}")
    return leaves, spec


def _leads_outside(t, own):
    """Whether the graph of ``t`` reaches a leaf that is not one of ``own``."""
    todo, seen = [t.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and not any(variable is x for x in own):
            return True
        todo += [n for n, _ in node.next_functions]
    return False


class _Inputs:
    """Fresh copies of the inputs to differentiate by."""

    def __init__(self, args):
        self.levels = list(_LEVELS)
        self.leaves, self.spec = _tensors(args, "Expected all tensors in the differentiated inputs")
        self.bases = []
        for x in self.leaves:
            b = _base(_batched(x, self.levels))
            with torch._C.DisableTorchFunction(), torch.enable_grad():
                self.bases.append(b.view_as(b) if b.requires_grad else b.detach().requires_grad_())
        self.own = [b for b in self.bases if b.is_leaf]

    def fresh(self):
        return tree_unflatten([_rewrap(b, self.levels) for b in self.bases], self.spec)

    def settle(self, tree):
        """The tensors without a graph that only leads here."""

        def one(x):
            if not isinstance(x, torch.Tensor):
                return x
            b = _base(x)
            return x if not b.requires_grad or b.is_leaf or _leads_outside(b, self.own) else x.detach()

        return tree_map(one, tree)

    def gradients(self, outputs, cotangents):
        """The products of cotangents with the derivatives; zeros where an output does not depend on an input."""
        pairs = [(_base(_batched(o, self.levels)), _base(_batched(c, self.levels))) for o, c in zip(outputs, cotangents)]
        with torch._C.DisableTorchFunction(), torch.enable_grad():
            pairs = [(o, c) for o, c in pairs if o.requires_grad]
            if not pairs:
                return [torch.zeros_like(b) for b in self.bases]
            grads = torch.autograd.grad([o for o, _ in pairs], self.bases, [c for _, c in pairs], create_graph=True, allow_unused=True)
            return [torch.zeros_like(b) if g is None else g for g, b in zip(grads, self.bases)]


def _call(func, args, has_aux):
    with torch.enable_grad():
        out = func(*args)
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(f"{getattr(func, '__name__', func)}(*args): output of function should be a tuple: (output, aux) if has_aux is True")
    return out


def vjp(func, *primals, has_aux=False):
    """The result, and a function from cotangents to their products with the derivative."""
    inputs = _Inputs(primals)
    out, aux = _call(func, inputs.fresh(), has_aux)
    outputs, out_spec = _tensors(out, "vjp(f, *primals): Expected f(*primals) to return only tensors")

    def pull(cotangents, retain_graph=True, create_graph=None):
        cts, ct_spec = tree_flatten(cotangents)
        if ct_spec != out_spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {ct_spec}, primal output: {out_spec}"
            )
        known = {level for level, _ in inputs.levels}
        extra = max((c._level for c in cts if isinstance(c, BatchedTensor) and c._level not in known), default=None)
        if extra is not None:  # vmap over this function: one sample after the other
            size = next(c._value.shape[0] for c in cts if _is_batched(c, extra))
            columns = [pull(tree_unflatten([c._value[i] if _is_batched(c, extra) else c for c in cts], ct_spec)) for i in range(size)]
            return tree_map(lambda *g: _wrap(torch.stack(g), extra), *columns)
        grads = [_rewrap(g, inputs.levels) for g in inputs.gradients(outputs, cts)]
        return inputs.settle(tree_unflatten(grads, inputs.spec))

    result = inputs.settle(out), pull
    return (*result, inputs.settle(aux)) if has_aux else result


def _pick(args, argnums):
    """The arguments to differentiate by, and a function that puts others in their place."""
    many = isinstance(argnums, tuple)
    if many and not argnums:
        raise RuntimeError("argnums must be non-empty")
    if not all(isinstance(a, int) for a in (argnums if many else (argnums,))):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for a in argnums if many else (argnums,):
        if not -len(args) <= a < len(args):
            raise RuntimeError(f"Got argnum={a}, but only {len(args)} positional inputs")
    positions = [a % len(args) for a in (argnums if many else (argnums,))]

    def put(values):
        full = list(args)
        for p, v in zip(positions, values):
            full[p] = v
        return full

    return tuple(args[p] for p in positions), put, many


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func`` and its value."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        picked, put, many = _pick(args, argnums)
        inputs = _Inputs(picked)
        out, aux = _call(lambda *values: func(*put(values), **kwargs), inputs.fresh(), has_aux)
        if not isinstance(out, torch.Tensor):
            raise RuntimeError(f"Expected f(*args) to return a tensor, got {type(out)}")
        if out.dim() != 0:
            raise RuntimeError(
                f"Expected f(*args) to return a scalar tensor, got tensor with {out.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        grads = [_rewrap(g, inputs.levels) for g in inputs.gradients([out], [torch.ones_like(out)])]
        grads = inputs.settle(tree_unflatten(grads, inputs.spec))
        out, grads = inputs.settle(out), grads if many else grads[0]
        return (grads, (out, inputs.settle(aux))) if has_aux else (grads, out)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func``, which must return one number."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """The result and the product of the derivative with tangents: the derivative of a vjp by its cotangents."""
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a non-empty tuple, got {type(primals)}.")
    inputs = _Inputs(primals)
    directions, spec = tree_flatten(tangents)
    if spec != inputs.spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. Got primals with "
            f"structure {inputs.spec} but tangents with structure {spec}"
        )
    out, aux = _call(func, inputs.fresh(), has_aux)
    outputs, out_spec = _tensors(out, "jvp(f, primals, tangents): Expected f(*primals) to return only tensors")
    directions = [_base(_batched(d, inputs.levels)) for d in directions]
    with torch._C.DisableTorchFunction(), torch.enable_grad():
        bases = [_base(_batched(o, inputs.levels)) for o in outputs]
        live = [o for o in bases if o.requires_grad]
        dummies = [torch.zeros_like(o, requires_grad=True) for o in live]
        grads = torch.autograd.grad(live, inputs.bases, dummies, create_graph=True, allow_unused=True) if live else []
        used = [(g, d) for g, d in zip(grads, directions) if g is not None and g.requires_grad]
        pushed = []
        if used:
            pushed = torch.autograd.grad([g for g, _ in used], dummies, [d for _, d in used], create_graph=True, allow_unused=True)
    pushed = {id(o): p for o, p in zip(live, pushed)}
    inputs.own += dummies
    result = [_rewrap(torch.zeros_like(o) if pushed.get(id(o)) is None else pushed[id(o)], inputs.levels) for o in bases]
    result = inputs.settle(out), inputs.settle(tree_unflatten(result, out_spec))
    return (*result, inputs.settle(aux)) if has_aux else result


def linearize(func, *primals):
    """The result, and the function from tangents to their products with the derivative there."""

    def push(*tangents):
        return jvp(func, primals, tangents)[1]

    return func(*primals), push


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian: for each output, for each input, a tensor of both shapes."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        picked, put, many = _pick(args, argnums)
        out, pull, *aux = vjp(lambda *values: func(*put(values), **kwargs), *picked, has_aux=has_aux)
        outputs, spec = tree_flatten(out)
        rows = []
        for k, o in enumerate(outputs):
            zeros = [torch.zeros_like(p) for p in outputs]
            basis = torch.eye(o.numel(), dtype=o.dtype, device=o.device).reshape(o.numel(), *o.shape)
            products = [pull(tree_unflatten([*zeros[:k], row, *zeros[k + 1 :]], spec)) for row in basis]
            shape = tuple(o.shape)
            if products:
                row = tree_map(lambda *g: torch.stack(g).reshape(shape + tuple(g[0].shape)), *products)
            else:
                row = tree_map(lambda x: x.new_zeros(shape + tuple(x.shape)), picked)
            rows.append(row if many else row[0])
        result = tree_unflatten(rows, spec)
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian; its values do not depend on the mode, so it is taken in reverse."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that gives the second derivatives."""
    return jacrev(jacrev(func, argnums), argnums)


def functionalize(func, *, remove="mutations"):
    """``func``: what it computes is the same with or without operators that work in place."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations'\n     remove='mutations_and_views'"
        )
    return func
