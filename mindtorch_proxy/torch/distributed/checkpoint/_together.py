"""Runs steps on all ranks; an error on one rank is raised on all of them."""

from .. import distributed_c10d as c10d
from .api import CheckpointException, _wrap_exception


class Together:
    """The ranks of a group, or only this process."""

    def __init__(self, group, alone, coordinator=0):
        self.group, self.alone, self.coordinator = group, alone, coordinator
        self.rank, self.size = (0, 1) if alone else (c10d.get_rank(group), c10d.get_world_size(group))

    @property
    def is_coordinator(self):
        """Whether this rank is the coordinator."""
        return self.rank == self.coordinator

    def each(self, name, function):
        """Call a function on every rank, and return the results of all ranks on every rank."""
        try:
            mine = function(), None
        except Exception as error:
            mine = None, _wrap_exception(error)
        every = [mine]
        if not self.alone:
            every = [None] * self.size
            c10d.all_gather_object(every, mine, self.group)
        failures = {rank: failure for rank, (_, failure) in enumerate(every) if failure is not None}
        if failures:
            raise CheckpointException(name, failures)
        return [result for result, _ in every]

    def one(self, name, function):
        """Call a function on the coordinator, and return its result on every rank."""
        return self.each(name, lambda: function() if self.is_coordinator else None)[self.coordinator]


def storage_of(kind, given, checkpoint_id):
    """Return the given reader or writer, or create one for files."""
    if given is not None:
        if checkpoint_id is not None:
            given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specificed if storage_reader/storage_writer is None.")
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise NotImplementedError(
            f"checkpoints at {checkpoint_id}: only folders of the file system are supported, or a storage of your own"
        )
    return kind(checkpoint_id)


def without_ranks(no_dist):
    """Whether this process runs without other ranks."""
    return no_dist or not c10d.is_initialized()
