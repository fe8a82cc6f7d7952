"""Dispatch of operators on DTensors.

For each mesh dimension, choose placements; then redistribute the arguments and run on local tensors.
"""

from ._call import HANDLERS, RULES, Call, choose, everything_replicated, run
from ._rules import pointwise
from .placement_types import Replicate


def dispatch(kind, func, args, kwargs):
    """Run an operator on DTensors; ``kind`` is the DTensor class."""
    call = Call(kind, func, args, kwargs)
    handler = HANDLERS.get(call.name)
    if handler is not None:
        return handler(call)
    rule = RULES.get(call.name)
    if rule is None and call.schema is not None and "pointwise" in getattr(call.schema, "tags", ()):
        rule = pointwise
    whole = all(isinstance(p, Replicate) for s in call.specs for p in s.placements)
    if rule is None and not whole:
        raise NotImplementedError(
            f"Operator {call.full_name} does not have a sharding strategy registered for "
            f"{[s.placements for s in call.specs]}: redistribute to Replicate() first."
        )
    placements, outputs = [], []
    for i in range(call.mesh.ndim):
        candidates = [] if rule is None or whole else list(rule(call, i))
        inputs, results = choose(call, [*candidates, everything_replicated(call)], i)
        placements.append(inputs)
        outputs.append(results)
    return run(call, placements, outputs)
