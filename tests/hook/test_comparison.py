"""Tests python -m mindtorch_proxy compare: the first operator that differs from real PyTorch, and its line."""

import shutil
from pathlib import Path

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10
    tomllib = None

from mindtorch_proxy.comparison import Trace, aligned, apart, by_line, first_parting, moved, pairs

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
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
    assert status == 0 and "nothing differs" in output and output.startswith("loss\n"), output + errors


def test_a_wrong_operator_is_named_with_the_line(compare):
    status, output, _ = compare(activation='torch.nn.GELU(approximate="tanh" if here else "none")')
    assert (
        status == 1
        and "first difference: gelu.default" in output
        and "prog.py:11\n      loss = F.cross_entropy(m(x), y)" in output
    ), output
    assert "values compared differ" in output and "there" in output


VARIED = """
import torch
from torch import nn
import torch.nn.functional as F
lstm, norm = nn.LSTM(3, 4), nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
attention = nn.TransformerEncoderLayer(8, 2, 16)
sgd = torch.optim.SGD([*lstm.parameters(), *norm.parameters(), *attention.parameters()], lr=0.1, momentum=0.9)
for step in range(2):
    a = lstm(torch.randn(5, 2, 3))[0].sum()
    b = norm(torch.randn(2, 1, 6, 6)).pow(2).sum()
    c = attention(torch.randn(3, 2, 8)).var()
    sgd.zero_grad()
    (a + b + c).backward()
    sgd.step()
values, vectors = torch.linalg.eigh(torch.eye(3))
u, s, v = torch.linalg.svd(torch.ones(5, 3))
print(torch.stft(torch.randn(64), 16, return_complex=True).abs().sum(), vectors, u)
"""


def test_what_is_computed_in_another_way_does_not_part(compare):
    """Decompositions, gradients that are zero but for rounding, and vectors that are free are no differences."""
    status, output, errors = compare(VARIED)
    assert status == 0 and "nothing differs" in output, output + errors


def test_a_wrong_gradient_is_named_with_its_node_and_forward_line(compare):
    status, output, _ = compare(
        """import torch
if "mindspore" in torch.__version__:
    from mindtorch_proxy.runtime.ops import pointwise
    pointwise._mul_grads["self"] = lambda g, other: g * other * 1.01
y = torch.sigmoid(torch.randn(3, 4, requires_grad=True))
z = y * torch.arange(4.0)
z.sum().backward()
"""
    )
    assert status == 1 and "first difference: mul.Scalar" in output and "prog.py:7\n      z.sum().backward()" in output
    assert "gradient of result 1 of sigmoid (made at" in output, output
    assert "node MulBackward0 of mul, which was called at" in output and "prog.py:6\n" in output, output
    assert "what ran here: mul, pyboost Mul: entry" in output and "runtime/ops/pointwise.py" in output, output


def test_a_wrong_step_of_an_optimizer_is_named(compare):
    """The kernel of the whole step runs only where no mode sees its operators."""
    status, output, _ = compare(
        """import torch
x = torch.randn(4, requires_grad=True)
opt = torch.optim.SGD([x], lr=0.1 * (1 + 0.005 * ("mindspore" in torch.__version__)), momentum=0.5)
for step in range(2):
    x.sin().sum().backward()
    opt.step()
"""
    )
    assert status == 1 and "prog.py:6\n      opt.step()" in output and "change, parameter or state 1 of SGD" in output


def test_strides_and_shared_memory_are_compared(compare):
    status, output, _ = compare(
        """import torch
x = torch.ones(2, 3)
y = x.t().clone() if "mindspore" in torch.__version__ else x.t().contiguous()
z = y.reshape(-1)
"""
    )
    assert status == 1 and "strides" in output and "all values agree" in output, output


@pytest.mark.nightly
@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_correct_programs(compare, path):
    status, output, errors = compare(path.read_text())
    assert status == 0 and "nothing differs" in output, output + errors


FAULTS = tomllib.loads((HERE / "programs/faults.toml").read_text())["fault"] if tomllib else []


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_planted_faults_are_named_at_their_line(python, oracle_python, tmp_path, number):
    """Each fault is planted in a copy of the package."""
    file, old, new, line = (FAULTS[number][key] for key in ("file", "old", "new", "line"))
    package, root = tmp_path / "mindtorch_proxy", HERE.parents[1]
    shutil.copytree(root / "mindtorch_proxy", package)
    for folder in ("runtime", "backends", "stubs"):
        shutil.copytree(root / folder, package / folder)
    text = (package / file).read_text()
    assert text.count(old) == 1, file
    (package / file).write_text(text.replace(old, new))
    program = FAULTS[number].get("program", "many_steps.py")
    (tmp_path / "prog.py").write_text((HERE / "programs" / program).read_text())
    done = python(
        "-m",
        "mindtorch_proxy",
        "compare",
        "--oracle",
        oracle_python,
        tmp_path / "prog.py",
        check=False,
        PYTHONPATH=str(tmp_path),
    )
    assert done.returncode == 1 and f"prog.py:{line}\n" in done.stdout, done.stdout + done.stderr


def test_other_values_are_seen_where_they_are_first_used(compare):
    status, output, _ = compare(
        change="m[0].weight = torch.nn.Parameter(m[0].weight.detach().exp() if here else m[0].weight.detach())"
    )
    assert status == 1 and "first difference: __get__" not in output and "prog.py:" in output, output


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
    status, _, errors = compare("import torch\n", oracle="/nopython")
    assert status == 2 and errors == "compare: --oracle is no Python that can be run: /nopython\n"


def record(name, values, line=1, number=0, kind="call", dtype="torch.float32", **more):
    result = {"shape": [len(values)], "dtype": dtype, "step": 1, "values": values}
    return {
        "kind": kind,
        "number": number,
        "name": name,
        "where": ("p.py", line, ""),
        "script": line,
        "direct": True,
        "results": [result],
        "begin": 0,
        "end": 0,
    } | more


def test_alignment():
    ours = [record("a", [1.0], 1, 0), record("b", [1.0], 3, 1)]
    theirs = [record("a", [1.0], 1, 0), record("c", [1.0], 2, 1), record("b", [2.0], 3, 2)]
    assert [[r["name"] for r in mine + other] for mine, other in aligned(by_line(ours), by_line(theirs))] == [
        ["a"] * 2,
        ["b"] * 2,
    ]
    found = pairs(Trace(views=ours), Trace(views=theirs))
    assert {number: r["number"] for number, r in found.items()} == {0: 0, 1: 2}
    difference, _ = first_parting(Trace(views=ours), Trace(views=theirs), None, lambda: [Trace(views=theirs)])
    assert difference.record["name"] == "b"
    assert first_parting(Trace(views=ours[:1]), Trace(views=theirs), None, list) == (None, None)
    # what a module calls inside is not compared where the two call something else
    inside = [record("Linear", [5.0], 1, 0, "module", direct=False), record("M", [1.0], 1, 1, "module")]
    found = pairs(Trace(views=inside), Trace(views=[record("M", [1.0], 1, 0, "module")]))
    assert found.keys() == {1}


def test_gradients_are_paired_by_their_values():
    def run(order):
        grads = [record((0, k), [float(k)], 2, 5 + k, "grad", of="result") for k in order]
        return Trace(views=[record("a", [1.0], 1, 0), *grads])

    found = pairs(run([0, 1]), run([1, 0]))
    assert all(found[n]["results"][0]["values"] == [float(n - 5)] for n in (5, 6))


def test_noise_is_what_moves_in_the_further_runs():
    ours, theirs = record("a", [1.0, 2.0]), record("a", [1.0, 2.1])
    mine, their, same = Trace(views=[ours]), Trace(views=[theirs]), lambda run: first_parting(mine, their, None, run)[0]
    assert same(lambda: [Trace(views=[theirs])]) is not None
    assert same(lambda: [Trace(views=[theirs]), Trace(views=[record("a", [1.0, 2.15])])]) is None
    difference = same(lambda: [Trace(views=[theirs])])
    assert moved(difference, [{}]) and not moved(difference, [{0: theirs}])
    whole = [Trace(views=[record("a", [*values], dtype="torch.int64")]) for values in ((1, 2, 3), (1, 2, 4), (1, 5, 3))]
    assert first_parting(*whole[:2], None, lambda: [whole[1]])[0] is not None
    assert first_parting(*whole[:2], None, lambda: [whole[2]])[0] is None


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
