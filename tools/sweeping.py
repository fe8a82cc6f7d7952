"""What the sweeps share: parts of a list, a process that answers questions, and a table that is whole after every
line, so that a sweep can go on.
"""

import json
import os
import select
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read_table(path):
    """Return the lines below the heading of a table, each a list of strings; none where there is no file."""
    if path is None or not path.exists():
        return []
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


def write_table(path, columns, lines):
    """Write a heading and the lines in order, through a file beside it: an interruption leaves the old table."""
    beside = path.with_name(path.name + ".part")
    beside.write_text("".join("\t".join(line) + "\n" for line in [columns, *sorted(lines)]))
    beside.replace(path)


def part_of(items, shard):
    """Return the i-th of n parts of a list, by the text i/n."""
    part, parts = map(int, shard.split("/"))
    return items[part - 1 :: parts]


def commit():
    """Return the short name of the commit that is checked out."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


class Side:
    """A process that answers a line of JSON with a line of JSON, started anew where it ended or took too long."""

    def __init__(self, command, environment=None):
        self.command, self.environment, self.process = command, os.environ | (environment or {}), None

    def ask(self, question, limit):
        """Return the answer, or None where none came within so many seconds."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self.environment,
            )
        try:
            print(json.dumps(question), file=self.process.stdin, flush=True)
            ready = select.select([self.process.stdout], [], [], limit)[0]
            if line := self.process.stdout.readline() if ready else "":
                return json.loads(line)
        except BrokenPipeError:
            pass
        self.close()
        return None

    def close(self):
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
