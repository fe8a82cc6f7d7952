"""The sweep for what is many times slower than with the real PyTorch."""

import importlib.util
import math
from pathlib import Path

import pytest
import torch

TOOL = Path(__file__).resolve().parents[2] / "tools" / "cliffs.py"


@pytest.fixture(scope="module")
def cliffs():
    spec = importlib.util.spec_from_file_location("cliffs", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_factor_reaches_so_many_elements(cliffs):
    def elements(k):
        return cliffs.grown(torch, [[torch.ones(3, 5), torch.ones(5, 5)], {}], 5, k)

    assert elements(2) == 3 * 10 + 10 * 10
    k = cliffs.factor_for(elements, 1000)
    assert elements(k) >= 1000 > elements(k - 1)
    assert cliffs.factor_for(elements, 1) == 1


def test_layouts(cliffs):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (turned,), kwargs = cliffs.laid_out(torch, [(x,), {"like": x}], "transposed")
    assert turned.stride() == (1, 2) and torch.equal(turned, x) and turned.requires_grad and turned.is_leaf
    assert kwargs["like"].stride() == (1, 2)
    assert cliffs.laid_out(torch, x, "expanded").stride() == (0, 1)
    assert cliffs.laid_out(torch, x, "contiguous").stride() == (3, 1)
    assert cliffs.laid_out(torch, [2, "mean", None], "expanded") == [2, "mean", None]


def test_results_that_grow_faster_than_the_arguments_are_stopped(cliffs):
    operator = cliffs.Operator(torch, "outer")
    assert not operator.too_large([(15, 50, 0.0), (1024, 1 << 13, 1e-3)], "16k")
    assert operator.too_large([(1024, 1 << 18, 1e-3), (1 << 14, 1 << 22, 1e-3)], "256k")
    assert operator.too_large([(15, 15, 0.0), (1024, 1024, 1.0)], "16k"), "one call takes a second"


def test_an_operator_is_measured(cliffs):
    operator = cliffs.Operator(torch, "softmax")
    found = operator.measure(1e-4)
    assert found.keys() >= {"many 1k contiguous float32", "long 256k contiguous float32", "long 16k transposed float32"}
    assert all(time > 0 for time in found["many 16k expanded float32"])
    assert found["many 16k contiguous float16"][0] and operator.ways.keys() == set(cliffs.SHAPES)


def test_lines_of_the_table(cliffs, tmp_path):
    small, large, half = (
        f"many {kind}" for kind in ("1k contiguous float32", "256k contiguous float32", "16k contiguous float16")
    )
    real = {small: [1e-3, None], large: [2e-3, 1e-3], half: [1e-3, None]}
    ours = {small: [9e-3, None], large: [8e-3, 1e-3]}
    forward, backward = cliffs.lines_of("f", "abc", real, ours)
    assert forward[:5] == ["f", "forward", "abc", "fails", half] and forward[7] == "0.44"
    assert backward[:8] == ["f", "backward", "abc", "1.0", large, "1.000", "1.000", ""]
    assert forward[cliffs.COLUMNS.index(large)] == "4.0" and len(forward) == len(backward) == len(cliffs.COLUMNS)
    only = cliffs.lines_of("f", "abc", {small: [1e-3, None], large: [2e-3, None]}, ours)[0]
    assert only[3:5] == ["4.0", large], "the least size tells of a call, not of a cliff"
    assert cliffs.steep([forward, backward, only], 3) == [forward, only]
    none = cliffs.lines_of("g", "abc", {}, {})
    assert none[0][:2] == ["g", "none"] and not cliffs.steep(none, 3)
    cliffs.write_table(tmp_path / "table.tsv", cliffs.COLUMNS, [*none, forward, backward])
    assert cliffs.read_table(tmp_path / "table.tsv") == [backward, forward, *none]
    assert cliffs.read_table(tmp_path / "missing.tsv") == []


def test_the_lesser_time_counts(cliffs):
    assert cliffs.least({"a": [2.0, None], "b": [1.0, 5.0]}, {"a": [1.0, None]}) == {"a": [1.0, None], "b": [1.0, 5.0]}


def test_tests_of_a_suite_that_are_slower(cliffs):
    def suite(**times):
        cases = "".join(f'<testcase classname="m" name="{name}" time="{time}"/>' for name, time in times.items())
        return (
            f"<testsuites><testsuite>{cases}"
            + '<testcase classname="m" name="e" time="50"><failure/></testcase></testsuite></testsuites>'
        )

    ours, real = cliffs.times_of(suite(a=30, b=1.5, c=0.9, d=5)), cliffs.times_of(suite(a=2, b=0, c=0, d=1, f=1))
    assert ours == {"m::a": 30, "m::b": 1.5, "m::c": 0.9, "m::d": 5}
    found = cliffs.slower(ours, real, 10, 1)
    assert [test for *_, test in found] == ["m::b", "m::a"] and math.isclose(found[1][0], 15)
