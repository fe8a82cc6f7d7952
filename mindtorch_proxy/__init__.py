"""mindtorch_proxy: unmodified PyTorch programs on MindSpore. This package is the hook; `torch` is what it serves.

(PYTEST_DONT_REWRITE: as a plugin this has no assertions, and in an activated process it is imported before pytest.)
"""

import sys

if sys.version_info < (3, 10):  # what follows would be a syntax error
    raise ImportError(
        "mindtorch_proxy needs Python 3.10 to 3.12, this is %d.%d (%s)" % (*sys.version_info[:2], sys.executable)
    )

__version__ = "0.1.0"

from .activate import install, installed, uninstall

__all__ = ["install", "installed", "report", "timed", "uninstall"]


def report():
    """Which operators ran so far in this process, on which kind of kernel, how often.

    A table with .html(file) and .json(file).
    """
    from .reports import Report
    from .runtime.report import report

    return Report(report())


def timed():
    """`with mindtorch_proxy.timed():` what this thread runs inside gets its time by operator in report()."""
    from .runtime.report import timed

    return timed()


def pytest_addhooks():
    """`pytest -p mindtorch_proxy`: called as soon as the plugin is registered, before conftests and other plugins can
    import torch.
    """
    install()


def load_ipython_extension(ipython):
    """`%load_ext mindtorch_proxy`."""
    install()


def unload_ipython_extension(ipython):
    """`%unload_ext mindtorch_proxy`."""
    uninstall()
