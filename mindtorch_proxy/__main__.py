"""python -m mindtorch_proxy [-m module | -c code | script | -] [argument ...]: run a program whose `import torch` is
ours.
python -m mindtorch_proxy doctor [--json]: what is installed, what is active and why, what is wrong with it.
python -m mindtorch_proxy compare --oracle PYTHON script [argument ...]: the first operator whose result differs from
the real PyTorch's.
python -m mindtorch_proxy where NAME ...: where a name of torch is declared, differentiated, computed and tested.
python -m mindtorch_proxy tune [file]: measure which kernels are fastest on this machine, for MINDTORCH_KERNELS=fastest.
"""

import importlib
import os
import runpy
import sys
import traceback
import types

from . import install
from .installation import BrokenInstallation
from .tracebacks import shorten


def run_code(code, argv, **attributes):
    """Run code as __main__, which stays: `python -i` looks at its names."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update({"__builtins__": __builtins__, **attributes})
    sys.argv = argv
    exec(code, module.__dict__)


def run_source(source, name, argv):
    """Run a text as __main__."""
    sys.path[:1] = [""] * (not getattr(sys.flags, "safe_path", False))
    run_code(compile(source, name, "exec"), argv)


def run_script(script, argv):
    """Run a file, or a folder or an archive with a __main__.py."""
    import pkgutil
    from importlib.machinery import SourceFileLoader

    sys.argv = argv
    folder = os.path.isdir(script)
    if not getattr(sys.flags, "safe_path", False):  # a folder adds itself
        sys.path[:1] = [] if folder else [os.path.dirname(os.path.abspath(script))]
    if folder or type(pkgutil.get_importer(script)).__name__ == "zipimporter" or script.endswith(".pyc"):
        runpy.run_path(script, run_name="__main__")
        return
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    run_code(code, argv, __file__=script, __cached__=None, __loader__=SourceFileLoader("__main__", script))


def run_module(module, argv):
    """Run a module or a package."""
    sys.argv = argv
    names = runpy.run_module(module, run_name="__main__", alter_sys=True)
    if sys.flags.inspect:
        sys.modules["__main__"].__dict__.update(names)


def run(argv):
    """Do as `python` does with the same arguments."""
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
            print(f"mindtorch_proxy: can't open file {script!r}", file=sys.stderr)
            return 2
    return 0


def show(error):
    """As `python` shows it: from the program's own first line on."""
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
    if sys.excepthook is sys.__excepthook__:  # which knows no linecache, where the lines of written functions stand
        traceback.print_exception(error)
    else:
        sys.excepthook(type(error), error, trace)


def main(argv):
    """Run a command of ours, or a program; what is wrong with the installation is said in a sentence."""
    match argv:
        case ["-h" | "--help"]:
            print(__doc__)
            return 0
        case ["-m" | "-c"]:
            print(__doc__, file=sys.stderr)
            return 2
        case ["doctor", *rest]:
            from . import doctor

            return doctor.main(rest)
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
