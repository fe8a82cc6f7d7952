"""Runs passes in an order that satisfies their constraints."""

import functools
import graphlib
import inspect
import logging

from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]
logger = logging.getLogger(__name__)


def pass_result_wrapper(fn):
    """Convert a function that changes a GraphModule in place to a pass that returns a PassResult."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        return PassResult(result, True) if isinstance(result, GraphModule) else None

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """Return the constraint that ``this`` pass comes before ``that`` one."""

    def holds(a, b):
        return not (a is that and b is this)

    return holds


def _validate_pass_schedule_constraint(constraint, passes):
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :], i + 1):
            if not constraint(a, b):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} "
                    f"at index{j} in pass list."
                )


def _topological_sort_passes(passes, constraints):
    """Return the passes in an order that satisfies all constraints, close to the given order."""
    if not constraints:
        return passes
    before = {p: [q for q in passes if q is not p and not all(c(p, q) for c in constraints)] for p in passes}
    sorter, order = graphlib.TopologicalSorter(before), []
    try:
        sorter.prepare()
    except graphlib.CycleError:
        raise RuntimeError(f"Circular dependency detected within the following passes: {passes}") from None
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=passes.index)
        order += ready
        sorter.done(*ready)
    return order


class PassManager:
    """Runs passes up to ``steps`` times, until nothing changes, with checks in between."""

    def __init__(
        self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False
    ):
        self.passes, self.constraints = list(passes or []), list(constraints or [])
        self.steps = steps or 1
        self.run_checks_after_each_pass, self.suppress_check_failures = (
            run_checks_after_each_pass,
            suppress_check_failures,
        )
        self._validated = False

    def add_pass(self, _pass):
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint on pairs of passes."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raise RuntimeError if the order violates a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self):
        """Sort the passes so that all constraints are satisfied."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """Set a function that checks the module after passes and raises an error if it is invalid."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        """Do nothing, unless add_checks has set a check."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
                logger.debug("Running pass '%s'", name)
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(
                            f"The result of the pass {name} should be type PassResult. Please wrap it with "
                            f"pass_result_wrapper()"
                        )
                except Exception as error:
                    names = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:i]]
                    raise Exception(
                        f"An error occurred when running the '{name}' pass after the following passes: {names}"
                    ) from error
                module, modified = result.graph_module, modified or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            self.check(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
