"""The standard basis with which Jacobians are computed."""


def _construct_standard_basis_for(tensors, tensor_numels):
    """Return the standard basis of the space of all tensors together.

    The result has one matrix for each tensor, with one row for each basis vector.
    """
    before, parts = 0, []
    for t, n in zip(tensors, tensor_numels):
        part = t.new_zeros((sum(tensor_numels), n))
        part.diagonal(-before).fill_(1)
        parts.append(part)
        before += n
    return tuple(parts)
