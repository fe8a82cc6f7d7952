"""APIs that are applied to modules in place: contract, checkpoint, replicate, fully_shard, beside the real torch's."""

import pytest

FUNCTIONS = ("contracts", "checkpointed", "replicated", "sharded", "scaled")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_apis_in_place_do_what_the_real_torch_s_do(both, close, function):
    ours, theirs = both("composable_programs", FUNCTIONS, 2)
    for rank in range(2):
        got, want = ours[function][rank], theirs[function][rank]
        if isinstance(want, dict):
            assert {k: (got[k], v) for k, v in want.items() if not close(got[k], v)} == {}
        else:
            assert close(got, want), (got, want)


@pytest.mark.slow
def test_replicas_of_tensor_parallel_modules(both, close):
    ours, theirs = both("composable_programs", ("tensor_parallel_replicas",), 4)
    assert close(ours["tensor_parallel_replicas"], theirs["tensor_parallel_replicas"])
