"""python -m mindtorch_proxy [-m module | -c code | script | -] [argument ...]: run a program whose `import torch` is ours."""

import os
import runpy
import sys
import types

from . import install


def run_source(source, name, argv):
    """Run a text as __main__."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.argv, sys.path[:1] = argv, [""] * (not getattr(sys.flags, "safe_path", False))
    exec(compile(source, name, "exec"), module.__dict__)


def main(argv):
    """Do as `python` does with the same arguments."""
    install()
    match argv:
        case ["-m", module, *_]:
            sys.argv = argv[1:]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", source, *rest]:
            run_source(source, "<string>", ["-c", *rest])
        case ["-h" | "--help"] | ["-m" | "-c"]:
            print(__doc__)
            return 0 if argv[0].endswith("h") or argv[0] == "--help" else 2
        case [] if sys.stdin.isatty():
            import code

            code.interact(local={"__name__": "__main__"})
        case [] | ["-", *_]:
            run_source(sys.stdin.read(), "<stdin>", argv or [""])
        case [script, *_] if os.path.exists(script):
            sys.argv = argv
            if not getattr(sys.flags, "safe_path", False):  # a folder adds itself
                sys.path[:1] = [] if os.path.isdir(script) else [os.path.dirname(os.path.abspath(script))]
            runpy.run_path(script, run_name="__main__")
        case [script, *_]:
            print(f"mindtorch_proxy: can't open file {script!r}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
