"""Two hosts: network namespaces with a cable between them, where the machine lets us make some."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_proxy.activate import child_environment

WORKER = Path(__file__).resolve().parent / "worker.py"
ADDRESSES = ("10.231.7.1", "10.231.7.2")


@pytest.fixture
def hosts():
    """Two names for `ip netns exec`; each host has an interface named cable0."""
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip")
    names = [f"mindtorch-{os.getpid()}-{i}" for i in range(2)]

    def ip(*arguments):
        return subprocess.run(["ip", *arguments], capture_output=True, text=True)

    try:
        if any(ip("netns", "add", name).returncode for name in names):
            pytest.skip("this machine does not let us make network namespaces")
        made = ip(
            "link", "add", "cable0", "netns", names[0], "type", "veth", "peer", "name", "cable0", "netns", names[1]
        )
        if made.returncode:
            pytest.skip(f"this machine does not let us connect network namespaces: {made.stderr.strip()}")
        for name, address in zip(names, ADDRESSES):
            for command in (f"addr add {address}/24 dev cable0", "link set cable0 up", "link set lo up"):
                assert ip("-n", name, *command.split()).returncode == 0
        yield names
    finally:
        for name in names:
            ip("netns", "del", name)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("interface", [None, pytest.param("cable0", marks=pytest.mark.nightly)])
def test_two_hosts(hosts, interface, finished):
    merged = os.environ | child_environment() | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    merged |= {"GLOO_SOCKET_IFNAME": interface} if interface else {}
    options = ["--nnodes=2", "--nproc-per-node=2", f"--master-addr={ADDRESSES[0]}", "--master-port=29500"]
    started = [
        subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                name,
                sys.executable,
                "-m",
                "torch.distributed.run",
                *options,
                f"--node-rank={i}",
                str(WORKER),
            ],
            env=merged,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i, name in enumerate(hosts)
    ]
    done = [finished(process) for process in started]
    assert [status for status, _ in done] == [0, 0], done
    for node, (_, output) in enumerate(done):
        found = [
            (ast.literal_eval(m[1]), ast.literal_eval(m[2])) for m in re.finditer(r"RESULT (\[.*?\]) (\{.*?\})", output)
        ]
        assert [sums for sums, _ in found] == [[10.0, 10.0]] * 2
        assert {where["GROUP_RANK"] for _, where in found} == {str(node)}
        assert {where["RANK"] for _, where in found} == {str(2 * node), str(2 * node + 1)}
