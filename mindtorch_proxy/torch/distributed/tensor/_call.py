"""A call of an operator on DTensors.

It has the arguments, chooses placements among those that the operator's rule allows, and runs the operator.
"""

import functools

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ._redistribute import redistribute_local_tensor
from ._spec import DTensorSpec, TensorMeta, contiguous_strides, is_shard
from .placement_types import Partial, Replicate


class STATE:
    """Settings; ``replicate_plain`` is whether plain tensors in operators with DTensors are treated as replicated."""

    replicate_plain = False


RULES: dict = {}  # {operator: rule that yields the possible placements for a call and a mesh dimension}
LOCALIZE: dict = {}  # {operator: function to run on local tensors instead}
HANDLERS: dict = {}  # {operator: function that handles the entire call}


def _registering(table):
    def naming(*names):
        """Register the function in the table under the operators' names."""

        def register(function):
            table.update(dict.fromkeys(names, function))
            return function

        return register

    return naming


rule, localize, handler = map(_registering, (RULES, LOCALIZE, HANDLERS))


class Call:
    """One call of an operator, with the information that rules need.

    kind: the DTensor class
    specs: the specs of the tensor arguments, in order
    at: the positions of the tensor arguments among all leaves
    out: meta tensors of the results
    """

    def __init__(self, kind, func, args, kwargs):
        self.kind, self.func, self.args, self.kwargs = kind, func, args, kwargs
        self.full_name = str(func)
        self.name = self.full_name.split(".")[1]
        self.leaves, self.tree = tree_flatten((args, kwargs))
        self.at = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.mesh = next(self.leaves[i]._spec.mesh for i in self.at if isinstance(self.leaves[i], kind))
        self.specs = [self._spec(self.leaves[i]) for i in self.at]
        self.schema = getattr(func, "_schema", None)
        self.inplace = bool(
            self.name.endswith("_")
            and not self.name.endswith("__")
            and self.schema is not None
            and self.schema.is_mutable
        )
        if self.inplace:
            self.name = self.name[:-1]

    def _spec(self, leaf):
        if isinstance(leaf, self.kind):
            if leaf._spec.mesh != self.mesh:
                raise NotImplementedError(
                    f"{self.full_name}: DTensor does not support cross-mesh operation yet: got {leaf._spec.mesh} and "
                    f"{self.mesh}"
                )
            return leaf._spec
        if leaf.numel() == 1 or STATE.replicate_plain or self.name in PLAIN_TENSORS:
            meta = TensorMeta(leaf.shape, tuple(leaf.stride()), leaf.dtype)
            return DTensorSpec(self.mesh, (Replicate(),) * self.mesh.ndim, meta)
        raise RuntimeError(
            f"{self.full_name} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor "
            f"before calling distributed operators!"
        )

    def local(self, i):
        """Return the local tensor of a tensor argument."""
        leaf = self.leaves[self.at[i]]
        return leaf._local_tensor if isinstance(leaf, self.kind) else leaf

    def wrap(self, results, specs):
        """Wrap the local results of an operator in DTensors."""
        made = [
            self.kind(r, spec) if isinstance(r, torch.Tensor) and spec is not None else r
            for r, spec in zip(results if isinstance(results, (list, tuple)) else [results], specs)
        ]
        return type(results)(made) if isinstance(results, (list, tuple)) else made[0]

    def arg(self, name, default=None):
        """Return an argument by its name in the schema."""
        if name in self.kwargs:
            return self.kwargs[name]
        for i, a in enumerate(self.schema.arguments):
            if a.name == name and i < len(self.args):
                return self.args[i]
        return default

    def shape(self, i=0):
        """Return the full shape of a tensor argument."""
        return self.specs[i].shape

    @functools.cached_property
    def out(self):
        """The results as a list of meta tensors."""
        return _meta(self.func, self.leaves, self.at, self.specs, self.tree)


PLAIN_TENSORS = frozenset(
    {"nll_loss_backward", "nll_loss2d_backward"}
)  # their derivative creates a plain tensor for a missing weight
_METAS: dict = {}


def _meta(func, leaves, at, specs, tree):
    """Return the operator's results for meta tensors of the full shapes. Cached."""
    key = (str(func), tuple((s.tensor_meta.shape, s.tensor_meta.stride, s.tensor_meta.dtype) for s in specs))
    others = [leaf for i, leaf in enumerate(leaves) if i not in at]
    key = (*key, tree if not at else tuple(at), tuple((type(o), repr(o)) for o in others))
    if key not in _METAS:
        metas = list(leaves)
        for i, s in zip(at, specs):
            m = s.tensor_meta
            metas[i] = torch.empty_strided(tuple(m.shape), tuple(m.stride), dtype=m.dtype, device="meta")
        args, kwargs = tree_unflatten(metas, tree)
        if "device" in kwargs:
            kwargs["device"] = "meta"
        results = func(*args, **kwargs)
        _METAS[key] = results if isinstance(results, (list, tuple)) else [results]
    return _METAS[key]


def _size(spec):
    count = spec.tensor_meta.dtype.itemsize
    for s in spec.shape:
        count *= s
    return count


def _cost(spec, i, wanted):
    """Return the bytes sent by redistributing along mesh dimension ``i``, or None if that is impossible."""
    current, n = spec.placements[i], spec.mesh.size(i)
    if wanted is None or current == wanted:
        return 0
    size, share = _size(spec), (n - 1) / n
    if isinstance(wanted, Partial):
        return 1 if isinstance(current, Replicate) and wanted.reduce_op == "sum" else None
    if isinstance(current, Replicate):
        return 0
    # as in PyTorch, another sharding costs slightly more than replication
    return size * share * (2 if isinstance(current, Partial) else 1) + (17 if is_shard(wanted) else 16)


def choose(call, candidates, i):
    """Return the cheapest candidate along mesh dimension ``i``.

    If several have equal cost, return the one that moves the fewest arguments.
    """
    best = None
    for inputs, outputs in candidates:
        if call.inplace and _one(outputs) != call.specs[0].placements[i]:
            continue
        costs = [_cost(spec, i, wanted) for spec, wanted in zip(call.specs, inputs)]
        if None in costs:
            continue
        moved = [wanted is not None and spec.placements[i] != wanted for spec, wanted in zip(call.specs, inputs)]
        rank = (sum(costs), sum(moved))
        if best is None or rank < best[0]:
            best = rank, inputs, outputs
    if best is None:
        raise RuntimeError(
            f"{call.full_name}: in-place operations that require placement changes are not supported: "
            f"{[s.placements for s in call.specs]}"
        )
    return best[1:]


def _one(outputs):
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs


def everything_replicated(call):
    return [Replicate()] * len(call.specs), Replicate()


def run(call, placements, outputs):
    """Redistribute the arguments, run the operator on local tensors, and wrap the results.

    ``placements`` and ``outputs`` have one entry for each mesh dimension.
    """
    moved = list(call.leaves)
    for k, (position, spec) in enumerate(zip(call.at, call.specs)):
        target = tuple(p[k] if p[k] is not None else spec.placements[i] for i, p in enumerate(placements))
        moved[position] = redistribute_local_tensor(call.local(k), spec, target)
    args, kwargs = tree_unflatten(moved, call.tree)
    specs = _result_specs(call, outputs)
    instead = LOCALIZE.get(call.name)
    results = instead(call, args, kwargs, specs) if instead else call.func(*args, **kwargs)
    if call.inplace:
        return call.args[0]
    return call.wrap(results, specs)


def _result_specs(call, outputs):
    if call.inplace:
        return []
    specs = []
    for k, meta in enumerate(call.out):
        if not isinstance(meta, torch.Tensor):
            specs.append(None)
            continue
        placements = tuple(o[k] if isinstance(o, (list, tuple)) else o for o in outputs)
        specs.append(DTensorSpec(call.mesh, placements, TensorMeta(meta.shape, tuple(meta.stride()), meta.dtype)))
    return specs


def replicated(x):
    """Return a DTensor's full value as a plain tensor on each rank, below autograd."""
    return redistribute_local_tensor(x._local_tensor, x._spec, (Replicate(),) * x._spec.mesh.ndim)


def spec_like(mesh, placements, shape, dtype):
    """Return the spec of a contiguous tensor."""
    return DTensorSpec(mesh, placements, TensorMeta(torch.Size(shape), contiguous_strides(shape), dtype))
