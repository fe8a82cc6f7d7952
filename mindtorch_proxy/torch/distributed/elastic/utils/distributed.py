"""Creates stores and finds free ports for processes that communicate."""

import contextlib
import datetime
import socket

import torch.distributed as dist

from .logging import get_logger

__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]
logger = get_logger(__name__)


def create_c10d_store(
    is_server, server_addr, server_port=-1, world_size=1, timeout=600, wait_for_workers=True, retries=3, use_libuv=None
):
    """Create a TCPStore.

    Without a given port, use a free one, and try again if another process has taken it.
    """
    if use_libuv is not None:
        logger.warning("argument use_libuv is deprecated and ignored")
    if server_port == -1 and world_size > 1:
        raise ValueError(
            f"server_port must be specified when world_size > 1, got server_port={server_port}, world_size={world_size}"
        )
    for attempt in range(1, retries + 1):
        port = get_free_port() if server_port == -1 else server_port
        try:
            seconds = datetime.timedelta(seconds=timeout)
            return dist.TCPStore(server_addr, port, world_size, is_server, seconds, wait_for_workers)
        except RuntimeError as error:
            if "already in use" not in str(error):
                raise
            if server_port != -1 or attempt == retries:
                raise RuntimeError(f"on {server_addr}, port: {port} already in use") from error
            logger.warning("port: %s already in use, attempt: [%s/%s]", port, attempt, retries)


def get_free_port():
    """Return a port of this machine that is currently free."""
    with contextlib.closing(get_socket_with_port()) as sock:
        return sock.getsockname()[1]


def get_socket_with_port():
    """Return a socket that listens on a free port and keeps it reserved."""
    for family, kind, protocol, _, _ in socket.getaddrinfo("localhost", None, socket.AF_UNSPEC, socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.bind(("localhost", 0))
            sock.listen(0)
            return sock
        except OSError as error:
            sock.close()
            logger.warning("Socket creation attempt failed.", exc_info=error)
    raise RuntimeError("Failed to create a socket")
