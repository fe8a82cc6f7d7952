"""Finds the modules of `torch` and its package metadata.

Standard library only. The finder has no state, so it may be used from any thread.
"""

import functools
import importlib
import os
import re
import sys
from importlib.machinery import PathFinder

TORCH_VERSION = "2.13.0+mindspore"
HERE = os.path.dirname(os.path.abspath(__file__))
# `stubs` holds the modules that only use public names of torch: inside the package in a wheel, beside it in a checkout
STUBS = next(
    (p for p in (os.path.join(HERE, "stubs"), os.path.join(os.path.dirname(HERE), "stubs")) if os.path.isdir(p)), None
)
ROOTS = [os.path.join(HERE, "torch"), *filter(None, [STUBS])]
SPLIT = ("torch", "torch.utils")  # the packages that have modules in both trees

METADATA = f"""\
Metadata-Version: 2.1
Name: torch
Version: {TORCH_VERSION}
Summary: PyTorch's interface, answered by mindtorch_proxy on MindSpore
License: Apache-2.0
Requires-Python: >=3.10
"""


def npu_usable():
    """Whether `torch.npu` and `torch_npu` can be imported; libraries conclude from either that there is an NPU.

    Without a device node, and without MINDTORCH_NPU=emulated, the answer is no and nothing is imported.
    """
    try:
        nodes = any(name.startswith("davinci") for name in os.listdir("/dev"))
    except OSError:
        nodes = False
    if not nodes and os.environ.get("MINDTORCH_NPU", "").lower() != "emulated":
        return False
    return importlib.import_module("mindtorch_proxy.backends.ascend.devices").count() > 0


class TorchFinder:
    """A meta path finder for `torch`, `functorch` and `torch_npu`, with their submodules.

    `torch_npu` and `torch.npu` are found only where an NPU is usable.
    """

    def find_spec(self, fullname, path=None, target=None):
        """Return the spec of one of our modules, or None.

        Raise ModuleNotFoundError for a module that we do not have and that another torch would provide.
        """
        if fullname == "torch_npu" or fullname.startswith("torch_npu.") and path is not None:
            return PathFinder.find_spec(fullname, path or [HERE]) if path or npu_usable() else None
        if fullname == "functorch" or fullname.startswith("functorch.") and path is not None:
            return PathFinder.find_spec(fullname, path or [HERE])
        if fullname != "torch" and not (fullname.startswith("torch.") and path is not None):
            return None
        if fullname == "torch.npu" and not npu_usable():  # None would let the next finder find its folder
            raise ModuleNotFoundError("No module named 'torch.npu': no Ascend NPU is usable", name=fullname)
        spec = PathFinder.find_spec(fullname, [HERE] if fullname == "torch" else path)
        if spec is not None and spec.loader is not None and spec.origin:
            if fullname in SPLIT:
                spec.submodule_search_locations = [os.path.join(root, *fullname.split(".")[1:]) for root in ROOTS]
            return spec
        for finder in sys.meta_path:  # an editable install of torch has its own finder, which ignores the path
            other = (
                None if finder is self or not hasattr(finder, "find_spec") else finder.find_spec(fullname, path, target)
            )
            if other is not None:
                where = other.origin or list(other.submodule_search_locations or ())
                raise ModuleNotFoundError(
                    f"No module named {fullname!r} in mindtorch_proxy (that of {where} is not used)", name=fullname
                )
        return None

    def find_distributions(self, context=None):
        """Return the distribution `torch` for importlib.metadata. Searches with an explicit path are ignored."""
        name = getattr(context, "name", None)
        if "path" in vars(context or object) or (name and re.sub(r"[-_.]+", "-", name).lower() != "torch"):
            return iter(())
        return iter([_distribution()])


@functools.cache
def _distribution():
    from importlib.metadata import Distribution  # takes 20 ms; a caller has imported it already
    from pathlib import Path

    def files():
        for root in ROOTS:
            for folder, _, names in os.walk(root):
                yield from (os.path.relpath(os.path.join(folder, n), root) for n in names if not n.endswith(".pyc"))

    class TorchDistribution(Distribution):
        def read_text(self, filename):
            match filename:
                case "METADATA":
                    return METADATA
                case "top_level.txt":
                    return "functorch\ntorch\n"
                case "RECORD":
                    return "".join(f"torch/{name},,\n" for name in sorted(files()))

        def locate_file(self, path):
            inside = os.fspath(path).removeprefix("torch").lstrip("/")
            return next((p for root in ROOTS if (p := Path(root, inside)).exists()), Path(ROOTS[0], inside))

    return TorchDistribution()
