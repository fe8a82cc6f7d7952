"""Make backends/ascend/chips.tsv: what CANN's functions cannot do on each chip, by pages and reports.

    python tools/chips.py REPOSITORY...

Each REPOSITORY is a git directory of hicann/ops-math, ops-nn, ops-cv or ops-transformer, whose pages (aclnn*.md) say of
each product whether it is supported. Only functions that the primitives of backends/ascend reach are listed, and only
what is not supported: a chip that a page does not name is no line. tools/chips_reported.tsv has what people with a chip
have reported; its lines replace a page's, and one that says "yes" strikes it. A page can be wrong: Add is not supported
on the 310P by its page, and worked there with CANN 8.0. So a page's line counts less than a report's (docs/ascend.md,
"Chips").
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "backends" / "ascend" / "chips.tsv"
REPORTED = ROOT / "tools" / "chips_reported.tsv"
COLUMNS = ("chip", "function", "primitives", "supported", "dtypes", "confidence", "source")
# a product's name on the pages, in the order in which they are looked for: one contains another
PRODUCTS = (
    ("Ascend 950", "950"),
    ("Atlas A3 ", "910_93"),
    ("Atlas 200I/500 A2", "310B"),
    ("Atlas A2 ", "910B"),
    ("Atlas 推理系列产品", "310P"),
    ("Atlas 训练系列产品", "910A"),
)
# primitives that MindSpore composes of others, which the wheel's text does not show
COMPOSED = {"Dense": ("aclnnAddmm", "aclnnMm", "aclnnMatmul", "aclnnBatchMatMul")}
LINE = re.compile(r"<term>(.*?)</term>.*?(不支持|支持|√|×|x)\s*\|?\s*$")


def git(repository, *command):
    """Return the output of a git command."""
    done = subprocess.run(["git", "--git-dir", repository, *command], capture_output=True, text=True, check=True)
    return done.stdout


def pages(repository):
    """Yield (path, text) of the pages on functions, without those of contributed variants."""
    for path in git(repository, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if re.search(r"aclnn[^/]*\.md$", path) and not path.startswith("experimental/"):
            yield path, git(repository, "show", f"HEAD:{path}")


def unsupported(text):
    """Return the chips that a page says are not supported."""
    section = text.partition("## 产品支持情况")[2].partition("\n## ")[0]
    found = set()
    for line in section.splitlines():
        match = LINE.search(line)
        chip = match and next((chip for name, chip in PRODUCTS if name in match[1]), None)
        if chip and match[2] in ("不支持", "×", "x"):
            found.add(chip)
    return found


def reached():
    """Return {aclnn function: the primitives that call it} for the primitives that backends/ascend binds."""
    program = (
        "import torch, mindspore; from mindtorch_proxy.backends.ascend import table, bindings, fused; "
        "bound = table.bound() | {primitive for primitive, _ in fused.UPDATES.values()}; "
        "print(mindspore.__path__[0]); print(*sorted(p for p in bound if bindings.exists(p)))"
    )
    run = dict(capture_output=True, text=True, check=True)
    done = subprocess.run([sys.executable, "-m", "mindtorch_proxy", "-c", program], **run).stdout.splitlines()
    folder, bound = done[-2], set(done[-1].split())
    listing = ROOT / "tests" / "ascend" / "emulator" / "signatures.py"
    found: dict = {}
    for line in subprocess.run([sys.executable, listing, folder, "--primitives"], **run).stdout.splitlines():
        primitive, *functions = line.split("\t")
        for function in COMPOSED.get(primitive, functions) if primitive in bound else ():
            found.setdefault(function, set()).add(primitive)
    return found


def main():
    """Write the table and print how many lines each chip has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    options, primitives = parser.parse_args(), reached()
    lines = {}
    for repository in options.repositories:
        commit = git(repository, "log", "-1", "--format=%cs %h").strip()
        name = re.search(r"ops-\w+", repository)[0]
        for path, text in pages(repository):
            for function in re.findall(r"aclnn\w+", Path(path).stem):
                for chip in unsupported(text) if function in primitives else ():
                    source = f"page of {name}, {commit}"
                    lines[chip, function] = ("no", "all", "stated", source)
    for row in REPORTED.read_text().splitlines()[1:]:
        chip, function, supported, dtypes, confidence, source = row.split("\t")
        if confidence != "low" or (chip, function) not in lines:
            lines[chip, function] = (supported, dtypes, confidence, source)
    rows = [
        (chip, function, " ".join(sorted(primitives[function])), *rest)
        for (chip, function), rest in sorted(lines.items())
        if function in primitives and rest[0] != "yes"
    ]
    TABLE.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS, *rows]))
    for chip in sorted({row[0] for row in rows}):
        print(chip, sum(row[0] == chip for row in rows))


if __name__ == "__main__":
    main()
