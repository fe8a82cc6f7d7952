"""Strided operands: functions of CANN that refuse a layout get contiguous copies.

Which layouts a function takes depends on the chip and on CANN's version, and its pages do not say. The first call of an
operator with operands of some layout is therefore waited for; where CANN answers 561103, the call is made once more
with contiguous operands, and the layout is remembered as refused.
"""

from ...runtime import launches
from ...runtime.tensor import is_contiguous, is_dense
from . import devices
from .kernels import primitive

REFUSAL = "561103"  # CANN's "inner error" while it prepares a call, which it gives for layouts too
# operators whose strided operands are copied without a trial, with the reports of people who had the chip
COPIED = {
    "neg": "aclnnNeg refused views on 910B (CANN 8.5 and 9.0)",
    "_C._nn.silu": "aclnnSilu refused views on 910B (CANN 8.5 and 9.0)",
    "_cat": "aclnnCat refused views on 910B (CANN 8.5 and 9.0)",
    "_index": "aclnnIndex refused views on 910B (CANN 8.5 and 9.0)",
    "_bmm": "aclnnBatchMatMul refused operands that are not row-major on 910B (CANN 8.5), and torch_npu copies them",
    "_softmax_backward_data": "aclnnSoftmaxBackward crashed on expanded gradients",
    "_log_softmax_backward_data": "aclnnLogSoftmaxBackward crashed on expanded gradients",
}
_refused: dict = {}  # (operator, dtype, layouts of the operands) -> whether CANN refused them


def layout(shape, strides):
    """Return what distinguishes a layout, the order of its dimensions and the expanded ones, or None if contiguous."""
    if is_contiguous(shape, strides):
        return None
    wide = [i for i, n in enumerate(shape) if n != 1]
    order = tuple(sorted(wide, key=lambda i: -strides[i]))
    return len(shape), order, tuple(i for i in wide if not strides[i]), is_dense(shape, strides)


def layouts(args):
    """Return the layouts of the strided ones among MindSpore's tensors, with their places."""
    found = []
    for i, a in enumerate(args):
        if a.__class__ is tuple or a.__class__ is list:
            found += [(i, *place) for place in layouts(a)]
        elif (strided := getattr(a, "layout", None)) is not None:
            found.append((i, strided))
    return tuple(found)


def contiguous(args):
    """Return the arguments with contiguous copies of the strided tensors."""
    copy = primitive("Contiguous")
    return [
        type(a)(contiguous(a))
        if a.__class__ is tuple or a.__class__ is list
        else copy(a)
        if getattr(a, "layout", None) is not None
        else a
        for a in args
    ]


def call(operator, dtype, kernel, args, found, moves):
    """Call the kernel with operands of which some are strided, copied where CANN refuses their layouts.

    moves counts the copies and the retries.
    """
    key = operator, dtype, found
    refused = _refused.get(key, True if operator in COPIED else None)
    if refused is None:
        devices.synchronize()  # so that an error below is not that of an earlier operator
        try:
            result = launches.waiting(kernel)(*args)
        except RuntimeError as e:
            if REFUSAL not in str(e) and REFUSAL not in str(e.__cause__):
                raise
            _refused[key] = True
            moves["retried with contiguous operands"] += 1
        else:
            _refused[key] = False
            return result
    if refused is False:
        return kernel(*args)
    moves["made contiguous"] += 1
    return kernel(*contiguous(args))
