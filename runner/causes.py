"""What a failure's message says: its category, its cause without the particulars, the package that is missing."""

from __future__ import annotations

import re

CATEGORIES = ("missing API", "missing dependency", "wrong value", "dtype", "device", "crash", "time-out", "other")
TORCH_TYPE = r"torch\.(u?int|float|bfloat|complex|bool|half|double|long)\w*"
# a module that is no part of PyTorch, or what libraries say in its stead: "requires the librosa library but it was not found"
OURS = r"(?:torch|torch_npu|functorch|torchgen|mindtorch_proxy)\b"
DEPENDENCY = rf"No module named '(?!{OURS})([\w.]+)'|requires the ([\w.-]+) library but it was not found"
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
        rf"attribute 'dtype'|^(?!AssertionError).*(\bdtypes?\b|[sS]calar ?[tT]ype|{TORCH_TYPE})|{TORCH_TYPE} (!=|==) {TORCH_TYPE}|"
        rf"dtypes? (do|does) not match",
    ),
    ("wrong value", r"^AssertionError|^assert\b|not close"),
]
# import names whose distributions are called otherwise
DISTRIBUTIONS = {"cv2": "opencv-python-headless", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml", "skimage": "scikit-image", "google": "protobuf"}


def category_of(message: str) -> str:
    return next((name for name, rule in RULES if re.search(rule, message[:600], re.S)), "other")


def missing_package(message: str) -> str | None:
    """The distribution to install, where the message names a module that is missing."""
    found = re.search(DEPENDENCY, message[:600])
    if not found:
        return None
    name = (found[1] or found[2]).partition(".")[0]
    return DISTRIBUTIONS.get(name, name)


def cause_of(message: str) -> str:
    """The line that names the error, without what differs from test to test: numbers, addresses, paths."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    line = next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception|Warning|Interrupt|Exit|Timeout|Crash)\b", line)), lines[0])
    line = re.sub(r"0x[0-9a-f]+", "0x…", line)
    line = re.sub(r"(?<![\w.])/[\w./-]+/", "…/", line)
    line = re.sub(r"(?<![A-Za-z_\d.])[-+]?\d+(\.\d*)?(e[-+]?\d+)?(?![\w])", "N", line)
    return re.sub(r"N(, N)+", "N, …", line)[:200]


def groups(results):
    """[{cause, category, count, example, package}] of the failures, the commonest first."""
    found: dict = {}
    for result in results:
        if result["outcome"] in ("failed", "xfailed"):
            cause = cause_of(result["message"])
            group = found.setdefault((result["category"], cause), {"category": result["category"], "cause": cause, "count": 0, "known": 0, "tests": []})
            group["count"] += 1
            group["known"] += result["outcome"] == "xfailed"
            group["tests"].append(result["id"])
            group["package"] = missing_package(result["message"]) if result["category"] == "missing dependency" else None
    return sorted(found.values(), key=lambda g: -g["count"])
