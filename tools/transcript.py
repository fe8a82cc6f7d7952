"""Writes docs/transcript.md: what a new user types and sees: python tools/transcript.py --oracle PYTHON [--environment
FOLDER]

A fresh environment is made, the checkout installed into it as a wheel, and the commands below are run, unless FOLDER
names an environment that has it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "train.py": """\
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.GELU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
for step in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
""",
    "broken.py": """\
import torch

model = torch.nn.Linear(4, 2)
print(model(torch.ones(3, 5)))
""",
}
STEPS = [
    ("What is there", "python -m mindtorch_proxy doctor"),
    ("A training script", "python -m mindtorch_proxy train.py"),
    ("A broken script", "python -m mindtorch_proxy broken.py"),
    ("What ran where", "MINDTORCH_REPORT=- MINDTORCH_TIMES=1 python -m mindtorch_proxy train.py"),
    ("Beside the real PyTorch", 'python -m mindtorch_proxy compare --oracle "$ORACLE" train.py'),
    ("pip", "mindtorch-activate --install --with-metadata && pip check; pip list 2>/dev/null | grep -i '^torch '"),
    ("Forgotten activation", "python train.py"),
    ("Activation by the variable", "MINDTORCH_ACTIVATE=1 python train.py"),
    ("Removed", "mindtorch-activate --uninstall; python train.py"),
    (
        "bash",
        """bash -c 'eval "$(mindtorch-activate)"; python train.py; """
        """eval "$(mindtorch-activate deactivate)"; python train.py'""",
    ),
    (
        "zsh",
        """zsh -c 'eval "$(mindtorch-activate)"; python train.py; """
        """eval "$(mindtorch-activate deactivate)"; python train.py'""",
    ),
    (
        "fish",
        "fish -c 'mindtorch-activate | source; python train.py; mindtorch-activate deactivate | source; "
        "python train.py'",
    ),
]


def environment(folder):
    """A fresh environment with the wheel of this checkout."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    source = Path(folder, "source")
    source.mkdir()
    for name in "setup.py setup.cfg pyproject.toml README.md LICENSE".split():
        shutil.copy(ROOT / name, source)
    for room in ("mindtorch_proxy", "runtime", "backends", "stubs", "examples"):
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([f"{folder}/bin/pip", "install", "-q", f"{source}[cpu]"], check=True)


def run(folder, oracle):
    """[(title, command, output, exit status)], with the paths of this machine left out."""
    with tempfile.TemporaryDirectory() as work:
        for name, text in PROGRAMS.items():
            Path(work, name).write_text(text)
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("MINDTORCH_") and name != "PYTHONPATH"
        }
        variables |= {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "VIRTUAL_ENV": folder,
            "ORACLE": oracle,
            "HOME": work,
            "TERM": "dumb",
        }
        for title, command in STEPS:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=work,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            output = re.sub(
                r"\d+\.\d+ of [\d.]+ GiB free",
                "... GiB free",
                done.stdout.replace(folder, "/home/me/.venv").replace(work, "/home/me"),
            )
            yield title, command, re.sub(r"[ \t]+$", "", output, flags=re.M).strip("\n"), done.returncode


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True, metavar="PYTHON")
    parser.add_argument("--environment", metavar="FOLDER")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if not options.environment:
            environment(folder)
        steps = list(run(options.environment or folder, options.oracle))
    lines = [
        "# What a new user types and sees",
        "",
        "These commands were run in a fresh environment. `python tools/transcript.py --oracle PYTHON` wrote this page.",
        "",
    ]
    for name, text in PROGRAMS.items():
        lines += [f"`{name}`:", "", "```python", text.rstrip(), "```", ""]
    for title, command, output, status in steps:
        ended = f"\n[exit status {status}]" if status else ""
        lines += [f"## {title}", "", "```console", f"$ {command}", output + ended, "```", ""]
    (ROOT / "docs/transcript.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
