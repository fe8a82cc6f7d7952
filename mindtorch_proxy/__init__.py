"""mindtorch_proxy: unmodified PyTorch programs on MindSpore. This package is the hook; `torch` is what it serves.

(PYTEST_DONT_REWRITE: as a plugin this has no assertions, and in an activated process it is imported before pytest.)
"""

__version__ = "0.1.0"

from .activate import install, installed, uninstall

__all__ = ["install", "installed", "report", "uninstall"]


def report():
    """Which operators ran so far in this process, on which kind of kernel, and how often."""
    from .runtime.report import report

    return report()


def pytest_addhooks():
    """`pytest -p mindtorch_proxy`: called as soon as the plugin is registered, before conftests and other plugins can import torch."""
    install()


def load_ipython_extension(ipython):
    """`%load_ext mindtorch_proxy`."""
    install()


def unload_ipython_extension(ipython):
    """`%unload_ext mindtorch_proxy`."""
    uninstall()
