"""Tests mindtorch_proxy.report(): a table, a page, a file, times by operator, and the environment variables for it."""

import json

RUN = ("-m", "mindtorch_proxy")
PROGRAM = """
import torch, mindtorch_proxy
x = torch.randn(40, 40, requires_grad=True)
with mindtorch_proxy.timed():
    for _ in range(3):
        (x @ x).softmax(-1).sum().backward()
torch.nonzero(torch.ones(3))
report = mindtorch_proxy.report()
"""


def test_the_table_is_plain_rich_or_html(python):
    code = PROGRAM + "print(repr(report)); print('=='); print(report.text()); print('=='); print(report._repr_html_())"
    table, plain, markup = python(*RUN, "-c", code).split("==\n")
    for text in (table, plain, markup):
        assert "mm" in text and "pyboost" in text and "MatMul" in text and "primitives; copies and casts" in text
    assert plain.startswith("operator  ") and "no CPU kernel" in plain  # the reason for a fallback
    assert "<td>mm</td>" in markup
    without = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n" + code
    assert python(*RUN, "-c", without).split("==\n")[0].startswith("operator  ")


def test_the_table_in_a_notebook_and_in_the_locale_c(python):
    """In a notebook rich would display the table instead of returning it; the locale C has no lines to draw."""
    code = "import sys\nrich = __import__('pytest').importorskip('rich.console')\n"
    code += "rich._is_jupyter = lambda: True\n" + PROGRAM + "print(report)"
    assert "MatMul" in python(*RUN, "-c", code)
    plain = python(*RUN, "-c", PROGRAM + "print(report)", PYTHONIOENCODING="ascii")
    assert plain.startswith("operator  ") and plain.isascii()


def test_times_are_the_operators_own(python):
    code = PROGRAM + "import json; print(json.dumps([report['times'], [list(row) for row in report.rows()]]))"
    times, rows = json.loads(python(*RUN, "-c", code))
    assert (
        0 < times["mm"] < 5 and "nonzero" not in times
    )  # the time for loading MindSpore is not an operator's, and operators outside the block are not timed
    assert rows[0][5] == max(row[5] or 0 for row in rows) > 0
    assert sum(times.values()) < 20


def test_files(python, tmp_path):
    python(
        *RUN, "-c", PROGRAM + f"report.html({str(tmp_path / 'r.html')!r}); report.json({str(tmp_path / 'r.json')!r})"
    )
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["device"] == "cpu" and {"op", "device", "dtype", "kind", "primitive", "calls", "why", "role"} <= set(
        report["kernels"][0]
    )
    page = (tmp_path / "r.html").read_text()
    assert '"seconds"' in page and "Operators by kind" in page and "</script>" in page


def test_variables(python, tmp_path):
    add = "import torch; torch.ones(3) + 1"
    done = python(*RUN, "-c", add, MINDTORCH_REPORT="-", MINDTORCH_TIMES="1", check=False)
    assert "add" in done.stderr and not done.stdout
    python(*RUN, "-c", add, MINDTORCH_REPORT=tmp_path / "%p.html")
    assert len(list(tmp_path.glob("[0-9]*.html"))) == 1
    python(*RUN, "-c", add, MINDTORCH_REPORT=tmp_path / "r.json", MINDTORCH_TIMES="1")
    assert json.loads((tmp_path / "r.json").read_text())["times"]["add"] > 0
