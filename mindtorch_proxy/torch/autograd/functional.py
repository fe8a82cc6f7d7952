"""torch.autograd.functional: Jacobians, Hessians and products with them."""

import torch

from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.autograd import enable_grad, grad, set_grad_enabled

from ._basis import _construct_standard_basis_for

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]
_NOT_STRICT = "This is not allowed in strict mode"


def _tuple(x, what, fn):
    """Return (whether x was a tuple, the tensors as a tuple)."""
    is_tuple = isinstance(x, tuple)
    given = x if is_tuple else (x,)
    for i, t in enumerate(given):
        if not isinstance(t, torch.Tensor):
            where = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(
                f"The {what} given to {fn} must be either a Tensor or a tuple of Tensors but the {where} has type "
                f"{type(t)}."
            )
    return is_tuple, given


def _fresh(inputs, create_graph, need_graph=True):
    """Return new tensors for the inputs, to distinguish them from the same tensors captured by the function."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in inputs
    )


def _finished(tensors, create_graph, is_tuple):
    tensors = tuple(t if create_graph else t.detach() for t in tensors)
    return tensors if is_tuple else tensors[0]


def _vector(v, like, is_tuple, create_graph, fn):
    """Return v as a tuple, after a check of its sizes."""
    v = _fresh(_tuple(v, "v", fn)[1], create_graph, False)
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            if is_tuple
            else "The given v should contain a single Tensor."
        )
    for i, (a, b) in enumerate(zip(v, like)):
        if a.size() != b.size():
            raise RuntimeError(
                f"{f'Entry {i} in ' if is_tuple else ''}v has invalid size: should be {b.size()} but got {a.size()}."
            )
    return v


def _one_element(tensors, of):
    if len(tensors) != 1 or tensors[0].numel() != 1:
        raise RuntimeError(f"The vector v can only be None if {of} a single Tensor with a single element.")


_OF_INPUT, _OF_RESULT = "the input to the user-provided function is", "the user-provided function returns"
_INDEPENDENT = {  # error messages of strict mode, for tensors that do not require grad
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in "
    "a differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function. "
    + _NOT_STRICT
    + ".",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {} is independent of the input. "
    + _NOT_STRICT
    + ". You should ensure that your function is twice differentiable and that the jacobian depends on the inputs "
    "(this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. "
    + _NOT_STRICT
    + ". You should ensure that your function is thrice differentiable and that the hessian depends on the inputs.",
}
_OUTPUT = "The output of the user-provided function is independent of input {}. " + _NOT_STRICT + "."
_UNUSED = {  # error messages of strict mode, for gradients that are None
    "back": _OUTPUT,
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
    "the double backward trick to compute forward mode gradients. " + _NOT_STRICT + ".",
    "double_back": "The jacobian of the user-provided function is independent of input {}. " + _NOT_STRICT + ".",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. "
    + _NOT_STRICT
    + " as it prevents from using the double backward trick to replace forward mode AD.",
}


def _check_dependent(tensors, kind, strict):
    for i, t in enumerate(tensors if strict else ()):
        if t is None or not t.requires_grad:
            raise RuntimeError((_OUTPUT if t is None else _INDEPENDENT[kind]).format(i))


def _gradients(outputs, inputs, vectors=None, create_graph=False, retain_graph=None, run_batches=None):
    """Return gradients, or None where there are none.

    run_batches: the function that runs backward for vectors that are batches.
    """
    vectors = vectors or (None,) * len(outputs)
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, vectors = zip(*pairs)
    settings = {"create_graph": create_graph, "retain_graph": retain_graph, "run_batches": run_batches}
    return grad(outputs, inputs, vectors, allow_unused=True, **settings)


def _filled(grads, like, strict, create_graph, stage):
    """Replace gradients that are None by zeros; raise an error for them in strict mode."""
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(_UNUSED[stage].format(i))
        if create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. "
                f"{_NOT_STRICT} when create_graph=True."
            )
    return tuple(torch.zeros_like(t) if g is None else g for g, t in zip(grads, like))


def _run(func, inputs, strict, fn):
    is_tuple, outputs = _tuple(func(*inputs), "outputs of the user-provided function", fn)
    _check_dependent(outputs, "outputs", strict)
    return is_tuple, outputs


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (outputs, v^T J)."""
    with enable_grad():
        is_tuple, inputs = _tuple(inputs, "inputs", "vjp")
        inputs = _fresh(inputs, create_graph)
        out_tuple, outputs = _run(func, inputs, strict, "vjp")
        if v is None:
            _one_element(outputs, _OF_RESULT)
        else:
            v = _vector(v, outputs, out_tuple, create_graph, "vjp")
    with set_grad_enabled(create_graph or CONTEXT.grad):
        products = _filled(_gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return _finished(outputs, create_graph, out_tuple), _finished(products, create_graph, is_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (outputs, J v), computed by differentiating v^T J with respect to v."""
    with enable_grad():
        is_tuple, inputs = _tuple(inputs, "inputs", "jvp")
        inputs = _fresh(inputs, create_graph)
        if v is None:
            _one_element(inputs, _OF_INPUT)
            v = (torch.ones_like(inputs[0]),)
        else:
            v = _vector(v, inputs, is_tuple, create_graph, "jvp")
        out_tuple, outputs = _run(func, inputs, strict, "jvp")
        us = tuple(torch.zeros_like(o, requires_grad=True) for o in outputs)
        pulled = _gradients(outputs, inputs, us, True)
        _check_dependent(pulled, "grad_inputs", strict)
    with set_grad_enabled(create_graph or CONTEXT.grad):
        products = _filled(_gradients(pulled, us, v, create_graph), outputs, strict, create_graph, "back_trick")
    return _finished(outputs, create_graph, out_tuple), _finished(products, create_graph, out_tuple)


_STRATEGIES = ("forward-mode", "reverse-mode")


def _check_forward(strict, vectorize):
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            "together (yet). "
            'Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )


def _forward_jacobian(func, inputs, strict, vectorize):
    """Compute the Jacobian from the products with all unit vectors, in one pass."""
    from torch._functorch.eager_transforms import jvp, vmap

    _check_forward(strict, vectorize)
    is_tuple, inputs = _tuple(inputs, "inputs", "jacobian")
    out_tuple = []

    def push(*directions):
        def outputs(*xs):
            was_tuple, outs = _tuple(func(*xs), "outputs", "jacobian")
            out_tuple.append(was_tuple)
            return outs

        return jvp(outputs, inputs, tuple(d.view_as(t) for t, d in zip(inputs, directions)))[1]

    sizes, rows = [t.numel() for t in inputs], []
    for pushed in vmap(push)(*_construct_standard_basis_for(inputs, sizes)):
        parts = [c.movedim(0, -1).reshape(c.shape[1:] + t.shape) for c, t in zip(pushed.split(sizes, 0), inputs)]
        rows.append(parts if is_tuple else parts[0])
    return rows if out_tuple[0] else rows[0]


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Return the Jacobian, of shape output shape + input shape, in nested tuples if outputs or inputs are tuples."""
    if strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
                "supported together (yet). "
                'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        is_tuple, inputs = _tuple(inputs, "inputs", "jacobian")
        inputs = _fresh(inputs, create_graph)
        out_tuple, outputs = _run(func, inputs, strict, "jacobian")
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            rows = _rows_at_once(outputs, inputs, create_graph)
        else:
            rows = [_rows(i, o, inputs, create_graph, strict) for i, o in enumerate(outputs)]
    rows = tuple(_finished(r, create_graph, is_tuple) for r in rows)
    return rows if out_tuple else rows[0]


def _rows_at_once(outputs, inputs, create_graph):
    """Return the Jacobians as one list for each output, with a tensor for each input.

    They are computed in one pass with all unit vectors as a batch.
    """
    from torch._functorch.vmap import run_batches

    sizes = tuple(o.numel() for o in outputs)
    vectors = _construct_standard_basis_for(outputs, sizes)
    # create a graph, so that formulas use composite operators, which have batching rules unlike fused kernels
    found = _gradients([o.reshape(-1) for o in outputs], inputs, vectors, True, None, run_batches)
    columns = [
        (x.new_zeros(()).expand((sum(sizes), *x.shape)) if g is None else g).split(sizes, 0)
        for g, x in zip(found, inputs)
    ]
    return [[c[i].view(o.shape + x.shape) for c, x in zip(columns, inputs)] for i, o in enumerate(outputs)]


def _rows(i, output, inputs, create_graph, strict):
    """Return the Jacobian of one output as a tensor for each input."""
    columns = [[] for _ in inputs]
    elements = output.reshape(-1)
    for j in range(len(elements)):
        found = _gradients((elements[j],), inputs, None, create_graph, True)
        for k, (column, g, x) in enumerate(zip(columns, found, inputs)):
            if strict and g is None:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {k}. {_NOT_STRICT}."
                )
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. "
                    f"{_NOT_STRICT} when create_graph=True."
                )
            column.append(torch.zeros_like(x) if g is None else g)
    return [
        torch.stack(c).view(output.shape + x.shape) if c else x.new_zeros(output.shape + x.shape)
        for c, x in zip(columns, inputs)
    ]


def _scalar(out, fn, strict):
    """Check that a function returned a single number, and return it."""
    is_tuple, outputs = _tuple(out, "outputs of the user-provided function", fn)
    _check_dependent(outputs, "outputs", strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {fn} should return a single Tensor")
    if out.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {fn} should contain a single element")
    return out


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Return the Hessian of a function that returns a single number."""
    is_tuple, inputs = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*xs):
        return _scalar(func(*xs), "hessian", strict).squeeze()

    if outer_jacobian_strategy == "forward-mode":
        from torch._functorch.eager_transforms import hessian

        _check_forward(strict, vectorize)
        rows = [list(r) for r in hessian(number, tuple(range(len(inputs))))(*inputs)]
    else:

        def gradient(*xs):
            found = jacobian(number, xs, create_graph=True)
            _check_dependent(found, "jacobian", strict)
            return found

        rows = jacobian(gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize)
    return rows if is_tuple else rows[0][0]


def _with_gradient(func, inputs, v, create_graph, strict, fn):
    """Return (whether the inputs were a tuple, inputs, v, the output, its gradient).

    The gradient can be differentiated again.
    """
    is_tuple, inputs = _tuple(inputs, "inputs", fn)
    inputs = _fresh(inputs, create_graph)
    if v is None:
        _one_element(inputs, _OF_INPUT)
    else:
        v = _vector(v, inputs, is_tuple, create_graph, fn)
    output = _scalar(func(*inputs), fn, strict)
    gradient = _gradients((output,), inputs, None, True)
    _check_dependent(gradient, "jacobian", strict)
    return is_tuple, inputs, v, output, gradient


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (value, v^T H) for a function that returns a single number."""
    with enable_grad():
        is_tuple, inputs, v, output, gradient = _with_gradient(func, inputs, v, create_graph, strict, "vhp")
    with set_grad_enabled(create_graph or CONTEXT.grad):
        products = _filled(_gradients(gradient, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return _finished((output,), create_graph, False), _finished(products, create_graph, is_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return (value, H v) for a function that returns a single number."""
    with enable_grad():
        is_tuple, inputs, v, output, gradient = _with_gradient(func, inputs, v, create_graph, strict, "hvp")
        us = tuple(torch.zeros_like(x, requires_grad=True) for x in inputs)
        pulled = _gradients(gradient, inputs, us, True)
        _check_dependent(gradient, "hessian", strict)
    with set_grad_enabled(create_graph or CONTEXT.grad):
        products = _filled(_gradients(pulled, us, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return _finished((output,), create_graph, False), _finished(products, create_graph, is_tuple)
