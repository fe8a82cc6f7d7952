"""Files of safetensors: what is written is read, here and by the real torch."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import torch
import torch.distributed.checkpoint as dcp

way, folder = sys.argv[1:]
state = {
    "a.weight": torch.arange(6.0).reshape(2, 3),
    "b": torch.tensor([1, 2], dtype=torch.int64),
    "c": torch.ones(2, dtype=torch.bfloat16),
}
if way == "save":
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(folder), no_dist=True)
else:
    found = {k: torch.zeros_like(v) for k, v in state.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(folder), no_dist=True)
    assert all(torch.equal(found[k], v) for k, v in state.items()), found
"""


@pytest.mark.nightly
def test_both_ways(oracle_python, tmp_path):
    ours, theirs = [sys.executable, "-m", "mindtorch_proxy"], [oracle_python, "-W", "ignore"]
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    for i, (writer, reader) in enumerate([(ours, ours), (ours, theirs), (theirs, ours)]):
        for command, way in ((writer, "save"), (reader, "load")):
            done = subprocess.run([*command, path, way, tmp_path / str(i)], capture_output=True, text=True, timeout=100)
            assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_blocks_of_every_rank_become_whole_tensors(ranks, oracle_python, tmp_path, monkeypatch):
    """Both torches write the same files, and each reads what the other has written."""
    pythons, written, read = {"ours": (), "theirs": (oracle_python,)}, {}, {}
    for writer, python in pythons.items():
        monkeypatch.setenv("CHECKPOINTS", str(tmp_path / writer))
        written[writer] = ranks("hf_programs", ["saved"], 2, *python)["saved"]
        for reader, other in pythons.items():
            if writer == reader == "theirs":
                continue
            read[writer, reader] = ranks("hf_programs", ["loaded"], 2, *other)["loaded"]
    assert written["ours"] == written["theirs"]
    whole = [[float(10 * row + column) for column in range(10)] for row in range(7)]
    cube = [[[float(12 * i + 3 * j + k) for k in range(3)] for j in range(4)] for i in range(2)]
    expected = {
        "rows": whole,
        "columns": whole,
        "both": [[2 * x for x in row] for row in whole],
        "half": whole,
        "cube": cube,
    }
    for who, of_ranks in read.items():
        for found in of_ranks:
            assert found == dict.fromkeys(("together", "in_files", "apart", "every_rank", "afterwards"), expected), who
