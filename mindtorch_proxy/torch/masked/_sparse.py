"""Masked operators on sparse tensors: unspecified elements are masked out and stay unspecified."""

import torch


def conform(mask, like):
    """Convert a mask to bool and to the layout of the tensor `like` that it masks."""
    if like.layout is torch.strided:
        return mask.to_dense().to(torch.bool)
    if like.layout is torch.sparse_coo:
        if mask.layout is torch.strided:
            mask = mask.to_sparse(like.sparse_dim())
        return mask.to_sparse().coalesce().to(torch.bool)
    if like.layout is torch.sparse_csr:
        return mask.to_sparse_csr().to(torch.bool)
    raise ValueError(f"_input_mask expects strided, sparse COO or sparse CSR tensor but got {like.layout}")


def broadcast(mask, shape):
    """Expand a mask of any layout to a shape."""
    if mask.layout is torch.strided:
        return torch.broadcast_to(mask, shape)
    expanded = torch.broadcast_to(mask.to_dense(), shape)
    return (
        expanded.to_sparse_csr()
        if mask.layout is torch.sparse_csr
        else expanded.to_sparse(mask.sparse_dim() + len(shape) - mask.ndim)
    )


def _numbers(indices, sizes):
    """Convert indices to flat positions, which sort in the same order."""
    number = torch.zeros(indices.shape[1:], dtype=torch.int64, device=indices.device)
    for row, size in zip(indices, sizes):
        number = number * size + row
    return number


def where(mask, input, fill_value):
    """Return a sparse tensor of the elements that the mask specifies as True.

    An element that the input does not specify is zero. Masked out elements of a dense part are fill_value.
    """
    if input.layout is torch.sparse_csr:
        return where(mask.to_sparse(), input.to_sparse(), fill_value).to_sparse_csr()
    mask, input = mask.coalesce(), input.coalesce()
    kept = mask.values().flatten(1).any(1) if mask.dense_dim() else mask.values()
    indices, inside = mask.indices()[:, kept], mask.values()[kept]
    sizes = input.shape[: input.sparse_dim()]
    wanted, given = _numbers(indices, sizes), _numbers(input.indices(), sizes)
    values = input.values().new_zeros((wanted.numel(), *input.values().shape[1:]))
    if given.numel():
        at = torch.searchsorted(given, wanted).clamp(max=given.numel() - 1)
        found = given[at] == wanted
        values[found] = input.values()[at[found]]
    if mask.dense_dim():
        values = torch.where(inside, values, fill_value)
    return torch.sparse_coo_tensor(indices, values, input.shape, is_coalesced=True)


def _product_by_group(values, group, groups):
    """Return the product of the values in each group, for dtypes that scatter reductions do not support.

    Factors are multiplied one rank at a time.
    """
    order = group.argsort(stable=True)
    ordered = group[order]
    first = torch.searchsorted(ordered, torch.arange(groups, device=group.device))
    rank = torch.arange(len(order), device=group.device) - first[ordered]
    result = values.new_ones((groups, *values.shape[1:]))
    for k in range(int(rank.max()) + 1 if len(order) else 0):
        chosen = order[rank == k]
        result[group[chosen]] *= values[chosen]
    return result


def _by_group(name, values, group, groups):
    result = values.new_zeros((groups, *values.shape[1:]))
    if name == "sum":
        return result.index_add(0, group, values)
    if name == "prod" and values.is_complex():
        return _product_by_group(values, group, groups)
    return result.index_reduce(0, group, values, name, include_self=False)


def _along_dense(name, values, dims, keepdim):
    for d in reversed(dims):
        values = getattr(torch, name)(values, dim=d, keepdim=keepdim)
    return values


def reduced(name, input, dims, keepdim, dtype, identity):
    """Return the sum, prod, amax or amin of the specified elements.

    The result is `identity` where no element is specified. A CSR tensor with keepdim=False raises RuntimeError.
    """
    if input.layout is torch.sparse_csr:
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return reduced(name, input.to_sparse(), dims, keepdim, dtype, identity).to_sparse_csr()
    input = input.coalesce()
    n = input.sparse_dim()
    sparse, dense = [d for d in dims if d < n], [d - n + 1 for d in dims if n <= d < input.ndim]
    values = _along_dense(name, input.values().to(dtype), dense, keepdim)
    left = [d for d in range(n) if d not in sparse]
    sizes = input.shape[:n]
    numbers, group = torch.unique(_numbers(input.indices()[left], [sizes[d] for d in left]), return_inverse=True)
    values = _by_group(name, values, group, len(numbers))
    indices = []
    for d in reversed(left):
        indices.insert(0, numbers % sizes[d])
        numbers = numbers // sizes[d]
    if not left:
        whole = values[0] if len(values) else values.new_full(values.shape[1:], identity)
        return whole.reshape((1,) * (n if keepdim else 0) + whole.shape).to_sparse()
    if keepdim:
        for d in sparse:
            indices.insert(d, torch.zeros_like(numbers))
    shape = [1 if d in sparse else s for d, s in enumerate(sizes) if keepdim or d not in sparse]
    indices = torch.stack(indices) if indices else numbers.new_zeros((0, len(numbers)))
    return torch.sparse_coo_tensor(indices, values, (*shape, *values.shape[1:]), is_coalesced=True)


def divided(total, count):
    """Divide two sparse tensors that specify the same elements."""
    if total.layout is torch.sparse_csr:
        return torch.sparse_csr_tensor(
            total.crow_indices(), total.col_indices(), total.values() / count.values(), total.shape
        )
    return torch.sparse_coo_tensor(total.indices(), total.values() / count.values(), total.shape, is_coalesced=True)
