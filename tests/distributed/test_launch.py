"""torchrun, and starting processes from a program."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

WORKER = Path(__file__).resolve().parent / "worker.py"


def results(output):
    """[(numbers, environment, arguments), ...] by rank."""
    found = [re.search(r"RESULT (\[.*?\]) (\{.*?\}) (\[.*\])", line) for line in output.splitlines()]
    return sorted(([ast.literal_eval(g) for g in m.groups()] for m in found if m), key=lambda r: r[1]["RANK"])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_ranks_meet_and_know_their_place(launch, finished):
    status, output = finished(
        launch("--standalone", "--nproc-per-node=2", "--role", "trainer", WORKER, "--option", "x")
    )
    assert status == 0, output
    (sum0, first, arguments), (sum1, second, _) = results(output)
    assert sum0 == sum1 == [3.0, 3.0] and arguments == ["--option", "x"]
    assert first == {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "0",
        "ROLE_RANK": "0",
        "ROLE_NAME": "trainer",
        "TORCHELASTIC_RESTART_COUNT": "0",
    }
    assert (second["RANK"], second["LOCAL_RANK"], second["ROLE_RANK"]) == ("1", "1", "1")


def test_a_worker_that_raises_ends_the_others_and_says_why(launch, finished, tmp_path):
    started = time.monotonic()
    status, output = finished(
        launch("--nproc-per-node=2", "--log-dir", tmp_path, "--redirects=0:3", "--tee=1:3", WORKER, "raise")
    )
    assert status == 1 and time.monotonic() - started < 40, output
    for words in (
        "worker.py FAILED",
        "rank      : 1 (local_rank: 1)",
        "exitcode  : 1",
        "ValueError: this rank raises",
        "[default1]:RESULT",
    ):
        assert words in output, output
    assert "[default0]" not in output
    (run,) = tmp_path.iterdir()
    assert "RESULT" in (run / "attempt_0" / "0" / "stdout.log").read_text()
    written = json.loads((run / "attempt_0" / "1" / "error.json").read_text())
    assert (
        written["message"]["message"] == "ValueError: this rank raises"
        and "worker.py" in written["message"]["extraInfo"]["py_callstack"]
    )


def test_a_killed_worker_is_named_with_its_signal(launch, finished):
    status, output = finished(launch("--nproc-per-node=2", WORKER, "kill"))
    assert status == 1 and "SIGKILL" in output and "rank      : 1" in output, output


def test_workers_start_again_after_a_failure(launch, finished):
    status, output = finished(launch("--nproc-per-node=2", "--max-restarts=1", WORKER, "exit"))
    assert status == 0, output
    assert sorted((r[1]["RANK"], r[1]["TORCHELASTIC_RESTART_COUNT"]) for r in results(output)) == [
        ("0", "0"),
        ("0", "1"),
        ("1", "0"),
        ("1", "1"),
    ]


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_two_launchers_of_one_job(launch, finished, backend):
    port = free_port()
    if backend == "static":
        nodes = [
            launch("--nnodes=2", f"--node-rank={i}", "--master-addr=127.0.0.1", f"--master-port={port}", WORKER)
            for i in range(2)
        ]
    else:
        options = [
            "--nnodes=2",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint=127.0.0.1:{port}",
            "--rdzv-id=job",
            "--max-restarts=1",
        ]
        nodes = [launch(*options, WORKER, "exit") for _ in range(2)]
    done = [finished(n) for n in nodes]
    assert [status for status, _ in done] == [0, 0], done
    found = results("".join(output for _, output in done))
    assert all(sums == [3.0, 3.0] for sums, _, _ in found) and {r[1]["GROUP_RANK"] for r in found} == {"0", "1"}
    assert len(found) == (2 if backend == "static" else 4)


def test_a_signal_to_the_launcher_ends_the_workers(launch, finished, tmp_path):
    script = tmp_path / "sleeper.py"
    script.write_text(
        f"import os, time\nopen(r'{tmp_path}/' + str(os.getpid()) + '.pid', 'w').close()\ntime.sleep(100)\n"
    )
    process = launch("--nproc-per-node=2", script)
    while len(list(tmp_path.glob("*.pid"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    status, output = finished(process, 30)
    assert status != 0 and "got signal: 15" in output
    for path in tmp_path.glob("*.pid"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.stem), 0)


def test_the_old_launcher_hands_over_the_local_rank(launch, finished):
    status, output = finished(launch("--nproc-per-node=2", WORKER, module="torch.distributed.launch"))
    assert status == 0 and [r[2] for r in results(output)] == [["--local-rank=0"], ["--local-rank=1"]], output


def test_torchrun_by_the_command_that_activates():
    main = "import sys; from mindtorch_proxy.commands import main; sys.exit(main())"
    command = [sys.executable, "-c", main, "run", "torchrun", "--standalone", "--nproc-per-node=1", WORKER]
    merged = os.environ | child_environment(active=False) | {"PATH": "/usr/bin:/bin"}  # no torchrun there
    merged = {k: v for k, v in merged.items() if v is not None}
    done = subprocess.run(list(map(str, command)), env=merged, cwd="/", capture_output=True, text=True, timeout=90)
    assert done.returncode == 0 and "RESULT [1.0, 1.0]" in done.stdout, done.stderr


def test_functions_are_launched_and_give_results(launch, finished, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from torch.distributed.launcher.api import LaunchConfig, elastic_launch\n"
        "from torch.distributed.elastic.multiprocessing.errors import ChildFailedError\n"
        "import worker\n"
        "if __name__ == '__main__':\n"
        "    config = lambda: LaunchConfig(1, 1, 2, rdzv_backend='c10d', rdzv_endpoint='localhost:0', max_restarts=0)\n"
        "    print('VALUES', elastic_launch(config(), worker.function)(3, 4))\n"
        "    try:\n"
        "        elastic_launch(config(), worker.function)(3, 'x')\n"
        "    except ChildFailedError as error:\n"
        "        print('FAILED', error.name, sorted(error.failures), 'TypeError' in str(error))\n"
    )
    status, output = finished(launch(program, module="mindtorch_proxy"))
    assert status == 0 and "VALUES {0: (15, '0'), 1: (15, '1')}" in output, output
    assert re.search(r"FAILED function \[.*\] True", output), output


def test_spawned_processes_form_a_group(launch, finished, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch.multiprocessing as mp, worker\n"
        "if __name__ == '__main__':\n"
        "    mp.spawn(worker.spawned, args=(sys.argv[1] + '/a',), nprocs=2)\n"
        "    try:\n"
        "        mp.spawn(worker.failing, args=(sys.argv[1] + '/b',), nprocs=2)\n"
        "    except mp.ProcessRaisedException as error:\n"
        "        print('this one raises' in str(error))\n"
    )
    status, output = finished(launch(program, tmp_path, module="mindtorch_proxy"))
    assert status == 0 and output.strip().splitlines()[-1] == "True", output


def test_options_are_read(monkeypatch):
    import torch.distributed.run as run
    from torch.distributed.elastic.multiprocessing import Std

    monkeypatch.setenv("OMP_NUM_THREADS", "")  # so that it is gone again after the test
    monkeypatch.delenv("OMP_NUM_THREADS")
    config, command, arguments = run.config_from_args(
        run.parse_args(["--nnodes=1:3", "--nproc_per_node", "2", "-m", "package.module", "--x", "1"])
    )
    assert (config.min_nodes, config.max_nodes, config.nproc_per_node, command) == (1, 3, 2, sys.executable)
    assert arguments == ["-u", "-m", "package.module", "--x", "1"] and os.environ["OMP_NUM_THREADS"] == "1"
    assert Std.from_str("0:1,1:2") == {0: Std.OUT, 1: Std.ERR} and Std.from_str("3") is Std.ALL
    with pytest.raises(ValueError):
        Std.from_str("x")
    with pytest.raises(RuntimeError):
        run.parse_min_max_nnodes("1:2:3")
