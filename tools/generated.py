"""Prints the functions that are written for an operator: the public ones, its call, its backward.

python tools/generated.py add              torch.add, Tensor.add, Tensor.add_, what they run, and its gradient
python tools/generated.py linalg.vector_norm
"""

import sys

from mindtorch_proxy import install

install()
import torch  # noqa: E402, F401

from mindtorch_proxy.runtime import registry  # noqa: E402
from mindtorch_proxy.runtime.codegen import source_of  # noqa: E402
from mindtorch_proxy.runtime.cpython import python_function  # noqa: E402


def texts(full):
    """(title, source) of every function generated for the operators of this name."""
    ns, _, name = full.rpartition(".")
    spaces = [ns] if ns else ["torch", "Tensor", "nn.functional"]
    operators = [
        o for o in registry.operators() if o.name.rstrip("_") == name.rstrip("_") and (not ns or o.namespace == ns)
    ]
    for space in spaces:
        for public in (name, name + "_"):
            f = registry.function(space, public)
            f = python_function(f)
            for part in (getattr(f, "overloads", None) or {"": f}).values() if f else ():
                yield (
                    f"{'Tensor' if space == 'Tensor' else 'torch' if space == 'torch' else 'torch.' + space}.{public}",
                    source_of(part),
                )
    for op in operators:
        yield f"{op.schema.text}\n# its call, below overrides and autocast", source_of(op.make_call())
        if op.derivative is not None:
            yield f"{op.full}: the gradients of its arguments", source_of(op.compiled_derivative.node_class.run)


def main(names):
    if not names:
        sys.exit(__doc__)
    for full in names:
        found = list(texts(full))
        if not found:
            sys.exit(f"no operator {full}")
        for title, text in found:
            print(f"# {title}\n{text or '# written by hand: see its declaration in runtime/ops'}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
