"""Compares the results of operators on fake tensors with those on real tensors."""

import torch
from torch._subclasses.fake_tensor import (
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

__all__ = ["CrossRefFakeMode", "output_alias_each_other", "outputs_alias_inputs", "outputs_are_inputs"]
aten = torch.ops.aten
_NOT_COMPARED = (aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.set_.source_Storage_storage_offset)
_UNKNOWN = {"dynamic_output_shape", "inplace_view", "data_dependent_output"}


def _storages(tree):
    return [
        t.untyped_storage()._cdata
        for t in tree_leaves(tree)
        if isinstance(t, torch.Tensor) and t.layout is torch.strided
    ]


def outputs_alias_inputs(outputs, inputs):
    """Whether a result shares the storage of an argument."""
    return bool({*_storages(outputs)} & {*_storages(inputs)})


def outputs_are_inputs(outputs, inputs):
    """Whether a result is an argument."""
    ids = {id(t) for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)}
    return any(id(t) in ids for t in tree_leaves(outputs) if isinstance(t, torch.Tensor))


def output_alias_each_other(outputs):
    """Whether two results share a storage."""
    storages = _storages(outputs)
    return len({*storages}) < len(storages)


class CrossRefFakeMode(TorchDispatchMode):
    """A mode that also runs each operator on fake tensors, and raises MetadataMismatchError if the results differ.

    The shape, strides, dtype, device and shared storages are compared.
    ignore_op_fn(op): whether an operator is not compared.
    check_strides, check_aliasing: whether strides and shared storages are compared.
    """

    def __init__(self, ignore_op_fn=None, *, check_strides=True, check_aliasing=True, only_check_ops_with_meta=True):
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda op: False)
        self.check_strides, self.check_aliasing, self.only_check_ops_with_meta = (
            check_strides,
            check_aliasing,
            only_check_ops_with_meta,
        )

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        fake = None
        if func not in _NOT_COMPARED and not self.ignore_op_fn(func) and not _UNKNOWN & set(func._schema.tags):
            fake = self._fake(func, args, kwargs)
        real = func(*args, **kwargs)
        if fake is not None:
            self._compare(func, (args, kwargs), real, *fake)
        return real

    def _fake(self, func, args, kwargs):
        """Return (results, arguments) of the operator on fake tensors, or None if it cannot run on them."""
        try:
            with FakeTensorMode() as mode:
                fakes = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
                return func(*fakes[0], **fakes[1]), fakes
        except UnsupportedFakeTensorException:
            return None
        except UnsupportedOperatorException:
            if self.only_check_ops_with_meta:
                return None
            raise

    def _compare(self, func, inputs, real, fake, fakes):
        context = f"When comparing the output of {func} on FakeTensor and concrete Tensors, found"
        real_leaves, fake_leaves = tree_leaves(real), tree_leaves(fake)
        if len(real_leaves) != len(fake_leaves):
            raise AssertionError(f"{context} mismatch in number of returns {len(fake_leaves)} != {len(real_leaves)}")
        if self.check_aliasing:
            for check in (outputs_alias_inputs, outputs_are_inputs):
                if check(real, inputs) != check(fake, fakes):
                    raise MetadataMismatchError(
                        f"{context} mismatch in {check.__name__} check {check(fake, fakes)} != {check(real, inputs)}"
                    )
            if output_alias_each_other(real) != output_alias_each_other(fake):
                raise MetadataMismatchError(f"{context} mismatch in outputs_alias_each_other check")
        for i, (r, f) in enumerate(zip(real_leaves, fake_leaves)):
            if isinstance(r, torch.Tensor) != isinstance(f, torch.Tensor):
                raise AssertionError(f"{context} mismatch in the kinds of returns: {type(f)} and {type(r)}")
            if isinstance(r, torch.Tensor):
                self._compare_tensors(f"{context} mismatched tensor metadata for output[{i}]:", r, f)

    def _compare_tensors(self, context, real, fake):
        for what in ("shape", "dtype", "device"):
            a, b = getattr(real, what), getattr(fake, what)
            if a != b:
                raise MetadataMismatchError(f"{context} {what.capitalize()}s {b} and {a} are not equal!")
        if real.layout is not torch.strided:
            return
        if (
            self.check_strides
            and any(s != t for s, t, n in zip(real.stride(), fake.stride(), real.shape) if n > 1)
            and real.numel()
        ):
            raise MetadataMismatchError(f"{context} Stride mismatch! Strides are {fake.stride()} and {real.stride()}!")
        if real.storage_offset() != fake.storage_offset():
            raise MetadataMismatchError(f"{context} mismatched storage offset")
