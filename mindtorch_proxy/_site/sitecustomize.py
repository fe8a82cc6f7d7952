"""Python imports this at the start of each child of an activated process, whose PYTHONPATH names this folder first."""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder

if os.environ.get("MINDTORCH_ACTIVATE") in ("1", os.path.realpath(sys.prefix)):
    import mindtorch_proxy

    mindtorch_proxy.install()

# the sitecustomize that this one hides takes its place, as if nothing had been before it
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _here]
if _spec := PathFinder.find_spec("sitecustomize"):
    sys.modules["sitecustomize"] = _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
