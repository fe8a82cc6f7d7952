"""torch.sparse._triton_ops_meta: tuned launch parameters of Triton's sparse kernels, and the search for them.

PyTorch ships a table for NVIDIA devices; here the table holds only what `update` adds.
"""

import itertools
import re
import warnings

import torch

_NAMES = {
    "scatter_mm": ("GROUP_SIZE", "SPLIT_N", "TILE_M", "TILE_N", "num_stages", "num_warps"),
    "bsr_dense_addmm": ("GROUP_SIZE_ROW", "SPLIT_N", "num_stages", "num_warps"),
}
_NAMES["_int_bsr_dense_addmm"] = _NAMES["bsr_dense_addmm"]
_operation_device_version_data = {}
_STABLE = 0.001  # timings within this fraction of the best count as equal


def _get_device_name():
    """Return the name of the accelerator under which parameters are stored, or an empty string."""
    for module in (torch.cuda, torch.xpu):
        if module.is_available():
            return module.get_device_name()
    return ""


def get_meta(op, key, device_name=None, version=(0, torch.float16, 0.5), exact=False):
    """Return the stored parameters of an operation for a key of its arguments, as a dict, or None.

    A "*" in the key matches anything, and the result is then a dict of all matches.
    """
    if device_name is None:
        device_name = _get_device_name()
    kept = _operation_device_version_data.get((op, device_name, version))
    if kept is None and not exact and re.match(r"NVIDIA A100[^\d]", device_name):
        kept = _operation_device_version_data.get((op, "NVIDIA A100-SXM4-80GB", version))
    if kept is None:
        return None
    if "*" in key:
        found = {k: v for k, v in kept.items() if all(b in ("*", a) for a, b in zip(k, key, strict=True))}
    else:
        found = {k: kept[k] for k in [key] if k in kept}
    if found and op not in _NAMES:
        raise NotImplementedError(f"names for {op=}")
    named = {k: dict(zip(_NAMES[op], values, strict=True)) for k, values in found.items()}
    return named if "*" in key else named.get(key)


def update(op, device_name, version, key, value):
    """Store parameters; an empty value is skipped with a warning."""
    if not value:
        warnings.warn(f"skipping empty value for {op}: {device_name=} {version=} {key=}", stacklevel=2)
        return
    _operation_device_version_data.setdefault((op, device_name, version), {})[key] = value


def _key(parameters):
    return tuple(parameters[k] for k in sorted(parameters))


class _Search:
    """Measure parameters, each set only once; a failure is stored as its error message."""

    def __init__(self, target_func, step_func, max_step, verbose, all_values):
        self.target_func, self.step_func, self.max_step, self.verbose = target_func, step_func, max_step, verbose
        self.values = {} if all_values is None else all_values

    def time(self, parameters):
        """Return the timing of the parameters, or the message of the exception."""
        try:
            result = self.target_func(parameters)
        except Exception as error:  # a failing kernel rules out only these parameters
            result = str(error)
            if self.verbose and "out of resource" not in result:
                print(f"{parameters=} lead to failure: {result}.")
        self.values[_key(parameters)] = result
        return result

    def moves(self, count):
        """Return all steps in the parameter space as (distance, step), nearest first."""
        steps = itertools.product(range(-self.max_step, self.max_step + 1), repeat=count)
        return sorted((far, step) for step in steps if 0 < (far := sum(map(abs, step))) <= self.max_step)

    def moved(self, parameters, step):
        """Return the parameters after a step, or None if one of them cannot change."""
        result = dict(parameters)
        for name, direction in zip(sorted(parameters), step, strict=True):
            if direction:
                result[name] = self.step_func(name, parameters[name], direction, parameters)
                if result[name] == parameters[name]:
                    return None
        return result

    def better(self, parameters, best):
        """Return the first unmeasured neighbour that beats `best`, with its timing, or None."""
        for _, step in self.moves(len(parameters)):
            near = self.moved(parameters, step)
            if near is None or _key(near) in self.values:
                continue
            timing = self.time(near)
            if not isinstance(timing, str) and timing < best:
                return near, timing
        return None

    def sensitivity(self, parameters, best):
        """Yield how much slower each parameter's neighbours are in percent, worst first."""
        rows = []
        for place, name in enumerate(sorted(parameters)):
            rises = []
            for direction in filter(None, range(-self.max_step, self.max_step + 1)):
                near = self.moved(parameters, [direction if place == i else 0 for i in range(len(parameters))])
                timing = None if near is None else self.values.get(_key(near))
                rises.append(0 if timing is None or isinstance(timing, str) else (timing / best - 1) * 100)
            rows.append((max(rises), rises, name))
        for _, rises, name in sorted(rows, reverse=True):
            left, right = (
                "|".join(f"{r:.1f}" for r in part) for part in (rises[: self.max_step], rises[self.max_step :])
            )
            yield f"{name}={parameters[name]} ({left}...{right} %)"


def minimize(
    target_func, initial_parameters, reference_parameters, step_func, max_step=2, verbose=False, all_values=None
):
    """Minimize the target by moving from neighbour to neighbour.

    Return the parameters, their gain over the reference in percent, their timing, and a text about the sensitivity to
    each parameter.
    """
    search = _Search(target_func, step_func, max_step, verbose, all_values)
    reference = search.time(reference_parameters)
    parameters, start = initial_parameters, search.time(initial_parameters)
    if isinstance(start, str):
        if isinstance(reference, str):
            return {}, -1, -1, start
        parameters, start = reference_parameters, reference
    if isinstance(reference, str):
        reference = start
    first, best = _key(parameters), start
    while (found := search.better(parameters, best)) is not None:
        parameters, best = found
    near = {k for k, v in search.values.items() if isinstance(v, float) and abs(1 - v / best) < _STABLE}
    if near:
        parameters = dict(zip(sorted(parameters), first if first in near else min(near), strict=True))
    gain = (1 - best / reference) * 100
    if gain < 0:
        return minimize(
            target_func, reference_parameters, reference_parameters, step_func, max_step, verbose, search.values
        )
    return parameters, gain, best, ", ".join([f"timing0={start:.3f}", *search.sensitivity(parameters, best)])
