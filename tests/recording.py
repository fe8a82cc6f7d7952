"""What the real torch gave, kept beside the tests: without a real torch they are compared with that.

`python -m pytest --record -n 0 tests/differential tests/oracle` makes the recordings anew, with the real torch that
MINDTORCH_ORACLE_PYTHON names.
A recording is a ZIP file for each group of answers. Its entries are pickles of plain data: numbers, strings, NumPy's
arrays, and lists, tuples and dictionaries of those.
"""

import io
import lzma
import pickle
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "recorded"
VERSION = "2.13.0"  # of the real torch
_NOTHING = "(nothing)"  # the entry that lists the names for which the real torch gave nothing
LIMIT = 6000  # bytes of an entry: of a list of samples as many are kept as have room
_CLASSES = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *(("builtins", name) for name in ("complex", "slice", "Ellipsis", "range")),
}


class _Reader(pickle.Unpickler):
    """Reads plain data only, so that a recording can hold no code."""

    def find_class(self, module, name):
        module = module.replace("numpy._core", "numpy.core")
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
        return super().find_class(module, name)


def _packed(answer):
    return lzma.compress(pickle.dumps(answer, protocol=4))


def names(group):
    """The names of the answers that a group's recording has."""
    path = HERE / f"{group}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def read(group, name):
    """The recorded answer, or None."""
    if name not in names(group):
        return None
    with zipfile.ZipFile(HERE / f"{group}.zip") as archive:
        return _Reader(io.BytesIO(lzma.decompress(archive.read(name)))).load()


def has_nothing(group):
    """The names for which the real torch gave nothing: operators that its own tests have no samples of."""
    return frozenset(read(group, _NOTHING) or ())


def write(group, answers):
    """Keep these answers, {name: answer}, in a group's recording, beside those of other names that it has."""
    HERE.mkdir(exist_ok=True)
    answers = {name: read(group, name) for name in names(group) if name != _NOTHING} | answers
    answers[_NOTHING] = sorted(name for name, answer in answers.items() if not answer)
    with zipfile.ZipFile(HERE / f"{group}.zip", "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(answers):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))  # the same answers make the same file
            archive.writestr(entry, _packed(answers[name]))


def shortened(found):
    """As many of a list of samples as have room in an entry; at least one."""
    keep = len(found)
    while keep > 1 and len(_packed(found[:keep])) > LIMIT:
        keep = max(1, keep * 2 // 3)
    return found[:keep]
