"""Explains why `import torch` fails in an environment that has the .pth file but is not active.

Standard library only.
"""

import sys

IN_NOTEBOOKS = "No module named 'torch'. mindtorch_proxy answers for it after %load_ext mindtorch_proxy"
FORGOTTEN = (
    "No module named 'torch'. mindtorch_proxy answers for it where it is active, and in this process it is not: "
    "start it with `python -m mindtorch_proxy`, or set MINDTORCH_ACTIVATE=1"
)


def explain():
    """Raise ModuleNotFoundError with an explanation for an import statement; return None for `find_spec`.

    The last finder of sys.meta_path calls this, so that no other finder has found torch.
    """
    frame = sys._getframe(2)  # the caller of the finder
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        if frame.f_code.co_name == "_find_and_load":
            notebook = "get_ipython" in vars(sys.modules.get("builtins"))
            raise ModuleNotFoundError(IN_NOTEBOOKS if notebook else FORGOTTEN, name="torch")
        frame = frame.f_back
    return None
