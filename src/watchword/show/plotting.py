"""What every drawing with matplotlib (`watchword[plot]`) needs: new axes, and names made safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchword.errors import MissingExtraError
from watchword.show import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes", "plot_name"]


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of this size, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "plotting needs matplotlib: pip install 'watchword[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def plot_name(name: object) -> str:
    """Return a label or id for a plot; matplotlib would read $ as the start of a formula."""
    return svg.clean(name).replace("$", r"\$")
