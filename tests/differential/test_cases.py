"""Every case in cases/ gives here what it gives in the real torch: values, dtypes, shapes, strides, classes of errors.

Each file of cases runs in a process of its own on both sides. A file may say otherwise than the defaults of this
harness:
TOLERANCE = {dtype: (relative, absolute)}, WIDER = {case: such a table}, STRIDES = False where the layout of results
does not count, OF_THE_MACHINE = names of cases whose results depend on the processor.
"""

import pickle
from pathlib import Path

import pytest
from comparing import TOLERANCE, same
from naming import cases_of, load

HERE = Path(__file__).parent
MODULES = {path.stem: load(path) for path in sorted((HERE / "cases").glob("*.py"))}
PATIENCE = 900  # seconds for a file of cases, most of which take three: a busy machine is no failure
pytestmark = pytest.mark.timeout(2 * PATIENCE)


@pytest.fixture(scope="session")
def ours(python, tmp_path_factory):
    """ours(file): the results of a file of cases here."""
    known = {}

    def results(file):
        if file not in known:
            out = tmp_path_factory.mktemp("cases") / file
            python("-m", "mindtorch_proxy", HERE / "run_cases.py", out, HERE / "cases" / f"{file}.py", timeout=PATIENCE)
            known[file] = pickle.loads(out.read_bytes())
        return known[file]

    return results


@pytest.mark.parametrize("file, name", [(file, name) for file, module in MODULES.items() for name in cases_of(module)])
def test_case(file, name, ours, answers):
    expected, module = answers("cases", file)[name], MODULES[file]
    failed = isinstance(expected, tuple) and expected[0] == "raises"
    assert not failed, f"the case itself fails in the real torch: {expected}"
    if name in getattr(module, "OF_THE_MACHINE", ()) and answers.is_recorded("cases", file):
        pytest.skip("the result depends on the processor, and there is no real torch on this one")
    table = TOLERANCE | getattr(module, "TOLERANCE", {}) | getattr(module, "WIDER", {}).get(name, {})
    same(
        ours(file)[name],
        expected,
        name,
        lambda dtype, _: table.get(dtype, (0, 0)),
        strides=getattr(module, "STRIDES", True),
    )
