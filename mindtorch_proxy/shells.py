"""How each shell sets and unsets variables. Standard library only."""

import json
import os
import re
import shlex


def _posix(name, value):
    return f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"


def _fish(name, value):
    if value is None:
        return f"set -e {name}"
    quoted = re.sub(r"([\\'])", r"\\\1", value)
    return f"set -gx {name} '{quoted}'"


def _powershell(name, value):
    if value is None:
        return f"Remove-Item Env:{name} -ErrorAction SilentlyContinue"
    quoted = value.replace("'", "''")
    return f"$env:{name} = '{quoted}'"


SYNTAX = {"bash": _posix, "zsh": _posix, "fish": _fish, "powershell": _powershell}
NAMES = (*SYNTAX, "nu")
_NAMES = {"pwsh": "powershell", "sh": "bash", "dash": "bash", "ksh": "bash", "ash": "bash", "mksh": "bash"}


def known(name):
    """Return the entry of NAMES for the name of a shell's program, or None."""
    name = _NAMES.get(name, name)
    return name if name in NAMES else None


def calling():
    """Return the shell that is the parent process, or "bash" where the parent is not a known shell."""
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8") as file:
            return known(file.read().strip()) or "bash"
    except OSError:
        return "bash"


def script(environment, shell):
    """Return the text that the shell evaluates to set variables.

    The value None unsets a variable. nu loads a record, which cannot unset variables, so it sets them to "" instead.
    """
    if shell == "nu":
        return json.dumps({name: value or "" for name, value in environment.items()})
    return "\n".join(SYNTAX[shell](name, value) for name, value in environment.items())
