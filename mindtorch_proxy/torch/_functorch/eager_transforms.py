"""grad, vjp, jvp and Jacobians of functions, based on autograd.

Inputs become leaves of a new graph. Results keep this graph only if it leads to something outside (an outer transform,
or a parameter that the function uses). Inside vmap, the values of the whole batch are differentiated at once, because
samples do not depend on each other.
"""

import functools

import torch
from torch.autograd import forward_ad
from torch.autograd._basis import _construct_standard_basis_for
from torch.autograd.function import _differentiating, _made_inside, _transforming
from torch.autograd.graph import disable_saved_tensors_hooks

from ..utils._pytree import tree_flatten, tree_iter, tree_map, tree_unflatten
from . import _functionalization
from ._batched import BatchedTensor, _is_batched, _value, _wrap
from .vmap import _LEVELS, vmap


def _batched(x, levels):
    """Return ``x`` as batched at all the given levels."""
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


def _like(x, base):
    """Return ``base`` batched like ``x``."""
    return _wrap(_like(x._value, base), x._level) if isinstance(x, BatchedTensor) else base


def _dense(x):
    """Return a copy if elements share memory, as in an expanded tensor."""
    return x.contiguous() if 0 in x.stride() else x


def _leaf(x):
    """Return a new leaf with the values and tangents of ``x``."""
    leaf = forward_ad._carry(x, x.detach())
    leaf._requiring_grad()
    return leaf


def _settled(x, own, recording=True):
    """Detach ``x`` and its tangents if their graph leads only to ``own``.

    Without recording, detach them always.
    """
    if not x.requires_grad or recording and (x.is_leaf or _leads_outside(x, own)):
        return forward_ad._carry(x, x, lambda t: _settled(t, own, recording))
    return forward_ad._carry(x, x.detach(), lambda t: _settled(t, own, recording))


def _refuse_nothing(what, outputs):
    if not outputs or len(outputs) == 1 and outputs[0] is None:
        raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output (got output = {outputs})")


def _tensors(tree, what=None):
    leaves, spec = tree_flatten(tree)
    if what is not None:
        _refuse_nothing(what.partition(":")[0], leaves)
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise (
                ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
                if what is None
                else RuntimeError(f"{what} {type(x)}")
            )
    return leaves, spec


def _leads_outside(t, own):
    """Whether the graph of ``t`` reaches a leaf that is neither in ``own`` nor created by the function."""
    todo, seen = [t.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and not _made_inside(variable) and not any(variable is x for x in own):
            return True
        todo += [n for n, _ in node.next_functions]
    return False


class _Inputs:
    """New leaves for the inputs to differentiate with respect to."""

    def __init__(self, args):
        self.levels = list(_LEVELS)
        self.leaves, self.spec = _tensors(args)
        self.bases = []
        for x in self.leaves:
            b = _base(_batched(x, self.levels))
            with torch._C.DisableTorchFunction(), torch.enable_grad():
                self.bases.append(b.view_as(b) if b.requires_grad else _leaf(b))
        self.own = [b for b in self.bases if b.is_leaf]

    def fresh(self):
        return tree_unflatten([_rewrap(b, self.levels) for b in self.bases], self.spec)

    def settle(self, tree):
        """Detach the tensors whose graph leads only to these inputs."""

        def one(x):
            if not isinstance(x, torch.Tensor):
                return x
            b = _base(x)
            with torch._C.DisableTorchFunction():
                settled = _settled(b, self.own, torch.is_grad_enabled())
            return x if settled is b else _like(x, settled)

        return tree_map(one, tree)

    def gradients(self, outputs, cotangents, size=None):
        """Return the vector-Jacobian products, with zeros where an output does not depend on an input.

        size: the size of a batch of cotangents, whose first dimension is the batch.
        """
        batch, several = len(self.levels), size is not None
        pairs = [
            (_base(_batched(o, self.levels)), _base(_batched(c, self.levels))) for o, c in zip(outputs, cotangents)
        ]
        with torch._C.DisableTorchFunction(), torch.enable_grad():
            pairs = [(o, c.movedim(batch, 0) if several else c) for o, c in pairs if o.requires_grad]
            grads = (None,) * len(self.bases)
            if pairs:
                settings = {"create_graph": True, "allow_unused": True, "is_grads_batched": several}
                grads = torch.autograd.grad([o for o, _ in pairs], self.bases, [c for _, c in pairs], **settings)
            found = [
                b.new_zeros(((size,) if several else ()) + tuple(b.shape)) if g is None else g
                for g, b in zip(grads, self.bases)
            ]
            return [g.movedim(0, batch).contiguous() for g in found] if several and batch else found


def _given(tree):
    return [_base(x) for x in tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def _call(func, args, kwargs, has_aux, what, others=()):
    with (
        disable_saved_tensors_hooks(_NO_HOOKS),
        torch.enable_grad(),
        _transforming(),
        _differentiating(_given((args, kwargs, others))),
    ):
        out = func(*args, **kwargs)
    return _and_aux(out, what) if has_aux else (out, None)


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


def _and_aux(out, what):
    """Return the (output, aux) of a function with has_aux; aux must contain only tensors."""
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for x in tree_iter(out[1]):
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return out


def vjp(func, *primals, has_aux=False):
    """Return the result and a function that maps cotangents to vector-Jacobian products."""
    return _pull_back(func, primals, has_aux)


def _pull_back(func, primals, has_aux, others=()):
    """Implement vjp() for a function that also gets other tensors."""
    inputs = _Inputs(primals)
    out, aux = _call(func, inputs.fresh(), {}, has_aux, "vjp(f, *primals)", others)
    outputs, out_spec = _tensors(
        out, "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type"
    )

    def pull(cotangents, retain_graph=True, create_graph=None):
        cts, ct_spec = tree_flatten(cotangents)
        if ct_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {ct_spec}, primal output: {out_spec}"
            )
        known = {level for level, _ in inputs.levels}
        extra = max((c._level for c in cts if isinstance(c, BatchedTensor) and c._level not in known), default=None)
        if extra is None:
            grads = [_rewrap(g, inputs.levels) for g in inputs.gradients(outputs, cts)]
        else:  # vmap over this function
            size = next(c._value.shape[0] for c in cts if _is_batched(c, extra))
            values = [_value(c, extra, size) for c in cts]
            if any(
                isinstance(v, BatchedTensor) and v._level not in known for v in values
            ):  # several unknown levels: process the samples one by one
                columns = [pull(tree_unflatten([v[i] for v in values], ct_spec)) for i in range(size)]
                return tree_map(lambda *g: _wrap(torch.stack(g), extra), *columns)
            grads = [_wrap(_rewrap(g, inputs.levels), extra) for g in inputs.gradients(outputs, values, size)]
        return inputs.settle(tree_unflatten(grads, inputs.spec))

    result = inputs.settle(out), pull
    return (*result, inputs.settle(aux)) if has_aux else result


def _pick(args, argnums):
    """Return the arguments to differentiate with respect to, and a function that replaces them."""
    many = isinstance(argnums, tuple)
    if many and not argnums:
        raise RuntimeError("argnums must be non-empty")
    if not many and not isinstance(argnums, int):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for a in argnums if many else ():
        if not isinstance(a, int):
            raise RuntimeError(f"argnum must be int, got: {type(a)}")
    for a in argnums if many else (argnums,):
        if not -len(args) <= a < len(args):
            raise RuntimeError(f"Got argnum={a}, but only {len(args)} positional inputs")
    positions = [a % len(args) for a in (argnums if many else (argnums,))]
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(positions)}")

    def put(values):
        full = list(args)
        for p, v in zip(positions, values):
            full[p] = v
        return full

    return tuple(args[p] for p in positions), put, many


def _slice_argnums(args, argnums, as_tuple=True):
    """Return the arguments at some positions. A single one is returned without a tuple if as_tuple is false."""
    picked, _, many = _pick(args, argnums)
    return picked if many or as_tuple else picked[0]


def grad_and_value(func, argnums=0, has_aux=False):
    """Return a function that computes the gradient of ``func`` and its value."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        picked, put, many = _pick(args, argnums)
        inputs = _Inputs(picked)
        out, aux = _call(func, put(inputs.fresh()), kwargs, has_aux, "grad_and_value(f)(*args)")
        if not isinstance(out, torch.Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(out)}")
        if out.dim() != 0:
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} "
                "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if out.is_complex():
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
        grads = [_rewrap(g, inputs.levels) for g in inputs.gradients([out], [torch.ones_like(out)])]
        grads = inputs.settle(tree_unflatten(grads, inputs.spec))
        out, grads = inputs.settle(out), grads if many else grads[0]
        return (grads, (out, inputs.settle(aux))) if has_aux else (grads, out)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """Return a function that computes the gradient of ``func``, which must return a scalar."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


_JVP = "jvp(f, primals, tangents)"


def _only_tensors(leaves, what):
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {what} to contain at least one Tensor.")
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"{_JVP}: Expected {what} to only contain Tensors, got {type(x)}")


def _unpacked(out, strict):
    """Return an output without its tangent, and the tangent."""
    if not isinstance(out, torch.Tensor):
        raise RuntimeError(
            f"{_JVP}: expected f(*args) to return only tensors, got unsupported type {type(out)}".replace(
                "f(*args)", "f(*primals)"
            )
        )
    with torch._C.DisableTorchFunction():
        primal, tangent = forward_ad.unpack_dual(_base(out))
        if tangent is None:
            if strict:
                raise RuntimeError(
                    f"{_JVP[:-1]}, strict=True): The output of f is independent of the inputs. "
                    "This is not allowed with strict=True."
                )
            tangent = torch.zeros_like(primal)
    return _like(out, primal), _like(out, tangent)


def _push(func, primals, tangents, argnums=None, strict=False, has_aux=False):
    """Implement jvp() with respect to some of the arguments."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    picked, put = (primals, None) if argnums is None else _pick(primals, argnums)[:2]
    points, spec = tree_flatten(picked)
    directions, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {tangent_spec}"
        )
    _only_tensors(points, "primals")
    _only_tensors(directions, "tangents")
    levels = list(_LEVELS)
    with forward_ad._transform_level():
        pairs = [[_base(_batched(x, levels)) for x in pair] for pair in zip(points, directions)]
        with torch._C.DisableTorchFunction():
            pairs = [[_dense(x) for x in pair] if levels else pair for pair in pairs]
            duals = [_rewrap(forward_ad.make_dual(p, t), levels) for p, t in pairs]
        duals = tree_unflatten(duals, spec)
        with (
            _transforming(),
            _differentiating(_given((args := duals if put is None else put(duals), [t for _, t in pairs]))),
        ):
            out, aux = func(*args), None
        if has_aux:
            out, aux = _and_aux(out, _JVP)
        outputs, out_spec = tree_flatten(out)
        _refuse_nothing(_JVP, outputs)
        results = (tree_unflatten(column, out_spec) for column in zip(*(_unpacked(o, strict) for o in outputs)))
        return (*results, aux) if has_aux else tuple(results)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """Return the result and the Jacobian-vector product, computed in forward mode."""
    return _push(func, primals, tangents, None, strict, has_aux)


def linearize(func, *primals):
    """Return the result and a function that maps tangents to Jacobian-vector products at this point."""
    result = func(*primals)
    points, spec = tree_flatten(primals)

    def push(*tangents):
        directions, tangent_spec = tree_flatten(tangents)
        if tangent_spec != spec:
            raise RuntimeError(f"Expected the tangents {tangent_spec} to have the same argspec as the primals {spec}")
        for i, (p, t) in enumerate(zip(points, directions)):
            for what in ("shape", "device", "dtype"):
                have, wanted = getattr(t, what), getattr(p, what)
                if have != wanted:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {have} in flattened pytree doesn't match the {what} {wanted} of "
                        f"the corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return result, push


def _refuse_complex(name, tree, what):
    for i, x in enumerate(tree_flatten(tree)[0]):
        if isinstance(x, torch.Tensor) and x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Return a function that computes the Jacobian in reverse mode.

    For each output and each input, it is a tensor of the shapes of both.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        _refuse_complex("jacrev", args, "inputs")
        picked, put, many = _pick(args, argnums)
        out, pull, *aux = _pull_back(lambda *values: func(*put(values), **kwargs), picked, has_aux, (args, kwargs))
        _refuse_complex("jacrev", out, "outputs")
        outputs, spec = tree_flatten(out)
        rows = []
        for k, o in enumerate(outputs):
            zeros = [torch.zeros_like(p) for p in outputs]
            basis = torch.eye(o.numel(), dtype=o.dtype, device=o.device).reshape(o.numel(), *o.shape)
            shape = tuple(o.shape)
            if 0 not in shape:
                pull_row = lambda row: pull(tree_unflatten([*zeros[:k], row, *zeros[k + 1 :]], spec))  # noqa: B023
                if chunk_size == 1:  # without vmap, which does not support everything
                    products = tree_map(lambda *g: torch.stack(g), *map(pull_row, basis))
                else:
                    products = vmap(pull_row, chunk_size=chunk_size)(basis)
                row = tree_map(lambda g: g.reshape(shape + tuple(g.shape[1:])), products)
            else:
                row = tree_map(lambda x: x.new_zeros(shape + tuple(x.shape)), picked)
            rows.append(row if many else row[0])
        result = tree_unflatten(rows, spec)
        return (result, aux[0]) if has_aux else result

    return wrapper


def standard_basis(tensors):
    """Return the standard basis of the space of all tensors together, as one batch of vectors for each tensor."""
    sizes = [t.numel() for t in tensors]
    return [part.view(sum(sizes), *t.shape) for part, t in zip(_construct_standard_basis_for(tensors, sizes), tensors)]


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """Return a function that computes the Jacobian in forward mode, with one vmapped pass for all directions."""

    @functools.wraps(func)
    def wrapper(*args):
        _refuse_complex("jacfwd", args, "inputs")
        picked = args if argnums is None else _pick(args, argnums)[0]
        points, spec = tree_flatten(picked)
        _only_tensors(points, "primals")

        def push(directions):
            out, pushed, *aux = _push(func, args, directions, argnums, has_aux=has_aux)
            _refuse_complex("jacfwd", out, "outputs")
            return pushed, *aux

        pushed, *aux = vmap(push, randomness=randomness)(tree_unflatten(standard_basis(points), spec))
        columns, out_spec = tree_flatten(pushed)
        sizes = [p.numel() for p in points]
        parts = [
            tree_unflatten(
                [
                    part.reshape((*part.shape[:-1], *p.shape))
                    for part, p in zip(c.movedim(0, -1).split(sizes, -1), points)
                ],
                spec,
            )
            for c in columns
        ]
        result = tree_unflatten([p[0] for p in parts] if isinstance(argnums, int) else parts, out_spec)
        return (result, tree_map(lambda x: x[0], aux[0])) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """Return a function that computes the Hessian, forward over reverse."""
    return jacfwd(jacrev(func, argnums), argnums)


def _no_custom_functions(function, args, kwargs):
    raise RuntimeError("NYI: Functionalize rule for custom_function_call")


def _changed(x, change):
    """Return a tensor with its underlying tensor changed."""
    before = _base(x)
    after = change(before)
    return x if after is before else _like(x, after)


def functionalize(func, *, remove="mutations"):
    """Return ``func`` without visible mutations.

    Only the inputs are written to, at the end. With ``remove="mutations_and_views"``, views are replaced by copies too.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations'\n     remove='mutations_and_views'"
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with _transforming(_no_custom_functions):
            return _functionalization.run(
                func, args, kwargs, _given((args, kwargs)), remove == "mutations_and_views", _changed
            )

    return wrapped
