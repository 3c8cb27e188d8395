"""The controls of the model's parameters on the live page, as HTML."""

from __future__ import annotations

from html import escape

from watchword.model.parameter_kinds import Choice, Number, Parameter, Whole
from watchword.web.models import SETTINGS


def controls_html() -> str:
    """Return the controls: those with a slider first, the others folded.

    >>> controls_html().count("data-setting")
    13
    """
    sliders = [one for one in SETTINGS.values() if one.slider is not None]
    others = [one for one in SETTINGS.values() if one.slider is None]
    return "\n".join(
        [
            *map(_control, sliders),
            '<details class="more"><summary>More</summary>',
            *map(_control, others),
            "</details>",
        ]
    )


def _control(one: Parameter) -> str:
    title = escape(one.title or one.name)
    label = f'<label for="{one.name}">{title}</label>'
    if isinstance(one, Choice):
        options = "".join(
            f'<option value="{choice}">{escape(one.titles.get(choice, choice))}</option>'
            for choice in one.choices
        )
        box = f'<select id="{one.name}" data-setting>{options}</select>'
        return f'<div class="setting">{label}{box}</div>'
    box = f'<input id="{one.name}" type="number" {_limits(one)} data-setting>'
    if one.slider is None:
        return f'<div class="setting">{label}{box}</div>'
    low, high, step = one.slider
    slider = (
        f'<input type="range" min="{low:g}" max="{high:g}" step="{step:g}" '
        f'data-for="{one.name}" aria-label="{title}">'
    )
    return f'<div class="setting slider">{label}{box}{slider}</div>'


def _limits(one: Parameter) -> str:
    if isinstance(one, Whole):
        return f'min="{one.least}" step="1"'
    lowest, highest = (0.0, None) if one.slider is None else one.slider[:2]
    bounded = isinstance(one, Number) and one.most is not None
    most = f' max="{highest:g}"' if bounded else ""
    return f'min="{lowest:g}"{most} step="any"'
