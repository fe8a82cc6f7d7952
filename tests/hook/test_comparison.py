"""Tests python -m mindtorch_proxy compare: the first operator that differs from real PyTorch, and its line."""

import pytest

from mindtorch_proxy.comparison import aligned, apart, by_line, first_parting

PROGRAM = """
import torch
import torch.nn.functional as F
here = "mindspore" in torch.__version__
m = torch.nn.Sequential(torch.nn.Linear(8, 16), {activation}, torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
{change}
opt = torch.optim.AdamW(m.parameters(), lr=1e-2)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for step in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(m(x), y)
    loss.backward()
    opt.step()
print("loss")
"""


@pytest.fixture
def compare(python, oracle_python, tmp_path):
    def run(code=None, activation="torch.nn.GELU()", change="", oracle=oracle_python):
        (tmp_path / "prog.py").write_text(code or PROGRAM.format(activation=activation, change=change))
        done = python("-m", "mindtorch_proxy", "compare", "--oracle", oracle, tmp_path / "prog.py", check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_training_program_does_not_part(compare):
    status, output, errors = compare()
    assert status == 0 and "nothing parts" in output and output.startswith("loss\n"), output + errors


def test_a_wrong_operator_is_named_with_the_line(compare):
    status, output, _ = compare(activation='torch.nn.GELU(approximate="tanh" if here else "none")')
    assert (
        status == 1
        and "first to part: gelu.default" in output
        and "prog.py:11\n      loss = F.cross_entropy(m(x), y)" in output
    ), output
    assert "values compared differ" in output and "there" in output


def test_other_values_are_seen_where_they_are_first_used(compare):
    status, output, _ = compare(
        change="m[0].weight = torch.nn.Parameter(m[0].weight.detach().exp() if here else m[0].weight.detach())"
    )
    assert status == 1 and "first to part: addmm.default" in output, output


def test_errors_and_what_cannot_be_compared(compare):
    status, output, _ = compare(
        "import torch\ntorch.ones(3)\nif 'mindspore' in torch.__version__:\n    raise KeyError('z')\n"
    )
    assert (
        status == 1
        and "here alone the script ends with KeyError: 'z'" in output
        and "prog.py:4: raise KeyError('z')" in output
    )
    status, output, _ = compare("import torch\ntorch.ones(3) @ torch.ones(4)\n")
    assert status == 0 and "both end with" in output
    status, _, errors = compare("import torch\n", oracle="/usr/bin/python3")
    assert status == 2 and "is torch installed?" in errors


def record(op, values, line=1, constant=False):
    result = {"shape": [len(values)], "dtype": "torch.float32", "step": 1, "values": values}
    return {"op": op, "where": ("p.py", line, ""), "script": line, "constant": constant, "results": [result]}


def test_alignment():
    ours = [record("a.default", [1.0], 1), record("b.default", [1.0], 3)]
    theirs = [record("a.default", [1.0], 1), record("c.default", [1.0], 2), record("b.default", [2.0], 3)]
    assert [[r["op"] for r in mine + other] for mine, other in aligned(by_line(ours), by_line(theirs))] == [
        ["a.default"] * 2,
        ["b.default"] * 2,
    ]
    assert first_parting(ours, theirs, None)[0]["op"] == "b.default"
    assert first_parting(ours[:1], theirs, None) is None
    # an extra constant on one side is not the start of the difference
    assert first_parting([record("full.default", [9.0], 1, True), *ours], theirs, None)[3] is None


def test_a_product_computed_the_other_way_round_does_not_part():
    def product(shape, values):
        return record("mm.default", values) | {
            "results": [{"shape": shape, "dtype": "torch.float32", "step": 1, "values": values}]
        }

    after = record("sum.default", [6.0])
    assert (
        first_parting([product([1, 3], [1.0, 2.0, 3.0]), after], [product([3, 1], [3.0, 2.0, 1.0]), after], None)
        is None
    )
    found = first_parting(
        [product([1, 3], [1.0, 2.0, 4.0]), record("sum.default", [7.0])],
        [product([3, 1], [1.0, 2.0, 3.0]), after],
        None,
    )
    assert (
        found[0]["op"] == "sum.default" and found[3]["op"] == "mm.default"
    )  # mm is the suspect, since an operator after it differs


def test_tolerance_is_by_dtype():
    one = {"shape": [2], "dtype": "torch.float32", "step": 1, "values": [1.0, 2.0]}
    assert apart(one, one | {"values": [1.00001, 2.0]}, None) is None
    assert "element 0: 1.0 here, 1.1 there" in apart(one, one | {"values": [1.1, 2.0]}, None)
    assert "dtype" in apart(one, one | {"dtype": "torch.float64"}, None) and "shape" in apart(
        one, one | {"shape": [1, 2]}, None
    )
    nan = {"shape": [], "dtype": "torch.float32", "step": 1, "values": float("nan")}
    assert apart(nan, nan, None) is None and apart(nan, nan | {"values": 1.0}, None)
    assert apart(
        one | {"dtype": "torch.int64", "values": [1, 2]}, one | {"dtype": "torch.int64", "values": [1, 3]}, 0.9
    )
