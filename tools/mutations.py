"""Plants faults one at a time and says which test notices each: a fault that no test notices shows where one is
missing.

    python tools/mutations.py [--only NAME ...] [--shard I/N] [--json FILE]
    python tools/mutations.py --list

tools/mutations.toml lists the faults, each with the runs of pytest that ought to notice it. The tool writes a fault
into its file in this checkout, runs those tests, and writes the file back, when it is interrupted too. It refuses to
start where one of the files has uncommitted changes.
Ends with 1 where a fault was not noticed or could not be tried, with 2 where it did not start.
"""

import argparse
import contextlib
import functools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = "tools/mutations.toml"
LIMIT = 600  # seconds for one run of pytest
NOTHING = "NOT NOTICED"


class Untried(Exception):
    """Why nothing can be said of a fault."""


def read(root):
    """The faults of a checkout: {name: its entry in the table}."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    return tomllib.loads((root / TABLE).read_text(encoding="utf-8"))


def changed(root, faults):
    """The files of the faults that differ from the last commit."""
    files = sorted({fault["file"] for fault in faults.values()})
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", *files], cwd=root, capture_output=True, text=True, check=True
    )
    return [line[3:] for line in done.stdout.splitlines()]


@contextlib.contextmanager
def planted(root, fault):
    """The fault stands in its file for the length of the block.

    Untried where the text that it replaces is not there exactly once.
    """
    path = root / fault["file"]
    before, times = path.read_bytes(), path.stat()
    text = before.decode()
    if text.count(fault["old"]) != 1:
        raise Untried(f"the text `old` occurs {text.count(fault['old'])} times in {fault['file']}")
    try:
        path.write_bytes(text.replace(fault["old"], fault["new"]).encode())
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled files of the right text stay valid


def split(tests):
    """(variables, arguments) of a run: `NAME=value` words in front are variables of its environment."""
    words, variables = shlex.split(tests), {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, variables[name] = words.pop(0).partition("=")
    return variables, words


def failing(root, tests, limit=LIMIT):
    """The first test of a run of pytest that fails, or what else ended the run; None where all pass."""
    variables, words = split(tests)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *words]
    environment = (
        os.environ | variables | {"PYTHONDONTWRITEBYTECODE": "1"}
    )  # else a file compiled with a fault could outlive it
    with subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            output, _ = run.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return f"still running after {limit} s"
        finally:
            with contextlib.suppress(ProcessLookupError):  # where nothing of the run is left
                os.killpg(run.pid, signal.SIGKILL)
    if run.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", output, re.MULTILINE)
    return (
        found[1]
        if found
        else f"pytest ended with {run.returncode}: {(output.strip().splitlines() or ['no output'])[-1][:160]}"
    )


def noticed_by(root, fault, unplanted):
    """The first test that notices a fault, or None. unplanted(tests): what fails without any fault, which is asked
    where something fails with it.
    """
    for tests in fault["tests"]:
        with planted(root, fault):
            found = failing(root, tests)
        if found and (problem := unplanted(tests)):
            raise Untried(f"without the fault too: {problem}")
        if found:
            return found
    return None


def tried(root, faults):
    """Tries the faults one after another; yields for each a dictionary of what became of it."""
    unplanted = functools.cache(functools.partial(failing, root))
    for name, fault in faults.items():
        start, by, problem = time.monotonic(), None, None
        try:
            by = noticed_by(root, fault, unplanted)
        except Untried as error:
            problem = str(error)
        yield {
            "name": name,
            "from": fault["from"],
            "noticed_by": by,
            "problem": problem,
            "seconds": round(time.monotonic() - start),
        }


def shard(faults, part):
    """The I-th of N parts of the faults, by `I/N`."""
    i, n = map(int, part.split("/"))
    if not 1 <= i <= n:
        raise ValueError(f"there is no part {part}")
    names = sorted(
        faults, key=lambda name: faults[name]["tests"]
    )  # faults of the same tests are together, so that those run unplanted once
    chosen = names[len(names) * (i - 1) // n : len(names) * i // n]
    return {name: faults[name] for name in chosen}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", action="append", help="only this fault; several times for several")
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    parser.add_argument("--shard", metavar="I/N", default="1/1", help="only the I-th of N parts of the faults")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write what became of each fault")
    return parser.parse_args()


def main(root=ROOT):
    args = arguments()
    known = read(root)
    if unknown := set(args.only or ()) - set(known):
        print(f"there is no fault {', '.join(sorted(unknown))} in {TABLE}", file=sys.stderr)
        return 2
    faults = shard({name: fault for name, fault in known.items() if not args.only or name in args.only}, args.shard)
    if args.list:
        print(
            *(f"{name:36}  {fault['from']:6}  {fault['why']} ({fault['file']})" for name, fault in faults.items()),
            sep="\n",
        )
        return 0
    if files := changed(root, faults):
        print("uncommitted changes in " + ", ".join(files), file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # by an exception, so that the file is written back
    results = []
    for result in tried(root, faults):
        results.append(result)
        said = f"CANNOT BE TRIED: {result['problem']}" if result["problem"] else result["noticed_by"] or NOTHING
        print(f"{result['name']:36}  {result['seconds']:4} s  {said}", flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    caught = sum(bool(result["noticed_by"]) for result in results)
    print(f"{caught} of {len(results)} faults are noticed")
    return int(caught < len(results))


if __name__ == "__main__":
    sys.exit(main())
