"""Rendezvous through a TCPStore served by one of the launchers."""

import time
from datetime import timedelta

from torch.distributed import PrefixStore, TCPStore

from .api import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from .utils import _matches_machine_hostname, parse_rendezvous_endpoint


class StoreRendezvous(RendezvousHandler):
    """A rendezvous in rounds.

    In each round, launchers increment a counter; the first one closes the round when enough have joined. A failure
    starts the next round.
    """

    def __init__(self, backend, tcp, host, params, rank=None):
        self._backend, self._tcp, self._host, self._params, self._rank = backend, tcp, host, params, rank
        self.store = PrefixStore(f"torch.rendezvous.{params.run_id}", tcp)
        self.round, self._size = None, 0
        self._timeout = params.get_as_int("join_timeout", params.get_as_int("timeout", 600))
        self._last_call = params.get_as_int("last_call_timeout", 30)

    def get_backend(self):
        """Return the backend's name."""
        return self._backend

    def get_run_id(self):
        """Return the job's id."""
        return self._params.run_id

    def current_round(self):
        """Return the job's current round."""
        return self.store.add("round", 0)

    def start_next_round(self):
        """Start the next round after a failure.

        It starts only once, even if several launchers call this.
        """
        if self.store.add(f"{self.round}/over", 1) == 1:
            self.store.add("round", 1)

    def _joined(self):
        return self.store.add(f"{self.round}/joined", 0)

    def next_rendezvous(self):
        """Join the current round, or the next one if this one is full."""
        deadline = time.monotonic() + self._timeout
        while True:
            if self.is_closed():
                raise RendezvousClosedError(f"The job {self.get_run_id()} has ended")
            self.round = self.current_round()
            arrival = self.store.add(f"{self.round}/joined", 1) - 1
            rank = arrival if self._rank is None else self._rank
            if arrival == 0:
                self._close_round(deadline)
            size = self._wait_for_size(deadline)
            if rank < size:
                self._size = size
                address = RendezvousStoreInfo(self._host, self._tcp.port)
                return RendezvousInfo(PrefixStore(f"round/{self.round}", self.store), rank, size, address)
            while self.current_round() == self.round and not self.is_closed():  # too late for this round
                time.sleep(0.2)
            deadline = time.monotonic() + self._timeout

    def _close_round(self, deadline):
        enough = None
        while (joined := self._joined()) < self._params.max_nodes:
            now = time.monotonic()
            if joined >= self._params.min_nodes:
                enough = enough or now
                if now - enough > self._last_call:
                    break
            if now > deadline:
                raise RendezvousTimeoutError(
                    f"{joined} of {self._params.min_nodes} nodes came to the rendezvous within {self._timeout} s"
                )
            time.sleep(0.05)
        self.store.set(f"{self.round}/size", str(min(joined, self._params.max_nodes)))

    def _wait_for_size(self, deadline):
        try:
            self.store.wait([f"{self.round}/size"], timedelta(seconds=max(deadline - time.monotonic(), 0.1) + 1))
        except RuntimeError as error:
            raise RendezvousTimeoutError(
                f"The rendezvous was not completed within {self._timeout} s: {error}"
            ) from None
        return int(self.store.get(f"{self.round}/size"))

    def num_nodes_waiting(self):
        """Return the number of launchers that arrived late, or 0 if there is no room for them."""
        return self._joined() - self._size if self.round is not None and self._size < self._params.max_nodes else 0

    def is_closed(self):
        """Whether the job has ended."""
        return self.store.check(["closed"])

    def set_closed(self):
        """Mark the job as ended."""
        self.store.set("closed", "1")

    def shutdown(self):
        """Mark the job as ended; return False if the store is no longer available."""
        try:
            self.set_closed()
        except RuntimeError:
            return False
        return True


def _store(host, port, serve, timeout):
    try:
        return TCPStore(
            host, port, is_master=serve, timeout=timedelta(seconds=timeout), wait_for_workers=False, multi_tenant=True
        )
    except RuntimeError as error:
        raise RendezvousConnectionError(f"The store at {host}:{port} is not reached: {error}") from error


def create_c10d_handler(params):
    """Create the handler of ``--rdzv-backend=c10d``.

    The machine given by the endpoint serves the store. File stores are not supported.
    """
    host, port = parse_rendezvous_endpoint(params.endpoint, default_port=29400)
    if params.get("store_type", "tcp").strip().lower() != "tcp":
        raise ValueError("Invalid store type given. Currently only supports tcp.")
    timeout = params.get_as_int("read_timeout", 60)
    is_host = params.get_as_bool("is_host")
    serves = _matches_machine_hostname(host) if is_host is None else is_host
    if not serves:
        return StoreRendezvous("c10d", _store(host, port, False, timeout), host, params)
    try:
        tcp = _store(host, port, True, timeout)
    except RendezvousConnectionError:
        if is_host:
            raise
        tcp = _store(host, port, False, timeout)  # another launcher on this machine serves the store
    return StoreRendezvous("c10d", tcp, host, params)


def create_static_handler(params):
    """Create the handler of ``--rdzv-backend=static``: nodes have fixed ranks, and node 0 serves the store."""
    if "rank" not in params.config:
        raise ValueError("rank is absent in RendezvousParameters. Try add --node-rank to the cmd request")
    if not params.endpoint.strip():
        raise ValueError(
            "endpoint is absent in RendezvousParametersTry add --master-port and --master-addr to the cmd request"
        )
    host, port = parse_rendezvous_endpoint(params.endpoint, -1)
    if port == -1:
        raise ValueError(f"Port is absent in endpoint: {params.endpoint}. Try launching with --master-port")
    rank = int(params.get("rank"))
    return StoreRendezvous(
        "static", _store(host, port, rank == 0, params.get_as_int("timeout", 600)), host, params, rank
    )
