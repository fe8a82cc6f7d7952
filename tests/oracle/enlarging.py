"""Samples of an operator made larger: one size, wherever it stands in the shapes of the arguments, becomes many times
as large.

A sample of shapes (2, 3, 3) and (2, 3) has the sizes 2 and 3. To enlarge 2 gives more matrices, to enlarge 3 gives
larger ones, and the shapes of several arguments fit together as before.
"""

# (whether integers among the arguments that equal the size grow with it, whether square matrices become blocks)
WAYS = (False, False), (True, False), (False, True), (True, True)


def sizes(torch, value):
    """Return the sizes that dimensions of the tensors in a value have, without 0 and 1; of a value without such
    tensors the integers, which are sizes of what is created.
    """
    return sorted(_dimensions(torch, value) or _integers(value))


def _within(value):
    return value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()


def _dimensions(torch, value):
    if isinstance(value, torch.Tensor):
        return {n for n in value.shape if n > 1}
    return {n for v in _within(value) for n in _dimensions(torch, v)}


def _integers(value):
    return {value} if type(value) is int and value > 1 else {n for v in _within(value) for n in _integers(v)}


def enlarged(torch, value, size, factor, way):
    """Return a value, with the tensors in it repeated along every dimension of this size."""
    if isinstance(value, torch.Tensor):
        return _repeated(torch, value, size, factor, way[1])
    if isinstance(value, dict):
        return {name: enlarged(torch, v, size, factor, way) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        kind = list if type(value) is list else tuple
        return kind(enlarged(torch, v, size, factor, way) for v in value)
    return value * factor if way[0] and type(value) is int and value == size else value


def converted(torch, value, dtype):
    """Return a value, with the float32 tensors in it converted to another dtype."""
    if isinstance(value, torch.Tensor):
        if value.dtype is not torch.float32:
            return value
        wanted = value.requires_grad and (dtype.is_floating_point or dtype.is_complex)
        return value.detach().to(dtype).requires_grad_(wanted)
    if isinstance(value, dict):
        return {name: converted(torch, v, dtype) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return (list if type(value) is list else tuple)(converted(torch, v, dtype) for v in value)
    return dtype if value is torch.float32 else value


def _repeated(torch, x, size, factor, as_blocks):
    grown = [d for d, n in enumerate(x.shape) if n == size]
    if not grown:
        return x
    result = x.detach()
    if as_blocks and x.shape[-2:] == (size, size):
        # the matrix in every block of the diagonal: what is regular, positive or triangular stays so
        blocks = result[..., None, :, None, :] * torch.eye(factor).to(x.dtype)[:, None, :, None]
        result = blocks.reshape(*x.shape[:-2], size * factor, size * factor)
        grown = grown[:-2]
    result = result.repeat([factor if d in grown else 1 for d in range(x.ndim)])
    if not x.is_contiguous():
        order = sorted(range(x.ndim), key=lambda d: -x.stride()[d])
        result = result.permute(order).contiguous().permute([order.index(d) for d in range(x.ndim)])
    return result.requires_grad_(x.requires_grad)
