"""Waiting for what other threads and processes do."""

import time

_PATIENCE = 60  # seconds; a busy machine may need many times as long as an idle one


def wait_until(condition, what="nothing happened"):
    """Wait until a condition holds; `what` says what is wrong if it never does."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
