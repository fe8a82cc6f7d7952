"""Version counters of new tensors: which kind one gets depends on inference mode and on transforms of torch.func."""

from .context import CONTEXT, PROCESS


class _NoVersion(list):
    """Stands in the place of a version counter in tensors made in inference mode, which have none."""

    def __getitem__(self, i):
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
            "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )


INFERENCE = _NoVersion((0,))


class Transform:
    """A transform of torch.func that differentiates, and the one around it."""

    __slots__ = ("outer", "ended")

    def __init__(self, outer):
        self.outer, self.ended = outer, False


class _Made(list):
    """The version counter of what is made inside a transform that differentiates."""

    __slots__ = ("inside",)

    def renewed(self):
        """A version counter of its own for the same memory, which was made in the same transform."""
        return made(0, self.inside)


def made(version, inside):
    """The version counter of a tensor that was made inside a transform."""
    found = _Made((version,))
    found.inside = inside
    return found


def new_version():
    """The version counter of a new tensor. None, which stands for 0, is the answer wherever PROCESS.versions is 0."""
    if not PROCESS.versions:
        return None
    if CONTEXT.inference:
        return INFERENCE
    return None if CONTEXT.differentiated is None else made(0, CONTEXT.differentiated)


def made_in(t):
    """The transform that a tensor was made in.

    What an ended transform made belongs to the transform around it.
    """
    transform = getattr(t._vc, "inside", None)
    while transform is not None and transform.ended:
        transform = transform.outer
    return transform


def made_inside(t):
    """Whether a transform that has ended made a tensor."""
    transform = getattr(t._vc, "inside", None)
    return transform is not None and transform.ended
