"""Fully sharded data parallelism (FSDP)."""

from ._flat_param import FlatParameter
from ._fully_shard import *
from .fully_sharded_data_parallel import *
