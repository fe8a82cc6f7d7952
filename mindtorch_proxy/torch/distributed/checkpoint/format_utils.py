"""Conversion between distributed checkpoints and torch.save files."""

import torch

from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load, _load_state_dict  # noqa: F401
from .state_dict_saver import _save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Convert a checkpoint folder to a torch.save file."""
    state = {}
    _load(state, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), None, True)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Convert a torch.save file to a checkpoint folder.

    The file is unpickled, so only convert files that you trust.
    """
    _save(torch.load(torch_save_path, weights_only=False), FileSystemWriter(dcp_checkpoint_dir), None, None, True)
