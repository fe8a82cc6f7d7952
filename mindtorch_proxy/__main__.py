"""Run a program or a command of mindtorch_proxy.

python -m mindtorch_proxy [-m module | -c code | script | -] [argument ...]
    Run a program in which `import torch` imports mindtorch_proxy's torch.
python -m mindtorch_proxy doctor [--json]
    Show what is installed, whether it is active and why, and what is wrong with it.
python -m mindtorch_proxy compare --oracle PYTHON script [argument ...]
    Find the first operator whose result differs from that of the real PyTorch.
python -m mindtorch_proxy where NAME ...
    Show where a name of torch is declared, differentiated, computed and tested.
python -m mindtorch_proxy tune [file]
    Measure which kernels are fastest on this machine, for MINDTORCH_KERNELS=fastest.
python -m mindtorch_proxy npu-report [--full] [--out FILE]
    Find out what this machine's NPU computes, for people who have one.
python -m mindtorch_proxy --version
    Show the versions of this package and of the PyTorch that it implements.
"""

import difflib
import importlib
import os
import runpy
import sys
import traceback
import types

from . import __version__, install
from .finder import TORCH_VERSION
from .installation import BrokenInstallation
from .tracebacks import shorten

COMMANDS = ("doctor", "compare", "where", "tune", "npu-report")


def run_code(code, argv, **attributes):
    """Run code as the module __main__, which is kept so that `python -i` can use its names."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update({"__builtins__": __builtins__, **attributes})
    sys.argv = argv
    exec(code, module.__dict__)


def run_source(source, name, argv):
    """Run source text as __main__."""
    sys.path[:1] = [""] * (not getattr(sys.flags, "safe_path", False))
    run_code(compile(source, name, "exec"), argv)


def run_script(script, argv):
    """Run a file, or a folder or archive that contains a __main__.py."""
    import pkgutil
    from importlib.machinery import SourceFileLoader

    sys.argv = argv
    folder = os.path.isdir(script)
    if not getattr(sys.flags, "safe_path", False):  # for a folder runpy adds the folder itself
        sys.path[:1] = [] if folder else [os.path.dirname(os.path.abspath(script))]
    if folder or type(pkgutil.get_importer(script)).__name__ == "zipimporter" or script.endswith(".pyc"):
        runpy.run_path(script, run_name="__main__")
        return
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    run_code(
        code, argv, __file__=os.path.abspath(script), __cached__=None, __loader__=SourceFileLoader("__main__", script)
    )


def run_module(module, argv):
    """Run a module or a package."""
    sys.argv = argv
    names = runpy.run_module(module, run_name="__main__", alter_sys=True)
    if sys.flags.inspect:
        sys.modules["__main__"].__dict__.update(names)


def not_there(script):
    """Return a sentence about a first argument that is neither a file nor a command."""
    if script[:1] == "-":
        return f"{script} is no option here; Python's own go before -m: python {script} ... -m mindtorch_proxy"
    text = f"can't open file {os.path.abspath(script)!r}: [Errno 2] No such file or directory"
    near = difflib.get_close_matches(script, COMMANDS, 1)
    return text + (f"; did you mean the command {near[0]!r}?" if near else "")


def run(argv):
    """Run what `python` would run with the same arguments. Return the exit status."""
    install()
    match argv:
        case ["-m", module, *_]:
            run_module(module, argv[1:])
        case ["-c", source, *rest]:
            run_source(source, "<string>", ["-c", *rest])
        case [] if sys.stdin.isatty():
            import code

            code.interact(local={"__name__": "__main__"})
        case [] | ["-", *_]:
            run_source(sys.stdin.read(), "<stdin>", argv or [""])
        case ["tune", *path] if not os.path.exists("tune"):
            importlib.import_module("mindtorch_proxy.backends.cpu.tune").main(*path)
        case [script, *_] if os.path.exists(script):
            run_script(script, argv)
        case [script, *_]:
            print(f"mindtorch_proxy: {not_there(script)}", file=sys.stderr)
            return 2
    return 0


def show(error):
    """Print an error as `python` does, with a traceback that begins at the program's own first frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (
        __file__,
        run_module.__code__.co_filename,
        runpy.__file__,
        "<frozen runpy>",
    ):
        trace = trace.tb_next
    error.__traceback__ = trace
    shorten(error)
    trace = error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.excepthook is sys.__excepthook__:  # does not use linecache, which has the source of generated functions
        traceback.print_exception(error)
    else:
        sys.excepthook(type(error), error, trace)


def main(argv):
    """Run a command or a program and return the exit status.

    A broken installation is reported in one sentence, without a traceback.
    """
    match argv:
        case ["-h" | "--help"]:
            print(__doc__)
            return 0
        case ["-V" | "--version"]:
            print(f"mindtorch_proxy {__version__}, torch {TORCH_VERSION}")
            return 0
        case ["-m" | "-c"]:
            print(__doc__, file=sys.stderr)
            return 2
        case ["doctor", *rest]:
            from . import doctor

            return doctor.main(rest)
        case ["npu-report", *rest]:
            from . import npu_report

            return npu_report.main(rest)
        case ["compare", *rest]:
            from . import comparison

            return comparison.main(rest)
        case ["where", *rest] if not os.path.exists("where"):
            return importlib.import_module("mindtorch_proxy.where").main(rest)
    try:
        return run(argv)
    except BrokenInstallation as error:
        print(f"mindtorch_proxy: {error}", file=sys.stderr)
    except Exception as error:
        show(error)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
