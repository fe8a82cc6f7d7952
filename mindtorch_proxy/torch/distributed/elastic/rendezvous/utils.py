"""Parsing of rendezvous settings."""

import ipaddress
import re
import socket


def _parse_rendezvous_config(config_str):
    """Parse ``a=1,b=2`` into a dict."""
    config = {}
    for pair in filter(None, config_str.strip().split(",")):
        key, equals, value = pair.partition("=")
        if not key.strip():
            raise ValueError(
                "The rendezvous configuration string must be in format <key1>=<value1>,...,<keyN>=<valueN>."
            )
        if not equals or not value.strip():
            raise ValueError(f"The rendezvous configuration option '{key.strip()}' must have a value specified.")
        config[key.strip()] = value.strip()
    return config


def parse_rendezvous_endpoint(endpoint, default_port):
    """Parse ``host:port`` into (host, port)."""
    endpoint = (endpoint or "").strip()
    if not endpoint:
        return "localhost", default_port
    host, _, port = endpoint.rpartition(":") if endpoint[-1:] != "]" and ":" in endpoint else (endpoint, "", "")
    if port and not re.fullmatch(r"\d+", port):
        raise ValueError(
            f"The port number of the rendezvous endpoint '{endpoint}' must be an integer between 0 and 65536."
        )
    if port and int(port) > 65535:
        raise ValueError(
            f"The port number of the rendezvous endpoint '{endpoint}' must be an integer between 0 and 65536."
        )
    host = host[1:-1] if host[:1] == "[" else host
    if not re.fullmatch(r"[\w.:-]+", host):
        raise ValueError(
            f"The hostname of the rendezvous endpoint '{endpoint}' must be a dot-separated list of labels, "
            "an IPv4 or an IPv6 address."
        )
    return host, int(port) if port else default_port


def _matches_machine_hostname(host):
    """Whether a host is this machine."""
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        if ipaddress.ip_address(host).is_loopback:
            return True
    except ValueError:
        pass
    try:
        addresses = {found[4][0] for found in socket.getaddrinfo(host, None)}
    except socket.gaierror:
        return False
    for address in addresses:  # only an address of this machine can be bound
        try:
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind((address, 0))
                return True
        except OSError:
            continue
    return False
