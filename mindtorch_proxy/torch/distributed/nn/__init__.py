"""Differentiable collectives, and modules on other workers."""

from .api.remote_module import RemoteModule
from .functional import *
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
