"""Numbers of elements from which the CPU kernels switch to another algorithm.

The `above` of an entry in the kernel table goes through `threshold` too. MINDTORCH_TEST_THRESHOLD=8 sets all of them to
8, so that tests with small tensors reach the code for large ones.
"""

import os

_FOR_TESTS = int(os.environ.get("MINDTORCH_TEST_THRESHOLD") or 0)


def threshold(elements):
    """Return the number of elements at which the algorithm changes, or the value that tests set."""
    return _FOR_TESTS or elements


PIECE = threshold(32768)  # elements of a piece, such that the pieces of a few arrays fit in the cache
# a row filled with one number, where NumPy is faster with arrays; also the largest array that _finite() checks by BLAS
ROW = threshold(65536)
CHANNELS = threshold(65536)  # a block of channels
SOFTMAX_ROWS = threshold(131072)  # rows of a softmax that stay in the cache
NORM = threshold(16384)  # norms up to this size skip the computation by channels, which takes time to prepare
SUM = threshold(16384)  # sums computed by BLAS
SCAN = threshold(65536)  # cumulative sums in blocks
SCAN_BLOCK = threshold(16384)
TOPK = threshold(16384)  # the greatest elements found by partition
POOL = threshold(16384)  # max pooling finds the maxima first and their indices afterwards
PARTITION = threshold(256)  # the k-th smallest found without sorting
STACK = threshold(8)  # matrices of a stack that are factorized together
NONZERO = threshold(4096)  # nonzero computed from positions in the flat array
SELECT = threshold(2048)  # np.where replaced by operations on bits
VECTOR_NORM = threshold(65536)  # a norm over all dimensions computed as one product
ONE_HOT = threshold(65536)  # the gradient of an embedding as a product with a matrix of ones and zeros
