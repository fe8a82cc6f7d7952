"""Base class of tensors whose elements are held by another tensor, `_v`; autograd works on that one."""

from .common import Tensor


class Table(dict):
    """Handlers of functions for one kind of tensor, by function name: @TABLE.on("add") registers one."""

    def on(self, *names):
        def deco(f):
            self.update(dict.fromkeys(names, f))
            return f

        return deco


class ValuedTensor(Tensor, raw=True):
    """A tensor whose place in the autograd graph is that of its values `_v`.

    `_with(values)` returns a similar tensor with other values.
    """

    _of_layout = True

    def detach_(self):
        self._v = self._v.detach()
        return self

    is_leaf, grad_fn, output_nr = (
        property(lambda self, n=n: getattr(self._v, n)) for n in ("is_leaf", "grad_fn", "output_nr")
    )
    requires_grad = property(lambda self: self._v.requires_grad, lambda self, value: self._requiring_grad(value))

    def requires_grad_(self, requires_grad=True):
        self._v.requires_grad_(requires_grad)
        return self

    def _requiring_grad(self, value=True, *words):
        self._v._requiring_grad(value, *words)
        return self

    def retain_grad(self):
        self._v.retain_grad()

    def register_hook(self, hook):
        def on_values(g):
            found = hook(self._with(g))
            return found if found is None else found._v

        return self._v.register_hook(on_values)

    def _become(self, name, result):
        """Raise the error of out= for a function without a handler for this kind of tensor."""
        raise NotImplementedError(
            f"{name}(): out= of layout {self._layout}, dtype {self.dtype} is not supported (device {self.device})"
        )

    def _gradient(self, g):
        """Convert the gradient of the values to a gradient of this tensor."""
        return self._with(g)

    def _places(self):
        """Return the tensors in the graph that receive the gradients of this one."""
        return [self._v]

    def _gradient_of(self, gradients):
        """Combine the gradients of the tensors from `_places` into the gradient of this tensor."""
        return None if gradients[0] is None else self._gradient(gradients[0])

    def _root(self, gradient):
        """Return (values, their gradient), where the backward pass of this tensor starts."""
        return self._v, None if gradient is None else gradient._v
