"""A tracer that rewrites the source of what it traces: assertions are recorded, and types of local names."""

import ast
import copy
import functools
import inspect
import textwrap
import types

import torch

from .._symbolic_trace import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites the source of functions."""

    def rewrite(self, fn):
        """A function of the rewritten source."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        namespace = dict(fn.__globals__)
        exec(compile(ast.fix_missing_locations(self.visit(tree)), inspect.getsourcefile(fn) or "", "exec"), namespace)
        (definition,) = (n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
        made = namespace[definition.name]
        fn = getattr(fn, "__func__", fn)
        new = types.FunctionType(made.__code__, fn.__globals__, fn.__name__, made.__defaults__, made.__closure__)
        functools.update_wrapper(new, made)
        new.__kwdefaults__ = copy.copy(made.__kwdefaults__)
        return new

    def visit_Assert(self, node):
        """``assert a, b`` is ``torch._assert(a, b)``."""
        function = ast.Attribute(ast.Name("torch", ast.Load()), "_assert", ast.Load())
        return ast.copy_location(ast.Expr(ast.Call(function, [node.test, node.msg or ast.Constant("")], [])), node)

    def visit_AnnAssign(self, node):
        """``a: t = b`` is ``a = annotate(b, t)``."""
        return ast.copy_location(ast.Assign([node.target], ast.Call(ast.Name("annotate", ast.Load()), [node.value, node.annotation], [])), node)


class RewritingTracer(Tracer):
    """Traces the rewritten module or function."""

    def trace(self, root, concrete_args=None):
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(root):
    if not isinstance(root, torch.nn.Module):
        return AST_Rewriter().rewrite(root)

    class RewrittenModule(torch.nn.Module):
        def __init__(self, original):
            super().__init__()
            for name, value in original.__dict__.items():
                self.__dict__[name] = copy.copy(_rewrite(value) if isinstance(value, torch.nn.Module) else value)

    RewrittenModule.forward = AST_Rewriter().rewrite(root.forward)
    return RewrittenModule(root)
