"""torch.autograd.gradcheck: analytical gradients against finite differences."""

import torch

from mindtorch_proxy.runtime.autograd import grad

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """Raised where analytical and numerical gradients disagree."""


def _outputs(out):
    return [o for o in ((out,) if isinstance(out, torch.Tensor) else out) if isinstance(o, torch.Tensor) and (o.is_floating_point() or o.is_complex())]


def _numerical(fn, inputs, x, eps):
    """d outputs / d x, a list of (x.numel(), out.numel()) matrices."""
    flat = x.data.view(-1)
    cols = None
    for i in range(flat.numel()):
        old = flat[i].item()
        ys = []
        for s in (eps, -eps):
            flat[i] = old + s
            with torch.no_grad():
                ys.append([o.detach().clone().reshape(-1) for o in _outputs(fn(*inputs))])
        flat[i] = old
        d = [(a - b) / (2 * eps) for a, b in zip(*ys)]
        cols = [[] for _ in d] if cols is None else cols
        for c, v in zip(cols, d):
            c.append(v)
    return [torch.stack(c) for c in cols or []]


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Compare the gradients of func at inputs with finite differences."""
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    wrt = [(i, t) for i, t in enumerate(inputs) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not wrt:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    try:
        outs = _outputs(func(*inputs))
        for k, t in wrt:
            num = _numerical(func, inputs, t, eps)
            for j, o in enumerate(outs):
                rows = []
                for e in range(o.numel()):
                    g = grad(o.reshape(-1)[e], t, retain_graph=True, allow_unused=True)[0] if o.requires_grad else None
                    rows.append((torch.zeros_like(t) if g is None else g).detach().reshape(-1))
                ana = torch.stack(rows, 1) if rows else torch.zeros(t.numel(), 0, dtype=t.dtype)
                if not torch.allclose(ana, num[j].to(ana.dtype), rtol, atol):
                    raise GradcheckError(f"Jacobian mismatch for output {j} with respect to input {k},\nnumerical:{num[j]}\nanalytical:{ana}\n")
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradcheck of the gradients."""
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    outs = _outputs(func(*inputs))
    gos = tuple(torch.randn_like(o, requires_grad=True) for o in outs) if grad_outputs is None else _outputs(grad_outputs)
    n = len(gos)

    def first(*args):
        ins, gs = args[:-n], args[-n:]
        ins = tuple(t if not (isinstance(t, torch.Tensor) and t.requires_grad) else t for t in ins)
        targets = [t for t in ins if isinstance(t, torch.Tensor) and t.requires_grad]
        with torch.enable_grad():
            return grad(_outputs(func(*ins)), targets, gs, create_graph=True, allow_unused=True, materialize_grads=True)

    return gradcheck(first, inputs + tuple(gos), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
