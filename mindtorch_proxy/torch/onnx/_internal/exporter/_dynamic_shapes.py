"""Dimensions that stay symbols, by the names that a program gives them."""

import inspect

import onnx_ir as ir
import torch
from torch.utils import _pytree as pytree


def _is_axes(x):
    """Whether x tells of one tensor: {dimension: name}, a list of names, or None."""
    if x is None:
        return True
    if isinstance(x, dict):
        return all(k is None or isinstance(k, int) for k in x)
    return isinstance(x, (list, tuple)) and bool(x) and all(not isinstance(v, (dict, list, tuple)) for v in x)


def without_names(dynamic_shapes):
    """Return the shapes with Dim.DYNAMIC for names that are strings, and whether names are there at all."""
    if dynamic_shapes is None:
        return None, False
    named = False

    def plain(axes):
        nonlocal named
        if not isinstance(axes, (dict, list, tuple)):
            return axes
        items = axes.values() if isinstance(axes, dict) else axes
        named = named or any(isinstance(v, (str, torch.export.Dim)) for v in items)
        change = lambda v: torch.export.Dim.DYNAMIC if isinstance(v, str) else v
        return {k: change(v) for k, v in axes.items()} if isinstance(axes, dict) else type(axes)(map(change, axes))

    return pytree.tree_map(plain, dynamic_shapes, is_leaf=_is_axes), named


def new_names(inputs, dynamic_shapes):
    """Return {symbol of the model: name of the program} for the model's inputs, for ONNXProgram.rename_axes."""
    names = {}
    for value, axes in zip(inputs, pytree.tree_leaves(dynamic_shapes, is_leaf=_is_axes)):
        for axis, name in enumerate(axes) if isinstance(axes, (list, tuple)) else (axes or {}).items():
            name = name if isinstance(name, str) else getattr(name, "__name__", None)
            dimension = value.shape[axis]
            if isinstance(name, str) and isinstance(dimension, ir.SymbolicDim) and dimension.value is not None:
                names.setdefault(dimension.value, name)
    return names


def of_dynamic_axes(model, args, kwargs, dynamic_axes, input_names, output_names):
    """Return (shapes for torch.export, positional arguments, keyword arguments) for the older `dynamic_axes`.

    It names inputs by `input_names`, or else by the parameters of the module's forward.
    """
    parameters = list(inspect.signature(model.forward if hasattr(model, "forward") else model).parameters)
    shapes = dict.fromkeys(parameters[: len(args)] + list(kwargs))
    by_name = dict(zip(input_names or (), shapes))
    for name, axes in dynamic_axes.items():
        target = by_name.get(name, name)
        if target not in shapes:
            if name in output_names:
                continue
            raise ValueError(f"dynamic axis: {name} is not found in the input names: {list(input_names or shapes)}")
        named = axes if isinstance(axes, dict) else dict.fromkeys(axes, torch.export.Dim.DYNAMIC)
        shapes[target] = dict(named)
    return shapes, (), dict(zip(parameters, args)) | kwargs
