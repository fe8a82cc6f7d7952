"""The commands `mindtorch-activate` and `mindtorch-demo`. Standard library only."""

import os
import runpy
import sys

from . import environment, installation, shells
from .activate import PREFIX, SITE, VARIABLE, child_environment, install
from .finder import TORCH_VERSION

USAGE = """\
Activate a shell, a command or an environment.

eval "$(mindtorch-activate)"              this shell from now on: bash, zsh
mindtorch-activate | source               fish
mindtorch-activate | from json | load-env nu
mindtorch-activate | Out-String | Invoke-Expression
                                          PowerShell
mindtorch-activate deactivate             in its stead: no longer
    --shell bash|zsh|fish|nu|powershell   for another shell than the one that calls
mindtorch-activate run CMD ARG...         one command
mindtorch-activate --install              write a .pth file, so that MINDTORCH_ACTIVATE=1 alone activates this
                                          environment's Python; in a conda environment scripts as well, with which
                                          `conda activate` activates it
    --with-metadata                       and what pip takes for an installed torch, so that it brings no other;
                                          refused where another is
    --with-types                          and the stubs that mypy, pyright, jedi and editors read: signatures of
                                          everything under `torch`
mindtorch-activate --uninstall            remove what --install has written
mindtorch-activate constraints            print the path of the file with which pip leaves this environment whole:
                                          pip install -c "$(mindtorch-activate constraints)" pandas datasets
mindtorch-activate --status               the state now; exit status 0 if new processes are activated
"""


def status():
    """Return (whether new processes are activated, the lines that explain it)."""
    pth = os.path.exists(environment.PTH)
    way = (
        "the .pth file" if pth else "PYTHONPATH" if SITE in os.environ.get("PYTHONPATH", "").split(os.pathsep) else None
    )
    active = os.environ.get(VARIABLE) in ("1", PREFIX) and way is not None
    value = os.environ.get(VARIABLE, "")
    if active:
        why = f"{VARIABLE} is set, read through {way}"
    elif not value:
        why = f"{VARIABLE} is not set"
    elif way is None:
        why = (
            f"{VARIABLE} is set, but nothing reads it: neither the .pth file is installed nor our folder on PYTHONPATH"
        )
    else:
        why = f"{VARIABLE} means another environment"
    lines = [
        f"new processes of {PREFIX}: import torch is {f'ours, {TORCH_VERSION}' if active else 'not ours'}",
        f"because {why}",
        f"{VARIABLE}={value}",
        f".pth file: {environment.PTH if pth else 'not installed'}",
        f"metadata of torch for pip: {environment.DIST_INFO if environment.metadata_is_ours() else 'not installed'}",
    ]
    if other := environment.other_torch():
        lines.append(f"another torch: {other}" + (", which ours stands before" if active else ""))
    return active, lines


def shell_of(arguments):
    """Return (the shell to write for, the other arguments), or None for an unknown shell."""
    match arguments:
        case [*before, "--shell", name]:
            shell = shells.known(name)
            return shell and (shell, before)
        case _:
            return shells.calling(), arguments


def run(command):
    """Replace this process by a command that runs activated.

    torchrun always runs our torch.distributed.run, whether or not a real torch has installed the command.
    """
    if command[0] == "torchrun":
        command = [sys.executable, "-m", "torch.distributed.run", *command[1:]]
    try:
        os.execvpe(command[0], command, os.environ | child_environment())
    except OSError as error:
        print(f"mindtorch-activate: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


def wrong():
    print(USAGE, file=sys.stderr)
    return 2


def main(argv=None):
    """Run the command `mindtorch-activate` and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["run"]:
        return run(arguments[1:]) if arguments[1:] else wrong()
    chosen = shell_of(arguments)
    if chosen is None:
        return wrong()
    shell, rest = chosen
    match [argument.lstrip("-") for argument in rest]:
        case [] | ["activate"]:
            print(shells.script(child_environment(), shell))
        case ["deactivate"]:
            print(shells.script(child_environment(active=False), shell))
        case ["install", *wanted] if set(wanted) <= {"with-metadata", "with-types"}:
            environment.install("with-metadata" in wanted, "with-types" in wanted)
        case ["uninstall"]:
            environment.uninstall()
        case ["constraints"]:
            print(installation.constraints())
        case ["status"]:
            active, lines = status()
            print("\n".join(lines))
            return 0 if active else 1
        case ["h" | "help"]:
            print(USAGE)
        case _:
            return wrong()
    return 0


def demo():
    """Run the command `mindtorch-demo`: examples/train_bert.py of the installed package.

    It needs the packages of the extra `demo`.
    """
    try:
        install()
        runpy.run_module("mindtorch_proxy.examples.train_bert", run_name="__main__", alter_sys=True)
        return 0
    except installation.BrokenInstallation as error:
        print(f"mindtorch_proxy: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f"mindtorch-demo: {error.name} is not installed: pip install 'mindtorch-proxy[demo]'", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
