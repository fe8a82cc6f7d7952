"""Sampled text is the real torch's, token for token."""

import generation_programs
import pytest
from comparing import drift


@pytest.mark.parametrize("name", generation_programs.MODELS)
def test_sampled_tokens(name, oracle, tmp_path):
    theirs = oracle and oracle("sample", name, tmp_path, "generation_programs")
    ours = generation_programs.sample(name, tmp_path)
    assert len({x.tobytes() for x in ours.values()}) > len(ours) / 2  # they are samples
    if oracle:
        problems = [*drift(ours, theirs(), "tokens")]
        assert not problems, "\n".join(problems)
