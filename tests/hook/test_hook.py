"""Tests the finder and its metadata: on, off, beside another torch, and with install and uninstall."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_proxy
from mindtorch_proxy.finder import ROOTS, TORCH_VERSION

PACKAGE = str(Path(mindtorch_proxy.__file__).parent)


@pytest.fixture(params=["made up", "real"])
def other_torch(request, tmp_path):
    """Provide (folder for PYTHONPATH, version) of another torch."""
    if request.param == "made up":
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch/__init__.py").write_text("__version__ = '9.9'\n")
        (tmp_path / "torch/functional.py").write_text("")
        (tmp_path / "torch/_VF.py").write_text("")
        (tmp_path / "torch-9.9.dist-info").mkdir()
        (tmp_path / "torch-9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
        return str(tmp_path), "9.9"
    oracle = request.getfixturevalue("oracle_python")
    ask = "import json, sys, sysconfig; print(json.dumps([sys.version_info[:2], sysconfig.get_path('purelib')]))"
    version, site = json.loads(subprocess.check_output([oracle, "-c", ask]))
    if tuple(version) != sys.version_info[:2]:
        pytest.skip("the oracle's Python is of another version")
    needed = "torch torch-* torchgen functorch sympy mpmath networkx jinja2 markupsafe filelock fsspec".split()
    for pattern in needed:
        for found in Path(site).glob(pattern):
            (tmp_path / found.name).symlink_to(found)
    return str(tmp_path), next(tmp_path.glob("torch-*.dist-info")).name.removeprefix("torch-").removesuffix(
        ".dist-info"
    )


def test_off_means_off(python, other_torch):
    folder, version = other_torch
    code = (
        "import mindtorch_proxy, torch, importlib.metadata as m; print(torch.__version__, m.version('torch'), "
        "torch.__file__)"
    )
    assert python("-c", code, PYTHONPATH=folder) == f"{version} {version} {folder}/torch/__init__.py"


def test_beside_another_torch_ours_answers(python, other_torch):
    folder, version = other_torch
    code = """
import importlib.metadata, importlib.util, sys
assert importlib.util.find_spec("torch").origin == sys.argv[1] + "/torch/__init__.py"
assert importlib.metadata.version("torch") == importlib.metadata.distribution("Torch").version == sys.argv[2]
assert "torch" not in sys.modules
import torch, torch.nn.functional
assert torch.__version__ == sys.argv[2] and torch.__file__.startswith(sys.argv[1])
assert importlib.util.find_spec("torch.no_such_module") is None
# every module is ours, whatever the other torch has
files = {m.__file__ for n, m in sys.modules.items() if n.startswith("torch.") and getattr(m, "__file__", None)}
assert files and not [f for f in files if f.startswith(sys.argv[3])], files
"""
    python("-m", "mindtorch_proxy", "-c", code, PACKAGE, TORCH_VERSION, folder, PYTHONPATH=folder)


def test_a_submodule_only_the_other_torch_has_is_missing(python, tmp_path):
    """This also holds if the other torch's finder ignores the path, as those of editable installs do."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/only_there.py").write_text("")
    code = """
import importlib.util, sys
from importlib.machinery import PathFinder
class Editable:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("torch."):
            return PathFinder.find_spec(name, [sys.argv[1] + "/torch"])
import torch
assert importlib.util.find_spec("torch.only_there") is None
sys.meta_path.append(Editable)
try:
    import torch.only_there
except ModuleNotFoundError as error:
    print(error.name, sys.argv[1] in str(error))
"""
    assert python("-m", "mindtorch_proxy", "-c", code, tmp_path) == "torch.only_there True"


def test_missing_submodule(python):
    code = """
import torch
try:
    import torch.no_such_module.inside
except ModuleNotFoundError as error:
    print(error.name, "|", error)
"""
    assert (
        python("-m", "mindtorch_proxy", "-c", code) == "torch.no_such_module | No module named 'torch.no_such_module'"
    )


def test_another_torch_already_imported(python, other_torch):
    code = """
import os, sys, torch, mindtorch_proxy
before = list(sys.meta_path), dict(sys.modules), dict(os.environ)
try:
    mindtorch_proxy.install()
except RuntimeError as error:
    for part in ("modules torch", torch.__file__, "python -m mindtorch_proxy"):
        assert part in str(error), error
    assert not mindtorch_proxy.installed()
    assert before == (list(sys.meta_path), dict(sys.modules), dict(os.environ))
    print("refused")
"""
    assert python("-c", code, PYTHONPATH=other_torch[0]) == "refused"


def test_metadata(python):
    code = """
import importlib.metadata as m, sys
import mindtorch_proxy; mindtorch_proxy.install()
d = m.distribution("torch")
assert d.metadata["Name"] == "torch" and d.read_text("top_level.txt") == "functorch\\ntorch\\n"
assert d.read_text("entry_points.txt") is None
assert d.version == m.version("TORCH") == mindtorch_proxy.finder.TORCH_VERSION
assert "torch" in m.packages_distributions()["torch"] and not list(d.entry_points)
assert len(d.files) > 20 and all(f.locate().exists() for f in d.files)
assert {"torch/__init__.py", "torch/nn/functional.py"} <= set(map(str, d.files))
assert [x.metadata["Name"] for x in m.distributions(name="torch")] == ["torch"]
assert "torch" not in {x.metadata["Name"] for x in m.distributions(path=["/nonexistent"])}
assert "torch" not in sys.modules
mindtorch_proxy.uninstall()
try:
    m.version("torch")
except m.PackageNotFoundError:
    print("gone")
"""
    assert python("-c", code) == "gone"


def test_version_is_valid_and_the_same_everywhere(python):
    from packaging.version import Version

    version = Version(TORCH_VERSION)
    assert version.base_version == "2.13.0" and version.local == "mindspore" and not version.is_prerelease
    code = "import torch, torch.version; print(torch.__version__, torch.version.__version__)"
    assert python("-m", "mindtorch_proxy", "-c", code) == f"{TORCH_VERSION} {TORCH_VERSION}"


def test_real_names_specs_and_files(python):
    code = """
import sys, torch, torch.nn.functional as F, torch.utils.data, torch.optim
for name, module in list(sys.modules.items()):
    if name.startswith("torch.") and module.__spec__ and module.__spec__.has_location:
        assert module.__name__ == module.__spec__.name == name, name
        assert module.__file__ == module.__spec__.origin and open(module.__file__), name
assert F is sys.modules["torch.nn.functional"] is torch.nn.functional
assert torch.__path__ == sys.argv[1:] and "mindspore" not in sys.modules
print(len([n for n in sys.modules if n.startswith("mindtorch_proxy.torch")]))
"""
    assert python("-m", "mindtorch_proxy", "-c", code, *ROOTS) == "0"


def test_the_trees_do_not_overlap():
    def modules(root):
        return {str(p.relative_to(root).with_suffix("")).removesuffix("/__init__") for p in Path(root).rglob("*.py")}

    both = modules(ROOTS[0]) & modules(ROOTS[1])
    assert not both, f"served from {ROOTS[0]}, hidden in {ROOTS[1]}"


def test_pickles_name_torch(python):
    code = """
import pickle, pickletools, torch
functions_and_classes = torch.nn.Linear, torch.add, torch.nn.functional.relu, torch.optim.SGD
for thing in (*functions_and_classes, torch.float32, torch.Size([1]), torch.device("cpu")):
    data = pickle.dumps(thing)
    assert b"mindtorch_proxy" not in data and b"runtime" not in data, data
    again = pickle.loads(data)
    assert again is thing or again == thing
import copy; assert copy.deepcopy(torch.float32) is torch.float32
"""
    python("-m", "mindtorch_proxy", "-c", code)


def test_threads_import_at_once(python):
    code = """
import importlib, sys, threading, mindtorch_proxy
# no child beside its parent: see below
names = ["torch", "torch.optim", "torch.utils.data", "torch.nn", "torch.autograd", "torch.nn", "torch"]
start, got = threading.Barrier(len(names)), []
def work(name):
    start.wait()
    mindtorch_proxy.install()
    got.append((name, importlib.import_module(name)))
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work, args=(n,)) for n in names]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(got) == len(names) and all(sys.modules[n] is m for n, m in got)
print(sum(type(f).__name__ == "TorchFinder" for f in sys.meta_path))
"""
    # Importing a package and its submodule in two threads can deadlock in CPython, also with PyTorch. Reading
    # attributes cannot.
    assert python("-c", code) == "1"


def test_threads_reach_submodules_at_once(python):
    code = """
import sys, threading, mindtorch_proxy
mindtorch_proxy.install()
import torch
start, got = threading.Barrier(6), []
def work(f):
    start.wait()
    got.append(f())
sys.setswitchinterval(1e-5)
fs = [lambda: torch.nn.functional.relu, lambda: torch.nn.Linear, lambda: torch.optim.SGD,
      lambda: torch.nn.functional.relu, lambda: torch.utils.data.DataLoader, lambda: torch.relu]
threads = [threading.Thread(target=work, args=(f,)) for f in fs]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(got))
"""
    assert python("-c", code) == "6"


def test_uninstall_restores_exactly(python):
    code = """
import os, sys, mindtorch_proxy
sys.modules["torch.blocked"] = None
def state():
    modules = {n for n in sys.modules if n.startswith("torch")}
    return list(sys.meta_path), modules, dict(os.environ), list(sys.path), list(sys.path_hooks)
meta_path, before = sys.meta_path, state()
mindtorch_proxy.uninstall()
assert state() == before
for _ in range(2):
    first = mindtorch_proxy.install(); mindtorch_proxy.install()
    assert mindtorch_proxy.installed() and state()[0][1:] == before[0]
    import torch.nn
    assert "torch.blocked" not in sys.modules
    mindtorch_proxy.uninstall(); mindtorch_proxy.uninstall()
    assert state() == before and sys.meta_path is meta_path and not mindtorch_proxy.installed()
try:
    import torch
except ModuleNotFoundError:
    print("gone")
"""
    assert python("-c", code) == "gone"
    assert python("-c", code, PYTHONPATH="/a:/b", MINDTORCH_ACTIVATE="/elsewhere") == "gone"


def test_context_manager_and_one_tree_a_process(python):
    code = """
import os, sys, mindtorch_proxy
with mindtorch_proxy.install():
    import torch
    with mindtorch_proxy.install():
        pass
    assert mindtorch_proxy.installed()  # the inner one had nothing to undo
    Tensor = torch.Tensor
assert not mindtorch_proxy.installed() and "torch" not in sys.modules
with mindtorch_proxy.install():
    import torch as again
    assert again is torch and again.Tensor is Tensor
    assert os.environ["MINDTORCH_ACTIVATE"] == os.path.realpath(sys.prefix)
try:
    with mindtorch_proxy.install():
        raise KeyError
except KeyError:
    print(mindtorch_proxy.installed(), "MINDTORCH_ACTIVATE" in os.environ)
"""
    assert python("-c", code) == "False False"


def test_environment_that_the_program_changed_stays_changed(python):
    code = """
import os, mindtorch_proxy
mindtorch_proxy.install()
os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"] + ":/new"
mindtorch_proxy.uninstall()
print(os.environ["PYTHONPATH"], "MINDTORCH_ACTIVATE" in os.environ)
"""
    assert python("-c", code, PYTHONPATH="/a") == "/a:/new False"


def test_standard_library_only_and_import_machinery_unpatched(python):
    code = """
import importlib, importlib.metadata, importlib.util, builtins, sys
machinery = [dict(vars(m)) for m in (importlib, importlib.metadata, importlib.util)] + [builtins.__import__]
import mindtorch_proxy
mindtorch_proxy.install()
importlib.metadata.version("torch")
after = [dict(vars(m)) for m in (importlib, importlib.metadata, importlib.util)] + [builtins.__import__]
assert machinery == after
names = {n.partition(".")[0] for n, m in sys.modules.items() if getattr(m, "__file__", None)}
names -= set(sys.stdlib_module_names)
print(sorted(n for n in names if not n.startswith(("__", "sitecustomize", "_distutils_hack"))))
"""
    assert python("-c", code) == "['mindtorch_proxy']"


def test_import_torch_loads_no_mindspore_and_little_else(python):
    code = (
        "import sys, torch; print([m for m in ('mindspore', 'scipy', 'asyncio', 'multiprocessing.pool') if m in "
        "sys.modules])"
    )
    assert python("-m", "mindtorch_proxy", "-c", code) == "[]"
