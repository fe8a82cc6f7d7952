"""torch.autograd.gradcheck: compare the gradients of reverse and forward mode with finite differences."""

import itertools
import warnings

import torch

from mindtorch_proxy.runtime.autograd import grad

from . import forward_ad

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """Raised when analytical and numerical gradients disagree."""


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _is_input(x):
    return isinstance(x, torch.Tensor) and x.requires_grad


def _differentiable(results):
    return tuple(o for o in _as_tuple(results) if isinstance(o, torch.Tensor) and o.requires_grad)


def _check_inputs(inputs):
    for i, x in enumerate(inputs):
        if _is_input(x):
            if x.dtype not in (torch.float64, torch.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                    "This check will likely fail if all the inputs are not of double precision floating point or "
                    "complex. ",
                    stacklevel=4,
                )
            if x.layout is torch.strided and any(step == 0 and size > 1 for step, size in zip(x.stride(), x.size())):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. "
                    "You should call .contiguous on the input before passing it to gradcheck."
                )
    if not any(map(_is_input, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _check_outputs(results):
    if any(isinstance(o, torch.Tensor) and o.layout is not torch.strided for o in _as_tuple(results)):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of "
            "fn for gradcheck."
        )


def _dense(t):
    return t if t.layout is torch.strided else t.to_dense()


def _everywhere(x):
    """Return a tensor with the layout of x that stores a value for each element."""
    ones = torch.ones(x.shape, dtype=x.dtype, device=x.device)
    if x.layout is torch.sparse_coo:
        return ones.to_sparse(x.sparse_dim())
    blocks = x.values().shape[-2 - x.dense_dim() :][:2] if x.layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    return ones.to_sparse(layout=x.layout, blocksize=blocks, dense_dim=x.dense_dim())


class _Comparison:
    """Compares the analytical and numerical Jacobians of a function, in forward or reverse mode.

    For complex numbers, `part` says whether the function uses their real or imaginary part.
    """

    def __init__(self, func, inputs, options, forward=False, part=None, complex_at=()):
        self.func, self.inputs, self.forward, self.part, self.complex_at = func, inputs, forward, part, complex_at
        self.__dict__.update(options)
        self.wrt = [x for x in inputs if _is_input(x)]
        self.results = _as_tuple(func(*inputs))
        self.outputs = _differentiable(self.results)

    def run(self):
        compare = self.directions if self.fast_mode else self.jacobians
        if not self.outputs:
            for x in self.wrt:
                if any(bool((c != 0).any()) for c in self.numerical(x)):
                    raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for k, x in enumerate(self.wrt):
            compare(k, x)

    # ------------------------------------------------------------ finite differences
    def values(self, inputs):
        found = _as_tuple(self.func(*inputs))
        kept = [
            o
            for o, like in zip(found, self.results)
            if _is_input(like) or not self.outputs and isinstance(like, torch.Tensor) and like.is_floating_point()
        ]
        return [o.detach().clone().reshape(-1) for o in kept]

    def difference(self, x, step):
        """Return the derivatives of the outputs along `step`, a dense tensor like x."""
        if x.layout is not torch.strided:
            above, below = (self.values(self.moved(x, step * eps)) for eps in (self.eps, -self.eps))
            return [(a - b) / (2 * self.eps) for a, b in zip(above, below)]
        data, before = x.data, x.data.clone()
        data.copy_(before + step * self.eps)
        above = self.values(self.inputs)
        data.copy_(before - step * self.eps)
        below = self.values(self.inputs)
        data.copy_(before)
        return [(a - b) / (2 * self.eps) for a, b in zip(above, below)]

    def moved(self, x, by):
        """Return the inputs with a sparse one moved: in its stored elements if masked, otherwise in all elements."""
        places = x.detach() if self.masked else _everywhere(x)
        at = (x.detach().to_dense() + by).sparse_mask(places).requires_grad_()
        return [at if t is x else t for t in self.inputs]

    def along(self, x, step):
        """Return the derivatives along `step`.

        For a complex x, the real and imaginary directions are combined in one number, as in gradients.
        """
        found = self.difference(x, step)
        return [a + 1j * b for a, b in zip(found, self.difference(x, step * 1j))] if x.is_complex() else found

    def numerical(self, x):
        """Return a matrix for each output, with a row for each element of x."""
        rows = [self.along(x, unit) for unit in _units(x)]
        return [torch.stack(column) for column in zip(*rows)]

    # ------------------------------------------------------------ derivatives
    def pulled(self, output, x, v):
        """Return v^T J, after a check that a second computation gives the same."""
        found = []
        for _ in range(2):
            (g,) = grad(output, x, v, retain_graph=True, allow_unused=True)
            if g is not None and g.size() != x.size():
                raise GradcheckError("Analytical gradient has incorrect size")
            if g is not None and g.dtype is not x.dtype and self.check_grad_dtypes:
                raise GradcheckError("Gradient has dtype mismatch")
            if g is not None and self.masked and x.layout is not torch.strided:
                g = _dense(g).sparse_mask(x.detach())
            found.append(_dense(torch.zeros_like(x) if g is None else g).detach())
        if found[0].numel() and (found[0] - found[1]).abs().max() > self.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                f"nondeterminism was {self.nondet_tol}."
            )
        return found[0].reshape(-1)

    def pushed(self, x, v):
        """Return J v for each output."""
        with forward_ad.dual_level():
            plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in self.inputs]
            duals = [forward_ad.make_dual(p, v) if t is x else p for p, t in zip(plain, self.inputs)]
            found = [
                forward_ad.unpack_dual(o)
                for o, like in zip(_as_tuple(self.func(*duals)), self.results)
                if _is_input(like)
            ]
            return [
                (torch.zeros_like(o.primal) if o.tangent is None else o.tangent).detach().reshape(-1) for o in found
            ]

    def analytical(self, x):
        if self.forward:
            return [torch.stack(column) for column in zip(*(self.pushed(x, unit) for unit in _units(x)))]
        return [
            torch.stack([self.pulled(o, x, unit) for unit in _units(o)], 1)
            if o.numel()
            else x.new_zeros((x.numel(), 0))
            for o in self.outputs
        ]

    # ------------------------------------------------------------ comparison
    def jacobians(self, k, x):
        for j, (n, a) in enumerate(zip(self.numerical(x), self.analytical(x))):
            if not self.close(a, n, self.atol):
                raise GradcheckError(self.mismatch(j, k, n, a))

    def directions(self, k, x):
        """Compare along one direction of the input and one of the output.

        This needs a few calls instead of one for each element.
        """
        generator = torch.Generator().manual_seed(0)
        u = _unit_vector(x, generator)
        numerical = self.along(x, u)
        pushed = self.pushed(x, u) if self.forward else None
        for j, (o, n) in enumerate(zip(self.outputs, numerical)):
            v = _unit_vector(o, generator)
            n = (v.reshape(-1) * n).sum()
            a = (v.reshape(-1) * pushed[j]).sum() if self.forward else (self.pulled(o, x, v) * u.reshape(-1)).sum()
            if not self.close(a, n, self.atol * float(u.sum() * v.sum())):
                raise GradcheckError(self.mismatch(j, k, n.item(), a.item()) + self.in_full(j, x))

    def in_full(self, j, x):
        numerical, analytical = self.numerical(x)[j], self.analytical(x)[j]
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. "
            "Below they are computed in slow mode:\n\n"
            f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\nThe max per-element difference (slow mode) is: "
            f"{(numerical - analytical).abs().max()}.\n"
        )
        if self.close(analytical, numerical, self.atol):
            text += (
                "Fast gradcheck failed but element-wise differences are small: the tolerances (atol, "
                "rtol) may be too small for it.\n"
            )
        return text

    def close(self, a, b, atol):
        dtype = torch.promote_types(a.dtype, b.dtype)
        return torch.allclose(a.to(dtype), b.to(dtype), self.rtol, atol)

    def mismatch(self, output, k, numerical, analytical):
        at, element = (k, "inputs") if self.forward else (output, "outputs")
        apart = (
            f"While considering the {self.part} part of complex {element} only, "
            if self.part and at in self.complex_at
            else ""
        )
        mode = "computed with forward mode " if self.forward else ""
        return (
            f"{apart}Jacobian {mode}mismatch for output {output} with respect to input "
            f"{k},\nnumerical:{numerical}\nanalytical:{analytical}\n"
        )


def _units(t):
    """Yield the unit tensors of the shape of t."""
    for at in itertools.product(*map(range, t.shape)):
        unit = torch.zeros(t.shape, dtype=t.dtype, device=t.device)
        unit[at] = 1
        yield unit


def _unit_vector(t, generator):
    """Return positive real numbers of norm 1, with the shape and dtype of t."""
    v = torch.rand(t.shape, dtype=torch.float64, generator=generator)
    return (v / v.norm() if v.numel() else v).to(device=t.device, dtype=t.dtype)


def _parts_of_outputs(func):
    """Return the functions that give the imaginary and the real parts of complex results."""

    def apart(part):
        return lambda *inputs: tuple(
            part(o) if isinstance(o, torch.Tensor) and o.is_complex() else o for o in _as_tuple(func(*inputs))
        )

    return apart(torch.imag), apart(torch.real)


def _parts_of_inputs(func, inputs):
    """Return the functions of the imaginary and of the real parts of complex inputs.

    The other parts are fixed.
    """

    def apart(join):
        def of_parts(*given):
            return func(
                *(join(g, x) if isinstance(x, torch.Tensor) and x.is_complex() else g for g, x in zip(given, inputs))
            )

        return of_parts

    return apart(lambda g, x: x.real + g * 1j), apart(lambda g, x: g + x.imag * 1j)


def _compare(func, inputs, results, options, forward):
    """Compare the Jacobians of one mode. Complex numbers are compared by real and imaginary parts."""
    if forward:
        at = [k for k, x in enumerate(x for x in inputs if _is_input(x)) if x.is_complex()]
        if at:
            for part, f in zip(("imag", "real"), _parts_of_inputs(func, inputs)):
                real = [
                    getattr(x.detach(), part).clone().requires_grad_(x.requires_grad)
                    if isinstance(x, torch.Tensor) and x.is_complex()
                    else x
                    for x in inputs
                ]
                _Comparison(f, real, options, True, {"imag": "imaginary"}.get(part, part), at).run()
            return
    else:
        at = [k for k, o in enumerate(_differentiable(results)) if o.is_complex()]
        if at:
            for part, f in zip(("imaginary", "real"), _parts_of_outputs(func)):
                _Comparison(f, inputs, options, False, part, at).run()
            return
    _Comparison(func, inputs, options, forward).run()


_NOT_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation; check_batched_grad=False leaves "
    "that out."
)


def _check_batched(of_one, of_all, vectors, what):
    """Check that a function of all vectors at once gives the results of a function of single vectors."""
    expected = [torch.stack(column) for column in zip(*map(of_one, vectors))]
    try:
        found = of_all(torch.stack(vectors))
        equal = [a is None or torch.allclose(a, b) for a, b in zip(found, expected)]
    except RuntimeError as e:
        raise GradcheckError(f"While computing batched gradients, got: {e}\n\n{_NOT_BATCHED}") from e
    if not all(equal):
        k = equal.index(False)
        differ = f"For {what} {k}, batched gradients are not those of each sample"
        raise GradcheckError(f"{differ}\n\nGot:\n{found[k]}\n\nExpected:\n{expected[k]}\n\n{_NOT_BATCHED}")


def _check_batched_forward(func, inputs):
    for i, x in enumerate(inputs):
        if not _is_input(x):
            continue

        def push(tangent, i=i, x=x):
            with torch.no_grad():
                plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in inputs]
                return torch.func.jvp(
                    lambda p: _as_tuple(func(*plain[:i], p, *plain[i + 1 :])), (x.detach(),), (tangent,)
                )[1]

        _check_batched(push, torch.func.vmap(push), [torch.randn_like(x) for _ in range(2)], "output")


def _check_batched_backward(outputs, inputs):
    wrt = [x for x in inputs if _is_input(x)]
    for o in outputs:

        def pull(v, o=o):
            found = grad(o, wrt, v, retain_graph=True, allow_unused=True)
            return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(found, wrt))

        def pull_all(v, o=o):
            return torch.autograd.grad(o, wrt, v, retain_graph=True, allow_unused=True, is_grads_batched=True)

        _check_batched(pull, pull_all, [torch.randn_like(o) for _ in range(2)], "input")


def _zeros(outputs):
    return [torch.zeros_like(o, memory_format=torch.contiguous_format) for o in outputs]


def _check_layout(g, x):
    if g.layout != x.layout:
        raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
    kind = str(g.layout).removeprefix("torch.").removesuffix("_coo")
    for what in ("sparse_dim", "dense_dim"):
        have, wanted = getattr(g, what)(), getattr(x, what)()
        if have != wanted:
            raise GradcheckError(f"grad is {kind} tensor, but has incorrect {what} {have}, expected {wanted}")


def _check_linear(func, outputs, inputs, masked):
    """Check that an output gradient of zero gives zero gradients."""
    wrt = [x for x in inputs if _is_input(x)]
    for g, x in zip(grad(outputs, wrt, _zeros(outputs), allow_unused=True, retain_graph=True) if outputs else (), wrt):
        if g is None:
            continue
        if g.layout is not torch.strided:
            _check_layout(g, x)
        g, x = _dense(g), _dense(x)
        if not (torch.allclose(g, torch.zeros_like(g)) if masked else bool((g == 0).all())):
            raise GradcheckError("backward not multiplied by grad_output")
        for what, have, wanted in (
            ("type", g.dtype, x.dtype),
            ("device", g.device, x.device),
            ("size", g.size(), x.size()),
        ):
            if have != wanted:
                raise GradcheckError(f"grad is incorrect {what}")


_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def _check_undefined(func, inputs):
    """Check that backward handles outputs without a gradient."""
    wrt, count = [x for x in inputs if _is_input(x)], len(_differentiable(func(*inputs)))
    for left_out in range(count if count > 1 else 0):
        outputs = [o for k, o in enumerate(_differentiable(func(*inputs))) if k != left_out]
        try:
            found = grad(outputs, wrt, _zeros(outputs), allow_unused=True)
        except RuntimeError as e:
            raise GradcheckError(f"Expected backward function to handle undefined output grads. {_NOTES}") from e
        if any(g is not None and bool((_dense(g) != 0).any()) for g in found):
            raise GradcheckError(
                f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                f"{_NOTES}"
            )


def _require(flags, what):
    if not any(flags):
        raise AssertionError(what)


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
    _require(
        (check_forward_ad, check_backward_ad),
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _require(
        (not check_batched_grad, check_backward_ad),
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _require(
        (not check_batched_forward_grad, check_forward_ad),
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    options = {
        "masked": bool(masked),
        "eps": eps,
        "atol": atol,
        "rtol": rtol,
        "nondet_tol": nondet_tol,
        "check_grad_dtypes": check_grad_dtypes,
        "fast_mode": fast_mode,
    }
    inputs = _as_tuple(inputs)
    _check_inputs(inputs)
    try:
        results = func(*inputs)
        _check_outputs(results)
        outputs = _differentiable(results)
        if check_backward_ad:
            _compare(func, inputs, results, options, False)
        if check_forward_ad:
            _compare(func, inputs, results, options, True)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs)
        if check_backward_ad:
            if check_batched_grad:
                _check_batched_backward(outputs, inputs)
            _check_linear(func, outputs, inputs, masked)
            if check_undefined_grad:
                _check_undefined(func, inputs)
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
    """Run gradcheck on the gradients of func."""
    _require(
        (check_fwd_over_rev, check_rev_over_rev),
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    _require(
        (not check_undefined_grad, check_rev_over_rev),
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
    )
    _require(
        (not check_batched_grad, check_rev_over_rev),
        "Setting check_batched_grad=True requires check_rev_over_rev to be True",
    )
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        like = _differentiable(func(*inputs))
        vectors = tuple(
            torch.testing.make_tensor(
                o.shape,
                dtype=o.dtype,
                device=o.device,
                low=-1,
                high=1,
                requires_grad=True,
                noncontiguous=gen_non_contig_grad_outputs,
            )
            for o in like
        )
    else:
        vectors = _as_tuple(grad_outputs)
    n, wanted = len(vectors), [_is_input(x) for x in (*inputs, *vectors)]

    def first(*given):
        given = [x.requires_grad_() if w else x for x, w in zip(given, wanted)]
        wrt = [x for x, w in zip(given[:-n], wanted) if w]
        found = grad(_differentiable(func(*given[:-n])), wrt, given[-n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first,
        inputs + vectors,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )
