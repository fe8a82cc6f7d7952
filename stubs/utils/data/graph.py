"""The graph of pipes that a pipe reads from."""

import warnings
from collections import deque

from .datapipes.datapipe import IterDataPipe, MapDataPipe, _DataPipeSerializationWrapper

__all__ = ["traverse", "traverse_dps"]


def _sources(pipe):
    """Return the pipes in the state of a pipe, including those in containers, each once."""
    found, seen = {}, set()

    def look(x):
        if isinstance(x, (IterDataPipe, MapDataPipe)):
            found.setdefault(id(x), x)
        elif isinstance(x, (dict, list, tuple, set, frozenset, deque)) and id(x) not in seen:
            seen.add(id(x))
            for y in x:
                look(y)
            if isinstance(x, dict):
                for y in x.values():
                    look(y)

    # look at the state that pickle would write, without pickling it, so that unpicklable functions are no problem
    look(vars(pipe) if isinstance(pipe, _DataPipeSerializationWrapper) else pipe.__reduce_ex__(2)[1:3])
    return found.values()


def traverse_dps(datapipe):
    """Return the graph of a pipe, ``{id: (pipe, graph of its sources)}``."""
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")

    def graph(pipe, users):
        users, sources = users | {id(pipe)}, {}
        for source in _sources(pipe):
            if id(source) not in users:
                sources.update(graph(source, users))
        return {id(pipe): (pipe, sources)}

    return graph(datapipe, frozenset())


def traverse(datapipe, only_datapipe=None):
    """Return traverse_dps(datapipe) (deprecated)."""
    changing = "" if only_datapipe else " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
        + changing,
        FutureWarning,
        stacklevel=2,
    )
    return traverse_dps(datapipe)
