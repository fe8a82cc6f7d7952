"""Compares the metadata of a tensor and of its fake counterpart."""


def assert_metadata_eq(assert_eq, m1, m2, *, skip_symbolic=False, skip_leaf=False):
    """Call assert_eq for each piece of metadata of two tensors, and of their gradients and bases.

    skip_symbolic: leave out shape, strides and storage offset. skip_leaf: leave out is_leaf.
    """
    facts = ["dtype", "requires_grad", "is_sparse"] + ["shape"] * (not skip_symbolic) + ["is_leaf"] * (not skip_leaf)
    asked = ["is_inference", "is_conj", "is_neg"]
    strided = str(m1.layout) == "torch.strided"
    if strided:
        asked += ["_is_view"] + ["stride", "storage_offset"] * (not skip_symbolic)
    else:
        facts.append("layout")
        asked += ["dense_dim", "sparse_dim"] + ["is_coalesced"] * m1.is_sparse
    for name in facts:
        assert_eq(getattr(m1, name), getattr(m2, name))
    for name in asked:
        assert_eq(getattr(m1, name)(), getattr(m2, name)())
    assert_eq(_gradient(m1) is None, _gradient(m2) is None)
    bases = (m1._base, m2._base) if strided else (None, None)
    for a, b in ((_gradient(m1), _gradient(m2)), bases):
        if a is not None and b is not None:
            assert_metadata_eq(assert_eq, a, b, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)


def _gradient(t):
    return t.grad if t.is_leaf else None  # for a non-leaf, .grad would warn
