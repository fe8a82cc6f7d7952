"""Which kind of kernel was fastest, by operator, dtype and size.

The data come from `python -m mindtorch_proxy tune` on this machine, or from the bundled table: {"mindspore": its
version, "kernels": {operator: {dtype: a kind for each class of sizes}}}.
"""

import json
import os
import warnings
from pathlib import Path

from ...runtime import pyboost
from ...runtime.backend import CHOICE
from ..host import DTYPES

SIZES = 64, 4096, 65536, 1 << 20  # the numbers of elements that are measured
# the numbers of elements that each measurement applies to
CLASSES = (0, 512), (512, 16384), (16384, 262144), (262144, float("inf"))
BUNDLED = Path(__file__).with_name("measured.json")
_NAMES = {d: name for name, d in DTYPES.items()}


def own():
    """Return the path of this machine's measurements."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.environ.get("MINDTORCH_KERNEL_TABLE") or os.path.join(cache, "mindtorch_proxy", "kernels.json"))


def load():
    """Return this machine's table, if it was measured with this MindSpore version, else the bundled one."""
    path = own()
    if path.exists():
        found = json.loads(path.read_text())
        names = {name for kinds in found["kernels"].values() for name in kinds}
        if not names <= DTYPES.keys():  # dtypes were single letters once
            warnings.warn(f"{path} is from an earlier version and not used: run python -m mindtorch_proxy tune again")
        elif found["mindspore"] == pyboost.version():
            return found["kernels"]
    return json.loads(BUNDLED.read_text())["kernels"]


_TABLE = load() if CHOICE == "fastest" else {}


def kinds(full, dtype):
    """Return the fastest kind for each of CLASSES, or None where nothing was measured."""
    return _TABLE.get(full, {}).get(_NAMES.get(dtype))
