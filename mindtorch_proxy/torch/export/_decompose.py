"""ExportedProgram.run_decompositions: the program without in-place operators, in the operators that a table leaves."""

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from ._trace import named
from .exported_program import ExportedProgram, default_decompositions, outputs_of
from .graph_signature import ExportGraphSignature, InputKind, OutputKind

aten = torch.ops.aten
_KINDS = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    InputKind.CONSTANT_TENSOR: OutputKind.BUFFER_MUTATION,
}


def decomposed(program, table):
    """Return a program whose graph has no in-place operators, and none of the operators in a table."""
    module = program.graph_module
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    fakes = [n.meta["val"] for n in placeholders]
    interpreter = torch.fx.Interpreter(module)

    def run(*values):
        return list(interpreter.run(*values, enable_io_processing=False))

    functional = torch.func.functionalize(run, remove="mutations")
    traced = make_fx(functional, dict(table), tracing_mode="fake")(*fakes)
    graph = named(traced.graph, [n.name for n in placeholders], fakes)
    mutations = _taken_out(graph, program.graph_signature.input_specs)
    old = [s for s in program.graph_signature.output_specs if s.kind is not OutputKind.USER_OUTPUT]
    kinds = [*((s.kind, s.target) for s in old), *mutations]
    if old and mutations:
        raise NotImplementedError("run_decompositions: new changes of arguments in a program that has others already")
    for node in graph.nodes:
        if node.op == "get_attr":
            setattr(module, node.target, getattr(traced, node.target))
    graph.eliminate_dead_code()
    signature = ExportGraphSignature(list(program.graph_signature.input_specs), outputs_of(graph, kinds))
    return ExportedProgram(
        traced,
        graph,
        signature,
        program.state_dict,
        dict(program.range_constraints),
        list(program.module_call_graph),
        program.example_inputs,
        dict(program.constants),
        guards=program._guards,
        dialect="ATEN",
    )


def _taken_out(graph, specs):
    """Replace the copies into arguments at the end of a graph by results; return their kinds and targets."""
    by_node = {n: s for n, s in zip([n for n in graph.nodes if n.op == "placeholder"], specs)}
    values, kinds = [], []
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is aten.copy_.default and node.args[0] in by_node:
            spec = by_node[node.args[0]]
            values.append(node.args[1])
            kinds.append((_KINDS[spec.kind], spec.target if spec.target is not None else spec.arg.name))
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    if values:
        out = graph.output_node()
        out.args = ((*values, *out.args[0]),)
    return kinds


def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
    """Return the program without in-place operators, and with operators decomposed by the functions in a table.

    decomp_table: None means ``default_decompositions()``; an empty one decomposes only what is composite.
    """
    return decomposed(self, default_decompositions() if decomp_table is None else decomp_table)


ExportedProgram.run_decompositions = run_decompositions
