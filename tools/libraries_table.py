"""Writes README's table of libraries from what `tests/libraries/run.py --json` found: python tools/libraries_table.py
RESULTS.json [--check].
"""

import json
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- libraries: tools/libraries_table.py writes this -->\n", "<!-- end of libraries -->\n"


def table(results):
    """The libraries whose programs are equal, with their versions; the others each with its reason."""
    equal = [f"{name.replace('_', '-')} {r['version']}" for name, r in results.items() if r["verdict"] == "equal"]
    lines = [
        f"{len(equal)} of {len(results)} further libraries give the same results as with the real torch in short "
        f"programs (`tests/libraries`): {', '.join(equal)}."
    ]
    lines += [
        f"- {name} {r['version']}: {r['verdict']}: {r['why']}" for name, r in results.items() if r["verdict"] != "equal"
    ]
    return "\n".join(lines) + "\n"


def main(argv):
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    new = before + BEGIN + table(json.loads(Path(argv[0]).read_text())) + END + after
    if "--check" in argv:
        return int(new != text)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
