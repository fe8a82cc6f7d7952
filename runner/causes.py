"""Classifies failures by their messages: the category, the cause without details, the missing package."""

from __future__ import annotations

import re
import shlex

CATEGORIES = ("missing API", "missing dependency", "wrong value", "dtype", "device", "crash", "time-out", "other")
TORCH_TYPE = r"torch\.(u?int|float|bfloat|complex|bool|half|double|long)\w*"
# Messages about a missing module that is not part of PyTorch, as Python writes them or as libraries do ("requires the
# librosa library but it was not found"), or about a distribution that is missing or of a version that transformers
# does not accept.
OURS = r"(?:torch|torch_npu|functorch|torchgen|mindtorch_proxy)\b"
DEPENDENCY = (
    rf"No module named '(?!{OURS})([\w.]+)'|requires the ([\w.-]+) library but it was not found|"
    r"The '([^']+)' distribution was not found and is required|(\S+[<>=]\S+) is required for a normal functioning"
)
# The first matching rule decides. Each is matched against "ExceptionType: message".
RULES = [
    ("time-out", r"Failed: Timeout|^TimeoutError|^subprocess\.TimeoutExpired"),
    ("missing dependency", DEPENDENCY),
    (
        "missing API",
        r"^NotImplementedError|^(AttributeError|ImportError|ModuleNotFoundError)(?!: 'NoneType')|No module named|"
        r"has no attribute|cannot import name|not implemented",
    ),
    ("device", r"attribute 'device'|^(?!AssertionError).*(\bdevices?\b|\bcuda\b|\bnpu\b)|device\(type=.*(!=|==)"),
    (
        "dtype",
        rf"attribute 'dtype'|^(?!AssertionError).*(\bdtypes?\b|[sS]calar ?[tT]ype|{TORCH_TYPE})|{TORCH_TYPE} (!=|==) "
        rf"{TORCH_TYPE}|"
        rf"dtypes? (do|does) not match",
    ),
    ("wrong value", r"^AssertionError|^assert\b|not close"),
]
# modules whose distributions have another name
DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "skimage": "scikit-image",
    "google": "protobuf",
}


def category_of(message: str) -> str:
    return next((name for name, rule in RULES if re.search(rule, message[:600], re.S)), "other")


def missing_package(message: str) -> str | None:
    """Return what pip has to install, quoted for a shell, if the message names a missing package, else None."""
    found = re.search(DEPENDENCY, message[:600])
    if not found:
        return None
    if requirement := found[3] or found[4]:
        return shlex.quote(requirement)
    name = (found[1] or found[2]).partition(".")[0]
    return DISTRIBUTIONS.get(name, name)


def line_of(message: str) -> str:
    """Return the line of a message that names the error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    error = r"[\w.]*(Error|Exception|Warning|Interrupt|Exit|Timeout|Crash)\b"
    return next((line for line in reversed(lines) if re.match(error, line)), lines[0])


def cause_of(message: str) -> str:
    """Return the line that names the error, with numbers, addresses and paths replaced.

    Failures with the same cause form a group.
    """
    line = re.sub(r"0x[0-9a-f]+", "0x…", line_of(message))
    line = re.sub(r"(?<![\w.])/[\w./-]+/", "…/", line)
    line = re.sub(r"(?<![A-Za-z_\d.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?(?![\w])", "N", line)
    return re.sub(r"N(, N)+", "N, …", line)[:200]


def groups(results):
    """Group the failures by cause: [{cause, category, count, known, tests, package}], the most frequent first.

    The cause that is shown is the line of the group's first test, with its numbers.
    """
    found: dict = {}
    for result in results:
        if result["outcome"] in ("failed", "xfailed"):
            message, category = result["message"], result["category"]
            new = {"category": category, "cause": line_of(message)[:200], "count": 0, "known": 0, "tests": []}
            group = found.setdefault((category, cause_of(message)), new)
            group["count"] += 1
            group["known"] += result["outcome"] == "xfailed"
            group["tests"].append(result["id"])
            group["package"] = missing_package(message) if category == "missing dependency" else None
    return sorted(found.values(), key=lambda g: -g["count"])
