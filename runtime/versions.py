"""Version counters of new tensors. Their kind depends on inference mode and on torch.func's transforms."""

from .context import CONTEXT, PROCESS


class _NoVersion(list):
    """Placeholder for the version counter of inference tensors, which have none."""

    def __getitem__(self, i):
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
            "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )


INFERENCE = _NoVersion((0,))


class Transform:
    """A differentiating transform of torch.func, and the transform around it."""

    __slots__ = ("outer", "ended")

    def __init__(self, outer):
        self.outer, self.ended = outer, False


class _Made(list):
    """Version counter of a tensor that was made inside a differentiating transform."""

    __slots__ = ("inside",)

    def renewed(self):
        """Return a separate version counter for the same memory and transform."""
        return made(0, self.inside)


def made(version, inside):
    """Return a version counter for a tensor made inside a transform."""
    found = _Made((version,))
    found.inside = inside
    return found


def new_version():
    """Return the version counter of a new tensor. None means 0; it is always None while PROCESS.versions is 0."""
    if not PROCESS.versions:
        return None
    if CONTEXT.inference:
        return INFERENCE
    return None if CONTEXT.differentiated is None else made(0, CONTEXT.differentiated)


def made_in(t):
    """Return the transform in which a tensor was made, or None.

    A tensor made in a transform that has ended belongs to the transform around it.
    """
    transform = getattr(t._vc, "inside", None)
    while transform is not None and transform.ended:
        transform = transform.outer
    return transform


def made_inside(t):
    """Whether a tensor was made in a transform that has ended."""
    transform = getattr(t._vc, "inside", None)
    return transform is not None and transform.ended
