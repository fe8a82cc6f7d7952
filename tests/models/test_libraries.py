"""The real accelerate and peft on our torch.

`pip install --no-deps accelerate peft`: they name torch among their requirements.
"""

import importlib.util

import library_programs
import pytest
from comparing import COARSE, LATER, NEAR, SELF, drift

CASES = [
    pytest.param(
        case,
        id=f"{library}, {case}",
        marks=pytest.mark.skipif(importlib.util.find_spec(library) is None, reason=f"no {library}"),
    )
    for library, cases in library_programs.CASES.items()
    for case in cases
]


@pytest.mark.parametrize("name", CASES)
def test_library(name, oracle, tmp_path):
    ours_at, theirs_at = tmp_path / "ours", tmp_path / "theirs"
    ours_at.mkdir(), theirs_at.mkdir()
    theirs = oracle and oracle("run", name, theirs_at, "library_programs")
    ours = library_programs.run(name, ours_at)
    problems = []
    for same, as_this in (
        ("again", "after"),
        ("cpu_offload", "plain"),
        ("disk_offload", "plain"),
        ("dispatch", "plain"),
        ("loaded", "plain"),
        ("loaded", "trained"),
        ("merged", "trained"),
    ):
        if same in ours and as_this in ours:
            problems += drift(ours[same], ours[as_this], same, near=NEAR if same == "merged" else SELF)
    if oracle:
        problems += drift(ours, theirs(), name, near=COARSE if name == "mixed" else LATER)
    assert not problems, "\n".join(problems)
