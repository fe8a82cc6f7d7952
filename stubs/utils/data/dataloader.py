"""The DataLoader: batches of a dataset, loaded in this process or by workers."""

import errno
import functools
import itertools
import logging
import multiprocessing as python_multiprocessing
import os
import queue
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

import torch
from torch import multiprocessing

from . import _utils, graph_settings
from ._utils import ExceptionWrapper
from ._utils.collate import default_collate, default_convert
from ._utils.worker import _IterableDatasetStopIteration, _ResumeIteration, _seed_pipes, get_worker_info
from .datapipes.datapipe import (
    IterDataPipe,
    MapDataPipe,
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]
_T, _T_co = TypeVar("_T"), TypeVar("_T_co", covariant=True)
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]
logger = logging.getLogger(__name__)


class _DatasetKind:
    """Whether a dataset is map-style or iterable-style."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        cls = _utils.fetch._MapDatasetFetcher if kind == _DatasetKind.Map else _utils.fetch._IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """An infinite sampler of None, the index for iterable-style datasets."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """An iterable of collated batches of a dataset."""

    _iterator = None
    __initialized = False

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = (
            _IterDataPipeSerializationWrapper(dataset)
            if isinstance(dataset, IterDataPipe)
            else _MapDataPipeSerializationWrapper(dataset)
            if isinstance(dataset, MapDataPipe)
            else dataset
        )
        self.num_workers, self.pin_memory, self.pin_memory_device = num_workers, pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.timeout, self.worker_init_fn, self.in_order, self.generator = timeout, worker_init_fn, in_order, generator
        self.multiprocessing_context = multiprocessing_context
        stream = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if stream else _DatasetKind.Map
        if stream:
            # as in PyTorch, a shuffler added here does not become part of the dataset
            if isinstance(dataset, IterDataPipe):
                graph_settings.apply_shuffle_settings(dataset, shuffle)
                shuffle = None
            for name, value, allowed in (
                ("shuffle", shuffle, (False, None)),
                ("sampler", sampler, (None,)),
                ("batch_sampler", batch_sampler, (None,)),
            ):
                if not any(value is a for a in allowed):
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = (
                _InfiniteConstantSampler()
                if stream
                else RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )
        self.collate_fn = (
            collate_fn if collate_fn is not None else default_collate if self._auto_collation else default_convert
        )
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, attr, val):
        if self.__initialized and attr in (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        ):
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def multiprocessing_context(self):
        """The multiprocessing context that starts the workers, or None for the default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                    f"but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                        f"but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, python_multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self):
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def check_worker_number_rationality(self):
        """Warn if there are more workers than processors."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and processors and self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {processors}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=2,
            )


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._dataset, self._dataset_kind, self._collate_fn = loader.dataset, loader._dataset_kind, loader.collate_fn
        self._auto_collation, self._drop_last, self._index_sampler = (
            loader._auto_collation,
            loader.drop_last,
            loader._index_sampler,
        )
        self._num_workers, self._timeout, self._persistent_workers = (
            loader.num_workers,
            loader.timeout,
            loader.persistent_workers,
        )
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                f"pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                f"pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=2,
            )
        self._pin_memory, self._pin_memory_device = loader.pin_memory and torch.accelerator.is_available(), None
        grouped = torch.distributed.is_available() and torch.distributed.is_initialized()
        self._world_size, self._rank = (
            (torch.distributed.get_world_size(), torch.distributed.get_rank()) if grouped else (1, 0)
        )
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
                "be used.",
                stacklevel=2,
            )
        self._seed_pipes(loader)
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._make_fetcher = functools.partial(
            _make_fetcher, self._dataset, self._dataset_kind, self._auto_collation, self._collate_fn, self._drop_last
        )
        # not a subclass's method, because the subclass is not initialized yet
        _BaseDataLoaderIter._reset(self, loader, first_iter=True)

    def __iter__(self):
        return self

    def _seed_pipes(self, loader):
        """Draw the seed from which the random pipes in all processes derive theirs."""
        self._shared_seed = None
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
            _seed_pipes(self._dataset, self._shared_seed)

    def _reset(self, loader, first_iter=False):
        self._sampler_iter, self._num_yielded = iter(self._index_sampler), 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and expected is not None and self._num_yielded > expected:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {expected}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker."
                )
            warnings.warn(message, stacklevel=2)
        return _utils.pin_memory.pin_memory(data) if self._pin_memory else data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _sharding_worker_init_fn(worker_init_fn, world_size, rank_id, worker_id):
    """In a worker, apply the sharding of a pipe over ranks and workers, then call the user's worker_init_fn."""
    pipe, info = get_worker_info().dataset, get_worker_info()
    graph_settings.apply_sharding(pipe, world_size * info.num_workers, rank_id * info.num_workers + worker_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


def _make_fetcher(dataset, kind, auto_collation, collate_fn, drop_last):
    return _DatasetKind.create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            graph_settings.apply_sharding(self._dataset, 1, 0)
        self._dataset_fetcher = self._make_fetcher()

    def _next_data(self):
        return self._dataset_fetcher.fetch(self._next_index())


def _say_if_no_file_can_be_opened(error):
    """Raise RuntimeError with advice if the process has too many open files.

    Tensors from workers arrive as open files.
    """
    try:
        held = [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]
    except OSError as e:
        if e.errno == errno.EMFILE:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
                "using `ulimit -n` in the shell or change the sharing strategy by calling "
                "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
            ) from error
        return
    for fd in held:
        os.close(fd)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends numbered lists of indices to the workers in turn, and returns their batches.

    The batches are returned in order, or as they arrive if in_order is False.
    """

    _shut_down = True

    def __init__(self, loader):
        self._prefetch, self._in_order, self._workers = loader.prefetch_factor, loader.in_order, []
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._data_queue, self._done = context.Queue(), context.Event()
        self._index_queues = [context.Queue() for _ in range(loader.num_workers)]
        super().__init__(loader)
        self._reset(loader, first_iter=True)

    def _start(self, loader):
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._shut_down, self._pid = False, os.getpid()
        for i, index_queue in enumerate(self._index_queues):
            index_queue.cancel_join_thread()
            worker = context.Process(
                target=_utils.worker._worker_loop,
                daemon=True,
                args=(
                    self._make_fetcher,
                    self._dataset_kind == _DatasetKind.Iterable,
                    index_queue,
                    self._data_queue,
                    self._done,
                    self._base_seed,
                    loader.worker_init_fn,
                    i,
                    self._num_workers,
                    self._pid,
                    self._shared_seed,
                ),
            )
            worker.start()
            self._workers.append(worker)

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        self._sent = self._received = 0
        self._arrived, self._owner = {}, {}  # batches received, and the worker of each number sent
        self._alive, self._load = [True] * self._num_workers, [0] * self._num_workers
        self._turn = itertools.cycle(range(self._num_workers))
        if first_iter:
            self._start(loader)
            self._seed_pipes(loader)  # advances the generator; the workers have been started with the previous seed
        else:
            self._seed_pipes(loader)
            for q in self._index_queues:
                q.put(_ResumeIteration(self._shared_seed))
            waiting = self._num_workers
            while waiting:  # discard data of the last epoch, which arrive before the answers
                waiting -= isinstance(self._get_data()[0], _ResumeIteration)
        for _ in range(self._prefetch * self._num_workers):
            self._send()

    def _send(self):
        """Send the next indices to the next worker that is still active."""
        try:
            indices = self._next_index()
        except StopIteration:
            return
        room = self._prefetch * self._num_workers // max(sum(self._alive), 1)
        for _ in range(self._num_workers):
            worker = next(self._turn)
            if self._alive[worker] and (self._in_order or self._load[worker] < room):
                break
        else:
            return
        self._index_queues[worker].put((self._sent, indices))
        self._owner[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _get_data(self):
        """Return the next answer of any worker; raise an error if a worker died or the timeout expired."""
        end = time.monotonic() + self._timeout if self._timeout else None
        while True:
            try:
                return self._data_queue.get(timeout=0)
            except queue.Empty:
                pass
            except (OSError, RuntimeError) as error:
                _say_if_no_file_can_be_opened(error)
                raise
            dead = [w.pid for w, alive in zip(self._workers, self._alive) if alive and not w.is_alive()]
            if dead:
                try:
                    return self._data_queue.get(timeout=0.1)  # data sent before the worker ended
                except queue.Empty:
                    self._shutdown_workers()
                    raise RuntimeError(
                        f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly"
                    ) from None
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            wait(
                [self._data_queue._reader, *(w.sentinel for w, alive in zip(self._workers, self._alive) if alive)], left
            )

    def _next_data(self):
        while True:
            while self._in_order and self._received < self._sent and self._received not in self._owner:
                self._received += 1  # a worker that has ended did not answer this number
            if not self._owner:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number = self._received if self._in_order else next(iter(self._arrived), None)
            if number in self._arrived:
                data, worker = self._arrived.pop(number), self._owner.pop(number)
                self._received += 1
                self._load[worker] -= 1
                self._send()
                if isinstance(data, ExceptionWrapper):
                    data.reraise()
                return data
            number, data = self._get_data()
            if isinstance(data, _IterableDatasetStopIteration):
                self._end(data.worker_id)
            else:
                self._arrived[number] = data

    def _end(self, worker):
        """Handle the end of a worker's stream: its unanswered numbers will never be answered."""
        self._alive[worker] = False
        if not self._persistent_workers:
            self._index_queues[worker].put(None)
        for number in [n for n, w in self._owner.items() if w == worker and n not in self._arrived]:
            del self._owner[number]
            self._load[worker] -= 1
            self._send()

    def _shutdown_workers(self):
        # a forked copy must not end the workers, and at exit multiprocessing does
        if self._shut_down or os.getpid() != self._pid or sys.is_finalizing():
            return
        self._shut_down = True
        self._done.set()
        for q in self._index_queues:
            q.put(None)
        deadline = time.monotonic() + _utils.MP_STATUS_CHECK_INTERVAL
        for w in self._workers:
            w.join(timeout=max(0.1, deadline - time.monotonic()))
            if w.is_alive():
                w.terminate()
        for q in (*self._index_queues, self._data_queue):
            q.cancel_join_thread()
            q.close()

    def __del__(self):
        self._shutdown_workers()
