"""Ports for servers that tests start."""

import socket


def free_port():
    """Return a port that is free at the time of the call."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
