"""pytest plugin for torch_npu's own tests: `torch_npu.testing` and its helpers come out of a checkout of
github:Ascend/pytorch, torch_npu itself is ours.

    launch.py PYTHON -m pytest -p mindtorch_proxy -p npu_testing CHECKOUT/test/nn ...      (NPU_CHECKOUT names the
    checkout; PYTHONPATH this folder)

What is not there, is not answered: a file that imports torch_npu's internals is not collected, a test that uses them
fails. NPU_RECORD: a file for a line of JSON each test (its id, what became of it, why), also for files that can't be
collected.
"""

import importlib.util
import json
import os
import sys
import types

CHECKOUT, RECORD = os.environ["NPU_CHECKOUT"], os.environ["NPU_RECORD"]
# helpers of their tests: packages without their own __init__, which would load torch_npu's extension
FOLDERS = {"torch_npu.testing": "torch_npu/testing", "torch_npu.utils": "torch_npu/utils"}
FILES = {"testcase", "common_utils", "decorator"}
NAMED = {
    "torch_npu.utils._path_manager": {"PathManager": type("PathManager", (), {})}
}  # imported by these, used for files of timings alone


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in FOLDERS:
            module = importlib.util.spec_from_loader(name, Finder, is_package=True)
            module.submodule_search_locations = []
            return module
        if name in NAMED:
            return importlib.util.spec_from_loader(name, Finder)
        package, _, last = name.rpartition(".")
        if package in FOLDERS and last in FILES:
            return importlib.util.spec_from_file_location(name, os.path.join(CHECKOUT, FOLDERS[package], last + ".py"))
        return None

    @staticmethod
    def create_module(spec):
        return types.ModuleType(spec.name)

    @staticmethod
    def exec_module(module):
        module.__dict__.update(NAMED.get(module.__name__, {}))


sys.meta_path.insert(0, Finder)


def record(test, result, why=""):
    with open(RECORD, "a") as f:
        f.write(json.dumps({"id": test, "result": result, "why": why}) + "\n")


def last_line(report):
    lines = [line[2:].strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
    text = lines or str(report.longrepr).strip().splitlines()[-1:]
    return text[0][:300] if text else ""


def pytest_collection_modifyitems(config, items):
    """Tests that an earlier process has begun are not begun again: one that ended it is told by its line."""
    if os.path.exists(RECORD):
        begun = {json.loads(line)["id"] for line in open(RECORD)}
        left = [item for item in items if item.nodeid not in begun]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in begun])
        items[:] = left


def pytest_runtest_logstart(nodeid, location):
    record(nodeid, "started")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed or report.skipped:
        record(
            report.nodeid,
            report.outcome,
            "" if report.passed else str(report.longrepr[2])[:200] if report.skipped else last_line(report),
        )


def pytest_collectreport(report):
    if report.failed:
        record(report.nodeid, "not collected", last_line(report))
