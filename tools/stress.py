"""Threads, forks and shared memory under load.

    python -m mindtorch_proxy tools/stress.py [threads] [forks] [queue] [--threads 8] [--accumulations 10000] [--forks
    1000] [--tensors 10000]
threads: so many accumulations into one leaf, spread over threads: none may be lost. forks: so many while other threads
run kernels and draw random numbers; each child computes, draws and goes backward. queue: so many tensors to another
process, which is then killed in the midst of as many again:
nothing may stay in /dev/shm, nor may files stay open. Ends with 1 where something is wrong.
"""

import argparse
import os
import signal
import sys
import threading
import time

import torch
import torch.multiprocessing as mp


def accumulate(threads, total, elements=1):
    """The gradient of one leaf after `total` backward passes from `threads` threads, each of which adds 1: its least
    element.
    """
    leaf = torch.zeros(elements, requires_grad=True)

    def work(n):
        for _ in range(n):
            (leaf * 1.0).sum().backward()

    running = [threading.Thread(target=work, args=(total // threads + (i < total % threads),)) for i in range(threads)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return int(leaf.grad.min())


def in_child(f, seconds):
    """f in a forked child: "right", "wrong" or "hung"."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if f() else 1
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return "wrong" if status else "right"
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hung"


def _a_little_of_all(leaf):
    (torch.rand(8, 8, generator=torch.default_generator) @ leaf.expand(8, 8)).sum().backward()
    return leaf.grad.item() > 0 and (torch.ones(20, 20) @ torch.ones(20, 20)).sum().item() == 8000


def fork_under_load(forks, threads=2, seconds=60):
    """How many forked children were right, wrong and hung, while other threads compute.

    The first is forked while they load what they need.
    """
    leaf, stop, found = torch.ones(1, requires_grad=True), [], {"right": 0, "wrong": 0, "hung": 0}

    def work():
        while not stop:
            _a_little_of_all(leaf)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for t in running:
        t.start()
    try:
        for _ in range(forks):
            found[in_child(lambda: _a_little_of_all(leaf), seconds)] += 1
    finally:
        stop.append(1)
        for t in running:
            t.join()
    return found


def _consume(queue, got, stop_at):
    for i in range(stop_at):
        if queue.get()[-1].item() != i:
            break
        got.value = i + 1


def _shared_files():
    return sorted(os.listdir("/dev/shm"))


def through_a_queue(tensors):
    """(tensors that came, files in /dev/shm and open files more than before) of a consumer that takes all, and of one
    that is killed midway.
    """
    context = mp.get_context("fork")
    found = []
    for killed in (False, True):
        files, opened = _shared_files(), len(os.listdir("/proc/self/fd"))
        queue, got = context.Queue(32), context.Value("q", 0)
        process = context.Process(target=_consume, args=(queue, got, tensors), daemon=True)
        process.start()
        for i in range(tensors // 2 if killed else tensors):
            queue.put(torch.full((100,), float(i)))
        if killed:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        queue.cancel_join_thread()
        queue.close()
        came = got.value
        del queue, got, process
        found.append((came, sorted(set(_shared_files()) - set(files)), len(os.listdir("/proc/self/fd")) - opened))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    kinds = ["threads", "forks", "queue"]
    parser.add_argument("what", nargs="*", choices=[*kinds, []], help="all of them, where none is named")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--accumulations", type=int, default=10_000)
    parser.add_argument("--forks", type=int, default=1000)
    parser.add_argument("--tensors", type=int, default=10_000)
    args = parser.parse_args()
    ok = True
    for what in args.what or kinds:
        began = time.monotonic()
        if what == "threads":
            n = accumulate(args.threads, args.accumulations)
            good, told = n == args.accumulations, f"{args.threads} threads: {n} of {args.accumulations} accumulations"
        elif what == "forks":
            found = fork_under_load(args.forks)
            good, told = found["right"] == args.forks, f"{args.forks} forks: {found}"
        else:
            (came, left, opened), (came2, left2, opened2) = through_a_queue(args.tensors)
            good = came == args.tensors and not left and not left2
            told = (
                f"{came} tensors came, left in /dev/shm {left}, open files {opened:+}; killed after {came2}: "
                f"left {left2}, open files {opened2:+}"
            )
        print(f"{what:8s} {'right' if good else 'WRONG'}  {told}  ({time.monotonic() - began:.1f} s)", flush=True)
        ok &= good
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
