"""Ports of this machine."""

from __future__ import annotations

import random
import socket

# Below the ports that systems give to outgoing connections (Linux: from 32,768 on): there, anybody's connection may
# take the port before its server does, and a client that waits for the server may even be connected to itself.
_PORTS = range(12_000, 32_000)
# Not seeded by the plugin that shuffles the tests: two workers would ask for the same ports.
_random = random.SystemRandom()


def free_port() -> int:
    """A port that nobody listens on, and that no outgoing connection is given."""
    while True:
        port = _random.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
