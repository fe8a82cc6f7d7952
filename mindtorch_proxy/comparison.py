"""python -m mindtorch_proxy compare --oracle PYTHON [--rtol X] script [argument ...]

Runs a script here and with the real torch of another Python. Shows the first operator whose results differ by more
than the tolerance, with the line of the program that called it. Both runs start from the same seed. The exit status is
0 if nothing differs, 1 if something does, 2 if there is nothing to compare. Standard library only.
"""

import argparse
import math
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from .activate import child_environment

TRACE = str(Path(__file__).with_name("trace.py"))
RTOL = {
    "torch.float64": 1e-7,
    "torch.float32": 1e-4,
    "torch.complex64": 1e-4,
    "torch.complex128": 1e-7,
    "torch.float16": 1e-2,
    "torch.bfloat16": 4e-2,
}
DRAW = "_draw"  # PyTorch has an operator for each distribution instead
AHEAD = 200  # how many lines one of the two runs may execute that the other does not


def read(path):
    """Read a trace and return (torch's version, the records, the error)."""
    records = []
    with open(path, "rb") as file:
        while True:
            try:
                records.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                break
    version = records[0]["version"] if records else None
    ended = (
        records[-1].get("error", {"text": "its process died", "where": ("", 0, "")})
        if records
        else {"text": "it did not start", "where": ("", 0, "")}
    )
    return version, [record for record in records if "op" in record], ended


def line_of(record):
    """Return a key for a line of the program that does not depend on the folder of the environment."""
    file, number, _ = record["where"]
    return file.rpartition("site-packages/")[2], number, record["script"]


def by_line(records):
    """Group consecutive records of the same line: [(line, its records)]."""
    groups: list = []
    for record in records:
        line = line_of(record)
        if not groups or groups[-1][0] != line:
            groups.append((line, []))
        groups[-1][1].append(record)
    return groups


def aligned(ours, theirs):
    """Yield (our records, their records) of each line that both runs executed, in order."""
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i][0] != theirs[j][0]:
            forward = next(
                (n for n in range(1, AHEAD) if j + n < len(theirs) and theirs[j + n][0] == ours[i][0]), AHEAD
            )
            back = next((n for n in range(1, AHEAD) if i + n < len(ours) and ours[i + n][0] == theirs[j][0]), AHEAD)
            if forward == back == AHEAD:
                i, j = i + 1, j + 1
                continue
            i, j = (i, j + forward) if forward <= back else (i + back, j)
        yield ours[i][1], theirs[j][1]
        i, j = i + 1, j + 1


def base(record):
    """Return an operator's name without its overload and without the underscore of the in-place form."""
    return record["op"].partition(".")[0].rstrip("_")


def apart(a, b, rtol):
    """Describe the difference between two results, or return None."""
    if a["shape"] != b["shape"]:
        return f"shape {a['shape']} here, {b['shape']} there"
    if a["dtype"] != b["dtype"]:
        return f"dtype {a['dtype']} here, {b['dtype']} there"
    x, y = flat(a["values"]), flat(b["values"])
    rtol = RTOL.get(a["dtype"], 0) if rtol is None or not RTOL.get(a["dtype"]) else rtol
    finite = [abs(v) for v in y if isinstance(v, (int, float)) and math.isfinite(v)]
    scale = sum(finite) / len(finite) if finite else 0.0
    bad = [k for k, (u, v) in enumerate(zip(x, y)) if not close(u, v, rtol, scale)]
    if not bad:
        return None
    worst = max(bad, key=lambda k: abs(x[k] - y[k]) if math.isfinite(x[k]) and math.isfinite(y[k]) else math.inf)
    where = f"element {worst * a['step']}" if a["shape"] else "the value"
    return f"{len(bad)} of {len(x)} values compared differ; most of all {where}: {x[worst]!r} here, {y[worst]!r} there"


def flat(values):
    """Return a flat list of numbers. Complex results are stored as pairs."""
    return (
        [v for value in values for v in (value if isinstance(value, list) else [value])]
        if isinstance(values, list)
        else [values]
    )


def close(u, v, rtol, scale):
    return u == v or (u != u and v != v) or (rtol and abs(u - v) <= rtol * (abs(v) + scale))


def differs(record, other, rtol):
    """Describe the first difference between the results of two operators, or return None."""
    return next((found for a, b in zip(record["results"], other["results"]) if (found := apart(a, b, rtol))), None)


def in_group(ours, theirs, rtol):
    """Yield (our record, its counterpart or None, the difference or None) for each that agrees with none of theirs.

    The counterpart has the same name and shape and the same position among those. Where the numbers of those differ,
    the two compute the line in different ways, and there is no counterpart.
    """

    def like(record, records):
        return [other for other in records if base(other) == base(record) and shapes(other) == shapes(record)]

    for record in ours:
        if not record["results"]:
            continue
        same = [other for other in theirs if shapes(other)[:1] == shapes(record)[:1]]
        if any(differs(record, other, rtol) is None for other in same):
            continue
        turned = [other for other in theirs if base(other) == base(record) and transposed(record, other)]
        if any(differs(in_order(record), in_order(other), rtol) is None for other in turned):
            continue
        mine, other = (
            like(record, ours),
            like(record, theirs)
            or [other for other in theirs if other["op"] == record["op"] and not transposed(record, other)],
        )
        if len(mine) == len(other):
            counterpart = other[next(i for i, r in enumerate(mine) if r is record)]
            yield record, counterpart, differs(record, counterpart, rtol)
        else:
            yield record, None, None


def shapes(record):
    return [result["shape"] for result in record["results"]]


def transposed(record, other):
    """Whether the results have the same sizes in another order, as where one run computes a product transposed."""
    return shapes(record) != shapes(other) and [*map(sorted, shapes(record))] == [*map(sorted, shapes(other))]


def in_order(record):
    """Return a record to compare with a transposed one: the values are sorted where all of them were kept."""
    results = [
        result
        | {
            "shape": sorted(result["shape"]),
            "values": sorted(flat(result["values"])) if result["step"] == 1 else flat(result["values"]),
        }
        for result in record["results"]
    ]
    return record | {"results": results}


def first_parting(ours, theirs, rtol):
    """Return (record, counterpart, difference, suspect) of the first operator that differs, or None.

    The suspect is an earlier record without a counterpart, or None. Such an operator may be a step that the other run
    computes in a different way, so it is only reported together with one that differs from its counterpart.
    """
    suspect = None
    for mine, other in aligned(by_line(ours), by_line(theirs)):
        clean = any(record["results"] for record in mine)
        for record, counterpart, what in in_group(mine, other, rtol):
            clean = False
            if what is not None:
                return record, counterpart, what, suspect
            if base(record) == DRAW or not record["constant"]:
                suspect = suspect or record
        if clean:
            suspect = None
    return None


def trace(python, script, arguments, records, environment, quiet):
    command = (
        [python, TRACE, records, script, *arguments]
        if quiet
        else [python, "-m", "mindtorch_proxy", TRACE, records, script, *arguments]
    )
    # the script's output is shown only once, and both runs use the same number of threads
    subprocess.run(
        command,
        env=environment,
        stdout=subprocess.DEVNULL if quiet else None,
        stderr=subprocess.PIPE if quiet else None,
    )


def place(record):
    file, number, text = record["where"]
    inside = f" (line {record['script']} of the script)" if record["script"] and record["script"] != number else ""
    return f"{os.path.relpath(file) if file else '?'}:{number}{inside}\n      {text}"


def show(ours, theirs, rtol):
    """Print the first difference and return the exit status."""
    (_, mine, my_error), (version, other, other_error) = ours, theirs
    if version is None or not (mine or my_error):
        print(
            f"compare: the script did not start {'there: is torch installed?' if version is None else 'here'}",
            file=sys.stderr,
        )
        return 2
    print(f"{len(mine)} operators here, {len(other)} in PyTorch {version}, compared line by line")
    if found := first_parting(mine, other, rtol):
        record, _, what, suspect = found
        print(f"first to part: {record['op']} at {place(record)}\n    {what}")
        if suspect is not None:
            print(
                f"    before it {suspect['op']} has no counterpart that agrees: it may begin there, at {place(suspect)}"
            )
        print(f"    its declaration and kernels: python -m mindtorch_proxy where {record['op']}")
        return 1
    if (my_error is None) != (other_error is None):
        error, side = (my_error, "here") if my_error else (other_error, "there")
        file, number, text = error["where"]
        print(f"{side} alone the script ends with {error['text']}\n    at {file}:{number}: {text}")
        return 1
    print("nothing parts" + (f"; both end with {my_error['text']}" if my_error else ""))
    return 0


def main(argv):
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_proxy compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--oracle", required=True, metavar="PYTHON", help="a Python with the real torch")
    parser.add_argument(
        "--rtol",
        type=float,
        metavar="X",
        help="tolerance beside each value and the mean (default: by dtype, 1e-4 for float32)",
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    plain = os.environ | child_environment(active=False)
    environment = {name: value for name, value in plain.items() if value is not None}
    with tempfile.TemporaryDirectory() as folder:
        records = [os.path.join(folder, name) for name in ("ours", "theirs")]
        trace(sys.executable, options.script, options.arguments, records[0], environment, quiet=False)
        trace(options.oracle, options.script, options.arguments, records[1], environment, quiet=True)
        ours, theirs = (read(path) if os.path.exists(path) else (None, [], None) for path in records)
        return show(ours, theirs, options.rtol)
