"""Run the examples in PyTorch's docstrings here and with the real PyTorch, and list those that differ.

    python tools/docstrings.py --real ORACLE/bin/python [--only REGEX] [--json results.json]

The real PyTorch's installation is read: its public functions, classes and methods, less the modules in LEFT_OUT. The
examples of a docstring run one after the other in a process of each side, which is started anew where it ended or took
too long. What an example prints is compared, numbers with a tolerance, and of an exception its class. Random numbers
are seeded before each docstring. Exit status 1 if the share of equal examples is below --percent.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import inspect
import io
import json
import math
import os
import pkgutil
import random
import re
import signal
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from sweeping import Side  # noqa: E402

# modules whose examples need several processes, a device, a compiler or the network, or that are no public interface
LEFT_OUT = tuple(
    "torch." + name
    for name in """
    _decomp _dynamo _export _functorch._aot _higher_order_ops _inductor _lazy _library _native _numpy _prims
    _refs _vendor accelerator ao backends compiler contrib cuda distributed export futures fx.experimental hub
    jit.mobile monitor mps mtia multiprocessing nn.intrinsic nn.qat nn.quantiz onnx package profiler
    quantization testing._internal utils._cxx utils._sympy utils.benchmark utils.bottleneck utils.collect_env
    utils.cpp utils.hipify utils.model_dump utils.serialization utils.tensorboard utils.viz xpu
    """.split()
)
LATE = 15  # seconds for the examples of one docstring
DECIMAL = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
TOLERANCE = 1e-3  # of printed numbers, four digits as a rule


# ---------------------------------------------------------------- with the real torch
def docstrings(torch):
    """Return [[name, [source of an example, ...]], ...] of the docstrings with examples, each text once."""
    found, seen, parser = [], set(), doctest.DocTestParser()

    def take(name, value):
        text = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
        if not isinstance(text, str) or ">>>" not in text or text in seen:
            return
        seen.add(text)
        with contextlib.suppress(ValueError):  # examples that doctest cannot read
            if examples := [example.source for example in parser.get_examples(inspect.cleandoc(text))]:
                found.append([name, examples])

    for module in modules(torch):
        take(module.__name__, module)
        for name, value in sorted(vars(module).items()):
            home = getattr(value, "__module__", None) or "torch"
            if inspect.ismodule(value) or not isinstance(home, str) or not home.startswith("torch"):
                continue
            take(f"{module.__name__}.{name}", value)
            if inspect.isclass(value):
                for key, member in sorted(vars(value).items()):
                    if not key.startswith("__"):
                        take(f"{module.__name__}.{name}.{key}", getattr(member, "__func__", member))
    for name in dir(torch.Tensor):
        take(f"torch.Tensor.{name}", getattr(torch.Tensor, name, None))
    return found


def modules(torch):
    """Return torch and its modules, less those that are left out and those that cannot be imported here."""
    found = [torch]
    for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
            with contextlib.suppress(Exception, SystemExit):
                found.append(importlib.import_module(module.name))
    return found


# ---------------------------------------------------------------- on both sides
class TooLate(BaseException):
    """Raised by the alarm."""


def outputs(torch, examples):
    """Return what each of the examples prints, or "raises Class: message"."""
    import numpy

    names = {
        "__name__": "__main__",
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "optim": torch.optim,
        "Tensor": torch.Tensor,
        "np": numpy,
        "math": math,
        "random": random,
    }
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(0)
    found = []
    for source in examples:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                sys.displayhook = lambda value: None if value is None else print(repr(value))
                exec(compile(source, "<example>", "single"), names)
            found.append(re.sub(r"0x[0-9a-f]+", "0x", printed.getvalue()))
        except Exception as error:
            found.append(f"raises {type(error).__name__}: {str(error)[:200]}")
    return found


def serve(folder):
    """Answer lines on standard input, each the examples of a docstring; "docstrings" is answered with all of them.

    The examples write their files into the folder.
    """
    out, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    warnings.simplefilter("ignore")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    import torch

    torch.set_num_threads(1)

    def late(*_):
        raise TooLate

    signal.signal(signal.SIGALRM, late)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question != "docstrings":
                signal.alarm(LATE)
            answer = docstrings(torch) if question == "docstrings" else outputs(torch, question)
        except (TooLate, SystemExit):
            answer = None
        signal.alarm(0)
        print(json.dumps(answer), file=out, flush=True)


# ---------------------------------------------------------------- the comparison
def equal(real, ours):
    """Whether two outputs are the same but for white space and the rounding of numbers; of exceptions, the classes."""
    if real.startswith("raises ") and ours.startswith("raises "):
        return real.partition(":")[0] == ours.partition(":")[0]
    real, ours = (" ".join(text.split()) for text in (real, ours))
    pairs = [(float(a), float(b)) for a, b in zip(DECIMAL.findall(real), DECIMAL.findall(ours))]
    return real == ours or (
        DECIMAL.sub("#", real) == DECIMAL.sub("#", ours)
        and all(abs(a - b) <= TOLERANCE * max(1, abs(a)) for a, b in pairs)
    )


def compare(examples, real, ours):
    """Return (examples that are equal, the position of the first that differs or None)."""
    if real is None or ours is None:  # too late, or the process ended
        return (len(examples), None) if real is None else (0, 0)
    same = [equal(a, b) for a, b in zip(real, ours)]
    return sum(same), next((i for i, good in enumerate(same) if not good), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", help="a Python with the real torch")
    parser.add_argument("--only", default="", help="a regular expression for names of docstrings")
    parser.add_argument("--percent", type=float, default=0)
    parser.add_argument("--json", type=Path, help="write both sides' outputs here")
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    scratch = tempfile.TemporaryDirectory()
    real = Side([options.real, "-W", "ignore", __file__, "--serve", f"{scratch.name}/real"])
    ours = Side([sys.executable, "-m", "mindtorch_proxy", __file__, "--serve", f"{scratch.name}/ours"])
    found = real.ask("docstrings", 600)
    if found is None:
        print(f"{options.real} cannot list the docstrings of its torch", file=sys.stderr)
        return 2
    found = [(name, examples) for name, examples in found if re.search(options.only, name)]
    total = good = clean = 0
    kept = {}
    try:
        for name, examples in found:
            theirs, mine = (side.ask(examples, 2 * LATE) for side in (real, ours))
            same, where = compare(examples, theirs, mine)
            total, good, clean = total + len(examples), good + same, clean + (where is None)
            kept[name] = {"examples": examples, "real": theirs, "ours": mine}
            if where is not None:
                a, b = (side[where] if side else "no answer" for side in (theirs, mine))
                show = [" ".join(text.split())[:160] for text in (examples[where], a, b)]
                print(f"{name}: {show[0]}\n    real: {show[1]}\n    ours: {show[2]}", flush=True)
    finally:
        real.close()
        ours.close()
        scratch.cleanup()
        if options.json:
            options.json.write_text(json.dumps(kept))
    percent = 100 * good / max(total, 1)
    print(f"{good} of {total} examples ({percent:.1f} %) are equal; {clean} of {len(found)} docstrings as a whole")
    return int(percent < options.percent)


if __name__ == "__main__":
    sys.exit(main())
