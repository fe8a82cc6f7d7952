"""Writes docs/kernels.md from the live registry: what runs each operator on the CPU and on Ascend, and why.

python tools/kernel_table.py            write the file
python tools/kernel_table.py --check    print the lines that differ from the file, and exit with status 1 if any do
"""

import sys
from collections import Counter
from pathlib import Path

from mindtorch_proxy import install

install()
import torch  # noqa: E402, F401

from mindtorch_proxy.backends.ascend import table as ascend  # noqa: E402
from mindtorch_proxy.backends.cpu import table  # noqa: E402
from mindtorch_proxy.backends.host import phrase  # noqa: E402
from mindtorch_proxy.runtime import pyboost, registry  # noqa: E402

PATH = Path(__file__).resolve().parents[1] / "docs" / "kernels.md"
HEAD = """# Kernels

Written by `python tools/kernel_table.py` with MindSpore {version}; do not edit.
`tools/kernel_table.py --check` compares it with the registry.

The table lists the CPU kernels of each operator in order of preference, with the dtypes that they accept; other dtypes
are converted to a wider one. "from n" means that a kernel is chosen first for n or more elements, "for large
broadcasts" that it is chosen first for large results to which some operand is broadcast, and "in the stated cases" that
it is used only in the cases that its reason names. Dtypes have the short names of `backends/host.py`: u8 is uint8, i64
int64, bf16 bfloat16, f32 float32, c64 complex64, f8_e5m2 float8_e5m2. "All integers" are the signed and the unsigned
ones, "all floats" are f16, bf16, f32 and f64.

For a composite or NumPy kernel, or a primitive other than the declared one, the table gives the reason. The table is
that of the default, `MINDTORCH_KERNELS=balanced`. With `MINDTORCH_KERNELS=pyboost`, reasons of speed do not count:
kernels from a size on, for large broadcasts and in stated cases serve only dtypes that no primitive takes, and the
primitives of `backends/cpu/kernels/slow.py` stand before NumPy. With
`MINDTORCH_KERNELS=fastest`, a NumPy kernel is chosen first where it is faster according to `backends/cpu/measured.json`
or to `python -m mindtorch_proxy tune` on this machine; kernels "for `fastest`" are used only with this setting.
Ascend uses the declared primitive unless its column says otherwise. Views, factories and functions over other operators
need no kernel and are not listed.

{summary}

| operator | primitive | CPU | Ascend |
|---|---|---|---|
"""


def operators():
    """Every operator that has a kernel of its own."""
    return sorted(
        (o for o in registry.operators() if o.fn is None and o.geometry is None and not o.options.memory),
        key=lambda o: o.full,
    )


def cpu(op, kernels):
    """The kernels of an operator, one line each; a size limit with the kernel that it prefers."""
    lines = {}
    for k in kernels:
        what = (
            k.kind,
            k.primitive if k.primitive != op.prim else None,
            phrase(k.dtypes) + ", in the stated cases" * (k.when is not None),
            k.why,
        )
        lines.setdefault(what, []).append(k.above)
    cells = []
    for (kind, primitive, dtypes, why), sizes in lines.items():
        size = "".join(
            f", {'first ' * (0 in sizes)}{'for large broadcasts' if n == table.SPREAD else f'from {n}'}"
            for n in sizes
            if n
        )
        cells.append(f"**{kind}** {primitive + ' ' if primitive else ''}({dtypes}{size}){': ' + why if why else ''}")
    cells += [f"**numpy** ({phrase(k.dtypes)}) for `fastest`" for k in table.quick_kernels(op)]
    return "<br>".join(cells).replace("|", "\\|") or "none"


def rows():
    """(lines of the table, how many operators each kind serves first)."""
    npu = {name: (kind, note) for name, _, kind, note in ascend.rows()}
    lines, first = [], Counter()
    for op in operators():
        kernels = table.kernels(op)
        bar = table._without.get(op.full) if op.prim else None
        refused = (
            f"**not {op.prim}** ({'all' if bar[1] is None else phrase(bar[1])}): {bar[0]}<br>"
            if bar and bar[0] not in [k.why for k in kernels]
            else ""
        )
        first[next((k.kind for k in kernels if not k.above and not k.when), "none")] += 1
        kind, note = npu[op.full]
        other = "" if kind == "pyboost" and not note else f"**{kind}** {note}".strip()
        lines.append(f"| `{op.full}` | {op.prim or ''} | {refused}{cpu(op, kernels)} | {other} |")
    return lines, first


def text():
    lines, first = rows()
    total = sum(first.values())
    summary = (
        f"{total} operators; first choice on the CPU: " + ", ".join(f"{k} {n}" for k, n in first.most_common()) + "."
    )
    return HEAD.format(version=pyboost.version(), summary=summary) + "\n".join(lines) + "\n"


def differences():
    """Lines that the file has too many (-) or lacks (+), whatever their order.

    None where it was written with another MindSpore.
    """
    have, want = PATH.read_text(), text()
    if f"MindSpore {pyboost.version()};" not in have:
        return None
    have, want = Counter(have.splitlines()), Counter(want.splitlines())
    return sorted("- " + line for line in (have - want).elements()) + sorted(
        "+ " + line for line in (want - have).elements()
    )


if __name__ == "__main__":
    if "--check" in sys.argv:
        print(*(wrong := differences() or ()), sep="\n")
        sys.exit(bool(wrong))
    PATH.write_text(text())
