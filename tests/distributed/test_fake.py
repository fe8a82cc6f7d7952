"""A group of one process that says it is of several, and backends that programs register, beside the real torch's."""

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parent / "fake_programs.py"


@pytest.fixture
def found(oracle_python):
    import importlib.util
    import sys

    spec = importlib.util.spec_from_file_location("distributed_conftest", PROGRAM.parent / "conftest.py")
    processes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(processes)

    def run(executable, active):
        ((status, output),) = processes.finish(
            processes.start(lambda rank: [PROGRAM], 1, active=active, executable=executable)
        )
        lines = [line for line in output.splitlines() if line.startswith("FOUND ")]
        assert status == 0 and lines, output
        return json.loads(lines[0].removeprefix("FOUND "))

    return run(sys.executable, True), run(oracle_python, False)


def test_a_fake_group_s_collectives(found):
    ours, theirs = found
    assert [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b] == []
