"""python -m mindtorch_proxy compare --oracle PYTHON [--rtol X] script [argument ...]

Runs a script here and with the real torch of another Python. Shows the first result that the program sees and that
differs from PyTorch's by more than rounding explains: what a line's functions and modules return, their gradients, what
an optimizer leaves. Both runs start from the same seed. Where something differs, the real torch runs twice more, with
fewer bits and with other vectors where a decomposition leaves a choice: what moves then as well is no fault. The exit
status is 0 if nothing differs, 1 if something does, 2 if there is nothing to compare. Standard library only, except for
the places of kernels.
"""

import argparse
import contextlib
import difflib
import importlib
import math
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .activate import child_environment, install
from .progress import bar, note, span, ticking

TRACE = str(Path(__file__).with_name("trace.py"))
RTOL = {
    "torch.float64": 1e-7,
    "torch.float32": 1e-4,
    "torch.complex64": 1e-4,
    "torch.complex128": 1e-7,
    "torch.float16": 1e-2,
    "torch.bfloat16": 4e-2,
    "Python's float": 1e-4,
    "the change of torch.float64": 1e-6,
    "the change of torch.float32": 1e-3,
    "the change of torch.float16": 5e-2,
    "the change of torch.bfloat16": 1e-1,
}
AHEAD = 200  # how many lines one of the two runs may execute that the other does not
NOISE = 8  # how much further than the real torch's own values a value may move
SHOWN = 6  # lines about kernels
RUNS = ("1", "2")  # the further runs of the real torch that show its noise


@dataclass
class Trace:
    """What trace.py has recorded of one run."""

    version: str | None = None
    ops: list = field(default_factory=list)
    views: list = field(default_factory=list)  # what the program sees, in order
    error: dict | None = None
    kernels: list = field(default_factory=list)


def read(path):
    """Read a trace."""
    found = Trace(error={"text": "its process died", "where": ("", 0, "")})
    with open(path, "rb") as file:
        while True:
            try:
                record = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return found
            match record["kind"]:
                case "start":
                    found.version = record["version"]
                case "op":
                    found.ops.append(record)
                case "end":
                    found.error, found.kernels = record["error"], record["kernels"]
                case _:
                    found.views.append(record)


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


def same_calls(ours, theirs):
    """Yield the pairs of records of one line that are the same call: all, or those that the program makes itself."""
    if [r["name"] for r in ours] != [r["name"] for r in theirs]:
        ours, theirs = ([r for r in records if r["direct"]] for records in (ours, theirs))
    names = [[r["name"] for r in records] for records in (ours, theirs)]
    if names[0] == names[1]:
        yield from zip(ours, theirs)
        return
    for i, j, n in difflib.SequenceMatcher(None, names[0], names[1], autojunk=False).get_matching_blocks():
        yield from ((a, b) for a, b in zip(ours[i : i + n], theirs[j : j + n]) if shapes(a) == shapes(b))


def pairs(ours, theirs):
    """Return {number of one of our records: their record of the same value}."""
    forward = [[r for r in trace.views if r["kind"] != "grad"] for trace in (ours, theirs)]
    found = {
        a["number"]: b
        for mine, other in aligned(*map(by_line, forward))
        for a, b in same_calls(mine, other)
        if a["kind"] == b["kind"]
    }
    known = {number: record["number"] for number, record in found.items()}
    arrived: dict = {key: record for key, record in times(theirs)}
    for (of, number, place, n), record in times(ours):
        other = arrived.get((of, known.get(number), place, n))
        if other is not None:
            found[record["number"]] = other
    return found


def times(trace):
    """Yield (key, record) of the gradients. The key has the value and how many gradients it has had before."""
    seen: Counter = Counter()
    for record in trace.views:
        if record["kind"] == "grad":
            key = (record["of"], *record["name"])
            yield (*key, seen[key]), record
            seen[key] += 1


@dataclass
class Difference:
    """What differs between a record of ours and PyTorch's of the same value."""

    record: dict
    other: dict
    part: str  # operand or result
    index: int
    what: str
    layout: bool = False  # strides, memory and versions, not values


def differences(record, other, rtol):
    """Yield the differences between two records of the same value."""
    mine, their = record.get("operands", ()), other.get("operands", ())
    if [o["name"] for o in mine] == [o["name"] for o in their]:
        for k, (a, b) in enumerate(zip(mine, their)):
            if a["sample"] and b["sample"] and (what := apart(a["sample"], b["sample"], rtol)):
                yield Difference(record, other, "operand", k, what)
    mine, their = record.get("results", ()), other.get("results", ())
    if len(mine) != len(their):
        if record["direct"]:
            yield Difference(record, other, "result", 0, f"{len(mine)} results here, {len(their)} there")
        return
    for k, (a, b) in enumerate(zip(mine, their)):
        if a and b and (what := apart(a, b, rtol)):
            yield Difference(record, other, "result", k, what)
    if record["kind"] == "call":
        yield from in_memory(record, other)


def in_memory(record, other):
    """Yield the differences in strides, in versions of the operands, and in what shares memory with what."""

    def strides(r, k):
        sizes = r["results"][k]["shape"] if r["results"][k] else ()
        return [s for s, n in zip(r["strides"][k] or (), sizes) if n > 1] if 0 not in sizes else []

    for k in range(len(record["strides"]) if "strides" in record and "strides" in other else 0):
        a, b = strides(record, k), strides(other, k)
        if record["strides"][k] is None or other["strides"][k] is None:  # of wrappers that have no memory
            continue
        if a != b:
            what = f"strides {record['strides'][k]} here, {other['strides'][k]} there"
            yield Difference(record, other, "result", k, what, True)
        elif record["alias"][k] != other["alias"][k] and strides(record, k):
            mine, their = (
                f"shares memory with operand {', '.join(str(i + 1) for i in r['alias'][k])}"
                if r["alias"][k]
                else "has memory of its own"
                for r in (record, other)
            )
            yield Difference(record, other, "result", k, f"it {mine} here, {their} there", True)
    a, b = record.get("versions"), other.get("versions")
    if a != b:
        what = f"it changes the versions of its operands by {a} here, {b} there"
        yield Difference(record, other, "result", 0, what, True)


def moved(difference, noise):
    """Whether the real torch's own value moves as far in its further runs, or is not reached there.

    noise: [{number of their record: the record of a further run}].
    """
    sample = samples(difference.other, difference)
    found = [samples(run.get(difference.other["number"]), difference) for run in noise]
    mine = samples(difference.record, difference)
    if not any(found):
        return True
    if mine["shape"] != sample["shape"] or any(f and f["shape"] != sample["shape"] for f in found):
        return any(f and f["shape"] != sample["shape"] for f in found)
    if mine["dtype"] != sample["dtype"]:
        return False
    x, y = flat(mine["values"]), flat(sample["values"])
    others = [flat(f["values"]) for f in found if f]
    if sample["dtype"] not in RTOL:
        wrong, free = (sum(a != b for a, b in zip(values, y)) for values in (x, max(others, key=lambda o: o != y)))
        return free > 0 and wrong <= 4 * free + 2
    spread = [max(distance(o[k], v) for o in others) for k, v in enumerate(y)]
    finite = [s for s in spread if math.isfinite(s)]
    mean = math.sqrt(sum(s * s for s in finite) / len(finite)) if finite else 0.0
    scale, rtol = magnitude(y), RTOL[sample["dtype"]]
    return all(
        close(u, v, rtol, scale) or distance(u, v) <= NOISE * max(s, mean) + rtol * (abs(v) + scale)
        for u, v, s in zip(x, y, spread)
    )


def distance(u, v):
    """Return how far two numbers are apart; infinitely far where one alone is finite."""
    return 0.0 if u == v or u != u and v != v else abs(u - v) if math.isfinite(u) and math.isfinite(v) else math.inf


def samples(record, difference):
    """Return the sample that a difference is about in a record, or None."""
    if record is None:
        return None
    found = record.get(difference.part + "s", ())
    if difference.index >= len(found):
        return None
    value = found[difference.index]
    return value["sample"] if difference.part == "operand" else value


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
    scale = magnitude(y)
    bad = [k for k, (u, v) in enumerate(zip(x, y)) if not close(u, v, rtol, scale)]
    if not bad:
        return None
    worst = max(bad, key=lambda k: abs(x[k] - y[k]) if math.isfinite(x[k]) and math.isfinite(y[k]) else math.inf)
    where = f"element {worst * a['step']}" if a["shape"] else "the value"
    return f"{len(bad)} of {len(x)} values compared differ; most of all {where}: {x[worst]!r} here, {y[worst]!r} there"


def magnitude(values):
    """Return the mean magnitude of the finite numbers."""
    finite = [abs(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    return sum(finite) / len(finite) if finite else 0.0


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
    return [result and result["shape"] for result in record.get("results", ())]


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


def all_differences(ours, theirs, rtol):
    """Yield the differences between two runs, in the order in which our program sees them."""
    found = pairs(ours, theirs)
    for record in ours.views:
        other = found.get(record["number"])
        if other is not None:
            yield from differences(record, other, rtol)


def first_parting(ours, theirs, rtol, further):
    """Return (the first Difference in values or None, the first one in memory or None).

    further: a function that returns the traces of the further runs of the real torch, called if it is needed.
    """
    noise, layout = None, None
    for difference in all_differences(ours, theirs, rtol):
        if difference.layout:
            layout = layout or difference
            continue
        if noise is None:
            noise = [pairs(theirs, run) for run in further()]
        if "results here" in difference.what or not moved(difference, noise):
            return difference, layout
    return None, layout


def parted_operators(record, other, ours, theirs, rtol):
    """Return the operators with which a difference may begin, the likeliest first.

    They are those between this record and the one before whose counterpart differs; in a gradient, which sums what
    several have computed, also those that have none, in their order; then the last.
    """
    mine, their = (trace.ops[r["begin"] : r["end"]] for r, trace in ((record, ours), (other, theirs)))
    real = any(r and r["dtype"].rpartition(" ")[2] in RTOL for r in record["results"])
    found = [(r, what) for r, _, what in in_group(mine, their, rtol) if not real or r["results"][0]["dtype"] in RTOL]
    parted = [r for r, what in found if what is not None]
    alone = [r for r, what in found if what is None and not r["constant"]]
    known = [r for r, what in found if what or not r["constant"]] if record["kind"] == "grad" else [*parted, *alone]
    return [*known, *[r for r in mine[::-1] if r["results"]][:1]]


def from_reader(record, trace, view):
    """Return a gradient's record with the operators that have run since the gradient of `view`, which reads it."""
    before = [r for r in trace.views if r["kind"] == "grad" and r["of"] == "result" and r["number"] < record["number"]]
    ends = [r["end"] for r in before if view is not None and r["name"][0] == view["number"]]
    return record | {"begin": min(ends[-1] if ends else record["begin"], record["begin"])}


def guilty(record, other, ours, theirs, rtol):
    """Return (the operator with which a gradient's difference begins, the call whose node ran it, the other readers).

    Each may be missing: None, None, [].
    """
    known, there = readers(record, ours), pairs(ours, theirs)
    for view in known:
        record, other = (from_reader(record, ours, view), from_reader(other, theirs, there.get(view["number"])))
    found = parted_operators(record, other, ours, theirs, rtol)
    by = [(op, running(ours, next(i for i, r in enumerate(ours.ops) if r is op))) for op in found]
    fits = [(op, view) for op, view in by if view in known]
    for op, view in [*((op, view) for op, view in fits if named_as(op, view)), *fits]:
        return op, view, [v for v in known if v is not view]
    return next(iter(found), None), next(iter(known), None), known[1:]


def named_as(op, view):
    """Whether an operator has the name of the node of a call."""
    stem = base(op).removesuffix("_backward").replace("_", "").lower()
    return any(stem in (node or "").lower() for node in view["nodes"])


def running(trace, position):
    """Return the call whose node ran the operator at a position: that whose gradient had arrived last. Or None."""
    arrived = [r for r in trace.views if r["kind"] == "grad" and r["of"] == "result" and r["end"] <= position]
    return next((v for v in trace.views if arrived and v["number"] == arrived[-1]["name"][0]), None)


def readers(record, ours):
    """Return the records of the calls that read the value whose gradient a record has, the innermost and last first."""
    number, k = record["name"]

    def reads(view):
        if record["of"] == "leaf":
            return tuple(record["name"]) in view.get("leaves", {}).values()
        return any(o["source"] == (number, "result", k) for o in view.get("operands", ()))

    found = [v for v in ours.views if v["kind"] in ("call", "module") and v["number"] < record["number"] and reads(v)]
    return sorted(found, key=lambda view: (view["kind"] == "module", -view["number"]))


def trace(begin, records, run, script, arguments, environment, progress):
    """Run a script under trace.py. begin: the command before it.

    progress: a function of seconds whose text is shown meanwhile instead of what the script writes, or None.
    """
    # the script's output is shown only once, and all runs use the same number of threads
    out, errors = (subprocess.DEVNULL, subprocess.PIPE) if progress else (None, None)
    command = [*begin, TRACE, records, run, script, *arguments]
    with ticking(progress) if progress else contextlib.nullcontext():
        subprocess.run(command, env=environment, stdout=out, stderr=errors)


def coming(side, run, path, like):
    """Return the text about a run: how far its records have come, whose length is about that of an earlier run's."""
    what = {"plain": "to compare", "operators": "to find the operator"}.get(run, "to learn what is rounding")
    who = "mindtorch_proxy" if side == "here" else "PyTorch"

    def text(seconds):
        size, whole = (os.path.getsize(p) if os.path.exists(p) else 0 for p in (path, like))
        return f"compare: {bar(size / whole) if whole else ''} {who} runs the script {what}, {span(seconds)}"

    return text


def place(record):
    """Return file, line and text of the program's line."""
    file, number, text = record["where"]
    inside = f" (line {record['script']} of the script)" if record["script"] and record["script"] != number else ""
    return f"{os.path.relpath(file) if file else '?'}:{number}{inside}\n      {text}"


def with_operators(difference, ours, theirs, traced, rtol):
    """Return (the same Difference in runs that record operators or None, the trace of ours, that of theirs)."""
    mine, there = traced("here", "operators"), traced("there", "operators")
    record = pairs(ours, mine).get(difference.record["number"])
    other = pairs(theirs, there).get(difference.other["number"])
    found = differences(record, other, rtol) if record and other else ()
    same = (d for d in found if (d.part, d.index, d.layout) == (difference.part, difference.index, False))
    return next(same, None), mine, there


def explained(difference, ours, theirs, rtol, watched):
    """Return (the operator's name or None, the lines that say what differs and where).

    watched: whether the traces have the operators.
    """
    record, k = difference.record, difference.index
    if record["kind"] == "grad":
        return backward(difference, ours, theirs, rtol)
    if difference.part == "operand":
        operand = record["operands"][k]
        of = f"{operand['name']} of {record['name']}"
        name, where, at = operand["writer"] or (None, None, None)
        if name is None:
            return None, [f"first difference: {of} at {place(record)}", f"    {difference.what}"]
        begins = f"first difference: {name} at {place({'where': where, 'script': at})}"
        return name, [begins, f"    {difference.what}", f"    seen as {of} at {place(record)}"]
    found = parted_operators(record, difference.other, ours, theirs, rtol) if watched else []
    name = found[0]["op"] if found else record["name"]
    what = {"step": "change, parameter or state", "module": "result or buffer"}.get(record["kind"], "result")
    many = f" {k + 1}" if len(record["results"]) > 1 else ""
    lines = [f"first difference: {name} at {place(record)}", f"    {what}{many} of {record['name']}: {difference.what}"]
    return found and name, lines


def backward(difference, ours, theirs, rtol):
    """Explain a gradient that differs: the value, the node that computes it and its forward line."""
    record = difference.record
    number, k = record["name"]
    op, view, rest = guilty(record, difference.other, ours, theirs, rtol)
    made = next(view for view in ours.views if view["number"] == number)
    leaf = record["of"] == "leaf"
    of = made["operands"][k]["name"] if leaf and k < len(made["operands"]) else f"result {k + 1}"
    name = op and op["op"]
    lines = [f"first difference: {name or 'a gradient'} at {place(record)}"]
    lines.append(f"    gradient of {of} of {made['name']} (made at {line(made)}): {difference.what}")
    if view is not None:
        node = next((node for node in view["nodes"] if node), "?")
        lines.append(f"    computed by the node {node} of {view['name']}, which was called at {place(view)}")
    if others := dict.fromkeys(f"{v['name']} at {line(v)}" for v in rest if v["kind"] == "call"):
        lines.append(f"    the gradient is a sum with those of {', '.join(others)}")
    return name, lines


def line(record):
    """Return file and line."""
    return place(record).partition("\n")[0]


def ran_here(name, kernels):
    """Return lines about the kernels that an operator has used in this run, with their files and lines."""
    where = importlib.import_module("mindtorch_proxy.where")
    install()
    importlib.import_module("torch")  # declares the operators
    lines: list = []
    todo, seen = [(op, 0) for op in where.operators_of(name)], set()
    while todo and len(lines) < SHOWN:
        op, level = todo.pop(0)
        if op in seen:
            continue
        seen.add(op)
        lines += [f"{op.full}, from other operators: {where.named(op.fn)}"] * (op.fn is not None and not level)
        lines += kernels_of(op, [k for k in kernels if k["op"] == op.full], where)
        if op.fn is not None and level < 2:
            todo += [(inner, level + 1) for inner in where.called(op.fn)]
    return [f"    what ran here: {line}" for line in lines]


def kernels_of(op, used, where):
    """Return a line for each kernel that an operator has used."""
    entries, lines = list(where.kernel_lines(op)) if used else [], []
    for (kind, primitive), place in {(k["kind"], k["primitive"]): k["where"] for k in used}.items():
        text = f"{kind}{f' {primitive}' if primitive else ''}"
        at = next((i for i, e in enumerate(entries[:-1]) if e.startswith(f"cpu: {text}")), None)
        entry = f"entry {where.shown(place.rsplit(':', 1))}" if place else ""  # of an operator that `where` hides
        known = entries[at + 1].strip() if at is not None else entry
        lines.append(f"{op.full}, {text}" + (f": {known}" if known else ""))
    return lines


def explain(difference, ours, theirs, rtol, traced):
    """Return the lines about a difference in values."""
    same, mine, there = with_operators(difference, ours, theirs, traced, rtol)
    if same is None:
        _, lines = explained(difference, ours, theirs, rtol, False)
        lines.append(
            "    its operators one by one agree: what differs is a kernel that runs where nothing watches them"
        )
        known = {(k["op"], k["kind"], k["primitive"]) for k in mine.kernels}
        called = difference.record["name"].strip("_").lower() if difference.record["kind"] != "grad" else "backward"
        alone = [k for k in ours.kernels if called in k["op"] and (k["op"], k["kind"], k["primitive"]) not in known]
        return [*lines, *(line for name in dict.fromkeys(k["op"] for k in alone) for line in ran_here(name, alone))]
    name, lines = explained(same, mine, there, rtol, True)
    if name:
        lines += ran_here(name, mine.kernels)
        lines.append(f"    its declaration and kernels: python -m mindtorch_proxy where {name}")
    return lines


def show(ours, theirs, rtol, traced):
    """Print the first difference and return the exit status.

    traced(side, run) returns a trace of a further run, for the side "here" or "there".
    """
    if theirs.version is None or ours.version is None:
        print(
            f"compare: the script did not start {'there: is torch installed?' if theirs.version is None else 'here'}",
            file=sys.stderr,
        )
        return 2
    print(f"{len(ours.views)} results here, {len(theirs.views)} in PyTorch {theirs.version}, compared line by line")
    difference, layout = first_parting(ours, theirs, rtol, lambda: [traced("there", run) for run in RUNS])
    if difference is not None:
        print("\n".join(explain(difference, ours, theirs, rtol, traced)))
    if layout is not None:
        print(f"{'before it' if difference else 'first difference'}: {layout.record['name']} at {place(layout.record)}")
        print(f"    {layout.what}{'' if difference else '; all values agree'}")
    if difference or layout:
        return 1
    if (ours.error is None) != (theirs.error is None):
        error, side = (ours.error, "here") if ours.error else (theirs.error, "there")
        file, number, text = error["where"]
        print(f"{side} alone the script ends with {error['text']}\n    at {file}:{number}: {text}")
        return 1
    print("nothing differs" + (f"; both end with {ours.error['text']}" if ours.error else ""))
    return 0


def main(argv):
    """Run the command and return its exit status."""
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
    for path, is_there, what in (
        (options.script, os.path.isfile(options.script), "there is no script"),
        (options.oracle, shutil.which(options.oracle) is not None, "--oracle is no Python that can be run:"),
    ):
        if not is_there:
            print(f"compare: {what} {path}", file=sys.stderr)
            return 2
    plain = os.environ | child_environment(active=False)
    environment = {name: value for name, value in plain.items() if value is not None}
    with tempfile.TemporaryDirectory() as folder:

        def traced(side, run="plain"):
            path = os.path.join(folder, f"{side}-{run}")
            begin = [options.oracle] if side == "there" else [sys.executable, "-m", "mindtorch_proxy"]
            progress = coming(side, run, path, os.path.join(folder, f"here-{run}"))
            if (side, run) == ("here", "plain"):
                note("compare: the script runs on mindtorch_proxy, then on PyTorch; it writes:")
                progress = None
            trace(begin, path, run, options.script, options.arguments, environment, progress)
            return read(path) if os.path.exists(path) else Trace()

        return show(traced("here"), traced("there"), options.rtol, traced)
