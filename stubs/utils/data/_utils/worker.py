"""The code that runs in a worker process of the DataLoader."""

import os
import queue
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper

from .. import graph_settings
from ..datapipes.datapipe import IterDataPipe, MapDataPipe
from ._waiting import MP_STATUS_CHECK_INTERVAL


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Information about a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


class ManagerWatchdog:
    """Checks whether the parent process is still alive."""

    def __init__(self):
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self):
        """Whether the parent is alive; a dead one stays dead."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


_worker_info = None


def get_worker_info():
    """Return the WorkerInfo of this process, or None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    seed: int | None = None


def _generate_state(base_seed, worker_id):
    """Return the seed of NumPy's global generator in a worker."""
    return np.random.SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def _seed_pipes(dataset, seed):
    """Give each random pipe of a dataset a seed derived from this one."""
    graph_settings.apply_random_seed(dataset, torch.Generator().manual_seed(seed))


def _worker_loop(
    make_fetcher,
    dataset_kind_is_iterable,
    index_queue,
    data_queue,
    done_event,
    base_seed,
    init_fn,
    worker_id,
    num_workers,
    parent,
    shared_seed,
):
    """Receive ``(number, indices)`` from one queue and send ``(number, batch)`` to the other, until None arrives."""
    global _worker_info
    try:
        torch.set_num_threads(1)
        seed = base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(_generate_state(base_seed, worker_id))
        dataset = make_fetcher.args[0]
        if shared_seed is not None:
            _seed_pipes(dataset, shared_seed)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, dataset)
        where = f"in DataLoader worker process {worker_id}"
        error = fetcher = None
        try:
            if isinstance(dataset, (IterDataPipe, MapDataPipe)):
                graph_settings.apply_sharding(dataset, num_workers, worker_id)
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = make_fetcher()
        except Exception:
            error = ExceptionWrapper(where=where)
        ended = False
        while os.getppid() == parent:
            try:
                request = index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if request is None:
                break
            if isinstance(request, _ResumeIteration):
                data_queue.put((request, None))
                if request.seed is not None:
                    _seed_pipes(dataset, request.seed)
                ended, fetcher = False, make_fetcher()
                continue
            if done_event.is_set() or ended:
                continue
            number, indices = request
            if error is not None:
                data, error = error, None
            else:
                try:
                    data = fetcher.fetch(indices)
                except Exception as e:
                    if isinstance(e, StopIteration) and dataset_kind_is_iterable:
                        data, ended = _IterableDatasetStopIteration(worker_id), True
                    else:
                        data = ExceptionWrapper(where=where)
            data_queue.put((number, data))
            del data, request, indices
    except KeyboardInterrupt:
        pass  # the main process raises this error
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
