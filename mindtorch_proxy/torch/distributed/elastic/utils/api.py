"""Helpers of the launcher."""

import os
import socket
from string import Template


def get_env_variable_or_raise(env_name):
    """Return an environment variable; raise ValueError if it is not set."""
    if env_name not in os.environ:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return os.environ[env_name]


def get_socket_with_port():
    """Return a socket that listens on a free port of this machine."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("localhost", 0))
    listening.listen(0)
    return listening


class macros:  # noqa: N801 (PyTorch's name)
    """Placeholders in a worker's arguments for values that only the launcher knows."""

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args, local_rank):
        """Replace the placeholders in the arguments of one worker."""
        return [Template(a).safe_substitute(local_rank=local_rank) if isinstance(a, str) else a for a in args]
