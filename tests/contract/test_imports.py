"""Tests that there are no circular imports among files or among packages of the runtime; imports in functions count.

tools/layers.py computes the graphs, and the table of layers in docs/architecture.md.
"""

import functools
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)
graph = functools.cache(layers.graph)


def said(circle):
    return circle and " -> ".join([*circle, circle[0]])


@pytest.mark.parametrize("tree", layers.TREES)
def test_no_circle_of_files(tree):
    assert said(layers.circle(graph(tree))) is None


@pytest.mark.parametrize("tree", ["mindtorch_proxy.runtime", "mindtorch_proxy.backends"])
def test_no_circle_of_packages(tree):
    assert said(layers.circle(layers.packages(graph(tree), tree))) is None


def test_the_page_has_the_layers():
    assert layers.PAGE.read_text() == layers.page(), "run `python tools/layers.py`"


def test_the_folders_of_the_page_have_all_modules_of_the_runtime():
    folders = layers.PAGE.read_text().partition("## Folders")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:runtime/)?(\w+)(?:\.py|/)`", folders))
    found = layers.packages(graph(layers.RUNTIME), layers.RUNTIME).keys() - {layers.RUNTIME}
    assert not {name.rpartition(".")[2] for name in found} - named


def test_a_circle_is_found():
    assert layers.circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert layers.circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def test_a_circle_of_packages_is_found():
    files = {"t.a": {"t.a.x"}, "t.a.x": {"t.b.y"}, "t.a.z": set(), "t.b.y": set(), "t.b.w": {"t.a.z"}}
    assert layers.circle(files) is None
    assert layers.packages(files, "t") == {"t.a": {"t.b"}, "t.b": {"t.a"}}
    assert layers.circle(layers.packages(files, "t")) == ["t.a", "t.b"]


def test_a_circle_through_both_roots_is_found(tmp_path):
    """Imports count by relative and absolute names, in functions and from packages, but not under TYPE_CHECKING."""
    for path, text in {
        "mindtorch_proxy/torch/__init__.py": "from . import below, above",
        "mindtorch_proxy/torch/below.py": "import torch\ndef f():\n    from torch.utils import above",
        "mindtorch_proxy/torch/nn/__init__.py": "import torch.below",
        "mindtorch_proxy/torch/nn/leaf.py": "if TYPE_CHECKING:\n    from .. import nn",
        "stubs/utils/above.py": "from ..nn import leaf, Linear",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = layers.graph("torch", tmp_path)
    assert found == {
        "torch.below": {"torch.utils.above"},
        "torch.nn": {"torch.below"},
        "torch.nn.leaf": set(),
        "torch.utils.above": {"torch.nn", "torch.nn.leaf"},
    }
    assert layers.circle(found) == ["torch.below", "torch.utils.above", "torch.nn"]


def test_layers_stand_on_those_below():
    assert layers.layers({"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": {"c"}}) == [["c"], ["b", "d"], ["a"]]
    with pytest.raises(ValueError, match="circle among"):
        layers.layers({"a": {"b"}, "b": {"a"}, "c": set()})
