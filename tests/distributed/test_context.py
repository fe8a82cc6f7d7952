"""Context parallel attention equals attention of one process."""

import pytest


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_attention_over_parts_of_a_sequence(ranks, size):
    for found in ranks("context_programs", ("attention",), size)["attention"]:
        assert isinstance(found, dict), found
        limits = {n: 2**-6 if "bfloat16" in n else 1e-12 if "float64" in n else 2e-6 for n in found}
        assert {n: d for n, d in found.items() if d > limits[n]} == {} and len(found) == 14


def test_what_is_refused(ranks):
    assert ranks("context_programs", ("refusals",), 2)["refusals"][0] == [
        ("RuntimeError", "Load balancing requires `is_causal=True`."),
        ("NotImplementedError", "scaled_dot_product_attention inside context_parallel: a mask"),
        ("NotImplementedError", "is_causal requires the same query and context sequence lengt"),
        ("NotImplementedError", "Context Parallel does not support using ring for kv shards r"),
        ("ValueError", "`seq_dims` must have the same number of elements as `buffers"),
        ("ValueError", "`no_restore_buffers` must be a subset of `buffers`."),
    ]
