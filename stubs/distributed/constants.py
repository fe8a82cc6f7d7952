"""How long things may take, unless told otherwise."""

from datetime import timedelta

__all__ = ["default_pg_timeout", "default_pg_nccl_timeout"]
default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = None
