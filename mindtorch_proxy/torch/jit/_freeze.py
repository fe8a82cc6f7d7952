"""torch.jit.freeze: make the parameters of a script module constants of its code."""

import copy

import torch

from ._code import Constants
from ._ir import Graph, Node
from ._script import Method, RecursiveScriptModule, ScriptMethod, ScriptModule

_EXPECTS = (
    "{} expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
)


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Return a copy in eval mode without parameters.

    Parameters become constants of the graph; a module that runs Python keeps them internally.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(_EXPECTS.format("Freezing"))
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    made = RecursiveScriptModule._made(mod.original_name, mod._qualified_name, training=False)
    if mod._shadow is not None:
        held = copy.deepcopy(mod).requires_grad_(False)
        made.__dict__["_script_methods"] = {"forward": _Held("forward", held)}
    else:
        for name, method in mod._script_methods.items():
            made._script_methods[name] = _with_constants(mod, method)
    for name in preserved_attrs or ():
        value = getattr(mod, name)
        if not isinstance(value, ScriptMethod):
            setattr(made, name, value)
    return made


class _Held(Method):
    """The method of a frozen module that runs Python."""

    def __init__(self, name, module):
        super().__init__(name)
        self._function = lambda owner, *args, **kwargs: module(*args, **kwargs)
        self._module = module

    code = property(lambda self: self._module.code)
    graph = property(lambda self: self._module.graph)


def _with_constants(mod, method):
    inlined = ScriptMethod(mod, method).inlined_graph
    graph, values, owners = Graph(), {}, {}
    for v in inlined.inputs():
        values[id(v)] = graph.addInput(v._name or "", v.type())
    owners[id(next(inlined.inputs()))] = mod
    for node in inlined.nodes():
        if node.kind() == "prim::GetAttr":
            value = getattr(owners[id(node.input())], node.s("name"))
            if isinstance(value, torch.nn.Module):
                owners[id(node.output())] = value
            else:
                values[id(node.output())] = graph.constant(value.detach() if isinstance(value, torch.Tensor) else value)
            continue
        made = graph.insertNode(
            Node(
                graph,
                node.kind(),
                [values[id(v)] for v in node.inputs()],
                dict(node._attributes),
                "",
                node.sourceRange(),
            )
        )
        made._op_schema = node._op_schema
        for v in node.outputs():
            values[id(v)] = made.addOutput(v.type())
    for v in inlined.outputs():
        graph.registerOutput(values[id(v)])
    return Method(method.name, graph, constants=Constants())


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Do nothing: a frozen graph runs operator by operator."""


def optimize_for_inference(mod, other_methods=None):
    """Return the frozen module."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(_EXPECTS.format("optimize_for_inference"))
    return freeze(mod.eval(), preserved_attrs=other_methods) if hasattr(mod, "training") else mod
