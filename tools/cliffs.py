"""Where an operator, or a test of a suite, is many times slower than with the real PyTorch, and grows slower with size.

    python tools/cliffs.py operators --real ORACLE/bin/python --table cliffs.tsv [--shard 1/3] [--only NAME...]
    python tools/cliffs.py suites OURS.xml REAL.xml

operators: the recorded samples of tests/oracle, enlarged to three sizes, each as many rows (or many small matrices) and
as long rows (or one large matrix); at the middle size transposed and expanded memory and other dtypes too; forward and
backward. One process of each side, both on one core, which take turns. A line of the table is written as soon as its
operator is done: an interrupted sweep goes on where it stopped. Printed at the end: what takes longer than --above
times the real one's time at any size, and the growth of that ratio from the least size to the largest.

suites: two JUnit XML files of one suite, run here and with the real torch: the passed tests that take more than --times
the time, and more than --seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("tests/oracle", "tests", "benchmarks", "tools")]

import enlarging  # noqa: E402
import recording  # noqa: E402
import samples  # noqa: E402
from sweeping import Side, commit, part_of, read_table, write_table  # noqa: E402
from turns import alone, least_time  # noqa: E402

ELEMENTS = {"1k": 1 << 10, "16k": 1 << 14, "256k": 1 << 18}  # of all arguments together
LEAST, MIDDLE = "1k", "16k"
SHAPES = "many", "long"  # what grows: the first dimension, or the last
LAYOUTS = "contiguous", "transposed", "expanded"
DTYPES = "float32 float64 float16 bfloat16 int64 bool complex64".split()
CASES = [
    *((shape, size, "contiguous", "float32") for shape in SHAPES for size in ELEMENTS),
    *((shape, MIDDLE, layout, "float32") for shape in SHAPES for layout in LAYOUTS[1:]),
    *((shape, MIDDLE, "contiguous", dtype) for shape in SHAPES for dtype in DTYPES[1:]),
]
LARGEST = 1 << 22  # elements of a result that is still computed
SLOW = 0.5  # seconds of a call from which on no larger size is tried
COLUMNS = ["operator", "kind", "commit", "worst", "in", "real ms", "ours ms", "growth", *map(" ".join, CASES)]


# ---------------------------------------------------------------- on both sides
def tensors_of(torch, value):
    """Return the tensors in a value and how many elements they have."""
    found = [*samples.tensors(torch, value)]
    return found, sum(t.numel() for t in found)


def grown(torch, value, size, factor):
    """Return how many elements a value's tensors have where a size is so many times as large."""
    return sum(math.prod(n * factor if n == size else n for n in t.shape) for t in samples.tensors(torch, value))


def factor_for(elements_at, wanted):
    """Return the least factor, at least 1, at which there are as many elements as wanted."""
    low, high = 0, 1
    while elements_at(high) < wanted:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if elements_at(middle) < wanted else (low, middle)
    return high


def laid_out(torch, value, layout):
    """Return a value, with the tensors in it of another layout in memory."""
    if isinstance(value, torch.Tensor):
        x = value.detach()
        if layout == "transposed" and x.ndim > 1:
            x = x.mT.contiguous().mT
        if layout == "expanded" and x.ndim and x.shape[0] > 1:
            x = x[:1].expand(x.shape)
        return x.requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {name: laid_out(torch, v, layout) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return (list if type(value) is list else tuple)(laid_out(torch, v, layout) for v in value)
    return value


def base_of(torch, found):
    """Return the arguments of the float32 sample whose first tensor has the most different dimensions, or None."""
    best, most = None, 0
    for sample, _ in found:
        value = [samples.decode(torch, sample[part]) for part in ("args", "kwargs")]
        tensors = tensors_of(torch, value)[0]
        if tensors and tensors[0].dtype is torch.float32 and tensors[0].ndim <= 4:
            different = len({n for n in tensors[0].shape if n > 1})
            if different > most:
                best, most = value, different
    return best


class Operator:
    """One operator with its sample, on one side."""

    def __init__(self, torch, name, ways=None):
        self.torch, self.f = torch, samples.resolve(torch, name)
        self.base = base_of(torch, recording.read("samples", name) or ())
        self.ways = ways or {}  # shape -> the way in which the real torch takes its samples enlarged

    def arguments(self, shape, size, layout, dtype, way):
        first = [n for n in tensors_of(self.torch, self.base)[0][0].shape if n > 1]
        dimension = first[0 if shape == "many" else -1]
        factor = factor_for(lambda k: grown(self.torch, self.base, dimension, k), ELEMENTS[size])
        value = enlarging.enlarged(self.torch, self.base, dimension, factor, way)
        value = enlarging.converted(self.torch, value, getattr(self.torch, dtype))
        return laid_out(self.torch, value, layout)

    def seconds(self, arguments, seconds):
        """Return the seconds of a call and of its backward, which is None where there is none, and the elements of
        its results.
        """
        torch, (args, kwargs) = self.torch, arguments
        outputs, elements = tensors_of(torch, self.f(*args, **kwargs))
        if elements > LARGEST:
            return None, None, elements
        forward = least_time(lambda: self.f(*args, **kwargs), seconds)
        outputs = [t for t in outputs if t.requires_grad]
        inputs = [t for t in tensors_of(torch, arguments)[0] if t.requires_grad]
        if not outputs or not inputs:
            return forward, None, elements
        weights = [torch.ones_like(t) for t in outputs]
        options = {"allow_unused": True, "retain_graph": True}
        run = lambda: torch.autograd.grad(outputs, inputs, weights, **options)
        return forward, least_time(run, seconds), elements

    def too_large(self, known, size):
        """Whether results of this size would have too many elements, or take too long, going by (arguments' elements,
        results' elements, seconds) of smaller ones.
        """
        (few, less, _), (many, more, spent) = ([(1, 1, 0.0)] * 2 + known)[-2:]
        if few >= many:
            return False
        power = max(math.log(max(more, 1) / max(less, 1)) / math.log(many / few), 1)
        return spent > SLOW or more * (ELEMENTS[size] / many) ** power > LARGEST

    def measure(self, seconds):
        """Return {case: [forward, backward]} in seconds; a case that fails is not there."""
        result, known = {}, {}
        if self.base is None:
            return result
        try:
            start = (
                tensors_of(self.torch, self.base)[1],
                tensors_of(self.torch, self.f(*self.base[0], **self.base[1]))[1],
            )
        except Exception:
            return result
        for case in CASES:
            shape, size, layout, dtype = case
            points = known.setdefault(shape, [(*start, 0.0)])
            if case[2:] == ("contiguous", "float32"):
                if self.too_large(points, size):
                    continue
            elif not any(name.split()[:2] == [shape, size] for name in result):
                continue  # too large, or not taken
            for way in [enlarging.WAYS[self.ways[shape]]] if shape in self.ways else enlarging.WAYS:
                try:
                    arguments = self.arguments(*case, way)
                    forward, backward, elements = self.seconds(arguments, seconds)
                except Exception:
                    continue
                self.ways[shape] = enlarging.WAYS.index(way)
                if forward is not None:
                    result[" ".join(case)] = [forward, backward]
                    if case[2:] == ("contiguous", "float32"):
                        points.append((tensors_of(self.torch, arguments)[1], elements, forward + (backward or 0)))
                break
        return result


def serve(core):
    """Measure the operators that lines on standard input name: [name, ways, seconds]."""
    out, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    alone(core)
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name, ways, seconds = json.loads(line)
        operator = Operator(torch, name, ways)
        found = operator.measure(seconds)
        print(json.dumps([found, operator.ways]), file=out, flush=True)


# ---------------------------------------------------------------- the sweep
def lines_of(name, commit, real, ours):
    """Return an operator's lines of the table, forward and backward, from {case: [forward, backward]} of both sides.

    A case that the real torch measured and we did not is "fails".
    """
    lines = []
    for k, kind in enumerate(("forward", "backward")):
        times = {case: (found[k], (ours.get(case) or (None, None))[k]) for case, found in real.items() if found[k]}
        ratios = {case: b / a if b else math.inf for case, (a, b) in times.items()}
        if not ratios:
            continue
        # at the least size it is the cost of a call that counts, which is no cliff; it is there for the growth
        worst = max(ratios, key=lambda case: (f" {LEAST} " not in case, ratios[case]))
        a, b = times[worst]
        cells = ["fails" if r == math.inf else f"{r:.1f}" for r in ratios.values()]
        by_case = dict(zip(ratios, cells))
        head = [name, kind, commit, by_case[worst], worst, f"{a * 1e3:.3f}", f"{b * 1e3:.3f}" if b else ""]
        lines.append([*head, growth(ratios), *(by_case.get(" ".join(case), "") for case in CASES)])
    return lines or [[name, "none", commit, *[""] * (len(COLUMNS) - 3)]]


def least(known, more):
    """Return {case: [forward, backward]} with the lesser of two measurements of each."""
    both = {case: zip(times, more.get(case, times)) for case, times in known.items()}
    return {case: [a if b is None else b if a is None else min(a, b) for a, b in pairs] for case, pairs in both.items()}


def growth(ratios):
    """Return how many times the ratio at the largest size is the one at the least, the greater of the two shapes."""
    found = []
    for shape in SHAPES:
        sized = [ratios.get(f"{shape} {size} contiguous float32") for size in ELEMENTS]
        sized = [r for r in sized if r is not None and r != math.inf]
        if len(sized) > 1:
            found.append(sized[-1] / sized[0])
    return f"{max(found):.2f}" if found else ""


def steep(lines, above):
    """Return the lines whose worst ratio is above this, the worst first; what fails comes before all."""

    def key(line):
        return math.inf if line[3] == "fails" else float(line[3] or 0)

    return sorted((line for line in lines if key(line) > above), key=key, reverse=True)


def sweep(options):
    """Measure the operators that have no line in the table yet, and print the steep ones."""
    names = sorted(set(recording.names("samples")) - recording.has_nothing("samples") - {"(nothing)"})
    names, checked_out = options.only or part_of(names, options.shard), commit()
    serving = [__file__, "serve", "--core", str(options.core)]
    kernels = {"MINDTORCH_KERNELS": options.kernels} if options.kernels else {}
    real = Side([options.real, *serving])
    ours = Side([sys.executable, "-m", "mindtorch_proxy", *serving], kernels)
    lines, end = read_table(options.table), time.time() + 60 * options.minutes
    done = {line[0] for line in lines} - set(options.only or ())
    try:
        for name in names:
            if name in done:
                continue
            if time.time() > end:
                break
            theirs, ways = real.ask([name, {}, options.seconds], options.limit) or ({}, {})
            found = (ours.ask([name, ways, options.seconds], options.limit) or ({}, {}))[0] if theirs else {}
            new = lines_of(name, checked_out, theirs, found)
            if found and steep(new, options.above):  # once more, in case that something else ran meanwhile
                for side, known in ((real, theirs), (ours, found)):
                    more = side.ask([name, ways, options.seconds], options.limit)
                    known.update(least(known, more[0] if more else {}))
                new = lines_of(name, checked_out, theirs, found)
            lines = [line for line in lines if line[0] != name] + new
            if options.table:
                write_table(options.table, COLUMNS, lines)
            for line in new:
                print(f"{line[0]} {line[1]}: worst {line[3] or '-'} ({line[4]}), growth {line[7] or '-'}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", flush=True)
    finally:
        real.close()
        ours.close()
    found = steep(lines, options.above)
    print(f"{len({line[0] for line in lines})} operators, {len(found)} lines above {options.above:g} times")
    for line in found:
        print(
            f"{line[3]:>8}  growth {line[7]:>6}  real {line[5]} ms, ours {line[6]} ms  {line[0]} {line[1]}, {line[4]}"
        )
    return 0


# ---------------------------------------------------------------- suites
def times_of(xml):
    """Return {test: seconds} of the tests that passed, from the text of a JUnit XML file."""
    return {
        f"{case.get('classname')}::{case.get('name')}": float(case.get("time") or 0)
        for case in ET.fromstring(xml).iter("testcase")
        if not any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
    }


def slower(ours, real, times, seconds):
    """Return [(ratio, our seconds, real seconds, test)] of tests slower by more than `times` that take more than so
    many seconds, the slowest first; a time of the real torch counts as at least a millisecond, which is the file's
    unit.
    """
    rows = [(took / max(real[test], 1e-3), took, real[test], test) for test, took in ours.items() if test in real]
    return sorted((row for row in rows if row[0] > times and row[1] > seconds), reverse=True)


def suites(options):
    """Print the tests of a suite that are many times slower here."""
    ours, real = (times_of(path.read_text()) for path in (options.ours, options.real))
    found = slower(ours, real, options.times, options.seconds)
    for ratio, took, theirs, test in found:
        print(f"{ratio:8.1f}  real {theirs:.3f} s, ours {took:.3f} s  {test}")
    both = ours.keys() & real.keys()
    total = sum(ours[test] for test in both), sum(real[test] for test in both)
    print(
        f"{len(both)} tests pass on both sides, in {total[0]:.1f} s here and {total[1]:.1f} s there; "
        f"{len(found)} take more than {options.times:g} times as long and more than {options.seconds:g} s"
    )
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    one = kinds.add_parser("operators")
    one.add_argument("--real", required=True, help="a Python with the real torch")
    one.add_argument("--table", type=Path)
    one.add_argument("--shard", default="1/1", help="the i-th of n parts of the operators")
    one.add_argument("--only", nargs="*", metavar="NAME", help="these operators, measured anew")
    one.add_argument("--minutes", type=float, default=1e9, help="start no operator after so many minutes")
    one.add_argument("--limit", type=float, default=120, help="seconds for an operator on one side")
    one.add_argument("--seconds", type=float, default=0.02, help="for the runs of a case, of which the least counts")
    one.add_argument("--above", type=float, default=5.0)
    one.add_argument("--kernels", help="the mode (MINDTORCH_KERNELS) of our side")
    one.add_argument("--core", type=int, default=0)
    two = kinds.add_parser("suites")
    two.add_argument("ours", type=Path)
    two.add_argument("real", type=Path)
    two.add_argument("--times", type=float, default=10.0)
    two.add_argument("--seconds", type=float, default=1.0)
    three = kinds.add_parser("serve")
    three.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    if options.what == "serve":
        return serve(options.core)
    return sweep(options) if options.what == "operators" else suites(options)


if __name__ == "__main__":
    sys.exit(main())
