"""Communication between NPUs: MindSpore's engine over HCCL, the groups in it, and the collectives of a group.

The engine knows one world in a process, whose ranks all start together; every group is made of ranks of that world.
A collective is launched in a stream of its own and returns at once, with a handle whose `wait()` makes the current
stream wait for it.
"""

from datetime import timedelta

from ...runtime import launches, pyboost
from . import devices
from .kernels import primitive

WORLD = "hccl_world_group"
SEND, RECEIVE = 0, 1  # the two kinds of message, as the batched primitive numbers them
_open: list = []  # the names of the groups that are open; the engine runs as long as there is one


def running():
    """Whether the engine of this process has been started."""
    return bool(_open)


@launches.reporting
def start(address, rank, size, seconds):
    """Start the engine and return its world. Keeps Python's lock until all ranks have come.

    address: tcp://HOST:PORT at which rank 0 listens, for the engine alone.
    """
    devices.start(None)
    with pyboost.on("Ascend") as ms:
        ms.mint.distributed.init_process_group(
            "hccl", init_method=address, timeout=timedelta(seconds=seconds), world_size=size, rank=rank
        )
    return Communicator(WORLD, rank, size)


@launches.reporting
def group(name, ranks, rank):
    """Open a group and return it; only its members call this. Keeps Python's lock until all of them have.

    ranks: the ranks in the world; rank: the place of this process among them.
    """
    with pyboost.on("Ascend") as ms:
        ms.communication.create_group(name, list(ranks))
    return Communicator(name, rank, len(ranks))


def _memory(tensor):
    return tensor._mstensor()


class Communicator:
    """A group of NPUs.

    All tensors are on this process's NPU and contiguous. Where a tensor holds something for each rank, it is flat.
    Ranks are ranks in the group. op: "sum", "prod", "min" or "max".
    """

    def __init__(self, name, rank, size):
        self._name, self._rank, self._size = name, rank, size
        _open.append(name)

    @staticmethod
    def _launch(name, *args):
        out = primitive(f"DistComm{name}")(*args)
        return out[-1] if isinstance(out, tuple) else out

    def all_reduce(self, tensor, op):
        """Reduce in place."""
        return self._launch("AllReduce", _memory(tensor), op, self._name)

    def reduce(self, tensor, op, root):
        """Reduce in place, on the root."""
        return self._launch("Reduce", _memory(tensor), op, root, self._name)

    def broadcast(self, tensor, root):
        """Copy the root's tensor."""
        return self._launch("Broadcast", _memory(tensor), root, self._rank, self._name)

    def all_gather(self, output, tensor):
        """Gather equal shares into the output of every rank."""
        return self._launch("AllGatherIntoTensor", _memory(output), _memory(tensor), self._size, self._name)

    def all_gather_uneven(self, output, tensor, counts):
        """Gather shares of `counts` elements."""
        arguments = _memory(output), _memory(tensor), list(counts), self._size, self._name
        return self._launch("AllGatherIntoTensorUneven", *arguments)

    def reduce_scatter(self, output, tensor, op):
        """Reduce, and keep this rank's share."""
        return self._launch("ReduceScatterTensor", _memory(output), _memory(tensor), self._size, op, self._name)

    def reduce_scatter_uneven(self, output, tensor, counts, op):
        """Reduce, and keep this rank's share; rank i's has counts[i] elements."""
        arguments = _memory(output), _memory(tensor), list(counts), self._size, op, self._name
        return self._launch("ReduceScatterTensorUneven", *arguments)

    def all_to_all(self, output, tensor, received, sent):
        """Send sent[i] elements to rank i and receive received[i] from it."""
        even = len({*sent, *received}) == 1
        arguments = _memory(output), _memory(tensor), self._name, list(sent), list(received), self._size, even
        return self._launch("AllToAllVSingle", *arguments)

    def gather(self, output, tensor, root):
        """Gather equal shares on the root; on the others the output is not written."""
        arguments = _memory(output), _memory(tensor), self._size, root, self._rank, self._name
        return self._launch("GatherIntoTensor", *arguments)

    def scatter(self, output, tensor, root):
        """Give each rank its share of the root's tensor, which on the others is not read."""
        arguments = _memory(output), _memory(tensor), self._size, root, self._rank, self._name
        return self._launch("ScatterTensor", *arguments)

    def send(self, tensor, target):
        """Send a tensor; the other rank's `receive` must come."""
        return self._launch("Isend", _memory(tensor), target, self._name, 0)

    def receive(self, tensor, source):
        """Receive a tensor from a rank."""
        return self._launch("Irecv", _memory(tensor), 0, source, self._name)

    def messages(self, tensors, kinds, peers):
        """Send and receive several tensors at once, in any order."""
        return self._launch("BatchIsendIrecv", [_memory(t) for t in tensors], self._name, list(kinds), list(peers))

    def barrier(self):
        """Wait for all ranks, in the stream."""
        return self._launch("Barrier", self._name)

    @launches.reporting
    def close(self):
        """Close the group, and with the last one the engine. May be called twice."""
        if self._name not in _open:
            return
        _open.remove(self._name)
        with pyboost.on("Ascend") as ms:
            if not _open:
                ms.mint.distributed.destroy_process_group()
            elif self._name != WORLD:
                ms.mint.distributed.destroy_process_group(self._name)
