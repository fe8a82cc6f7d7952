"""From how many elements on the CPU's kernels compute in another way; the `above` of a table's entry is such a size
too.

MINDTORCH_TEST_THRESHOLD=8 sets all of them to 8, so that tests with small tensors reach what is made for large ones.
"""

import os

_FOR_TESTS = int(os.environ.get("MINDTORCH_TEST_THRESHOLD") or 0)


def threshold(elements):
    """A number of elements at which the way changes."""
    return _FOR_TESTS or elements


PIECE = threshold(32768)  # a piece of a few arrays that stays in the cache
ROW = threshold(
    65536
)  # a row that stands for one number where NumPy is faster with arrays; also the largest block of a scan
CHANNELS = threshold(65536)  # a block of channels
SOFTMAX_ROWS = threshold(131072)  # rows of a softmax that stay in the cache
NORM = threshold(16384)  # a norm whose preparations take longer than its sums by BLAS gain
SUM = threshold(16384)  # sums by BLAS
SCAN = threshold(65536)  # cumulative sums in blocks
SCAN_BLOCK = threshold(16384)
TOPK = threshold(16384)  # the greatest elements by partition
POOL = threshold(16384)  # maxima first, then where they are
PARTITION = threshold(256)  # the k-th smallest without sorting
NONZERO = threshold(4096)  # positions in the flat array
SELECT = threshold(2048)  # a choice by bits
VECTOR_NORM = threshold(65536)  # a norm over everything by one product
ONE_HOT = threshold(65536)  # the gradient of an embedding as a product with a matrix of ones and zeros
