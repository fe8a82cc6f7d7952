"""The comparison of the examples in PyTorch's docstrings, and what sweeps share."""

import importlib.util
import sys
import types
from pathlib import Path

import pytest
import torch

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"tool_{name}", TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tool():
    return loaded("docstrings")


@pytest.fixture
def kept():
    """Restores what running examples changes."""
    hook = sys.displayhook
    yield
    sys.displayhook = hook


@pytest.mark.parametrize(
    "real, ours, same",
    [
        ("tensor([1., 2.])", "tensor([1.,\n        2.])", True),
        ("tensor(0.3333)", "tensor(0.3334)", True),
        ("tensor(0.3333)", "tensor(0.3433)", False),
        ("tensor(1)", "tensor(1.)", False),
        ("tensor([1, 2])", "tensor([1, 2, 3])", False),
        ("raises ValueError: a", "raises ValueError: b", True),
        ("raises ValueError: a", "raises TypeError: a", False),
        ("", "raises TypeError: a", False),
    ],
)
def test_what_counts_as_equal(tool, real, ours, same):
    assert tool.equal(real, ours) is same


def test_the_first_example_that_differs(tool):
    assert tool.compare(["a", "b", "c"], ["1", "2", "3"], ["1", "5", "4"]) == (1, 1)
    assert tool.compare(["a"], ["1"], ["1"]) == (1, None)
    assert tool.compare(["a", "b"], ["1", "2"], None) == (0, 0)
    assert tool.compare(["a", "b"], None, ["1", "2"]) == (2, None)


def test_examples_print_what_they_print_in_a_session(tool, kept):
    found = tool.outputs(torch, ["x = torch.ones(2)\n", "x\n", "print(x.sum())\n", "x.view(3)\n", "x = None; x\n"])
    assert found[:3] == ["", "tensor([1., 1.])\n", "tensor(2.)\n"]
    assert found[3].startswith("raises RuntimeError: shape '[3]' is invalid") and found[4] == ""


def test_docstrings_are_found_once(tool, monkeypatch):
    def f():
        """Add.

        >>> 1 + 1
        2
        """

    class C:
        """Count.

        Example::

            >>> c = C()
            >>> for i in range(2):
            ...     i
        """

        def m(self):
            """Nothing to run."""

        def again(self):
            pass

        again.__doc__ = f.__doc__

    module = types.ModuleType("torch.things")
    f.__module__ = C.__module__ = "torch.things"
    module.f, module.C, module.other = f, C, sys
    monkeypatch.setattr(tool, "modules", lambda torch: [module])
    found = dict(tool.docstrings(types.SimpleNamespace(Tensor=object)))
    assert found == {
        "torch.things.C": ["c = C()\n", "for i in range(2):\n    i\n"],
        "torch.things.C.again": ["1 + 1\n"],
    }


def test_a_side_that_ends_is_started_anew():
    sweeping = loaded("sweeping")
    side = sweeping.Side([sys.executable, "-c", "import sys; sys.exit(1)"])
    assert side.ask(["add"], 30) is None and side.process is None
    side = sweeping.Side([sys.executable, "-c", "import time; time.sleep(60)"])
    assert side.ask(["add"], 0.2) is None and side.process is None
    side = sweeping.Side([sys.executable, "-c", "import sys\nfor line in sys.stdin: print(line, flush=True, end='')"])
    assert side.ask({"a": 1}, 30) == {"a": 1} and side.ask([2], 30) == [2]
    side.close()
    assert side.process is None
