"""A traceback has the program's frames and one of ours; MINDTORCH_TRACEBACK=full has all."""

import dis
import re
import sys
import traceback

import pytest
import torch

from mindtorch_proxy import tracebacks

CASES = {
    "function": lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)),
    "method": lambda: torch.ones(2).softmax(5),
    "operator": lambda: torch.ones(2) + torch.ones(3),
    "overloads": lambda: torch.ones(2).view(3),
    "no overload": lambda: torch.max("x"),
    "composite": lambda: torch.matmul(torch.ones(2, 3), torch.ones(2, 3)),
    "operator of a composite": lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    "in place": lambda: torch.ones(2).add_(torch.ones(3)),
    "module": lambda: torch.nn.Linear(2, 3)(torch.ones(5)),
    "modules": lambda: torch.nn.Sequential(torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1)))(torch.ones(1, 2, 3, 3)),
    "index": lambda: torch.ones(2)[5],
    "assignment": lambda: torch.ones(2).__setitem__(5, 1),
    "backward": lambda: torch.ones(2, requires_grad=True).backward(),
    "grad": lambda: torch.autograd.grad(torch.ones(2), torch.ones(2)),
    "item": lambda: torch.ones(2).item(),
    "conversion": lambda: torch.ones(2).to("nope"),
    "data": lambda: torch.tensor([[1], [1, 2]]),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.delenv("MINDTORCH_TRACEBACK")
    (torch.ones(2) + torch.ones(2)) @ torch.ones(2)  # a method of an operator makes itself at its first call


def frames(case):
    with pytest.raises(Exception) as caught:
        case()
    found, trace = [], caught.value.__traceback__
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found, caught.value


@pytest.mark.parametrize("name", CASES)
def test_one_frame_of_ours(name):
    found, error = frames(CASES[name])
    assert [tracebacks.ours(t) for t in found].count(True) == 1 and tracebacks.ours(found[-1])
    assert found[-2].tb_frame.f_code.co_name == "<lambda>" and isinstance(
        error, (RuntimeError, IndexError, TypeError, ValueError)
    )
    if found[-1].tb_frame.f_code.co_filename[0] == "<":  # its line stands in linecache
        assert traceback.extract_tb(found[-1])[0].line


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.ones(2) @ torch.ones(3)


def test_the_text_of_a_workers_error():
    """The frames of the worker's process are in the message of the error that is raised here."""
    with pytest.raises(RuntimeError, match="Caught RuntimeError in DataLoader worker process 0") as caught:
        next(iter(torch.utils.data.DataLoader(Broken(), num_workers=1)))
    frames = re.findall(r'^  File "(.*?)", line \d+, in (\w+)', str(caught.value), re.M)
    assert [name for _, name in frames] == ["__getitem__", "__matmul__"] and frames[1][0].startswith("<"), frames


def test_frames_of_the_program_inside_modules_stay():
    class Mine(torch.nn.Module):
        def forward(self, x):
            return torch.nn.Linear(2, 3)(x)

    found, _ = frames(lambda: torch.nn.Sequential(Mine())(torch.ones(5)))
    assert [t.tb_frame.f_code.co_name for t in found][-2:] == ["forward", "linear"] and not tracebacks.ours(found[-2])


def test_the_first_call_of_an_operator(python):
    """Its method makes itself at that call; nothing but the operator prints the traceback."""
    code = "try:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError:\n    traceback.print_exc()"
    code = f"import torch, traceback\n{code}"
    error = python("-m", "mindtorch_proxy", "-c", code, check=False, MINDTORCH_TRACEBACK=None).stderr
    assert error.count('File "') == 2 and "<Tensor.__matmul__ #" in error, error


def test_all_frames_on_request(monkeypatch):
    monkeypatch.setenv("MINDTORCH_TRACEBACK", "full")
    found, _ = frames(CASES["function"])
    assert [tracebacks.ours(t) for t in found].count(True) > 3


def test_functions_of_the_program_that_we_call_stay():
    def callback(x):
        raise KeyError("mine")

    found, error = frames(lambda: torch.ones(2).apply_(callback))
    assert isinstance(error, KeyError) and found[-1].tb_frame.f_code.co_name == "callback"

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g @ torch.ones(7, 3)

    y = Broken.apply(torch.ones(2, requires_grad=True)).sum()
    found, _ = frames(lambda: y.backward())
    names = [t.tb_frame.f_code.co_name for t in found]
    assert "backward" in names and tracebacks.ours(found[-1]) and not tracebacks.ours(found[-2])


def test_a_program_that_ends_with_an_error(python, tmp_path):
    (tmp_path / "prog.py").write_text("import torch\nmodel = torch.nn.Linear(3, 4)\nmodel(torch.ones(2, 5))\n")
    error = python("-m", "mindtorch_proxy", tmp_path / "prog.py", check=False, MINDTORCH_TRACEBACK=None).stderr
    assert (
        error.count('\n  File "') + error.startswith('  File "') == 2
        and "prog.py" in error
        and "<torch.linear #" in error
    ), error
    assert "r = run(input, weight, bias)" in error and error.endswith("(2x5 and 3x4)\n")


def test_it_costs_nothing_where_nothing_is_raised():
    """From Python 3.11 on a try block is no instruction: between the one that begins it and the first of the call there
    is none.
    """
    code = type(torch.ones(2)).__add__.__code__
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    assert sys.version_info < (3, 11) or "SETUP_FINALLY" not in names and code.co_exceptiontable
