"""Run a program as several ranks, each with an emulated NPU: PYTHON ranks.py COUNT PROGRAM ARGUMENTS...

Prints one line of JSON: the exit codes. What a rank prints goes to the file OUT followed by its number, where OUT is a
variable. LAST_SECONDS: how long the ranks may take together, after which they are killed.
"""

import json
import os
import socket
import subprocess
import sys
import time


def main(count, *program):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    end = time.monotonic() + float(os.environ.get("LAST_SECONDS", 200))
    shared = os.environ | {"WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = []
    for rank in map(str, range(int(count))):
        with open(os.environ["OUT"] + rank, "w") as out:
            ranks.append(
                subprocess.Popen(
                    [sys.executable, "-m", "mindtorch_proxy", *program],
                    env=shared | {"RANK": rank, "LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"},
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            )
    try:
        print(json.dumps([r.wait(max(end - time.monotonic(), 0.1)) for r in ranks]))
    finally:
        for r in ranks:
            r.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
