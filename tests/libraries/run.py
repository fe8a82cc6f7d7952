"""The programs of short_programs.py with the real torch and under mindtorch_proxy.

run.py --real REALPY [--libraries FOLDER] [--json F] [NAMES]

The libraries lie in a folder of their own (pip install --no-deps --target FOLDER -r requirements.txt), which both see:
none brings its own torch, and neither environment changes.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "short_programs.py"
RTOL, ATOL = 1e-3, 1e-4


def programs():
    """{name: whether it runs in the nightly workflow alone}, from the source: nothing is imported."""
    found = re.findall(r"^(@nightly\n)?def (\w+)\(\):", PROGRAM.read_text(), re.MULTILINE)
    return {name: bool(mark) for mark, name in found}


def versions():
    """{name: version} as requirements.txt pins them."""
    lines = (line.partition("#")[0].strip() for line in (HERE / "requirements.txt").read_text().splitlines())
    return {name.replace("-", "_"): version for name, _, version in (line.partition("==") for line in lines if line)}


def run(name, command, libraries, environment=None, limit=120):
    """What a program prints, or the last line of its error."""
    env = dict(
        os.environ if environment is None else environment,
        PYTHONPATH=str(libraries),
        PYTHONWARNINGS="ignore",
        MPLBACKEND="Agg",
        HF_HUB_OFFLINE="1",
    )
    done = subprocess.run(
        [*command, str(PROGRAM), name], env=env, cwd="/", capture_output=True, text=True, timeout=limit
    )
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return json.loads(done.stdout.strip().splitlines()[-1])[name], None


def differences(real, ours, at=""):
    """(place, real, ours) where they disagree: numbers beyond the tolerances, all else at all."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in real | ours:
            yield from differences(real.get(key), ours.get(key), f"{at}.{key}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for i, (a, b) in enumerate(zip(real, ours)):
            yield from differences(a, b, f"{at}[{i}]")
    elif {type(real), type(ours)} <= {int, float}:
        if (
            real != ours
            and not (math.isnan(real) and math.isnan(ours))
            and not abs(real - ours) <= ATOL + RTOL * abs(real)
        ):
            yield at, real, ours
    elif real != ours or isinstance(real, bool) != isinstance(ours, bool):
        yield at, real, ours


def compare(name, real, libraries, environment=None):
    """The verdict of a program."""
    want, error = run(name, [real], libraries, environment)
    if error:
        return {"verdict": "real fails", "why": error}
    got, error = run(name, [sys.executable, "-m", "mindtorch_proxy"], libraries)
    if error:
        return {"verdict": "fails", "why": error}
    found = list(differences(want, got))
    return (
        {"verdict": "differs", "why": "{}: real {}, ours {}".format(*found[0])}
        if found
        else {"verdict": "equal", "exact": want == got}
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--real", default=os.environ.get("MINDTORCH_ORACLE_PYTHON"), help="a Python with the real torch")
    p.add_argument("--libraries", default=os.environ.get("MINDTORCH_LIBRARIES"), help="the folder of the libraries")
    p.add_argument("--json")
    o = p.parse_args()
    results = {}
    for name in o.names or programs():
        results[name] = {"version": versions().get(name), **compare(name, o.real, o.libraries)}
        print(f"{name:28} {results[name]['verdict']:10} {results[name].get('why', '')}", flush=True)
    if o.json:
        Path(o.json).write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(any(r["verdict"] != "equal" for r in results.values()))


if __name__ == "__main__":
    main()
