"""Run HuggingFace transformers' own test files, or this project's model tests, on mindtorch_proxy.

    python run_test_v2.py CHECKOUT/tests/models/bert/test_modeling_bert.py -k attention --jobs 2 --junitxml report.xml
    python run_test_v2.py                        # this project's tests/models
    python run_test_v2.py --fetch transformers   # clones upstream's tag that fits the installed transformers
    PYTHONPATH=CHECKOUT/src python run_test_v2.py CHECKOUT/tests/models/bert   # with the checkout's own transformers

Every file runs in its own process. If a test kills its process or hangs, only that test is lost: earlier results are
kept, and the file continues with the next test. Arguments that are not listed below are passed to pytest. The exit
status is 0 if everything went as expected, 1 if a test failed or passed unexpectedly or a file crashed, 2 if a file, or
the whole run, could not start, 5 if there was no test, 130 if the run was interrupted.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import difflib
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from mindtorch_proxy import page

from . import compare
from .formats import facts, merge_kernels, write_junit
from .installed import check, fetch, version_of
from .ledger import apply_ledger, load_ledger
from .process import CRASHED, INTERRUPTED, NOT_STARTED, TIMED_OUT, FileRun, Preloaded, refuses
from .progress import Progress
from .recorder import Lasting
from .summary import rule, summarise
from .targets import HERE, checkout_of, failed_in, files_of, named_in, results_in, shard, split_arguments


def parser():
    """Return the parser of the command's own options."""
    parser = argparse.ArgumentParser(
        prog="run_test_v2.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--jobs", type=int, default=1, metavar="N", help="files side by side, on CPU each on a core of its own")
    add("--timeout", type=float, default=3600, metavar="S", help="limit for a file (default 3600)")
    add("--test-timeout", type=float, default=300, metavar="S", help="limit for a test (default 300)")
    add("--junitxml", metavar="FILE", help="write one JUnit file for all")
    add("--json", metavar="FILE", help="write all results; runner/results.schema.json says what is in it")
    add(
        "--html",
        metavar="FILE",
        help="write one page: files, failures by cause, kernels; with --compare beside the earlier run",
    )
    add("--report", metavar="FILE", help="write which operators ran on which kernels, and how often")
    ledger = 'the failures that are known: ["test id"] category = ..., reason = ... (default: tests/ledger.toml)'
    add("--ledger", metavar="FILE", default=str(HERE / "tests/ledger.toml"), help=ledger)
    add("--only", metavar="FILE", help="run only the tests that this file names, one a line")
    add("--rerun-failed", metavar="FILE", help="run what failed, or did not run, by an earlier --json FILE")
    add(
        "--compare",
        metavar="FILE",
        help="compare with an earlier --json FILE; exit status 1 if a test passed there and does not now",
    )
    add("--shard", metavar="I/N", help="run the i-th of n parts of the files")
    add(
        "--fetch",
        metavar="FOLDER",
        help="clone upstream's tag that fits the installed transformers into FOLDER, and end",
    )
    add("--tag", metavar="TAG", help="with --fetch: another tag or branch, as v5.16.0 or main")
    preload = "import modules once, such as transformers.testing_utils, and start each file from a copy of that process"
    add("--preload", metavar="MODULE,...", help=preload)
    add("--any-version", action="store_true", help="run although checkout and installed transformers differ")
    add("--plain", action="store_true", help="without mindtorch_proxy: on the torch that is installed, to compare")
    return parser


def refuse(unknown, own):
    """Exit with a usage error for options that neither pytest nor its plugins nor the tests' conftest.py know."""
    names = [option.partition("=")[0] for option in unknown if option.startswith("-")]
    known = [option for action in own._actions for option in action.option_strings]
    near = [match for name in names for match in difflib.get_close_matches(name, known, 1)]
    own.error(f"unrecognized arguments: {' '.join(unknown)}" + (f" (did you mean {' '.join(near)}?)" if near else ""))


def servers_of(options, runs):
    """Return a server for each job, from which its files are started, or None where nothing is to be preloaded."""
    if not options.preload or not runs:
        return [None] * options.jobs
    modules = [*([] if options.plain else ["mindtorch_proxy:install"]), *options.preload.split(",")]
    return [Preloaded(modules, runs[0].environment(), runs[0].root) for _ in range(min(options.jobs, len(runs)))]


def run_all(options, runs):
    """Run the files, `options.jobs` at a time. Return whether the user interrupted the run."""
    on_cpu = os.environ.get("TRANSFORMERS_TEST_DEVICE", "cpu") == "cpu"
    cores = sorted(os.sched_getaffinity(0)) if options.jobs > 1 and on_cpu else [None]
    free = [(cores[i % len(cores)], server) for i, server in enumerate(servers_of(options, runs))]
    progress = Progress(runs, live=options.jobs > 1)

    def work(run):
        core, server = free.pop()
        with open(Path(options.folder, f"{run.number}.log"), "w+b") as log:
            try:
                return run.run(core, log if options.jobs > 1 else None, server)
            finally:
                free.append((core, server))
                log.seek(0)
                progress.file_ended(run, log.read().decode(errors="replace"))

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        list(pool.map(work, runs))
        return False
    except KeyboardInterrupt:  # the files' processes have their own sessions, so Ctrl-C does not reach them
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        pool.shutdown(wait=False, cancel_futures=True)
        for run in runs:
            run.interrupted = True
            if run.process is not None and run.process.poll() is None:
                run.kill()
        pool.shutdown()
        return True
    finally:
        for _, server in free:
            if server is not None:
                server.close()
        progress.close()


def exit_status(options, runs, results, counts, interrupted):
    fates = {run.outcome for run in runs}
    if interrupted:
        return 130
    if NOT_STARTED in fates:
        return 2
    if counts["failed"] or fates & {CRASHED, TIMED_OUT}:
        return 1
    if INTERRUPTED in fates:
        return 130
    return 0 if results or options.collect_only else 5


def choose(options, targets):
    """Return ({file: targets}, {file: tests to run}) as the options select them."""
    files, only = files_of(targets or [str(HERE / "tests/models")]), {}
    if options.rerun_failed:
        files, only = failed_in(options.rerun_failed)
    if options.shard:
        files = shard(files, options.shard)
    if options.only:
        options.only = named_in(options.only)
    return files, only


def write(options, runs, results, wall, counts, interrupted):
    """Write the requested files. Return whether a test that passed in the earlier run does not pass now."""
    known = facts(options, runs, results, wall, counts, interrupted)
    kernels = merge_kernels(options.folder) if options.kernels else None
    worse = options.compare and beside(options.compare, runs, results)
    if options.report:
        Path(options.report).write_text(json.dumps(kernels, indent=1))
    if options.junitxml:
        write_junit(options.junitxml, runs, results, wall)
    if options.json:
        Path(options.json).write_text(json.dumps(known, indent=1))
    if options.html:
        text = page.render("Test run", run=known, kernels=kernels, earlier=options.compare)
        Path(options.html).write_text(text, encoding="utf-8")
    return worse


def beside(earlier, runs, results):
    """Print the comparison with an earlier run. Return whether a test that passed there does not pass now.

    Only tests that this run was to execute are compared, in files that have results.
    """
    files = {compare.short(run.name): run for run in runs if run.results}
    then = compare.by_name(earlier["tests"]).items()
    before = {(file, inside): test for (file, inside), test in then if file in files and files[file].selects(inside)}
    rule("beside the earlier run")
    return compare.show(*compare.compare(before, compare.by_name(results)))


def run(arguments) -> int:
    own = parser()
    options, rest = own.parse_known_args(arguments)
    if options.tag and not options.fetch:
        own.error("--tag TAG goes with --fetch FOLDER")
    if options.preload and (options.report or options.html):
        own.error("--preload does not go with --report and --html: they count kernels from the start of a process")
    if options.fetch:
        return fetch(options.fetch, options.tag)
    if version_of("pytest") is None:
        raise SystemExit(
            f"run_test_v2: pytest is not installed for {sys.executable}; pip install 'pytest<9' pytest-timeout"
        )
    options.pytest, targets, unknown = split_arguments(rest)
    options.collect_only = "--collect-only" in rest or "--co" in rest
    options.kernels = bool(options.report or options.html) and not options.plain
    options.compare = options.compare and results_in(options.compare)
    files, only = choose(options, targets)
    roots = {file: checkout_of(file) for file in files}
    check(options, dict.fromkeys(roots.values()))
    ledger = load_ledger(options.ledger) if not options.plain and os.path.exists(options.ledger) else {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="run_test_v2-") as options.folder:
        runs = [
            FileRun(options, i, file, inside, roots[file], only.get(file))
            for i, (file, inside) in enumerate(files.items())
        ]
        if unknown and refuses(runs[0]):
            refuse(unknown, own)
        interrupted = run_all(options, runs)
        wall = time.monotonic() - started
        results = [result for run in runs for result in run.results.values()]
        apply_ledger(results, ledger)
        counts = collections.Counter(result["outcome"] for result in results)
        worse = write(options, runs, results, wall, counts, interrupted)
    summarise(runs, results, counts)
    return exit_status(options, runs, results, counts, interrupted) or int(bool(worse))


def main(arguments) -> int:
    sys.stdout = Lasting(sys.stdout)
    try:
        return run(arguments)
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 2
        raise
    except KeyboardInterrupt:  # before or after the tests
        return 130
    finally:
        sys.stdout.flush()
        sys.stdout = sys.stdout.stream
