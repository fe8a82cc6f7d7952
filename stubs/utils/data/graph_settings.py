"""Settings that apply to all pipes of a graph."""

import inspect
import warnings

import torch
from typing_extensions import deprecated

from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph):
    """Return the pipes of a graph, each once, with users before their sources."""
    found = {}

    def collect(graph):
        for key, (pipe, sources) in graph.items():
            if key not in found:
                found[key] = pipe
                collect(sources)

    collect(graph)
    return list(found.values())


def _with_methods(datapipe, *names):
    return [
        p
        for p in get_all_graph_pipes(traverse_dps(datapipe))
        if all(inspect.ismethod(getattr(p, n, None)) for n in names)
    ]


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Set the shard of this process in all sharding pipes; two of them on one path are an error."""

    def apply(graph, done):
        for pipe, sources in graph.values():
            here = done
            if inspect.ismethod(getattr(pipe, "apply_sharding", None)):
                if done is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {done} while trying to apply to {pipe}"
                    )
                group = (
                    {}
                    if len(inspect.signature(pipe.apply_sharding).parameters) < 3
                    else {"sharding_group": sharding_group}
                )
                pipe.apply_sharding(num_of_instances, instance_id, **group)
                here = pipe
            apply(sources, here)

    apply(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe, shuffle=None):
    """Turn all shufflers on or off; if it is on and there is none, add one at the end."""
    if shuffle is None:
        return datapipe
    shufflers = _with_methods(datapipe, "set_shuffle", "set_seed")
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Set a different seed in each random pipe."""
    for pipe in _with_methods(datapipe, "set_seed"):
        pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe


@deprecated(
    "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
    "Please use `apply_random_seed` instead.",
    category=FutureWarning,
)
def apply_shuffle_seed(datapipe, rng):
    """Call apply_random_seed (deprecated)."""
    return apply_random_seed(datapipe, rng)
