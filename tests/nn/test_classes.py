"""The classes of torch.nn can be read, subclassed and pickled as PyTorch's: same signatures, bases and names, source
where the class says.
"""

import importlib.util
import inspect
import io
import json
from pathlib import Path

import pytest
import torch

PROGRAM = Path(__file__).with_name("classes.py")  # not on sys.path: pytest imports by file
spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
classes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(classes)
NAMES = [n for n in dir(torch.nn) if isinstance(c := getattr(torch.nn, n), type) and issubclass(c, torch.nn.Module)]
DEPRECATED = {"Container", "NLLLoss2d"}  # typing_extensions.deprecated wraps them in PyTorch
ABSENT = {
    "ipu",
    "mtia",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
}  # no such devices here; the parts of DataParallel


@pytest.fixture(scope="module")
def both(oracle_python, python):
    # in processes of their own: libraries add methods to Module
    return json.loads(python("-m", "mindtorch_proxy", PROGRAM)), json.loads(python(PROGRAM, executable=oracle_python))


def test_the_same_classes(both):
    assert list(both[0]) == list(both[1])


@pytest.mark.parametrize("name", NAMES)
def test_as_in_pytorch(name, both):
    ours, theirs = (table[name] for table in both)
    for what in ("init", "forward", "constants", "repr"):
        if not (name in DEPRECATED and what == "init"):
            assert ours[what] == theirs[what], what
    assert {n for n in theirs["methods"] if n not in ours["methods"]} <= ABSENT
    assert ours["methods"] == {n: s for n, s in theirs["methods"].items() if n in ours["methods"]}
    bases = iter(ours["bases"])  # we may have more
    assert all(base in bases for base in theirs["bases"])
    assert set(ours["names"]) <= set(theirs["names"]), "a name that a library may use for itself"
    assert ours["state"] == theirs["state"]


@pytest.mark.parametrize("name", NAMES)
def test_can_be_read(name):
    cls = getattr(torch.nn, name)
    assert inspect.getsource(cls).startswith(f"class {name}")
    assert cls.__doc__ and cls.__doc__ != torch.nn.Module.__doc__ or cls is torch.nn.Module
    for method in ("__init__", "forward", "extra_repr"):
        function = getattr(cls, method)
        assert Path(inspect.getsourcefile(function)).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_subclass_and_pickle(name):
    module = classes.sample(torch.nn, getattr(torch.nn, name))
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    assert repr(torch.load(file, weights_only=False)) == repr(module)

    class Mine(getattr(torch.nn, name)):
        pass

    Mine.__name__ = name
    assert repr(classes.sample(torch.nn, Mine)) == repr(module)


def test_a_subclass_may_use_any_name():
    """Names that were methods of our own once: buffers, parameters and methods of libraries are called so too."""

    class Mine(torch.nn.Module):
        _persistent = 3

        def __init__(self):
            super().__init__()
            self._member = torch.nn.Linear(2, 2)
            self.register_buffer("_swap", torch.ones(2))
            self._forget = torch.nn.Parameter(torch.ones(2))
            self._check_name = self._set_buffer = self._load_tensor = self._run_pre_hooks = self._all_forward_hooks = (
                None
            )

        def forward(self, x):
            return self._member(x) + self._swap * self._forget

    module = Mine()
    module.register_forward_hook(lambda m, args, output: output + 1)
    assert sorted(module.state_dict()) == ["_forget", "_member.bias", "_member.weight", "_swap"]
    assert module.load_state_dict(module.state_dict()).missing_keys == []
    assert module.get_submodule("_member") is module._member
    assert module(torch.ones(1, 2)).shape == (1, 2)


def test_convolution_takes_any_attribute():
    class Mine(torch.nn.Conv2d):
        def __init__(self):
            super().__init__(1, 1, 1)
            self._n, self._mode, self._dims, self._pool = 3, None, None, None

    assert Mine()(torch.ones(1, 1, 2, 2)).shape == (1, 1, 2, 2)
