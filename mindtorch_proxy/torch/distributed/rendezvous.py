"""How processes find each other: rendezvous handlers for env://, tcp://, file:// and registered URL schemes."""

import os
from datetime import timedelta
from urllib.parse import parse_qsl, urlparse, urlunparse

from ._store import FileStore, PrefixStore
from ._tcp_store import TCPStore
from .constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]
_rendezvous_handlers = {}


def register_rendezvous_handler(scheme, handler):
    """Register ``handler(url, timeout=...)`` for a URL scheme.

    The handler is a generator of (store, rank, world size).
    """
    if scheme in _rendezvous_handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _rendezvous_handlers[scheme] = handler


def _query(url):
    return dict(parse_qsl(urlparse(url).query))


def rendezvous(url, rank=-1, world_size=-1, **kwargs):
    """Return a generator of (store, rank, world size) for a URL.

    The arguments give what the URL does not specify.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    for name, value in (("rank", rank), ("world_size", world_size)):
        if not isinstance(value, int):
            raise RuntimeError(f"`{name}` must be an integer. {value}")
    parts = urlparse(url)
    query = _query(url)
    if parts.scheme not in _rendezvous_handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            if name in query:
                raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
            query[name] = str(value)
    url = urlunparse(parts._replace(query="&".join(f"{k}={v}" for k, v in query.items())))
    return _rendezvous_handlers[parts.scheme](url, **kwargs)


def _error(scheme, message):
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {message}")


def _file_rendezvous_handler(url, **kwargs):
    query, path = _query(url), urlparse(url).path
    if not path:
        raise _error("file", "path missing")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _error("file", f"{name.replace('_', ' ')} parameter missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield FileStore(path, world_size), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _torchelastic_use_agent_store():
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True)


def _create_c10d_store(hostname, port, rank, world_size, timeout, use_libuv=True):
    """Return the job's store: the agent's store if an agent launched this process, else one that rank 0 serves."""
    if not 0 <= port < 2**16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    if _torchelastic_use_agent_store():
        attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
        store = TCPStore(hostname, port, world_size, False, timeout, wait_for_workers=False)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return TCPStore(
        hostname, port, world_size, rank == 0, timeout, multi_tenant=True, wait_for_workers=False, use_libuv=use_libuv
    )


def _wants_libuv(query):
    """Whether PyTorch's libuv server was requested.

    There is only one server here; the store just reports this choice.
    """
    return query.get("use_libuv", os.environ.get("USE_LIBUV", "1")) == "1"


def _tcp_rendezvous_handler(url, timeout=default_pg_timeout, **kwargs):
    parts, query = urlparse(url), _query(url)
    if not parts.port:
        raise _error("tcp", "port number missing")
    for name in ("rank", "world_size"):
        if name not in query:
            raise _error("tcp", f"{name} parameter missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield (
        _create_c10d_store(parts.hostname, parts.port, rank, world_size, timeout, _wants_libuv(query)),
        rank,
        world_size,
    )
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _env_rendezvous_handler(url, timeout=default_pg_timeout, **kwargs):
    query = _query(url)

    def value(name, variable):
        if name in query:
            return int(query[name])
        return int(environment(variable))

    def environment(variable):
        found = os.environ.get(variable)
        if found is None:
            raise _error("env", f"environment variable {variable} expected, but not set")
        return found

    rank, world_size = value("rank", "RANK"), value("world_size", "WORLD_SIZE")
    host, port = environment("MASTER_ADDR"), int(environment("MASTER_PORT"))
    yield _create_c10d_store(host, port, rank, world_size, timeout, _wants_libuv(query)), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _create_store_from_options(options, rank):
    """Return the store for the URL in the options of torch.distributed.rpc."""
    store, _, _ = next(rendezvous(options.init_method, rank=rank, timeout=timedelta(seconds=options.rpc_timeout)))
    return store


for _scheme in ("tcp", "env", "file"):
    register_rendezvous_handler(_scheme, globals()[f"_{_scheme}_rendezvous_handler"])
