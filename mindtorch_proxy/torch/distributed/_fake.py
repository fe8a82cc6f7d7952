"""The "fake" backend: one process that acts as one rank of many.

Collectives return results of the right shape, but no data is exchanged. It is meant for trying out programs.
"""

from datetime import timedelta

from ._process_group import Backend
from ._types import Work


class FakeWork(Work):
    """A work that is complete at once."""

    def __init__(self, tensors=()):
        super().__init__()
        self._result = list(tensors)

    def wait(self, timeout=timedelta(0)):
        """Return True immediately."""
        return True

    def get_future(self):
        """Return a completed future."""
        if not self._event.is_set():
            self._finish(self._result)
        return super().get_future()


def _flat(tensors):
    return [t for each in tensors for t in (each if isinstance(each, (list, tuple)) else [each])]


class FakeProcessGroup(Backend):
    """A group whose collectives never communicate.

    Where a collective receives data, the other ranks' tensors are assumed equal to this rank's. Other tensors are left
    unchanged.
    """

    @classmethod
    def _create_internal(cls, rank, world_size, options=None):
        made = cls(rank, world_size)
        made._options = options
        return made

    def _get_backend_name(self):
        return "fake"

    def _nothing(self, tensors=(), *rest):
        self._sequence += 1
        return FakeWork(tensors if isinstance(tensors, (list, tuple)) else [tensors])

    allreduce = allreduce_coalesced = broadcast = reduce = barrier = monitored_barrier = _nothing
    send = recv = recv_anysource = _nothing

    def _filled(self, outputs, inputs):
        for output, given in zip(outputs, inputs):
            output.copy_(given)
        return self._nothing(outputs)

    def _gathered(self, outputs, inputs):
        return self._filled(_flat(outputs), [x for x, each in zip(inputs, outputs) for _ in each])

    def allgather(self, outputs, inputs, options):
        """Fill every output with this rank's input."""
        return self._gathered(outputs, inputs)

    def allgather_coalesced(self, outputs, inputs, options):
        """Fill every rank's outputs with this rank's inputs."""
        return self._filled(_flat(outputs), [x for each in outputs for x in inputs])

    def _allgather_base(self, output, input, options):
        return self._filled(output.chunk(self._size), [input] * self._size)

    def allgather_into_tensor_coalesced(self, outputs, inputs, options):
        """Fill every chunk of each output with this rank's input."""
        for output, given in zip(outputs, inputs):
            self._allgather_base(output, given, options)
        return self._nothing(outputs)

    def gather(self, outputs, inputs, options):
        """Fill every output with this rank's input."""
        return self._gathered(outputs, inputs)

    def scatter(self, outputs, inputs, options):
        """Copy the root's own entry on the root; do nothing on other ranks."""
        return self._filled(outputs, [each[self._rank] for each in inputs]) if inputs else self._nothing(outputs)

    def reduce_scatter(self, outputs, inputs, options):
        """Copy this rank's entry of its own inputs."""
        return self._filled(outputs, [each[self._rank] for each in inputs])

    def _reduce_scatter_base(self, output, input, options):
        return self._filled([output], [input.chunk(self._size)[self._rank]])

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, options):
        """Copy this rank's chunk of each of its own inputs."""
        return self._filled(outputs, [x.chunk(self._size)[self._rank] for x in inputs])

    def alltoall(self, outputs, inputs, options):
        """Copy this rank's own inputs to the outputs."""
        return self._filled(outputs, inputs)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, options):
        """Copy this rank's own input to the output."""
        return self._filled([output], [input])


for _cls in (FakeProcessGroup, FakeWork):
    _cls.__module__ = "torch._C._distributed_c10d"
