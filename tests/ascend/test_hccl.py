"""torch.distributed between emulated NPUs: every collective, training, streams, failures."""

import importlib.util
import json
import os
import re
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "hccl_programs.py"


class Ranks:
    """What became of the ranks: their exit codes and what they printed."""

    def __init__(self, done, folder):
        assert done.returncode == 0, done.stderr[-3000:]
        self.codes = json.loads(done.stdout.splitlines()[-1])
        self.texts = [(folder / f"out{r}").read_text() for r in range(len(self.codes))]

    def ended_well(self):
        assert not any(self.codes), "\n".join(self.texts)[-4000:]
        return [[line for line in t.splitlines() if line and line[0] != "["][-1] for t in self.texts]


@pytest.fixture
def ranks(launched, tmp_path):
    """ranks(count, name, *arguments, **variables): run a program of hccl_programs.py."""

    def run(count, name, *arguments, seconds=200, **variables):
        variables |= {"EMULATED_CANN_DEVICES": count, "OUT": tmp_path / "out", "LAST_SECONDS": seconds}
        command = [sys.executable, HERE / "ranks.py", count, PROGRAMS, name, *arguments]
        return Ranks(launched(*command, timeout=seconds + 60, **variables), tmp_path)

    return run


spec = importlib.util.spec_from_file_location("communication", HERE.parents[1] / "tools" / "communication.py")
communication = importlib.util.module_from_spec(spec)
sys.modules["communication"] = communication
spec.loader.exec_module(communication)
WORKERS = HERE.parent / "distributed"
ON_NPUS = {"EMULATED_CANN_DEVICES": 2, "WORKER_DEVICE": "npu", "OMP_NUM_THREADS": 1}
SIZES = [2, pytest.param(4, marks=pytest.mark.nightly)]
SIZES_TO_EIGHT = [*SIZES, pytest.param(8, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("size", SIZES_TO_EIGHT)
def test_collectives_are_those_of_gloo(size, ranks):
    assert ranks(size, "collectives").ended_well() == ["compared 92"] * size


@pytest.mark.parametrize("size", SIZES)
def test_groups_messages_and_objects_of_ranks_that_torchrun_starts(size, launched):
    run = [sys.executable, "-m", "mindtorch_proxy", "-m", "torch.distributed.run", "--nproc-per-node", size]
    run += ["--master-port", 29000 + os.getpid() % 3000]
    done = launched(*run, PROGRAMS, "groups", EMULATED_CANN_DEVICES=size, OMP_NUM_THREADS=1)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("right") == size


STEPS = [(3, 2), pytest.param(50, 4, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("count, size", STEPS)
def test_training_equals_one_process(count, size, ranks):
    programs = "training,tensor_parallel,pipelines,context"
    assert ranks(size, programs, count, seconds=200 + 8 * count).ended_well() == ["equal"] * size


@pytest.mark.parametrize("size", SIZES_TO_EIGHT)
def test_a_step_sends_what_is_computed(size, ranks, tmp_path):
    programs = communication.programs(size)
    assert (
        ranks(size, "step", *programs, seconds=400, EMULATED_CANN_ARGS=tmp_path / "calls").ended_well()
        == ["done"] * size
    )
    found = communication.counted(tmp_path / "calls", size)
    assert found == [communication.expected(program, size) for program in programs]


def test_the_page_on_scale_has_the_computed_table():
    assert communication.tables() in (HERE.parents[1] / "docs" / "scale.md").read_text()


def test_accelerate_launch(launched, tmp_path):
    pytest.importorskip("accelerate")
    command = [sys.executable, "-m", "mindtorch_proxy", "-m", "accelerate.commands.launch", "--num_processes=2"]
    command += ["--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--multi_gpu"]
    done = launched(*command, WORKERS / "accelerate_worker.py", tmp_path / "found", **ON_NPUS)
    assert done.returncode == 0, done.stderr[-3000:]
    found = torch.load(tmp_path / "found")
    assert (found["processes"], found["type"], found["device"]) == (2, "DistributedType.MULTI_NPU", "npu:0")
    assert found["model"] == "DistributedDataParallel"
    assert found["seen"] == 160 and found["equal"] and found["losses"][-1] < 0.01 * found["losses"][0]


@pytest.mark.nightly
def test_torchrun_starts_ranks_again(launched):
    run = [sys.executable, "-m", "mindtorch_proxy", "-m", "torch.distributed.run", "--standalone", "--max-restarts=1"]
    done = launched(*run, "--nproc-per-node=2", PROGRAMS, "restarts", **ON_NPUS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("right after 1") == 2


@pytest.mark.nightly
def test_trainer(launched, tmp_path):
    pytest.importorskip("transformers")
    command = [sys.executable, "-m", "mindtorch_proxy", "-m", "torch.distributed.run", "--standalone"]
    done = launched(*command, "--nproc-per-node=2", WORKERS / "trainer_worker.py", tmp_path, **ON_NPUS)
    assert done.returncode == 0, done.stderr[-3000:]
    found = torch.load(tmp_path / "found.pt")
    assert (found["world"], found["wrapped"], found["device"]) == (2, "DistributedDataParallel", "npu:0")
    assert found["steps"] == 12 and found["equal"] and sum(found["losses"][-4:]) < sum(found["losses"][:4])
    assert len(list(tmp_path.glob("checkpoint-*/model.safetensors"))) == 3


LATE = ",".join(f"1:AllReduce:{n}:1" for n in (2, 3, 4))


def test_the_host_never_waits_in_an_asynchronous_collective(ranks):
    assert ranks(2, "streams", EMULATED_CANN_RANK=LATE).ended_well() == ["in order"] * 2


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["tcp", "file"])
def test_other_ways_to_begin(method, ranks, tmp_path):
    assert ranks(2, "starts", method, tmp_path / "meeting").ended_well() == ["sum [2.0, 2.0]"] * 2


# ---------------------------------------------------------------- failures
SECONDS = 8  # of the groups' timeout


def told(text):
    """The error that a rank was told."""
    (found,) = set(re.findall(r"torch.distributed: (\[Rank \d\] .*)", text))
    return found


CALLS = ["all_reduce", "broadcast", "reduce", "all_gather", "all_gather_uneven", "gather", "scatter", "reduce_scatter"]
CALLS += ["reduce_scatter_uneven", "all_to_all", "all_to_all_uneven", "coalesced", "objects", "barrier", "messages"]
CALLS += ["one message"]
DEAD = [("all_reduce", "reads")]
DEAD += [pytest.param(n, r, marks=pytest.mark.nightly) for n in CALLS for r in ("goes on", "reads")]


@pytest.mark.parametrize("name, reads", DEAD)
def test_a_rank_that_dies_inside_a_collective(name, reads, ranks):
    done = ranks(2, "failure", name, SECONDS, reads, EMULATED_CANN_RANK="1:*:2:die")
    error = told(done.texts[0])
    assert done.codes == [1, -9] and "rank 1 has not been heard of for" in error
    assert re.match(r"\[Rank 0\] \w+( #\d+)? (\(.*)?failed: ", error)
    if name in ("all_reduce", "broadcast", "barrier"):
        assert name in error


@pytest.mark.nightly
def test_a_rank_that_does_not_come(ranks):
    done = ranks(2, "lagging", 4)
    error = told(done.texts[0])
    assert done.codes == [1, 1] and "[Rank 0] all_reduce #2 ([4] float32, SUM) failed: it did not end within" in error
    assert "rank 1 was at all_reduce #1" in error


@pytest.mark.nightly
def test_wrong_counts_are_an_error_on_every_rank(ranks):
    done = ranks(2, "failure", "all_reduce", 60, "reads", EMULATED_CANN_RANK="1:AllReduce:2:fewer")
    assert done.codes == [1, 1] and all("counts differ" in t or "failed" in t for t in done.texts), done.texts


def test_an_error_inside_a_collective_is_raised_by_what_waits_for_it(ranks):
    assert ranks(2, "refused_inside", EMULATED_CANN_RANK="1:AllReduce:1:fewer").ended_well() == ["told"] * 2


@pytest.mark.nightly
def test_a_thousand_rounds_with_a_late_rank(ranks):
    late = ",".join(f"1:AllReduce:{n}:0.05" for n in range(10, 600, 10))
    assert ranks(2, "rounds", 1000, EMULATED_CANN_RANK=late).ended_well() == ["right"] * 2


def test_a_function_of_hccl_without_a_rule_fails(launched, cann):
    program = "import ctypes; print(ctypes.CDLL('libhccl.so').HcomGatherAllToAllV())"
    done = launched(sys.executable, "-c", program)
    assert done.stdout.strip() == "561000", done.stderr[-2000:]
