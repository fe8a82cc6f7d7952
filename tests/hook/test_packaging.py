"""Compares setup.cfg with what the packages contain and import."""

import ast
import configparser
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def imported(path):
    """Yield the top-level names that a module imports outside of try blocks, such as those for optional packages."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    optional = {
        id(n) for t in ast.walk(tree) if isinstance(t, ast.Try) and t.handlers for s in t.body for n in ast.walk(s)
    }
    for node in ast.walk(tree):
        if id(node) not in optional and isinstance(node, ast.Import):
            yield from (a.name.partition(".")[0] for a in node.names)
        elif id(node) not in optional and isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


# rich is used for tables if it is installed; torch.utils.tensorboard needs tensorboard, and others for some records;
# torch.onnx.export needs the packages of the extra `onnx`
OPTIONAL = {
    "rich",
    "tensorboard",
    "google",
    "PIL",
    "matplotlib",
    "moviepy",
    "onnx",
    "onnx_ir",
    "onnxruntime",
    "onnxscript",
}


def test_what_the_rooms_import_is_declared():
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    declared = {
        re.split(r"[^\w]", line.strip())[0]
        for line in config["options"]["install_requires"].splitlines()
        if line.strip()[:1] not in ("", "#")
    }
    files = [
        p for room in ("mindtorch_proxy", "runtime", "backends", "stubs") for p in (REPOSITORY / room).rglob("*.py")
    ]
    missing = {(str(p.relative_to(REPOSITORY)), name) for p in files for name in imported(p)}
    missing = {
        (p, name)
        for p, name in missing
        if name not in declared | sys.stdlib_module_names | {"torch", "mindtorch_proxy"} | OPTIONAL
    }
    assert len(files) > 200 and not missing
