"""Collectives with gradients. RemoteModule needs remote procedure calls, which this build does not have."""

from .functional import *
from .functional import all_gather, all_reduce, all_to_all, all_to_all_single, broadcast, gather, reduce, reduce_scatter, scatter
