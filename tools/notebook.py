"""Runs examples/first_steps.ipynb, keeps what its cells print in it, and writes docs/notebook.md from it.

python tools/notebook.py

It needs nbclient and ipykernel (the extra `docs`). A cell with the tag "varies" prints other things on other machines.
"""

import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK, PAGE = ROOT / "examples" / "first_steps.ipynb", ROOT / "docs" / "notebook.md"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def kept():
    """Return the notebook as it is in its file."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed():
    """Return the notebook with the outputs of a run in a kernel of this Python, in which nothing is activated yet."""
    from mindtorch_proxy.activate import child_environment

    notebook = kept()
    environment = os.environ | child_environment(active=False) | {"HF_HUB_OFFLINE": "1", "TERM": "dumb"}
    environment = {
        name: value
        for name, value in environment.items()
        if value is not None and not name.startswith("MINDTORCH_")  # tests set some
    }
    client = NotebookClient(notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": "/"}})
    client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":  # what libraries say on standard error is about this machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", ()):
            output |= {name: plain(output[name]) for name in ("text", "traceback") if name in output}
    return notebook


def plain(text):
    """Return text, or a list of texts, without colours and without the folders of this machine."""
    if isinstance(text, list):
        return [plain(part) for part in text]
    text = COLOURS.sub("", text).replace(f"{ROOT}/", "/home/me/")
    return re.sub(r"/tmp/ipykernel_\d+/\d+\.py", "notebook", text)


def output_of(cell):
    """Return what a cell shows, as text."""
    shown = []
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            shown.append("\n".join(output.traceback))
        else:
            shown.append(output.text if output.output_type == "stream" else output.data["text/plain"])
    return "\n".join(text.rstrip("\n") for text in shown)


def page(notebook):
    """Return the notebook as a page of the documentation."""
    parts = ["<!-- tools/notebook.py writes this page from examples/first_steps.ipynb -->"]
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        if text := output_of(cell):
            parts.append(f"```console\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def main():
    notebook = executed()
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n")
    PAGE.write_text(page(notebook))


if __name__ == "__main__":
    sys.exit(main())
