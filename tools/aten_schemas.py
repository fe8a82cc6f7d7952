"""Write runtime/aten.txt, the signatures of PyTorch's operators below autograd, with the oracle's Python: `python
tools/aten_schemas.py runtime/aten.txt`.

A line an overload: flags, a tab, its schema. Flags: I where it is a function over other operators
(CompositeImplicitAutograd), N where numbers stand for tensors, then its tags by the letters of _TAGS, of which G tells
that it is generated, and nothing that PyTorch's Python functions know. Those of other vendors' libraries are known
names too, and unsupported operators.
"""

import re
import sys

import torch

_TAGS = {
    "core": "c",
    "pointwise": "p",
    "reduction": "r",
    "view_copy": "v",
    "inplace_view": "i",
    "nondeterministic_seeded": "n",
}
_TAGS |= {
    "dynamic_output_shape": "d",
    "data_dependent_output": "D",
    "pt2_compliant_tag": "",
    "generated": "G",
    "out": "",
    "inplace": "",
}


# functions of Python that take a number for the second tensor, so that the overload for numbers is called by its own
# name alone
_NUMBERS = re.compile(r"(add|sub|mul|div)_?\.Tensor")
# TorchScript's own that tensors with a geometry of their own are asked for by
_OF_GEOMETRY = {
    f"aten::{name}"
    for name in ("size", "sym_size", "stride", "sym_stride", "is_non_overlapping_and_dense", "is_strides_like_format")
}


def main(path):
    schemas = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if name != schema.name:
            schemas.setdefault(name, {})[schema.overload_name] = schema
    lines = []
    for name in sorted(schemas):
        for overload in torch._C._jit_get_operation("aten::" + name)[1]:
            full = f"aten::{name}" + ("." + overload if overload else "")
            try:
                flags = "I" if torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd") else ""
            except RuntimeError:  # TorchScript's own
                if full not in _OF_GEOMETRY:
                    continue
                flags = ""
            flags += "N" * bool(_NUMBERS.match(full[6:]))
            found = torch._C._get_operation_overload("aten::" + name, overload)
            flags += "".join(sorted(_TAGS.get(str(t).rpartition(".")[2], "") for t in found[2])) if found else ""
            lines.append(f"{flags}\t{str(schemas[name][overload]).removeprefix('aten::')}\n")
    with open(path, "w") as f:
        f.writelines(lines)


if __name__ == "__main__":
    main(sys.argv[1])
