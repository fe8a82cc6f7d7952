"""Files of safetensors: what is written is read, here and by the real torch."""

import subprocess
import sys

PROGRAM = """
import sys
import torch
import torch.distributed.checkpoint as dcp

way, folder = sys.argv[1:]
state = {"a.weight": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2], dtype=torch.int64), "c": torch.ones(2, dtype=torch.bfloat16)}
if way == "save":
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(folder), no_dist=True)
else:
    found = {k: torch.zeros_like(v) for k, v in state.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(folder), no_dist=True)
    assert all(torch.equal(found[k], v) for k, v in state.items()), found
"""


def test_both_ways(oracle_python, tmp_path):
    ours, theirs = [sys.executable, "-m", "mindtorch_proxy"], [oracle_python, "-W", "ignore"]
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    for i, (writer, reader) in enumerate([(ours, ours), (ours, theirs), (theirs, ours)]):
        for command, way in ((writer, "save"), (reader, "load")):
            done = subprocess.run([*command, path, way, tmp_path / str(i)], capture_output=True, text=True, timeout=100)
            assert done.returncode == 0, done.stderr
