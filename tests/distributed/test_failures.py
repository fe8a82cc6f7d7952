"""Ranks that are late, die, raise, or run something else: the others get an error that says so, in time."""

import importlib.util
import json
import socket
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAM = HERE / "failure_programs.py"
spec = importlib.util.spec_from_file_location("distributed_conftest", HERE / "conftest.py")
processes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(processes)
TIMEOUT = 2.5  # of the programs' group
LONG = 8.0  # the time-out, the second in which ranks tell what they know, and a busy machine


def run(scenario, size=2, **variables):
    """{rank: what it printed}; a rank that ended without a word is missing."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    started = processes.start(lambda rank: [PROGRAM, port, rank, size, scenario], size, **variables)
    done = processes.finish(started, 90)
    found = {}
    for rank, (_, output) in enumerate(done):
        for line in output.splitlines():
            if line.startswith("FOUND"):
                found[rank] = json.loads(line.removeprefix("FOUND "))
    assert found, done
    return found


def error(found, rank):
    assert "error" in found[rank], found
    assert found[rank]["seconds"] < LONG, found
    return found[rank]["error"]


def test_a_late_rank():
    found = run("late", 3)
    for rank in range(3):
        text = error(found, rank)
        assert (
            found[rank]["type"] == "DistBackendError"
            and f"[Rank {rank}] all_reduce #3 ([5, 2] float32, SUM) failed" in text
        )
    assert "after waiting for the other ranks" in error(found, 0) + error(
        found, 2
    ) and "nothing was heard from rank(s) 1" in error(found, 0) + error(found, 2)
    assert "The first failure: [Rank" in error(found, 1)


@pytest.mark.parametrize(
    "scenario",
    [
        "killed_in_collective",
        pytest.param("killed", marks=pytest.mark.slow),
        pytest.param("raises", marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_dies(scenario):
    found = run(scenario, 3)
    assert sorted(found) == [0, 2]
    name = {
        "killed_in_collective": "reduce_scatter_tensor #3 ([12] float32, SUM)",
        "killed": "all_gather #3 ([7] float32)",
        "raises": "broadcast #3",
    }[scenario]
    for rank in (0, 2):
        text = error(found, rank)
        assert (
            found[rank]["type"] == "DistBackendError"
            and f"[Rank {rank}] {name}" in text
            and "nothing was heard from rank(s) 1" in text
        )


@pytest.mark.parametrize(
    "scenario, shown",
    [
        ("shape", ("all_reduce #3 ([4] float32, SUM)", "all_reduce #3 ([5] float32, SUM)")),
        ("collective", ("all_reduce #3 ([4] float32, SUM)", "broadcast #3 ([4] float32, root 0)")),
        pytest.param(
            "dtype", ("all_reduce #3 ([4] float32, SUM)", "all_reduce #3 ([4] int32, SUM)"), marks=pytest.mark.slow
        ),
        pytest.param(
            "operation",
            ("all_reduce #3 ([4] float32, SUM)", "all_reduce #3 ([4] float32, MAX)"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "root", ("broadcast #3 ([4] float32, root 0)", "broadcast #3 ([4] float32, root 1)"), marks=pytest.mark.slow
        ),
        pytest.param("skipped", ("all_reduce #5 ([4] float32, SUM)", "barrier #5"), marks=pytest.mark.slow),
    ],
)
def test_ranks_that_run_something_else(scenario, shown):
    found = run(scenario)
    for rank in range(2):
        text = error(found, rank)
        assert (
            found[rank]["type"] == "DistBackendError"
            and f"[Rank {rank}] {shown[rank]} failed" in text
            and shown[1 - rank] in text
        )


def test_in_detail_mistakes_are_found_before_anything_is_sent():
    found = run("different", TORCH_DISTRIBUTED_DEBUG="DETAIL")
    for rank in range(2):
        errors, last = found[rank]["result"]
        assert last == [2.0, 2.0] and [kind for kind, _ in errors] == ["RuntimeError"] * 6
        for _, text in errors:
            assert (
                f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: " in text
                and "#" in text
            )
    assert "all_reduce #3 ([4] float32, SUM)" in errors[0][1] and "all_reduce #3 ([5] float32, SUM)" in errors[0][1]
    assert found[0]["seconds"] < LONG


def test_a_group_that_has_failed_says_so_and_others_go_on():
    for rank, got in run("after").items():
        texts, seconds, other = got["result"]
        assert len(texts) == 2 and all(f"[Rank {rank}] the process group cannot be used any more" in t for t in texts)
        assert seconds < 2 and other == [2.0, 2.0]


@pytest.mark.slow
def test_works_and_futures_carry_the_error():
    assert run("in_flight")[0]["result"] == [["DistBackendError"] * 3, True, False, "DistBackendError"]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["message", "unsent"])
def test_messages_that_do_not_come(scenario):
    assert "recv of [3] float32 on rank 0 from rank 1 (tag 0) failed" in error(run(scenario), 0)


@pytest.mark.slow
def test_a_message_of_another_size():
    assert error(run("wrong_size"), 0) == "rank 0 received 20 bytes from rank 1 (tag 0), but its tensor has 12"


@pytest.mark.slow
def test_monitored_barrier_names_who_is_missing():
    found = run("barrier", 3)
    assert error(found, 0).startswith("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 2000 ms")
    assert "Rank 1 successfully reached monitoredBarrier" in error(found, 1)


def test_a_replica_that_is_killed_in_backward():
    text = error(run("replica"), 0)
    assert "[Rank 0] all_reduce #" in text and "nothing was heard from rank(s) 1" in text


@pytest.mark.slow
def test_replicas_of_other_shapes():
    found = run("models")
    assert [error(found, r)[:36] for r in range(2)] == [
        f"[{r}]: params[0] in this process with s"[:36] for r in range(2)
    ]


def test_a_rank_that_never_comes():
    code = (
        "import torch.distributed as dist, datetime, sys\n"
        "dist.init_process_group('gloo', init_method=sys.argv[1], rank=0, world_size=2, "
        "timeout=datetime.timedelta(seconds=2))\n"
    )
    started = time.monotonic()
    ((status, output),) = processes.finish(
        processes.start(lambda rank: ["-c", code, "tcp://127.0.0.1:0".replace(":0", f":{_port()}")], 1), 60
    )
    assert (
        status == 1
        and "num_workers_joined=1" in output
        and "world_size=2" in output
        and time.monotonic() - started < 30
    ), output


def _port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_thousand_rounds_with_late_ranks(both, size):
    ours, theirs = both("endurance_programs", ("rounds",), size)
    for rank in range(size):
        results, before, after = ours["rounds"][rank]
        assert len(results) == 1000
        assert results == theirs["rounds"][rank][0]
        assert after["sockets"] == before["sockets"] and after["threads"] == before["threads"], (before, after)
        # a piece of shared memory for each collective in flight: with more processes than cores there may once be more
        # of them than before
        assert all(a - b <= 2 for a, b in zip(after["files"], before["files"], strict=True)), (before, after)
        for name in ("memory", "engine memory"):
            assert after[name] - before[name] < 8 << 20, (before, after)
