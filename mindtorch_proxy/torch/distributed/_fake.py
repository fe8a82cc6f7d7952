"""A backend of one process that says it is of several: shapes are those of collectives, but nothing is exchanged.

For trying programs out.
"""

from datetime import timedelta

from ._process_group import Backend
from ._types import Work


class FakeWork(Work):
    """Nothing to wait for."""

    def __init__(self, tensors=()):
        super().__init__()
        self._result = list(tensors)

    def wait(self, timeout=timedelta(0)):
        """At once."""
        return True

    def get_future(self):
        """A Future that is done."""
        if not self._event.is_set():
            self._finish(self._result)
        return super().get_future()


def _flat(tensors):
    return [t for each in tensors for t in (each if isinstance(each, (list, tuple)) else [each])]


class FakeProcessGroup(Backend):
    """The other ranks' tensors are as this one's, where something must come in; else tensors stay as they are."""

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
        """Each rank's is this one's."""
        return self._gathered(outputs, inputs)

    def allgather_coalesced(self, outputs, inputs, options):
        """Each rank's is this one's."""
        return self._filled(_flat(outputs), [x for each in outputs for x in inputs])

    def _allgather_base(self, output, input, options):
        return self._filled(output.chunk(self._size), [input] * self._size)

    def allgather_into_tensor_coalesced(self, outputs, inputs, options):
        """Each rank's is this one's."""
        for output, given in zip(outputs, inputs):
            self._allgather_base(output, given, options)
        return self._nothing(outputs)

    def gather(self, outputs, inputs, options):
        """Each rank's is this one's."""
        return self._gathered(outputs, inputs)

    def scatter(self, outputs, inputs, options):
        """The root's own share, at the root."""
        return self._filled(outputs, [each[self._rank] for each in inputs]) if inputs else self._nothing(outputs)

    def reduce_scatter(self, outputs, inputs, options):
        """This rank's share of its own."""
        return self._filled(outputs, [each[self._rank] for each in inputs])

    def _reduce_scatter_base(self, output, input, options):
        return self._filled([output], [input.chunk(self._size)[self._rank]])

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, options):
        """This rank's shares of its own."""
        return self._filled(outputs, [x.chunk(self._size)[self._rank] for x in inputs])

    def alltoall(self, outputs, inputs, options):
        """This one's own pieces."""
        return self._filled(outputs, inputs)

    def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, options):
        """This one's own pieces."""
        return self._filled([output], [input])


for _cls in (FakeProcessGroup, FakeWork):
    _cls.__module__ = "torch._C._distributed_c10d"
