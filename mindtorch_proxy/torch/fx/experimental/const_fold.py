"""Constant folding: values that depend only on a module's own tensors are computed once."""

import re

import torch

from ..graph_module import GraphModule
from ..node import map_arg
from ..passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module that computes its constants before its first run.

    ``const_subgraph_module`` computes them; it is None if there are none.
    """

    def __init__(
        self, root, graph, const_subgraph=None, fx_const_folded_attrs_name=None, device_for_folded_attrs="cuda"
    ):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name, self.device_for_folded_attrs = (
            fx_const_folded_attrs_name,
            device_for_folded_attrs,
        )

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Compute the constants and store them as parameters."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        folded = self.const_subgraph_module()

        def kept(value):
            if not isinstance(value, torch.Tensor):
                return value
            return torch.nn.Parameter(value, requires_grad=value.requires_grad)

        setattr(
            self,
            self.fx_const_folded_attrs_name,
            torch.nn.ParameterList([kept(v) for v in folded]) if isinstance(folded, tuple) else kept(folded),
        )


def get_unique_attr_name_in_module(mod_traced, name):
    """Return an attribute name that the module does not have yet."""
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        match = re.match(r"(.*)_(\d+)$", name)
        name = f"{match.group(1)}_{int(match.group(2)) + 1}" if match else f"{name}_1"
    return name


def split_const_subgraphs(module, skip_folding_node_fn=None, device_for_folded_attrs="cpu"):
    """Split the constant part of a module into its own subgraph.

    Nodes for which ``skip_folding_node_fn(node)`` is true are not folded.
    """
    traced = module if isinstance(module, GraphModule) else torch.fx.symbolic_trace(module)
    constant, found = set(), False
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes) <= constant:
            continue
        if skip_folding_node_fn is not None and skip_folding_node_fn(node) or node.is_impure():
            continue
        constant.add(node)
        found = found or node.op != "get_attr"
    if not found:
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda node: 0 if node in constant else 1)
    const_gm, rest_gm = split.submod_0, getattr(split, "submod_1", None)
    for name, part in list(split.named_children()):
        if isinstance(part, GraphModule):
            _adopt(split, name, part)
    call = next(n for n in split.graph.nodes if n.op == "call_module" and n.target == "submod_0")
    inputs = [n.target for n in call.args]
    placeholders = [n for n in const_gm.graph.nodes if n.op == "placeholder"]
    for target, node in zip(inputs, placeholders):
        with const_gm.graph.inserting_before(node):
            new = const_gm.graph.get_attr(target)
            new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        const_gm.graph.erase_node(node)
    if rest_gm is not None:
        _inline_module(split, "submod_1")
    folded = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(
        split, folded, torch.nn.ParameterList() if len(_results(const_gm)) > 1 else torch.nn.Parameter(torch.empty(0))
    )
    metas = [r.meta for r in _results(const_gm)]
    with split.graph.inserting_before(call):
        replaced = split.graph.get_attr(folded)
    if len(metas) == 1:
        replaced.meta = dict(metas[0])
    else:
        replaced.meta["val"] = tuple(m.get("val") for m in metas)
    call.replace_all_uses_with(replaced)
    split.graph.erase_node(call)
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, const_gm.graph, folded, device_for_folded_attrs)


def _results(gm):
    out = next(reversed(gm.graph.nodes)).args[0]
    return list(out) if isinstance(out, (tuple, list)) else [out]


def _adopt(owner, name, part):
    """Set the attributes that a part of a split uses on its owner, under the same names."""
    for node in part.graph.nodes:
        if node.op in ("get_attr", "call_module"):
            place, source = owner, part
            *path, last = node.target.split(".")
            for atom in path:
                source = getattr(source, atom)
                if not hasattr(place, atom):
                    setattr(place, atom, torch.nn.Module())
                place = getattr(place, atom)
            if not hasattr(place, last):
                setattr(place, last, getattr(source, last))


def _inline_module(gm, name):
    """Replace the call of a child module by its nodes."""
    call = next(n for n in gm.graph.nodes if n.op == "call_module" and n.target == name)
    values, given = {}, iter(call.args)
    for node in getattr(gm, name).graph.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "output":
            results = map_arg(node.args[0], lambda n: values[n])
            if isinstance(results, (tuple, list)):
                for user in list(call.users):
                    user.replace_all_uses_with(results[user.args[1]])
                    gm.graph.erase_node(user)
            else:
                call.replace_all_uses_with(results)
        else:
            with gm.graph.inserting_before(call):
                values[node] = gm.graph.node_copy(node, lambda n: values[n])
    gm.graph.erase_node(call)
