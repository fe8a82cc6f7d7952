"""Find the network address at which other ranks can reach this one."""

import fcntl
import socket
import struct

from ._store import PrefixStore


def local_address(store):
    """Return the address of the network interface that this rank uses to reach the store's host.

    Without a store host, use the address of this machine's host name. If no address works, return the loopback address.
    """
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    host = getattr(store, "host", None)
    candidates = [host] if host else [socket.gethostname()]
    for name in candidates:
        try:
            family, kind, _, _, address = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)
                found = probe.getsockname()[0]
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.bind((found, 0))
            return found
        except OSError:
            continue
    return "127.0.0.1"


def interface_address(name):
    """Return the IPv4 address of a network interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            found = fcntl.ioctl(probe.fileno(), 0x8915, struct.pack("256s", name[:15].encode()))  # SIOCGIFADDR
        except OSError as error:
            raise RuntimeError(f"Unable to find address for: {name} ({error})") from None
    return socket.inet_ntoa(found[20:24])


class Device:
    """The host name, address or network interface on which gloo listens."""

    def __init__(self, hostname="", interface=""):
        self.hostname, self.interface = hostname, interface

    def __repr__(self):
        return f"<gloo device {self.interface or self.hostname or 'default'}>"
