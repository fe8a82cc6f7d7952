"""The table of docs/ascend.md: operators with a kernel of their own, what runs them on an NPU.

python -m mindtorch_proxy tools/ascend_table.py
"""

import re
from pathlib import Path

import torch  # noqa: F401  (declares the operators)

from mindtorch_proxy.backends import ascend  # noqa: F401  (the table's entries)
from mindtorch_proxy.backends.ascend import table
from mindtorch_proxy.backends.host import phrase
from mindtorch_proxy.runtime.registry import operators

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ascend.md"


def rows():
    by_name = {o.full: o for o in operators()}
    for name, primitive, kind, note in table.rows():
        takes = table.stated(table.kernel(by_name[name]))
        dtypes = "all" if takes is None else phrase(takes)
        level = {"pyboost": "emulated", "composite": "emulated", "host": "host", "unsupported": "none"}[kind]
        yield (
            f"| `{name}` | {primitive if kind == 'pyboost' else '-'} | {kind} | {level} | "
            f"{dtypes if kind in ('pyboost', 'composite') else '-'} | {note} |"
        )


def main():
    lines = ["| operator | primitive | kind | level | dtypes | note |", "|---|---|---|---|---|---|", *rows()]
    text = re.sub(
        r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", lambda m: "\n".join(lines) + "\n", PAGE.read_text(), flags=re.S
    )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
