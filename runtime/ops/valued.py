"""Tensors of a kind of their own whose elements are another tensor's, `_v`: whatever is differentiable goes through
that one.
"""

from .common import Tensor


class Table(dict):
    """What functions do with tensors of a kind, by the functions' names: @TABLE.on("add") enters one."""

    def on(self, *names):
        def deco(f):
            self.update(dict.fromkeys(names, f))
            return f

        return deco


class ValuedTensor(Tensor, raw=True):
    """The place in the graph of such a tensor is that of its values. `_with(values)` makes one like it over others."""

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
        """out=: what the function of that name gives, where it knows nothing of this kind of tensor."""
        raise NotImplementedError(
            f"{name}(): out= of layout {self.layout}, dtype {self.dtype} is not supported (device {self.device})"
        )

    def _gradient(self, g):
        """The gradient of the values as one of the tensor."""
        return self._with(g)

    def _places(self):
        """The tensors at which gradients of this one arrive."""
        return [self._v]

    def _gradient_of(self, gradients):
        """The gradient of the tensor, from those of its places."""
        return None if gradients[0] is None else self._gradient(gradients[0])

    def _root(self, gradient):
        """(values, their gradient): where the backward pass of the tensor starts."""
        return self._v, None if gradient is None else gradient._v
