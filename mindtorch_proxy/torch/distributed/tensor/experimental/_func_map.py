"""Runs functions on plain tensors with the local tensors of DTensors."""

import functools

import torch
from torch.utils import _pytree as pytree

from .._api import DTensor

__all__ = ["local_map"]


def _expected(what, arg, placements):
    if placements is None:
        raise AssertionError(f"DTensor input {arg} expects {what} but received {placements}!")
    return tuple(placements)


def _piece(arg, placements, grad_placements, redistribute):
    """Return the local tensor of a DTensor; ``placements`` is (wanted placements,), or () if any are allowed."""
    if placements:
        wanted = _expected("placements", arg, placements[0])
        if arg.placements != wanted and not redistribute:
            raise ValueError(
                f"arg {arg} in local_map has a mismatched placements: arg placements is {arg.placements} but the input "
                f"placements is {wanted}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
            )
        arg = arg.redistribute(placements=wanted) if arg.placements != wanted else arg
    if grad_placements:
        return arg.to_local(grad_placements=_expected("in grad placements", arg, grad_placements[0]))
    return arg.to_local()


def _distributed(results, out_placements, mesh):
    """Wrap local results in DTensors, and leave other results unchanged."""
    flat, spec = pytree.tree_flatten(results)
    placements = out_placements if isinstance(out_placements, tuple) else (out_placements,)
    if len(flat) != len(placements):
        raise AssertionError(
            f"local_map requires one PlacementType be provided for each output value, received {len(placements)} "
            f"out_placements but {len(flat)} is expected!"
        )
    found = []
    for value, wanted in zip(flat, placements):
        if isinstance(value, DTensor):
            raise AssertionError(f"torch.Tensor output expected but received {type(value)}: {value}")
        if isinstance(value, torch.Tensor):
            value = DTensor.from_local(value, mesh, wanted, run_check=False)
        elif wanted is not None:
            raise AssertionError(f"Non-tensor output {value} expects None placements but received {wanted}!")
        found.append(value)
    return pytree.tree_unflatten(found, spec)


def _mapped(func, out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs, *args, **kwargs):
    flat, spec = pytree.tree_flatten(args)
    if in_placements is not None and len(in_placements) != len(flat):
        given = f"in_placements length {len(in_placements)}"
        raise AssertionError(f"{given} does not match the number of input args {len(flat)}!")
    mesh, local = device_mesh, []
    for i, arg in enumerate(flat):
        wanted = () if in_placements is None else (in_placements[i],)
        if isinstance(arg, DTensor):
            mesh = arg.device_mesh if mesh is None else mesh
            gradients = () if in_grad_placements is None else (in_grad_placements[i],)
            arg = _piece(arg, wanted, gradients, redistribute_inputs)
        elif not isinstance(arg, torch.Tensor) and wanted and wanted[0] is not None:
            raise AssertionError(f"Non-Tensor input {arg} expects None placements but received {wanted[0]}!")
        local.append(arg)
    results = func(*pytree.tree_unflatten(local, spec), **kwargs)
    return _distributed(results, out_placements, mesh) if any(isinstance(a, DTensor) for a in flat) else results


def local_map(
    func=None,
    out_placements=None,
    in_placements=None,
    in_grad_placements=None,
    device_mesh=None,
    *,
    redistribute_inputs=False,
):
    """Return a function that runs ``func``, which takes plain tensors, on the local tensors of DTensors.

    Args:
        func: the function; without it, return a decorator.
        out_placements: the placements of the results: one list of placements, or a tuple of lists, one for each result;
            None for results that are not tensors.
        in_placements: the required placements of each DTensor argument, or None for other arguments; any placements are
            allowed if not given.
        in_grad_placements: the placements of the gradients of the local tensors.
        device_mesh: the mesh of the results; by default that of the first DTensor argument.
        redistribute_inputs: whether arguments with other placements are redistributed.

    Raises:
        ValueError: an argument has other placements.
        AssertionError: the number or kind of placements does not match.
    """
    given = out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs
    if func is None:
        return lambda func: functools.partial(_mapped, func, *given)
    return functools.partial(_mapped, func, *given)
