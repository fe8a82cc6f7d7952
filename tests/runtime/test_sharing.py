"""Tensors whose memory other processes share."""

import os
import time

import pytest
import torch
import torch.multiprocessing as mp


def fill(x, value):
    x.fill_(value)


def answer(queue, end):
    queue.put([torch.arange(3.0), torch.nn.Parameter(torch.ones(2)), torch.arange(4).view(2, 2).t()])
    end.wait(30)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_writes_what_the_parent_reads(method):
    x = torch.zeros(3).share_memory_()
    view = x[1:]
    process = mp.get_context(method).Process(target=fill, args=(x, 7))
    process.start(), process.join(60)
    assert process.exitcode == 0 and x.tolist() == [7, 7, 7] and view.tolist() == [7, 7] and view.is_shared()


def test_views_made_before_follow_their_storage():
    x = torch.zeros(4)
    view, whole = x[:2], x.numpy()
    x.share_memory_()
    x.fill_(5)
    assert view.tolist() == [5, 5] and whole.tolist() == [0, 0, 0, 0]


def test_what_comes_through_a_queue_is_shared():
    context = mp.get_context("fork")
    queue, end = context.Queue(), context.Event()
    process = context.Process(target=answer, args=(queue, end))
    process.start()
    plain, parameter, turned = queue.get(timeout=30)
    end.set()
    process.join(30)
    assert (
        plain.tolist() == [0, 1, 2]
        and plain.is_shared()
        and type(parameter) is torch.nn.Parameter
        and parameter.requires_grad
    )
    assert turned.tolist() == [[0, 2], [1, 3]] and turned.stride() == (1, 2)


def test_one_storage_stays_one_storage():
    from multiprocessing.reduction import ForkingPickler

    x = torch.arange(4.0)
    a, b = mp.reductions.ForkingPickler.loads(ForkingPickler.dumps((x, x[2:])))
    b.fill_(9)
    assert a.tolist() == [0, 1, 9, 9] and x.tolist() == [0, 1, 9, 9]


def test_what_comes_back_to_its_own_process_is_one_memory():
    context = mp.get_context("fork")
    queue, x = context.SimpleQueue(), torch.arange(6.0).view(2, 3)
    queue.put([x.storage(), x, x[1], x.untyped_storage()])
    typed, *tensors, untyped = queue.get()
    assert typed.dtype is torch.float32 and typed._cdata == x.storage()._cdata == untyped._cdata
    assert [t.data_ptr() for t in tensors] == [x.data_ptr(), x[1].data_ptr()]
    tensors[0].fill_(3)
    assert x.tolist() == [[3] * 3] * 2 and typed.tolist() == [3] * 6


def test_a_fork_waits_for_the_kernels_of_other_threads():
    import threading

    stop = []

    def work():
        x = torch.randn(32, 32)
        while not stop:
            x = (x @ x).tanh()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            if (pid := os.fork()) == 0:
                os._exit(0 if (torch.ones(8, 8) @ torch.ones(8, 8)).sum().item() == 512 else 1)
            end = time.time() + 30
            while not (done := os.waitpid(pid, os.WNOHANG))[0]:
                assert time.time() < end, "the child hangs"
                time.sleep(0.001)
            assert done[1] == 0
    finally:
        stop.append(1)
        thread.join()
