"""Recordings of the real torch's results, with which tests compare if there is no real torch.

The command in ANEW recreates the recordings, with the real torch of the Python in MINDTORCH_ORACLE_PYTHON.
There is one ZIP file for each group of answers. Its entries are pickles of plain data: numbers, strings, NumPy arrays,
and lists, tuples and dicts of those.
"""

import hashlib
import io
import lzma
import os
import pickle
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "recorded"
ANEW = "python -m pytest --record -n 0 tests/differential tests/oracle tests/distributed"
# "recorded": recordings are read even where there is a real torch; "fresh": it is asked also for programs on several
# processes and for files of cases that are as they were recorded
WANTED = os.environ.get("MINDTORCH_ANSWERS")
VERSION = "2.13.0"  # of the real torch
_NOTHING = "(nothing)"  # the entry with the names for which the real torch has no samples
LIMIT = 6000  # the maximum number of bytes of an entry; samples beyond it are dropped
_CLASSES = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("datetime", "timedelta"),
    *(("builtins", name) for name in ("complex", "slice", "Ellipsis", "range", "set", "frozenset", "bytearray")),
}


class _Reader(pickle.Unpickler):
    """Reads only plain data, so that a recording cannot contain code."""

    def find_class(self, module, name):
        module = module.replace("numpy._core", "numpy.core")
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
        return super().find_class(module, name)


def _packed(answer):
    pickled = pickle.dumps(answer, protocol=4)
    _unpickled(pickled)  # raise for what could not be read again
    return lzma.compress(pickled)


def _unpickled(pickled):
    return _Reader(io.BytesIO(pickled)).load()


def names(group):
    """Return the names of the answers in the recording of a group."""
    path = HERE / f"{group}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def read(group, name):
    """Return a recorded answer, or None."""
    if name not in names(group):
        return None
    with zipfile.ZipFile(HERE / f"{group}.zip") as archive:
        return _unpickled(lzma.decompress(archive.read(name)))


def has_nothing(group):
    """Return the names without results: operators for which the real torch's own tests have no samples."""
    return frozenset(read(group, _NOTHING) or ())


def source(group, name):
    """Return the digest of the source that gave a recorded answer, or "" if none was given to write()."""
    with zipfile.ZipFile(HERE / f"{group}.zip") as archive:
        return archive.getinfo(name).comment.decode()


def digest(path):
    """Return a digest of a file of source."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def write(group, answers, sources=None):
    """Write answers, {name: answer}, to the recording of a group; answers with other names are kept.

    sources: {name: digest} of the files of source that gave the answers.
    """
    HERE.mkdir(exist_ok=True)
    kept = [name for name in names(group) if name != _NOTHING]
    sources = {name: source(group, name) for name in kept} | (sources or {})
    answers = {name: read(group, name) for name in kept} | answers
    answers[_NOTHING] = sorted(name for name, answer in answers.items() if not answer)
    packed = {name: _packed(answer) for name, answer in answers.items()}
    with zipfile.ZipFile(HERE / f"{group}.zip", "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(packed):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))  # a constant date: equal answers give an equal file
            entry.comment = sources.get(name, "").encode()
            archive.writestr(entry, packed[name])


def shortened(found):
    """Return as many of a list of samples as fit into an entry, at least one."""
    keep = len(found)
    while keep > 1 and len(_packed(found[:keep])) > LIMIT:
        keep = max(1, keep * 2 // 3)
    return found[:keep]
