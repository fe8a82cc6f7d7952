"""Tests that facts about operators are in their declarations or in kernel tables, not in other lists of names."""

import ast
from pathlib import Path

import pytest

from mindtorch_proxy.backends import plan  # noqa: F401  (the decompositions)
from mindtorch_proxy.runtime import ops
from mindtorch_proxy.runtime.call.dispatch import dispatch_name
from mindtorch_proxy.runtime.device import TYPES
from mindtorch_proxy.runtime.ops.memory import CONVERSIONS
from mindtorch_proxy.runtime.registry import operators

ROOT = Path(ops.__file__).resolve().parents[2]
# Lists of dtypes or devices do not refer to the operators Tensor.float() or Tensor.cpu().
NAMES = {name for o in operators() for name in (o.name, o.full, *o.options.alias)} - {*CONVERSIONS, *TYPES}
# Functions that declare operators or add kernels to a table. A list of names that is read by such a call, or by a loop
# around it, is a declaration.
DECLARING = {
    "op",
    "view",
    "composite",
    "decomposition",
    "decomposed",
    "legacy",
    "numpy",
    "quick",
    "pyboost_",
    "without",
    "update",
    "inplace",
    "provide",
}
MANY = 3
# {(file, name of the list): why it is not a fact about operators that could be in a declaration}
ALLOWED = {
    ("backends/ascend/layouts.py", "COPIED"): "reports of people who had the chip",
    ("backends/ascend/random.py", "DRAWS"): "names of distributions",
    ("mindtorch_proxy/torch/__init__.py", "_OF_CLASS"): "functions written by hand that are builtins in PyTorch",
    ("runtime/call/operators.py", "_BINARY"): "Python's operators and the functions behind them",
    ("runtime/call/operators.py", "_REFLECTED"): "Python's operators by their own names",
    ("runtime/call/operators.py", "_INPLACE"): "Python's operators by their own names",
    ("runtime/ops/__init__.py", "FAMILIES"): "names of files",
    ("runtime/signatures.py", "_NOT_BY_SCHEMA"): "functions whose arguments PyTorch does not read by its schemas",
    ("runtime/ops/loss.py", "POINTWISE"): "the table from which these losses are declared",
    ("runtime/ops/nn.py", "BAGS"): "values of the argument `mode`",
    ("runtime/ops/resample.py", "UPSAMPLE"): "the table from which these operators are declared",
    ("runtime/ops/shape.py", "_REDUCE"): "values of the argument `reduce`",
    ("runtime/decompositions/reduction.py", "_SEGMENTS"): "values of the argument `reduce`",
    (
        "runtime/ops/sparse/gradients.py",
        "_NODES",
    ): "PyTorch's names of nodes, where they are not those of the functions",
    ("backends/ascend/table.py", "INPLACE"): "the backend's table: which Inplace primitive writes for which operator",
    ("backends/cpu/refusals.py", "COMPLEX_HALF"): "the backend's table: what it computes for complex32",
    ("backends/cpu/refusals.py", "_NOT_HALF"): "the backend's table: what it computes for complex32",
    ("backends/cpu/kernels/__init__.py", "FAMILIES"): "names of files",
    ("backends/cpu/tune.py", "SAMPLES"): "what is measured: arguments of calls",
    ("backends/cpu/kernels/random.py", "FILLERS"): "values of the argument `kind` of _draw",
    ("backends/cpu/kernels/shape.py", "UFUNC"): "values of the argument `reduce`",
    ("backends/cpu/kernels/shape.py", "np_at"): "values of the argument `reduce`",
    (
        "mindtorch_proxy/torch/sparse/__init__.py",
        "-",
    ): "PyTorch's own names of the functions that torch.sparse has under others",
    ("mindtorch_proxy/trace.py", "SUMS"): "trace.py also runs in the real torch, where no declarations are",
    ("mindtorch_proxy/trace.py", "PRODUCTS"): "trace.py also runs in the real torch, where no declarations are",
    ("mindtorch_proxy/torch/_foreach.py", "_UNARY"): "the table of torch._foreach_*",
    ("mindtorch_proxy/torch/_foreach.py", "_BINARY"): "the table of torch._foreach_*",
    (
        "mindtorch_proxy/torch/jit/_builtins.py",
        "_OPERATORS",
    ): "functions in PyTorch's Python files that are operators themselves",
    ("mindtorch_proxy/torch/jit/_interpreter.py", "_NAMES"): "Python's own functions",
    (
        "mindtorch_proxy/torch/jit/_interpreter.py",
        "_ON_VALUES",
    ): "what TorchScript does under these names with values that are no tensors",
    ("mindtorch_proxy/torch/utils/_sympy/interp.py", "_OF_TWO"): "methods of what analyses an expression of SymPy's",
    (
        "mindtorch_proxy/torch/nn/functional.py",
        "_ROOT",
    ): "functions of torch that nn.functional holds too, as the same objects",
    ("mindtorch_proxy/torch/_functorch/_functionalization.py", "_BACK"): "the inverse of each view",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_FACTORIES"): "how vmap draws: the arguments of factories",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_LIKE"): "how vmap draws: the arguments of factories",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_SAMPLERS"): "how vmap draws: the arguments of samplers",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_FILLS"): "how vmap draws: what fills in place",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_DROPOUTS"): "how vmap draws: what draws only in training",
    (
        "mindtorch_proxy/torch/_functorch/_random.py",
        "_BATCH_OF_ITS_OWN",
    ): "how vmap draws: what has a dimension of its own for the batch",
    ("mindtorch_proxy/torch/_functorch/_random.py", "_IN_PARTS"): "how vmap draws: what consists of other functions",
    ("mindtorch_proxy/torch/_functorch/_refused.py", "_RECURRENT"): "PyTorch's refusals under vmap",
    ("mindtorch_proxy/torch/_functorch/_refused.py", "REFUSED"): "PyTorch's refusals under vmap",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_REARRANGING"): "the table of batching rules",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_DYNAMIC"): "the table of batching rules",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_ARITHMETIC"): "the table of batching rules",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_BY_NAME"): "the table of batching rules",
    (
        "mindtorch_proxy/torch/_functorch/vmap.py",
        "_ALSO_POINTWISE",
    ): "the table of batching rules: functions that no operator of their name declares",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_PASS"): "the table of batching rules",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_PRODUCTS"): "the table of batching rules",
    ("mindtorch_proxy/torch/_functorch/vmap.py", "_LEAST_DIMS"): "the table of batching rules",
    ("mindtorch_proxy/torch/distributed/_shard/sharded_tensor/__init__.py", "-"): "names of its functions",
    ("mindtorch_proxy/torch/distributed/tensor/_collective_utils.py", "OPERATIONS"): "names of ReduceOp",
    ("mindtorch_proxy/torch/distributed/tensor/_rules.py", "LINEAR"): "the table of rules for sharded arguments",
    ("mindtorch_proxy/torch/distributed/tensor/_rules.py", "_REDUCTIONS"): "the table of rules for sharded arguments",
    ("mindtorch_proxy/torch/distributed/tensor/_rules.py", "-"): "the table of rules for sharded arguments",
    ("mindtorch_proxy/torch/distributed/tensor/placement_types.py", "ALL_REDUCE_OPS"): "names of ReduceOp",
    ("mindtorch_proxy/torch/fx/graph.py", "_BINARY"): "Python's operators, as fx writes them",
    ("mindtorch_proxy/torch/fx/graph.py", "_INPLACE"): "Python's operators, as fx writes them",
    ("mindtorch_proxy/torch/fx/passes/tools_common.py", "-"): "a public list of PyTorch's",
    ("mindtorch_proxy/torch/fx/proxy.py", "_REFLECTED"): "Python's operators by their own names",
    ("mindtorch_proxy/torch/fx/proxy.py", "_MAGIC"): "Python's operators by their own names",
    (
        "mindtorch_proxy/torch/masked/_ops.py",
        "_IDENTITY",
    ): "the table from which torch.masked is made: the value that changes no result",
    ("mindtorch_proxy/torch/masked/_ops.py", "_ELEMENTWISE"): "the table from which torch.masked is made",
    ("mindtorch_proxy/torch/masked/_ops.py", "_REDUCTIONS"): "the table from which torch.masked is made",
    ("mindtorch_proxy/torch/masked/_ops.py", "-"): "the table from which torch.masked is made",
    ("mindtorch_proxy/torch/masked/_ops.py", "known"): "the table from which torch.masked is made",
    (
        "mindtorch_proxy/torch/masked/maskedtensor/binary.py",
        "BINARY_NAMES",
    ): "a public list of PyTorch's: what masked tensors take",
    (
        "mindtorch_proxy/torch/masked/maskedtensor/binary.py",
        "INPLACE_BINARY_NAMES",
    ): "a public list of PyTorch's: what masked tensors take",
    (
        "mindtorch_proxy/torch/masked/maskedtensor/reductions.py",
        "REDUCE_NAMES",
    ): "a public list of PyTorch's: what masked tensors take",
    (
        "mindtorch_proxy/torch/masked/maskedtensor/unary.py",
        "UNARY_NAMES",
    ): "a public list of PyTorch's: what masked tensors take",
    (
        "mindtorch_proxy/torch/masked/maskedtensor/unary.py",
        "INPLACE_UNARY_NAMES",
    ): "a public list of PyTorch's: what masked tensors take",
    (
        "mindtorch_proxy/trace.py",
        "UNWRITTEN",
    ): "what gives memory that nothing has written to: PyTorch has no tag for it",
    ("stubs/_dynamo/capture.py", "_BY_VALUE"): "what a graph cannot hold, because its size is known by values alone",
    ("stubs/_dynamo/capture.py", "_OPERATORS"): "Python's operators by their own names",
    ("runtime/symbolic.py", "_ARITHMETIC"): "Python's operators on symbolic numbers",
    ("runtime/symbolic.py", "_ORDER"): "Python's operators on symbolic numbers",
    ("runtime/symbolic.py", "_ROUNDING"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/export/exported_program.py", "_CALLED"): "Python's functions of symbolic numbers",
    ("mindtorch_proxy/torch/fx/experimental/sym_node.py", "_RELATIONS"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/fx/experimental/sym_node.py", "_OF_INTS"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/fx/experimental/sym_node.py", "_OF_FLOATS"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/fx/experimental/sym_node.py", "_FUNCTIONS"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/fx/experimental/sym_node.py", "_ROUNDED"): "Python's operators on symbolic numbers",
    ("mindtorch_proxy/torch/nn/init.py", "gains"): "values of the argument `nonlinearity`",
}


def declares(node, helpers):
    """Whether a node contains a call of a declaring function."""
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in helpers for n in ast.walk(node)
    )


def lists_of_names(path):
    """Yield (line, assigned name, operators) for the lists that no declaration reads."""
    tree = ast.parse(path.read_text())
    helpers = set(DECLARING)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for _ in range(2):  # functions of the file that declare, and those that call them
        helpers |= {f.name for f in functions if declares(f, helpers)}
    read = set()
    for n in ast.walk(tree):
        if (
            isinstance(n, ast.For)
            and declares(n, helpers)
            or isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in helpers
        ):
            names = {x.id for x in ast.walk(n.iter if isinstance(n, ast.For) else n) if isinstance(x, ast.Name)}
            read |= names | {id(x) for x in ast.walk(n)}
        if isinstance(n, ast.FunctionDef) and n.name in helpers:
            read |= {id(x) for x in ast.walk(n)}
    for statement in ast.walk(tree):
        targets = [t.id for t in getattr(statement, "targets", ()) if isinstance(t, ast.Name)]
        if not isinstance(statement, ast.stmt) or "__all__" in targets or read & set(targets):
            continue
        for n in (
            ast.iter_child_nodes(statement)
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.For, ast.If, ast.With, ast.Try))
            else ()
        ):
            for found in ast.walk(n):
                words = words_of(found)
                if len(known := [w for w in words if w in NAMES]) >= MANY and id(found) not in read:
                    yield statement.lineno, (targets or ["-"])[0], known


def words_of(node):
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if isinstance(node, ast.Dict):
        return [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "split"
        and isinstance(node.func.value, ast.Constant)
    ):
        return node.func.value.value.split()
    return []


@pytest.mark.parametrize("folder", ["runtime", "backends", "mindtorch_proxy", "stubs"])
def test_no_list_of_operators_beside_the_declarations(folder):
    found = {
        (p.relative_to(ROOT).as_posix(), target): known
        for p in sorted((ROOT / folder).rglob("*.py"))
        for _, target, known in lists_of_names(p)
    }
    assert {k: v for k, v in found.items() if k not in ALLOWED} == {}
    assert not [k for k in ALLOWED if k[0].startswith(folder + "/") and k not in found], (
        "these are gone: take them off the list"
    )


# operators of our own that PyTorch does not have: parts of others, and formulas that PyTorch computes within one kernel
NO_COUNTERPART = set(
    """_trunc_quotient _isclose _distinct _lu_permutation _draw _C._bernoulli _C.convolution_weight _C.norm_backward
    _C._nn.adaptive_averages _C._nn.adaptive_averages_backward
    _C._nn.avg_pool1d_backward _lstm_layer _gru_layer _rnn_tanh_layer _rnn_relu_layer _lstm_layer_backward
    _gru_layer_backward _rnn_tanh_layer_backward _rnn_relu_layer_backward _C.flash_attention
    _C.flash_attention_backward _C.cross_entropy_loss_backward _C.rms_norm_backward _C.layer_norm_backward _C.swiglu
    _C.group_norm_backward _C.swiglu_backward _C.rotary_embedding _over_rows
    _C._nn.binary_cross_entropy_with_logits_backward
    _attention_scores _add_scaled _sub_scaled _C.dropout_drawn _C.dropout_drawn_backward""".split()
)


def test_interceptors_see_pytorch_s_names(oracle_python, python):
    program = (
        "import torch; print(*{f'aten.{s.name[6:]}.{s.overload_name or \"default\"}' for s in "
        "torch._C._jit_get_all_schemas() if s.name[:6] == 'aten::'})"
    )
    known = set(python("-c", program, executable=oracle_python).split())
    unknown = {o.full for o in operators() if o.fn is None and dispatch_name(o, ()) not in known}
    assert unknown == NO_COUNTERPART


def test_the_runtime_names_no_device_type():
    found = {}
    for path in sorted((ROOT / "runtime").rglob("*.py")):
        words = {
            n.value
            for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.Constant) and n.value in ("cpu", "npu")
        }
        if words:
            found[path.relative_to(ROOT).as_posix()] = words
    # the default device, Tensor.npu() and is_npu, PyTorch's table of autocast dtypes, the name of the host in files
    assert set(found) <= {
        "runtime/device.py",
        "runtime/call/autocast.py",
        "runtime/serialization/places.py",
        "runtime/ops/memory.py",
        "runtime/tensor.py",
        "runtime/ops/sparse/tensors.py",
    }, found
