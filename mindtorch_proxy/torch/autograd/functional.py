"""torch.autograd.functional: Jacobians, Hessians and products with them, by (double) backward."""

import torch

from mindtorch_proxy.runtime.autograd import enable_grad, grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]


def _tuple(x, what, fn):
    if isinstance(x, torch.Tensor):
        return False, (x,)
    if not isinstance(x, tuple) or not all(isinstance(t, torch.Tensor) for t in x):
        raise TypeError(f"The {what} given to {fn} must be either a Tensor or a tuple of Tensors but the value of type {type(x)} is neither.")
    return True, x


def _leaves(inputs, create_graph):
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _run(func, inputs, create_graph, fn):
    is_tuple, inputs = _tuple(inputs, "inputs", fn)
    with enable_grad():
        inputs = _leaves(inputs, create_graph)
        out_tuple, outputs = _tuple(func(*inputs), "outputs of the user-provided function", fn)
    return is_tuple, inputs, out_tuple, outputs


def _pack(is_tuple, xs, create_graph=True):
    xs = tuple(x if create_graph else x.detach() for x in xs)
    return xs if is_tuple else xs[0]


def _zeros(gs, like, strict, what):
    if strict and any(g is None for g in gs):
        raise RuntimeError(f"The output of the user-provided function is independent of {what}. This is not allowed in strict mode.")
    return tuple(torch.zeros_like(t) if g is None else g for g, t in zip(gs, like))


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J)."""
    is_tuple, inputs, out_tuple, outputs = _run(func, inputs, create_graph, "vjp")
    if v is None:
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single element.")
        v = (torch.ones_like(outputs[0]),)
    else:
        v = _tuple(v, "v", "vjp")[1]
    with enable_grad():
        gs = (
            grad(
                [o for o in outputs if o.requires_grad],
                inputs,
                [x for o, x in zip(outputs, v) if o.requires_grad],
                create_graph=create_graph,
                allow_unused=True,
            )
            if any(o.requires_grad for o in outputs)
            else (None,) * len(inputs)
        )
    return _pack(out_tuple, outputs, create_graph), _pack(is_tuple, _zeros(gs, inputs, strict, "an input"), create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v), by differentiating v^T J with respect to v."""
    is_tuple, inputs, out_tuple, outputs = _run(func, inputs, create_graph, "jvp")
    if v is None:
        if len(inputs) != 1 or inputs[0].numel() != 1:
            raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.")
        v = (torch.ones_like(inputs[0]),)
    else:
        v = _tuple(v, "v", "jvp")[1]
    with enable_grad():
        us = tuple(torch.zeros_like(o, requires_grad=True) for o in outputs)
        gs = _zeros(grad(outputs, inputs, us, create_graph=True, allow_unused=True), inputs, strict, "an input")
        keep = [(g, x) for g, x in zip(gs, v) if g.requires_grad]
        res = grad([g for g, _ in keep], us, [x for _, x in keep], create_graph=create_graph, allow_unused=True) if keep else (None,) * len(us)
    return _pack(out_tuple, outputs, create_graph), _pack(out_tuple, _zeros(res, outputs, strict, "the input"), create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian, output shape + input shape, nested by outputs and inputs as they are tuples."""
    is_tuple, inputs, out_tuple, outputs = _run(func, inputs, create_graph, "jacobian")
    rows = []
    with enable_grad():
        for o in outputs:
            cols = [[] for _ in inputs]
            for j in range(o.numel()):
                gs = (
                    grad(o.reshape(-1)[j], inputs, retain_graph=True, create_graph=create_graph, allow_unused=True)
                    if o.requires_grad
                    else (None,) * len(inputs)
                )
                for c, g in zip(cols, _zeros(gs, inputs, strict, "an input")):
                    c.append(g)
            rows.append(tuple(torch.stack(c).view(o.shape + i.shape) if c else torch.zeros(o.shape + i.shape) for c, i in zip(cols, inputs)))
    rows = tuple(_pack(is_tuple, r, create_graph) for r in rows)
    return rows if out_tuple else rows[0]


def _scalar(func, fn):
    def wrapped(*inp):
        out = func(*inp)
        if not isinstance(out, torch.Tensor) or out.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {fn} should contain a single element")
        return out.squeeze()

    return wrapped


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a scalar function."""
    is_tuple = isinstance(inputs, tuple)
    f = _scalar(func, "hessian")

    def jac(*inp):
        inp = tuple(t.view_as(t) for t in inp)
        j = jacobian(f, inp, create_graph=True, strict=strict)
        return j

    res = jacobian(jac, inputs if is_tuple else (inputs,), create_graph=create_graph, strict=strict)
    return res if is_tuple else res[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(value, v^T H) of a scalar function."""
    is_tuple, inputs, _, outputs = _run(_scalar(func, "vhp"), inputs, create_graph, "vhp")
    v = (torch.ones_like(inputs[0]),) if v is None else _tuple(v, "v", "vhp")[1]
    with enable_grad():
        gs = _zeros(grad(outputs, inputs, create_graph=True, allow_unused=True), inputs, strict, "an input")
        keep = [(g, x) for g, x in zip(gs, v) if g.requires_grad]
        res = grad([g for g, _ in keep], inputs, [x for _, x in keep], create_graph=create_graph, allow_unused=True) if keep else (None,) * len(inputs)
    return _pack(False, outputs, create_graph), _pack(is_tuple, _zeros(res, inputs, strict, "an input"), create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(value, H v) of a scalar function; H is symmetric, so this is v^T H."""
    return vhp(func, inputs, v, create_graph, strict)
