"""The memory layout of elements with given sizes and strides."""


def eval_is_non_overlapping_and_dense(sizes, strides):
    """Return 1 if elements with these sizes and strides fill their memory without gap or overlap, else 0."""
    if len(sizes) == 1 and sizes[0] < 2:
        return 1
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides) if size != 1):
        if stride != expected:
            return 0
        expected *= size
    return 1
