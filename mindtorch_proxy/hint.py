"""Why `import torch` fails in an environment that has the .pth file and is not active. Standard library only."""

import sys

FORGOTTEN = (
    "No module named 'torch'. mindtorch_proxy answers for it where it is active, and in this process it is not: "
    "start it with `python -m mindtorch_proxy`, or set MINDTORCH_ACTIVATE=1"
)


def explain():
    """Asked behind all other finders.

    An import statement's error gets our sentence; one who looks whether there is a torch (`find_spec`) sees none.
    """
    frame = sys._getframe(2)  # of who asks the finder
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        if frame.f_code.co_name == "_find_and_load":
            raise ModuleNotFoundError(FORGOTTEN, name="torch")
        frame = frame.f_back
    return None
