"""Files that PyTorch writes are read here, and the other way round.

MINDTORCH_ORACLE_PYTHON names a Python with real PyTorch.
"""

import os
import pickle
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import objects  # noqa: E402

ORACLE = os.environ.get("MINDTORCH_ORACLE_PYTHON", "")
WAYS = ["zip", "zip free", "mmap", "offsets", "zip memory", "old", "old free", "old memory", "pickle"]


def oracle(*args):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MINDTORCH", "PYTHON"))}
    r = subprocess.run([ORACLE, "-W", "ignore", objects.__file__, *args], capture_output=True, timeout=120, env=env)
    assert r.returncode == 0, r.stderr.decode()[-3000:]
    return pickle.loads(r.stdout)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    if not ORACLE:
        pytest.skip("MINDTORCH_ORACLE_PYTHON is not set")
    theirs, ours = (str(tmp_path_factory.mktemp(n)) for n in ("theirs", "ours"))
    return {
        "theirs": (oracle("write", theirs), objects.read(theirs)),
        "ours": (objects.write(ours), oracle("read", ours)),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", objects.OBJECTS)
@pytest.mark.parametrize("writer", ["theirs", "ours"])
def test_same_object(both, writer, name, way):
    written, read = both[writer]
    want, got = written[name], read[name, way]
    if (name, way) == ("views", "pickle"):  # each view has its storage to itself in a plain pickle
        want, got = ([v[:9] for _, v in d[1]] for d in (want, got))
    assert got == want
