"""Wrappers that torch.compile returns for functions and modules."""

import functools
from typing import NamedTuple

import torch

from .capture import Captured, Compiled, named_arguments, reached

STANCE = ["default"]


@functools.cache
def _without_validation():
    """Stop distributions from checking their arguments: their branches on values cannot be captured.

    As in PyTorch, the first torch.compile does so for the whole process, and a program may turn the checks on again.
    """
    torch.distributions.Distribution.set_default_validate_args(False)


class _Context:
    """A compile configuration; calling it with a function or module returns the compiled one."""

    def __init__(self, backend, fullgraph=False, dynamic=None, config=None):
        self.backend, self.fullgraph, self.dynamic = backend, fullgraph, dynamic
        self.compiler_config = config
        _without_validation()

    def get_compiler_config(self):
        """Return the options passed to torch.compile."""
        return self.compiler_config

    def __call__(self, fn):
        fn = innermost_fn(fn)
        if isinstance(fn, torch.nn.Module):
            return OptimizedModule(fn, self)
        if not callable(fn):
            raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
        run = fn if self.backend is None else Compiled(fn, self.backend, self.fullgraph)

        @functools.wraps(fn)
        def compile_wrapper(*args, **kwargs):
            return (fn if STANCE[0] == "force_eager" else run)(*args, **kwargs)

        compile_wrapper._torchdynamo_inline = fn
        compile_wrapper._torchdynamo_orig_callable = fn
        compile_wrapper.get_compiler_config = self.get_compiler_config
        compile_wrapper._is_torch_compile = True
        return compile_wrapper


class OptimizedModule(torch.nn.Module):
    """A compiled module around ``_orig_mod``; parameters, buffers, mode and attributes are those of ``_orig_mod``."""

    _opt_mod_attributes = {
        "_orig_mod",
        "dynamo_ctx",
        "_torchdynamo_orig_callable",
        "get_compiler_config",
        "forward",
        "_forward",
        "__dict__",
    }

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        self._modules["_orig_mod"] = mod
        self._initialize()

    def _initialize(self):
        mod, context = self._orig_mod, self.dynamo_ctx
        run = mod if context.backend is None else Compiled(mod.__call__, context.backend, context.fullgraph)

        def forward(*args, **kwargs):
            return (mod if STANCE[0] == "force_eager" else run)(*args, **kwargs)

        self.__dict__.update(
            forward=forward, _torchdynamo_orig_callable=mod.forward, get_compiler_config=context.get_compiler_config
        )

    @property
    def _orig_mod(self):
        return self._modules["_orig_mod"]

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        # nn.Module.__init__ sets this before _orig_mod exists
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name == "training" or "_modules" not in self.__dict__ or "_orig_mod" not in self._modules:
            return super().__setattr__(name, value)
        if name in self._opt_mod_attributes:
            self.__dict__[name] = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if name in self._opt_mod_attributes:
            return super().__delattr__(name)
        return delattr(self._orig_mod, name)

    def __reduce__(self):
        return type(self), (self._orig_mod, self.dynamo_ctx)

    def __dir__(self):
        return [*self._orig_mod.__dir__(), *self.__dict__]

    def __len__(self):
        return len(self._orig_mod)

    def __contains__(self, key):
        return key in self._orig_mod

    def __getitem__(self, index):
        return self._orig_mod[index]

    def __iter__(self):
        return iter(self._orig_mod)


def innermost_fn(fn):
    """Return the function inside all wrappers made by ``disable`` or ``torch.compile``."""
    while not isinstance(fn, torch.nn.Module) and hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def is_dynamo_supported():
    """Whether functions can be captured as graphs."""
    return True


def is_inductor_supported():
    """Whether Inductor can generate code, which is never the case."""
    return False


class ExportResult(NamedTuple):
    """A captured graph; the list of guards stays empty."""

    graph_module: torch.fx.GraphModule
    guards: list


class ExplainOutput:
    """The result of ``explain``."""

    def __init__(self, graphs, reasons):
        self.graphs, self.break_reasons, self.out_guards, self.compile_times = graphs, reasons, [], None
        self.graph_count, self.graph_break_count = len(graphs), max(len(graphs) - 1, len(reasons))
        self.ops_per_graph = [[n.target for n in g.graph.nodes if n.op.startswith("call")] for g in graphs]
        self.op_count = sum(n.op == "call_function" for g in graphs for n in g.graph.nodes)

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for i, reason in enumerate(self.break_reasons):
            lines += [f"  Break Reason {i + 1}:", f"    Reason: {reason}"]
        lines.append("Ops per Graph:")
        for i, ops in enumerate(self.ops_per_graph):
            lines += [f"  Ops {i + 1}:", *(f"    {op}" for op in ops)]
        return "\n".join(lines) + "\n"


def captured_once(f, args, kwargs):
    """Capture one run of a function or module."""
    fn = f.__call__ if isinstance(f, torch.nn.Module) else f
    return Captured(fn, args, kwargs, reached(fn, named_arguments(fn, args, kwargs)))
