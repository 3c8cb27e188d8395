"""Faults of the practice server, to test clients."""

from __future__ import annotations

from dataclasses import dataclass, fields

from watchword._checks import as_not_negative, as_whole


@dataclass(frozen=True)
class Faults:
    """The probability of each fault per request.

    >>> Faults(drop=0.1, error=0.2, seed=7).error
    0.2
    """

    drop: float = 0.0  #: close the connection before the request is read
    lose: float = 0.0  #: handle the request, but close the connection before the response
    cut: float = 0.0  #: handle the request; send half of the response
    error: float = 0.0  #: status 500; the request is not handled
    busy: float = 0.0  #: status 503 with `Retry-After: 1`; the request is not handled
    garbage: float = 0.0  #: an HTML page with status 200 instead of a round
    lag: float = 0.0  #: send a round that all runs have answered once more
    slow: float = 0.0  #: handle the request at once, but respond `delay` seconds later
    delay: float = 5.0  #: delay of slow responses, in seconds
    seed: int = 0  #: random seed

    def __post_init__(self) -> None:
        total = sum(as_not_negative(name, getattr(self, name)) for name in KINDS)
        if total > 1:
            raise ValueError(f"the probabilities must not add up to more than 1, got {total:g}")
        as_not_negative("delay", self.delay)
        as_whole("seed", self.seed, 0)


KINDS: tuple[str, ...] = tuple(
    each.name for each in fields(Faults) if each.name not in ("delay", "seed")
)
