"""np.errstate(all="ignore") at a tenth of its cost, which for a small tensor would be a third of the call."""

from numpy import geterrobj, seterrobj

UNWARNED = {"extobj": [8192, 0, None]}  # the same for one ufunc, as an argument


class quiet:
    """NumPy's floating point warnings are off inside. NumPy 1's own functions, which NumPy 2 no longer has (MindSpore needs 1)."""

    __slots__ = ("old",)

    def __enter__(self):
        self.old = geterrobj()
        seterrobj([self.old[0], 0, None])

    def __exit__(self, *exc):
        seterrobj(self.old)
