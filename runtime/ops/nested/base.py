"""Base class of both layouts of nested tensors."""

from ...context import CONTEXT
from ...tensor import constant
from ..valued import ValuedTensor


class Nested(ValuedTensor, raw=True):
    """A nested tensor: several tensors with the same number of dimensions.

    `_v` holds their elements; `parts()` returns the tensors as views.
    """

    is_nested = constant(True)

    def detach(self):
        return self._with(self._v.detach())

    data = property(detach)

    @property
    def grad(self):
        g = self._v.grad
        return None if g is None else self._with(g)

    @grad.setter
    def grad(self, g):
        self._v.grad = None if g is None else self._laid_out(g)

    def _root(self, gradient):
        return self._v, None if gradient is None else self._laid_out(gradient)

    def backward(self, gradient=None, *args, **kwargs):
        if gradient is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        values, g = self._root(gradient)
        return values.backward(g, *args, **kwargs)

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._v.item()

    def untyped_storage(self):
        return self._v.untyped_storage()

    def _typed_storage(self):
        return self._v._typed_storage()

    def storage(self):
        return self._v.storage()

    def data_ptr(self):
        return self._v.data_ptr()

    def __iter__(self):
        return iter(self.parts())

    def __getitem__(self, index):
        return self.TABLE["__getitem__"](self, index)

    def __setitem__(self, index, value):
        self[index].copy_(value)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self.detach().clone()._requiring_grad(self.requires_grad)
        return memo[id(self)]


def check_leaf(t):
    """Raise the error of an in-place operation on a leaf that requires grad."""
    if CONTEXT.grad and t.requires_grad and t.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
