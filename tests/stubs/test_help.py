"""help(): every public function and method of operators has a sentence, its schema and a page of PyTorch's
documentation.
"""

import importlib
import inspect
import pydoc

import pytest
import torch

from mindtorch_proxy.runtime import describe, registry

MODULES = (
    "nn nn.functional nn.init nn.utils linalg fft special optim optim.lr_scheduler distributions utils.data autograd "
    "random func sparse"
).split()
CLASSES = (
    "fx export profiler autograd.profiler_util autograd.graph storage utils.hooks utils.benchmark amp cpu".split()
    + ["distributions.constraints", "distributions.transforms"]
)


@pytest.mark.parametrize(
    "namespace", ["torch", "Tensor", "nn.functional", "linalg", "fft", "special", "signal.windows"]
)
def test_operators(namespace):
    without = []
    for name in sorted(registry.names(namespace)):
        f = registry.function(namespace, name)
        if name[0] != "_" and inspect.isfunction(f):
            first = (f.__doc__ or "").partition("\n")[0]
            if not first.endswith(".") or "->" in first:
                without.append(name)
    assert not without


def test_what_follows_from_the_declaration():
    assert "In place: the absolute value" in torch.Tensor.abs_.__doc__
    assert "The same as ``acos``" in torch.arccos.__doc__
    assert "shares its memory" in torch.transpose.__doc__ and "never as a view" in torch.transpose_copy.__doc__
    assert "default floating-point dtype" in torch.sin.__doc__ and "of dtype bool" in torch.eq.__doc__
    assert "max.dim(Tensor self" in torch.max.__doc__ and "generated/torch.max.html" in torch.max.__doc__
    assert "Exponentials along a dimension" in pydoc.render_doc(torch.softmax)


def test_no_sentence_is_for_nothing():
    """Every line of the table describes something that exists."""
    spaces = {
        namespace: {*registry.names(namespace), *operators} for namespace, operators in registry.OPERATORS.items()
    }
    all_names = set().union(*spaces.values())
    copies = {name[:-5] for name in all_names if name.endswith("_copy")} | {name.rstrip("_") for name in all_names}
    for key in describe.sentences():
        namespace, _, name = key.rpartition(".")
        candidates = {name, *(name.replace("N", d) for d in "123")}
        assert candidates & (spaces[namespace] if namespace else all_names | copies), key


def is_public(name, home):
    return name[0] != "_" and home.startswith(("torch", "mindtorch"))


def test_the_other_functions_and_classes():
    without = []
    for module in [torch, *(importlib.import_module(f"torch.{name}") for name in MODULES)]:
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or ""
            if (
                is_public(name, home)
                and (inspect.isfunction(value) or isinstance(value, type))
                and not inspect.getdoc(value)
            ):
                without.append(f"{module.__name__}.{name}")
    assert not without


def test_methods_and_properties_of_classes():
    """What a class writes itself has a sentence, or that of the class whose method it overrides."""
    without, count = [], 0
    for module in [torch, *(importlib.import_module(f"torch.{name}") for name in MODULES + CLASSES)]:
        for cls in {
            value
            for value in vars(module).values()
            if isinstance(value, type) and is_public(value.__name__, value.__module__)
        }:
            for name, value in vars(cls).items():
                value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
                ours = is_public(
                    name, getattr(value, "__module__", None) or "torch"
                )  # transformers adds a method to Module
                if ours and (inspect.isfunction(value) or isinstance(value, property)):
                    count += 1
                    if not inspect.getdoc(value):
                        without.append(f"{cls.__module__}.{cls.__qualname__}.{name}")
    assert not without, "\n".join(sorted(set(without)))
    assert count > 1400
