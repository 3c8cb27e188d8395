"""Ports for servers that tests start."""

import random
import socket

_PORTS = range(20_000, 32_000)  # below those that systems choose for outgoing connections
_random = random.SystemRandom()
_given: set[int] = set()


def free_port():
    """Return a port that is free at the time of the call, another one at each call.

    A port that the system chooses could be taken by any connection before the server starts.
    """
    for port in _random.sample(_PORTS, 100):
        if port not in _given:
            try:
                socket.create_server(("127.0.0.1", port)).close()
            except OSError:
                continue
            _given.add(port)
            return port
    raise OSError("no free port found")
