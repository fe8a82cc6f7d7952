"""Custom autograd functions under vmap.

They use their own vmap rule, or one generated from forward, backward and jvp on whole batches.
"""

from typing import NamedTuple

import torch
from torch.autograd.function import Function, FunctionCtx

from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_iter, tree_map, tree_unflatten

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The information about the vmap that a vmap staticmethod gets."""

    batch_size: int
    randomness: str


class Batches:
    """One vmap level for custom functions: how to wrap and unwrap tensors, and how to enter such a level again."""

    def __init__(self, size, randomness, wrap, is_batched, given, entered, left):
        self.info, self.wrap, self.is_batched = VmapInfo(size, randomness), wrap, is_batched
        self.given, self.entered, self.left = given, entered, left

    def handler(self, level):
        """Return the handler that Function.apply calls inside this vmap."""

        def handle(function, args, kwargs):
            leaves, spec = tree_flatten(args)
            batched = [self.is_batched(x, level) for x in leaves]
            if not any(batched):
                return NotImplemented
            own = function.vmap is not Function.vmap
            if own and function.generate_vmap_rule:
                raise RuntimeError(
                    f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an "
                    "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
                    f"staticmethod to avoid ambiguity. {_MORE}"
                )
            if not own and not function.generate_vmap_rule:
                raise RuntimeError(
                    f"You tried to vmap over {function.__name__}, but it does not have vmap support. "
                    f"Please override and implement the vmap staticmethod or set generate_vmap_rule=True. {_MORE}"
                )
            if any(isinstance(x, torch.Tensor) for x in tree_iter(kwargs)):
                raise NotImplementedError(
                    f"Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only "
                    f"Tensors to autograd.Function. Got: {kwargs}"
                )
            with self.left():
                if own:
                    given = [self.given(x) if b else (x, None) for x, b in zip(leaves, batched)]
                    values, dims = (tree_unflatten(list(column), spec) for column in zip(*given))
                    out, dims = _two(function.vmap(self.info, dims, *values, **kwargs))
                else:
                    values = tree_unflatten([x._value if b else x for x, b in zip(leaves, batched)], spec)
                    out, dims = _generated(function, batched, self).apply(*values), 0
            return self.wrapped(out, dims, level)

        return handle

    def wrapped(self, out, dims, level):
        outs, spec = tree_flatten(out)
        flat = _broadcast_to_and_flatten(dims, spec)
        if flat is None:
            raise RuntimeError(
                "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
                f"Expected out_dims={dims} to be compatible with the structure of `output`. "
                f"out_dims has structure {tree_flatten(dims)[1]} but output has structure {spec}. {_MORE}"
            )
        return tree_unflatten(
            [
                o if d is None or not isinstance(o, torch.Tensor) else self.wrap(o.movedim(d, 0) if d else o, level)
                for o, d in zip(outs, flat)
            ],
            spec,
        )

    def unwrapped(self, x, level):
        """Return the values of all samples."""
        if not isinstance(x, torch.Tensor):
            return x
        return x._value if self.is_batched(x, level) else x.expand(self.info.batch_size, *x.shape)


def _two(result):
    expected = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        "with the output. Got"
    )
    if not isinstance(result, tuple):
        raise RuntimeError(f"{expected} a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(f"{expected} {len(result)} returns instead")
    return result


_RESERVED = ("_pt_inner_ctx", "_pt_new_saved_tensors")


class CtxWithSavedTensors:
    """A ctx with other saved tensors; all other attributes are those of the inner ctx."""

    def __init__(self, ctx, new_saved_tensors):
        taken = () if isinstance(ctx, CtxWithSavedTensors) else [name for name in _RESERVED if hasattr(ctx, name)]
        if taken:
            raise RuntimeError(
                f"{type(ctx)} has an attribute {taken[0]}, which is a name collision with what wraps it. "
                "Please rename the attribute."
            )
        for name, value in zip(_RESERVED, (ctx, new_saved_tensors)):
            object.__setattr__(self, name, value)

    @property
    def saved_tensors(self):
        return self._pt_new_saved_tensors

    def __getattr__(self, name):
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name, value):
        setattr(self._pt_inner_ctx, name, value)


def reductify_leaf(grad_input, grad_input_bdim, input_bdim, batch_size, target_shape_without_bdim_to_reduce_to=None):
    """Reduce the gradient of all samples to that of an input.

    It is summed over the samples if they share the input, and to the given shape if one is given.
    """
    if grad_input is None or grad_input_bdim is None and input_bdim is None:
        return grad_input
    if input_bdim is None:
        return grad_input.sum(grad_input_bdim)
    batched = (
        grad_input.expand(batch_size, *grad_input.shape)
        if grad_input_bdim is None
        else grad_input.movedim(grad_input_bdim, 0)
    )
    if target_shape_without_bdim_to_reduce_to is not None:
        shape = (batch_size, *target_shape_without_bdim_to_reduce_to)
        batched = batched.sum_to_size(batch_size, *(1,) * (batched.dim() - len(shape)), *shape[1:]).reshape(shape)
    return batched.movedim(0, input_bdim) if input_bdim else batched


class _Sample(FunctionCtx):
    """The ctx of one sample, which the custom function sees."""

    materialize_grads = True
    to_save = saved_for_forward = dirty_tensors = non_differentiable = ()


def _generated(function, batched, batches):
    """Return the function on whole batches; `batched` tells for each argument whether it is batched."""

    def wrap(values, flags, level):
        return [batches.wrap(x, level) if b and isinstance(x, torch.Tensor) else x for x, b in zip(values, flags)]

    def values_of(tensors, level):
        flags = [batches.is_batched(t, level) for t in tensors]
        return [t._value if b else t for t, b in zip(tensors, flags)], flags

    class Generated(Function):
        @staticmethod
        def forward(*args):
            with batches.entered() as level:
                return tree_map(lambda o: batches.unwrapped(o, level), function.forward(*wrap(args, batched, level)))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.sample = sample = _Sample()
            sample.needs_input_grad = ctx.needs_input_grad
            outs = output if isinstance(output, tuple) else (output,)
            with batches.entered() as level:
                samples = wrap(outs, [True] * len(outs), level)
                function.setup_context(
                    sample,
                    tuple(wrap(inputs, batched, level)),
                    tuple(samples) if isinstance(output, tuple) else samples[0],
                )
                saved, ctx.saved_flags = values_of(sample.to_save, level)
                forward, ctx.forward_flags = values_of(sample.saved_for_forward, level)
            ctx.save_for_backward(*saved)
            if forward:
                ctx.save_for_forward(*forward)
            ctx.mark_non_differentiable(
                *(o for o, s in zip(outs, samples) if any(s is t for t in sample.non_differentiable))
            )
            ctx.set_materialize_grads(sample.materialize_grads)

        @staticmethod
        def backward(ctx, *grads):
            with batches.entered() as level:
                sample = CtxWithSavedTensors(ctx.sample, tuple(wrap(ctx.saved_tensors, ctx.saved_flags, level)))
                found = function.backward(sample, *wrap(grads, [True] * len(grads), level))
                found = found if isinstance(found, tuple) else (found,)
                found = [None if g is None else batches.unwrapped(g, level) for g in found]
            flags = (*batched, *[False] * len(found))
            return tuple(reductify_leaf(g, 0, 0 if b else None, batches.info.batch_size) for g, b in zip(found, flags))

        @staticmethod
        def jvp(ctx, *tangents):
            saved = ctx.saved_tensors
            with batches.entered() as level:
                sample = CtxWithSavedTensors(
                    ctx.sample, tuple(wrap(saved, ctx.forward_flags or ctx.saved_flags, level))
                )
                return tree_map(
                    lambda t: batches.unwrapped(t, level), function.jvp(sample, *wrap(tangents, batched, level))
                )

    return type(f"Vmapped{function.__name__}", (Generated,), {})
