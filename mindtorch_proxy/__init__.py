"""mindtorch_proxy: runs unmodified PyTorch programs on MindSpore.

This package is the import hook; the package `torch` below it is what `import torch` returns.

(PYTEST_DONT_REWRITE: the pytest plugin has no assertions, and an activated process imports it before pytest.)
"""

import sys

if sys.version_info < (3, 10):  # the imports below would raise a syntax error
    raise ImportError(
        "mindtorch_proxy needs Python 3.10 to 3.12, this is %d.%d (%s)" % (*sys.version_info[:2], sys.executable)
    )

__version__ = "0.1.0"

from .activate import install, installed, uninstall

__all__ = ["install", "installed", "report", "timed", "uninstall"]


def report():
    """Return a report of the operators that this process has run: on which kind of kernel, and how often.

    It prints as a table, and has .html(file) and .json(file).
    """
    from .reports import Report
    from .runtime.report import report

    return Report(report())


def timed():
    """Measure the time of each operator in a block, for report(): `with mindtorch_proxy.timed():` in this thread."""
    from .runtime.report import timed

    return timed()


def pytest_addhooks():
    """Install the hook for `pytest -p mindtorch_proxy`.

    pytest calls this when it registers the plugin, before conftests and other plugins can import torch.
    """
    install()


def load_ipython_extension(ipython):
    """Install the hook for `%load_ext mindtorch_proxy`."""
    install()


def unload_ipython_extension(ipython):
    """Remove the hook for `%unload_ext mindtorch_proxy`."""
    uninstall()
