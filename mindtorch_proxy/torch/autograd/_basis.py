"""The directions along which whole Jacobians are computed."""


def _construct_standard_basis_for(tensors, tensor_numels):
    """The unit vectors of the space of all the tensors together, as matrices with a row for each: a matrix for each
    tensor.
    """
    before, parts = 0, []
    for t, n in zip(tensors, tensor_numels):
        part = t.new_zeros((sum(tensor_numels), n))
        part.diagonal(-before).fill_(1)
        parts.append(part)
        before += n
    return tuple(parts)
