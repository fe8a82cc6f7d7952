"""Devices of other processes."""

import torch


class _remote_device:
    """A device given as ``worker/device`` or ``rank:N/device``, or a device of this process."""

    def __init__(self, remote_device):
        self._worker_name = self._rank = None
        if isinstance(remote_device, torch.device):
            self._device = remote_device
            return
        if not isinstance(remote_device, str):
            raise TypeError(f"Invalid type for remote_device: {type(remote_device)}")
        fields = remote_device.split("/")
        if len(fields) > 2 or not all(fields):
            raise ValueError(
                f"Could not parse remote_device: {remote_device}. The valid format is '<workername>/<device>' or "
                f"'rank:<rank>/<device>' or '<device>'"
            )
        if len(fields) == 1 and _is_device(fields[0]):
            self._device = torch.device(fields[0])
            return
        self._worker_name, self._device = fields[0], torch.device(fields[1] if len(fields) == 2 else "cpu")
        kind, _, rank = self._worker_name.partition(":")
        if kind == "rank" and rank:
            if not rank.isdigit():
                raise ValueError(f"Could not parse remote_device: {remote_device}: the rank is not a number")
            self._worker_name, self._rank = None, int(rank)

    def worker_name(self):
        """Return the worker's name, or None."""
        return self._worker_name

    def rank(self):
        """Return the rank, or None."""
        return self._rank

    def device(self):
        """Return the device on that process."""
        return self._device

    def __repr__(self):
        if self._worker_name is not None:
            return f"{self._worker_name}/{self._device}"
        return f"{self._device}" if self._rank is None else f"rank:{self._rank}/{self._device}"

    def __eq__(self, other):
        return isinstance(other, _remote_device) and (self._worker_name, self._device, self._rank) == (
            other._worker_name,
            other._device,
            other._rank,
        )

    def __hash__(self):
        return hash(self._worker_name) ^ hash(self._device) ^ hash(self._rank)


def _is_device(text):
    try:
        torch.device(text)
    except RuntimeError:
        return False
    return True
