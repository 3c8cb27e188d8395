"""Emissions of a computation, which MentalRiskES asks for, measured by codecarbon if installed."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger("watchword.erisk")

#: The fields that the organisers' client sends.
FIELDS = (
    "duration",
    "emissions",
    "cpu_energy",
    "gpu_energy",
    "ram_energy",
    "energy_consumed",
    "cpu_count",
    "gpu_count",
    "cpu_model",
    "gpu_model",
    "ram_total_size",
    "country_iso_code",
)


class Emissions:
    """Measures blocks of code; the result is empty without codecarbon, or if it fails."""

    def __init__(self, *, is_wanted: bool = True) -> None:
        self._tracker: Any = None
        if not is_wanted:
            return
        try:
            codecarbon: Any = importlib.import_module("codecarbon")
            self._tracker = codecarbon.EmissionsTracker(save_to_file=False, log_level="error")
        except ImportError:
            logger.warning("emissions are not measured: pip install codecarbon to submit them")
        except Exception as error:
            self._give_up(error)

    @contextmanager
    def measuring(self) -> Iterator[dict[str, Any]]:
        """Yield a dictionary that holds the emissions of the block after it."""
        found: dict[str, Any] = {}
        self._call("start")
        yield found
        self._call("stop")
        data = getattr(self._tracker, "final_emissions_data", None)
        found |= {name: getattr(data, name) for name in FIELDS if hasattr(data, name)}

    def _call(self, method: str) -> None:
        if self._tracker is None:
            return
        try:
            getattr(self._tracker, method)()
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Continue without measuring: a task must not fail for its emissions."""
        logger.warning("emissions are no longer measured: codecarbon failed (%s)", error)
        self._tracker = None
