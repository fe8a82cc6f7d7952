"""What a failure's message says: its category, its cause without the particulars, the package that is missing."""

from __future__ import annotations

import re
import shlex

CATEGORIES = ("missing API", "missing dependency", "wrong value", "dtype", "device", "crash", "time-out", "other")
TORCH_TYPE = r"torch\.(u?int|float|bfloat|complex|bool|half|double|long)\w*"
# a module that is no part of PyTorch, or what libraries say in its stead: "requires the librosa library but it was not
# found";
# a distribution that is not there, or not in the version that transformers asks for
OURS = r"(?:torch|torch_npu|functorch|torchgen|mindtorch_proxy)\b"
DEPENDENCY = (
    rf"No module named '(?!{OURS})([\w.]+)'|requires the ([\w.-]+) library but it was not found|"
    r"The '([^']+)' distribution was not found and is required|(\S+[<>=]\S+) is required for a normal functioning"
)
# the first rule that fits decides; each looks at "ExceptionType: message"
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
# import names whose distributions are called otherwise
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
    """What pip is to install, as a shell reads it, where the message names it: a module, or a version of something."""
    found = re.search(DEPENDENCY, message[:600])
    if not found:
        return None
    if requirement := found[3] or found[4]:
        return shlex.quote(requirement)
    name = (found[1] or found[2]).partition(".")[0]
    return DISTRIBUTIONS.get(name, name)


def line_of(message: str) -> str:
    """The line that names the error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    error = r"[\w.]*(Error|Exception|Warning|Interrupt|Exit|Timeout|Crash)\b"
    return next((line for line in reversed(lines) if re.match(error, line)), lines[0])


def cause_of(message: str) -> str:
    """The line that names the error, without what differs from test to test: numbers, addresses, paths.

    Failures of one group have the same.
    """
    line = re.sub(r"0x[0-9a-f]+", "0x…", line_of(message))
    line = re.sub(r"(?<![\w.])/[\w./-]+/", "…/", line)
    line = re.sub(r"(?<![A-Za-z_\d.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?(?![\w])", "N", line)
    return re.sub(r"N(, N)+", "N, …", line)[:200]


def groups(results):
    """[{cause, category, count, known, tests, package}] of the failures, the commonest first.

    What is shown as the cause is the line of the group's first test, with its numbers.
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
