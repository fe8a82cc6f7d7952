"""np.errstate(all="ignore") at a fraction of its cost, which for a small tensor would be a third of the call.

NumPy has no public function that is as fast. NumPy 1 keeps the state in a list that two functions read and set, NumPy 2
in a variable of contexts. Where a version has neither, np.errstate itself does the work.
"""

from functools import partial

import numpy as np


def numpy_1():
    """(silence, restore, unwarned) by the functions of NumPy 1; AttributeError where there are none."""
    read, write, silent = (
        np.geterrobj,
        np.seterrobj,
        [8192, 0, None],
    )  # the size of NumPy's buffer as it is by default, the mask, no function to call

    def silence():
        before = read()
        write(silent)
        return before

    def unwarned(ufunc, *operands):
        return ufunc(*operands, extobj=silent)

    return silence, write, unwarned


def numpy_2():
    """The same by the variable of NumPy 2; ImportError or AttributeError where it is not."""
    from numpy._core import umath

    variable = umath._extobj_contextvar
    return _with_unwarned(partial(variable.set, umath._make_extobj(all="ignore")), variable.reset)


def any_numpy():
    """The same by np.errstate."""

    def silence():
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state):
        state.__exit__(None, None, None)

    return _with_unwarned(silence, restore)


def _with_unwarned(silence, restore):
    def unwarned(ufunc, *operands):
        before = silence()
        try:
            return ufunc(*operands)
        finally:
            restore(before)

    return silence, restore, unwarned


def _fastest():
    for way in (numpy_1, numpy_2):
        try:
            return way()
        except (ImportError, AttributeError):
            continue
    return any_numpy()


# silence() turns NumPy's floating point warnings off and returns what restore() takes; unwarned(ufunc, *operands) is
# one call between the two
silence, restore, unwarned = _fastest()


class quiet:
    """NumPy's floating point warnings are off inside."""

    __slots__ = ("before",)

    def __enter__(self):
        self.before = silence()

    def __exit__(self, *exc):
        restore(self.before)
