"""watchword as the benchmarks use it: imported with a clear word when it is not there."""

from __future__ import annotations

from typing import Any

from report import BenchmarkError


def paper_model() -> Any:
    """An empty model with the paper's parameters: 3-grams, gv, the paper's reading."""
    return watchword().TauSS3.paper()


def watchword() -> Any:
    try:
        import watchword as package
    except ImportError as error:
        raise BenchmarkError(f"watchword cannot be imported ({error}): run `make build`") from None
    return package


def distinct_ngrams(model: Any) -> int:
    return sum(model.statistics.ngrams)
