"""torch.autograd.Function: operators whose backward the user writes."""

import functools
import inspect
import warnings
from contextlib import contextmanager

from .. import dtypes as dt
from ..classes import direct, dispatching
from ..context import CONTEXT, PROCESS
from ..tensor import Tensor, alias
from .derivative import forward_trace, zeros
from .forward import function_tangents
from .graph import FREED, Node, Saved, SavedNone, edge, meta_of
from .modes import no_grad
from .tangents import innermost, set_fwd_grad_enabled, visible
from .views import check_inplace, note_view, rebase


class FunctionCtx:
    """What forward and backward share: saved tensors and flags."""

    __module__ = "torch.autograd.function"

    def save_for_backward(self, *tensors):
        """Save tensors for backward, where their versions are checked."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Save tensors for jvp."""
        if any(not isinstance(t, Tensor) and t is not None for t in tensors):
            raise AssertionError(
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                "ctx."
            )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Mark the inputs that forward() has changed in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Mark the outputs that have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs):
        """Only warn: tensors that share storage are tracked anyway."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
            "Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value):
        """Set whether backward() gets zeros (the default) or None for outputs without a gradient."""
        if value.__class__ is not bool:
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)"
            )
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function; it is also the ctx that the user sees."""

    _forward_cls = None
    of_program = True
    __module__ = "torch.autograd.function"

    def __init__(self):
        Node.__init__(self)
        self.to_save = self.dirty_tensors = self.non_differentiable = None
        self.materialize_grads = self._materialize_non_diff_grads = True
        self._without = ()  # the numbers of the outputs that are not differentiable
        self._saved = self.saved_for_forward = None
        self._freed = False

    def name(self):
        return type(self).__name__

    @property
    def saved_tensors(self):
        if self._freed:
            raise RuntimeError(FREED)
        if self.saved_for_forward is not None:
            return tuple(self.saved_for_forward)
        return tuple(s.get() for s in self._saved or ())  # none before forward has ended

    @property
    def saved_variables(self):
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self):
        if self._freed:
            raise RuntimeError(FREED)
        return tuple(self._saved or ())

    def release(self):
        if self._saved is not None:
            for s in self._saved:
                s.release()
            self._freed = True

    def run(self, grads):
        if self.materialize_grads:
            grads = grads + [None] * (len(self._out_meta) - len(grads))
            left = self._without if not self._materialize_non_diff_grads else ()
            grads = [
                zeros(*m) if g is None and m is not None and k not in left else g
                for k, (g, m) in enumerate(zip(grads, self._out_meta))
            ]
        cls = self._forward_cls
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                "You should only implement one of them."
            )
        fn = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        return self._gradients(fn(self, *grads))

    def _gradients(self, res):
        """Return what backward returned as one gradient for each tensor among the inputs."""
        if not isinstance(res, tuple):
            res = (res,)
        n = len(self._positions)
        if len(res) < n or any(r is not None for r in res[n:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(res)})"
            )
        out = []
        for i, (r, is_tensor) in enumerate(zip(res, self._positions)):
            if not is_tensor and r is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
            if r is not None and not isinstance(r, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(r).__name__})")
            if is_tensor:
                if r is not None and self._edges and self._edges[len(out)] is not None:
                    self._check_kind(len(out), r)
                out.append(r)
        return tuple(out)

    def _check_kind(self, i, g):
        """Raise PyTorch's errors for a complex gradient of a real input, and for a gradient on another device.

        The engine checks the shape.
        """
        _, dtype, device = self._in_meta[i]
        if g.dtype.category == dt.COMPLEX and dtype.category != dt.COMPLEX:
            raise RuntimeError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, "
                "but got false.  (Could this error message be improved?  If so, please report an enhancement request "
                "to PyTorch.)"
            )
        if g.device != device and g._shape:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {i} - expected device {device} but "
                f"got {g.device}"
            )


class FunctionMeta(type):
    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": BackwardCFunction.__module__}
        )
        super().__init__(name, bases, attrs)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of custom operators: static forward and backward (and setup_context), called through apply."""

    __module__ = "torch.autograd.function"
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, "
            "so you should invoke them on the class itself. Instantiating an autograd function will raise an error "
            "in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs; ``ctx`` is the first argument unless ``setup_context`` is overridden.

        Raises NotImplementedError unless a subclass overrides it.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save in ``ctx`` what backward() and jvp() need of the inputs and outputs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Return the gradients of the inputs, given those of the outputs.

        Raises NotImplementedError unless a subclass overrides it.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name for ``backward``."""
        raise NotImplementedError("You must implement the vjp function")

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Return the tangents of the outputs, given those of the inputs.

        Raises NotImplementedError unless a subclass overrides it.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Define how vmap runs the function: (info, in_dims, *arguments) to (outputs, out_dims).

        Raises NotImplementedError unless a subclass overrides it.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def _parameters(cls):
        """Return the signature of forward, or None if it cannot be inspected."""
        if "_signature" not in cls.__dict__:
            try:
                cls._signature = inspect.signature(cls.forward)
            except (TypeError, ValueError):
                cls._signature = None
            kinds = () if cls._signature is None else cls._signature.parameters.values()
            cls._count = len(kinds) if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in kinds) else None
        return cls._signature

    @classmethod
    def _with_defaults(cls, args, kwargs):
        """Return the arguments of forward with default values filled in, for functions that override setup_context."""
        signature = cls._parameters()
        if signature is None or not kwargs and len(args) == cls._count:  # nothing to bind
            return args, kwargs
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return given.args, given.kwargs

    @classmethod
    def _by_position(cls, args, kwargs, separate):
        """Return all arguments by position, as apply needs them."""
        signature, args, kwargs = cls._parameters(), list(args), dict(kwargs)
        parameters = () if signature is None else tuple(signature.parameters.values())[0 if separate else 1 :]
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
            if name in names[: len(args)]:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        for name in names[len(args) :]:
            if not kwargs:
                break
            if name not in kwargs:
                raise TypeError(f"forward() missing required argument: '{name}' (position {len(args)})")
            args.append(kwargs.pop(name))
        return tuple(args)

    @classmethod
    def _inside_transforms(cls):
        """Return the class of nodes created while torch.func differentiates, named as in PyTorch."""
        if "_generated_cls" not in cls.__dict__:
            cls._generated_cls = type(
                f"{cls.__name__}GeneratedBackward", (cls._backward_cls,), {"__module__": cls._backward_cls.__module__}
            )
        return cls._generated_cls

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward and record this function's backward."""
        made = cls._backward_cls
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args, kwargs = cls._with_defaults(args, kwargs)
        if CONTEXT.transforms:
            out = _transformed(cls, args, kwargs)
            if out is not NotImplemented:
                return out
            if None in CONTEXT.transforms:
                made = cls._inside_transforms()
        if kwargs:
            args = cls._by_position(args, kwargs, separate)
        node = made()
        edges, metas, positions, needs = [], [], [], []
        for a in args:
            if isinstance(a, Tensor):
                e = edge(a) if CONTEXT.grad else None
                edges.append(e)
                metas.append(meta_of(a))
                needs.append(a._requires_grad if CONTEXT.grad else False)
            else:
                needs.append(False)
            positions.append(isinstance(a, Tensor))
        recording = CONTEXT.grad and any(e is not None for e in edges)
        node.needs_input_grad, node._positions = tuple(needs), positions
        levels = visible() if PROCESS.duals and innermost(args) is not None else ()
        forward = CONTEXT.forward
        set_fwd_grad_enabled(False)
        try:
            with CONTEXT.set(grad=False):
                if separate:
                    out = cls.forward(*args)
                    cls.setup_context(node, args, out)
                else:
                    out = cls.forward(node, *args)
        finally:
            set_fwd_grad_enabled(forward)
        return _finish(node, args, out, recording, edges, metas, levels)


def _transformed(cls, args, kwargs):
    """Return the result of a custom function under the innermost transform that handles its arguments.

    NotImplemented if there is none.
    """
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), "
            "it must override the setup_context staticmethod. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    stack = CONTEXT.transforms
    for i in reversed(range(len(stack))):
        with CONTEXT.set(transforms=stack[:i]):
            out = NotImplemented if stack[i] is None else stack[i](cls, args, kwargs)
        if out is not NotImplemented:
            return out
    return NotImplemented


@contextmanager
def transforming(handler=None):
    """Enter a transform of torch.func: custom functions are passed to handler(function, args, kwargs).

    The handler may return NotImplemented.
    """
    with CONTEXT.set(transforms=(*CONTEXT.transforms, handler)):
        yield


def _finish(node, args, out, recording, edges, metas, levels):
    """Return the outputs of forward as the caller gets them.

    Attaches the node to those that are differentiable, and sets their tangents.
    """
    single = not isinstance(out, tuple)
    outs = [out] if single else list(out)
    inputs = {id(a): a for a in args if isinstance(a, Tensor)}
    dirty, fixed = _marked(node)
    if dirty - {id(o) for o in outs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    _mark_views([o for o in outs if id(o) not in dirty and id(o) not in inputs], "custom")
    result = [
        _output(o, inputs, dirty, fixed, recording, recording or levels) if isinstance(o, Tensor) else o for o in outs
    ]
    node._out_meta = [meta_of(o) if isinstance(o, Tensor) else None for o in result]
    if recording:
        if CONTEXT.anomaly:
            node.trace = forward_trace()
        node._edges, node._in_meta = tuple(edges), tuple(metas)
        for k, o in enumerate(result):
            if isinstance(o, Tensor):
                _hang(node, k, o, id(o) in dirty, id(o) in fixed)
        if fixed:
            node._without = {k for k, o in enumerate(result) if id(o) in fixed}
        differentiable = [o for o in result if isinstance(o, Tensor) and o._grad_fn is not None]
        if len(differentiable) > 1:
            _mark_views(differentiable, "multi")
        if levels:
            function_tangents(node, args, outs, result, fixed, levels)
        where = {id(o): k for k, o in enumerate(result) if isinstance(o, Tensor)}
        where.update({id(o): k for k, o in enumerate(outs) if isinstance(o, Tensor) and id(o) not in inputs})
        node._saved = [
            _save(node, i, t, None if id(t) in inputs else where.get(id(t)), result)
            for i, t in enumerate(node.to_save or ())
        ]
        node.to_save = None
    elif levels:
        function_tangents(node, args, outs, result, fixed, levels)
    return result[0] if single else tuple(result)


def _marked(node):
    """Return the ids of the tensors that forward marked as dirty and of those marked as not differentiable.

    Increments the version of the dirty tensors.
    """
    dirty, fixed = node.dirty_tensors or (), node.non_differentiable or ()
    if not all(isinstance(t, Tensor) for t in dirty):
        raise RuntimeError("mark_dirty can only accept variables, but argument ")
    if not all(isinstance(t, Tensor) for t in fixed):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")
    for t in dirty:
        t._bump()
    return {id(t) for t in dirty}, {id(t) for t in fixed}


def _mark_views(outputs, creation):
    """Record how the views among the outputs were created."""
    for o in outputs:
        if isinstance(o, Tensor) and o._view is not None:
            o._view.creation = creation


def _output(o, inputs, dirty, fixed, recording, noted):
    """Return an output of forward; a returned input, or a tensor with a history, is replaced by an alias."""
    if id(o) in dirty:
        if id(o) in inputs and recording:
            check_inplace(o)
        return o
    if id(o) not in inputs:
        return o if o._grad_fn is None else alias(o)
    new = _given_back(o)
    if id(o) in fixed:
        fixed.add(id(new))  # not marked as a view, since its base would give it a gradient
    elif noted and o.__class__ not in dispatching:
        note_view(new, o, "custom")
    return new


def _given_back(t):
    """Return another tensor for an input that forward returned unchanged.

    For a class with a __torch_function__ this is a call of view_as(), which the class can override.
    """
    if t.__class__ in direct:
        return alias(t)
    with no_grad():
        return t.view_as(t)


def _hang(node, k, o, dirty, fixed):
    """Make node the grad_fn of its k-th output, if that is differentiable."""
    if fixed:
        o._requires_grad = False
    elif o.dtype.category >= dt.FLOAT:
        if dirty:
            rebase(o, node, k)
            return
        o._requires_grad, o._grad_fn, o._output_nr = True, node, k
        if o._view is not None:
            o._view.attr_version, o._view.creation = o._vc[0] if o._vc is not None else 0, "custom"


def _save(node, i, t, k, result):
    """Return what save_for_backward keeps for a tensor. k: the number of the output that it is, or None."""
    if t is None:
        return SavedNone()
    if not isinstance(t, Tensor):
        raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
    return Saved(t) if k is None else Saved(result[k], node, k)


class _Error(Node):
    """The grad_fn of tensors through which backward() raises an error."""

    __module__ = "torch.autograd.function"

    def __init__(self, message):
        super().__init__()
        self.message = message

    def name(self):
        return "torch::autograd::Error"

    def run(self, grads):
        raise RuntimeError(self.message)


_Error.__name__ = _Error.__qualname__ = "Error"


class DelayedError(Node):
    """A function that returns its inputs; its backward raises an error with the given message."""

    def __init__(self, message, num_inputs):
        super().__init__()
        self.message = message

    def run(self, inputs):
        tensors = [t if isinstance(t, Tensor) else None for t in inputs]
        node = _Error(self.message)
        node._edges = tuple(None if t is None else edge(t) for t in tensors)
        node._in_meta = node._out_meta = tuple(None if t is None else meta_of(t) for t in tensors)
        results = []
        for i, t in enumerate(inputs):
            if tensors[i] is not None:
                t = alias(t)
                t._requires_grad, t._grad_fn, t._output_nr = True, node, i
            results.append(t)
        return results[0] if len(results) == 1 else tuple(results)


class UndefinedGrad(Node):
    """A function that returns its inputs; its backward passes on no gradients."""

    def run(self, inputs):
        results = [_WithoutGradient.apply(t) if isinstance(t, Tensor) else t for t in inputs]
        return results[0] if len(results) == 1 else tuple(results)


class _WithoutGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return None


def once_differentiable(fn):
    """Decorate a backward that cannot itself be differentiated."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        recording = CONTEXT.grad and any(isinstance(a, Tensor) and a._requires_grad for a in args)
        with CONTEXT.set(grad=False):
            outs = fn(ctx, *args)
        if not recording:
            return outs
        outs = outs if isinstance(outs, tuple) else (outs,)
        stop = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(outs)
        )
        return stop(*(t.detach()._requiring_grad() if isinstance(t, Tensor) else t for t in outs))

    return wrapper
