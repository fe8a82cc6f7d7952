"""What the sweeps share: parts of a list, and a table that is whole after every line, so that a sweep can go on."""

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
