"""Writes docs/coverage.md: each public name of the real PyTorch, and whether it is here: python tools/coverage.py
--oracle PYTHON [--check]
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/coverage.md"
# run by either torch: {module: {name: [parameters' names], or None where there is no signature}}; of what is asked for
# alone, if that is given
SURFACE = """
import importlib, inspect, json, pkgutil, sys, types, warnings
warnings.simplefilter("ignore")
import torch
def parameters(f):
    try:
        found = inspect.signature(f).parameters.values()
    except (ValueError, TypeError):
        return None
    return None if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found) else [p.name for p in found]
def look(module, names):
    found = {}
    for name in names:
        try:
            value = getattr(module, name)
        except NotImplementedError:
            found[name] = "refused"
        except Exception:
            continue
        else:
            home = getattr(value, "__module__", None)
            # what a module has imported from elsewhere is not its own
            if wanted is not None or not isinstance(home, str) or home.startswith("torch"):
                found[name] = parameters(value) if callable(value) else None
    return found
wanted = json.loads(sys.stdin.read())
surface = {}
if wanted is None:
    names = ["torch"]
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        private = any(part.startswith("_") for part in info.name.split("."))
        if not private and not info.name.startswith(("torch.utils.benchmark.examples", "torch.testing._")):
            names.append(info.name)
    for name in names:
        try:
            module = importlib.import_module(name)
        except BaseException:
            continue
        public = getattr(module, "__all__", None) if name != "torch" else [n for n in dir(module) if n[0] != "_"]
        public = [n for n in public or () if not isinstance(getattr(module, n, None), types.ModuleType)]
        if public:
            surface[name] = look(module, sorted(set(public)))
    surface["torch.Tensor"] = look(torch.Tensor, [n for n in dir(torch.Tensor) if n[0] != "_"])
else:
    for name, public in wanted.items():
        try:
            module = torch.Tensor if name == "torch.Tensor" else importlib.import_module(name)
        except NotImplementedError:
            surface[name] = "refused"
        except ImportError:
            surface[name] = None
        else:
            surface[name] = look(module, public)
print("SURFACE" + json.dumps(surface))
"""


def ask(command, wanted):
    done = subprocess.run([*command, "-c", SURFACE], input=json.dumps(wanted), capture_output=True, text=True)
    line = next((line for line in done.stdout.splitlines() if line.startswith("SURFACE")), None)
    if line is None:
        sys.exit(f"tools/coverage.py: {command[0]} did not answer:\n{done.stderr[-2000:]}")
    return json.loads(line.removeprefix("SURFACE"))


def fate(theirs, ours):
    """works, partial or absent; of a name by its signature on both sides."""
    if ours == "absent":
        return "absent"
    if ours == "refused":
        return "partial"
    if theirs and ours is not None and set(theirs) - set(ours) - {"self", "input"}:
        return "partial"
    return "works"


def page(oracle):
    theirs = ask([oracle], None)
    ours = ask([sys.executable, "-m", "mindtorch_proxy"], {module: list(names) for module, names in theirs.items()})
    rows, details, total = [], [], collections.Counter()
    for module, names in sorted(theirs.items()):
        here = ours[module]
        fates = {
            name: "partial" if here == "refused" else "absent" if here is None else fate(p, here.get(name, "absent"))
            for name, p in names.items()
        }
        counts = collections.Counter(fates.values())
        total.update(counts)
        rows.append(f"| `{module}` | {counts['works']} | {counts['partial']} | {counts['absent']} |")
        for kind in ("partial", "absent"):
            if listed := [name for name, f in fates.items() if f == kind]:
                whole = len(listed) == len(names)
                details.append(
                    f"- `{module}`, {kind}: " + ("all" if whole else ", ".join(f"`{name}`" for name in listed))
                )
    n = sum(total.values())
    return "\n".join(
        [
            "# Coverage",
            "",
            "This page lists the public names of PyTorch 2.13 by module: the names in a module's `__all__`, and for "
            "`torch` and `torch.Tensor` all names that do not start with an underscore.",
            "`python tools/coverage.py --oracle PYTHON` writes it; a name in several modules counts in each.",
            "",
            "*Works*: the name exists, with all of PyTorch's parameters. *Partial*: it lacks parameters, "
            "or raises NotImplementedError.",
            "*Absent*: it raises AttributeError or ModuleNotFoundError. A name that works need not support every dtype "
            "and option:",
            "[status](status.md) has the figures for PyTorch's own operator corpus.",
            "",
            f"Of {n} names, {total['works']} work ({total['works'] / n:.0%}), {total['partial']} are partial, "
            f"and {total['absent']} are absent.",
            "",
            "| module | works | partial | absent |",
            "|---|---|---|---|",
            *rows,
            "",
            "## What is partial or absent",
            "",
            *details,
            "",
        ]
    )


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oracle", required=True, metavar="PYTHON", help="a Python with the real torch")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args(arguments)
    text = page(options.oracle)
    if options.check:
        return PAGE.read_text(encoding="utf-8") != text
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
