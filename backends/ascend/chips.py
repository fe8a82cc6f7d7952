"""What CANN's functions cannot do on some chip, from chips.tsv, which tools/chips.py makes.

A line comes from CANN's pages ("stated") or from people who have the chip ("low", "medium", "high" confidence). A
function with such a line, unless its confidence is low, gives way to its decomposition where there is one. Without one
it is refused where the confidence is high; else it is tried, since pages slip, and an error of CANN then quotes the
line. MINDTORCH_NPU_CHIP_TABLE names a file of the same columns whose lines replace those of the table; a line that says
"yes" takes one away.
"""

import functools
import os
import re
import warnings
from collections import namedtuple
from pathlib import Path

from ...runtime import dtypes as dt
from ..host import dtype_set
from . import devices

Limit = namedtuple("Limit", "chip function primitives supported dtypes confidence source")
FAMILIES = (  # how CANN names the chips of a family
    ("910_93", r"Ascend910(_93|C)"),
    ("910B", r"Ascend910B\d"),
    ("910A", r"Ascend910(A|B\b|Pro|Premium|\b)"),
    ("310P", r"Ascend310P"),
    ("310B", r"Ascend310B"),
    ("950", r"Ascend950"),
)
LOWER = "in float16"  # how the table marks float32 products that the chip computes in float16
_warned: set = set()


def family(name):
    """Return the family of a chip by CANN's name of it, or None for one that the table does not know."""
    return next((chip for chip, pattern in FAMILIES if re.match(pattern, name)), None)


def rows(path):
    """Return the lines of a table, without its header."""
    return [Limit(*line.split("\t")) for line in Path(path).read_text().splitlines()[1:]]


@functools.cache
def limits():
    """Return {primitive: Limit} for the chip of this process."""
    chip = family(devices.chip())
    if chip is None:
        return {}
    found = rows(Path(__file__).with_name("chips.tsv"))
    if path := os.environ.get("MINDTORCH_NPU_CHIP_TABLE"):
        found += rows(path)
    by_function = {row.function: row for row in found if row.chip == chip}
    return {p: row for row in by_function.values() if row.supported != "yes" for p in row.primitives.split()}


def limit(primitive, dtype):
    """Return the table's line on a primitive and dtype on this chip, or None."""
    row = limits().get(primitive)
    return row if row is not None and (row.dtypes == "all" or dtype in dtype_set(row.dtypes)) else None


def gives_way(row):
    """Whether a decomposition is preferred, or the call is refused, because of a line of the table."""
    return row.supported == "no" and row.confidence != "low"


@functools.cache
def lacks(primitive):
    """Whether the chip lacks a primitive for some dtype, so that separate operators compute what it would."""
    row = limits().get(primitive)
    return row is not None and gives_way(row)


def refused(row):
    """Whether a call without decomposition is refused."""
    return gives_way(row) and row.confidence == "high"


def sentence(row):
    """Return what a line of the table says, for an error or a table."""
    what = "does not support it" if row.dtypes == "all" else f"does not support it for {row.dtypes}"
    return f"{row.function} on {devices.chip()}: the chip {what} ({row.confidence}: {row.source})"


def quoted(primitive, dtype):
    """Return what an error of CANN for a primitive should quote from the table, or nothing."""
    row = limit(primitive, dtype)
    return "" if row is None or row.supported == LOWER else f". {sentence(row)}"


def warn_lower(primitive, dtype):
    """Warn once in a process where this chip computes float32 products in float16."""
    row = limit(primitive, dtype)
    if row is not None and row.supported == LOWER and row.chip not in _warned:
        _warned.add(row.chip)
        warnings.warn(
            f"{devices.chip()} computes products of float32 matrices in float16: they keep some three digits, and "
            "results above 65504 overflow. No setting changes that on this chip.",
            stacklevel=2,
        )


def check_bfloat16(dtype, what):
    """Raise NotImplementedError for bfloat16 on a chip that does not have it."""
    if dtype is dt.bfloat16 and not devices.has_bfloat16():
        raise NotImplementedError(
            f"{what}: dtype {dtype} is not supported on device npu: {devices.chip()} has no bfloat16"
        )
