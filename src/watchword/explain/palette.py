"""The colours of labels, backgrounds and text, and the look of a painted block.

A label has the same colour in light and dark mode, with a contrast of at least 3:1 to both, as
lines, bars and swatches need. Text is never written in it: text keeps the colour of its
surroundings, on a background pale enough for a contrast of at least 4.5:1.

Colours have a meaning: `ALERT`, the warm one, is the colour of the label that alerts are raised
for, wherever that label is known, and of no other. All other labels keep their colours whether it
is known or not. Functions take its index as `alert`.
"""

from __future__ import annotations

from functools import cache

ALERT = "#d9481c"

# Far apart in OKLab (at least 0.077), and cool ones first.
COLOURS = (
    "#2f76c9",
    "#17864f",
    "#a34cc0",
    "#0b8a96",
    "#728014",
    "#6b66d6",
    "#7a7f87",
    "#84603c",
    "#009c00",
    "#965478",
    "#606096",
    "#a872ae",
    "#486c66",
    "#9c66fc",
    "#b07a0e",
    "#305ae4",
    "#d84ec0",
    "#ae7272",
    "#b42496",
    "#d13b82",
)

# With more labels than colours, or printed without colour, lines differ in their dashes.
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 4", "1 4", "9 3 2 3 2 3", "3 2", "6 2 1 2")

STRONGEST = 0.55  # opacity of the strongest block's background
THICKEST = 0.22  # thickness of the line under it, in em
FAINTEST = 0.05  # smallest share painted in terminals; less looks like white
FAINTEST_COLOUR = 1 / 255 / STRONGEST  # smallest share that changes the colour of a pixel
LINE_FACTOR = 4  # lines cannot be thinner than a pixel: those of weak blocks fade instead

PAPER, INK, QUIET, LINE = "#ffffff", "#1c1e21", "#5a6068", "#c9cdd3"
DARK_PAPER, DARK_INK, DARK_QUIET, DARK_LINE = "#15181c", "#e9eaec", "#a4abb5", "#434a53"


def label_colour(position: int, alert: int | None = None) -> str:
    """Return the colour of the label at this index of a model's labels; colours repeat after 20.

    >>> label_colour(0), label_colour(20), label_colour(20, alert=20)
    ('#2f76c9', '#2f76c9', '#d9481c')
    """
    return ALERT if position == alert else COLOURS[position % len(COLOURS)]


def label_dash(position: int) -> str:
    """Return the `stroke-dasharray` of that label's line; empty for a solid line.

    >>> [label_dash(position) for position in (0, 1, 21)]
    ['', '7 3', '2 3']
    """
    # Each round of colours starts one dash later, so that equal colours have different dashes.
    rounds, at = divmod(position, len(COLOURS))
    return DASHES[(at + rounds) % len(DASHES)]


def paint_style(share: float, position: int, alert: int | None = None) -> str:
    """Return the inline style of a block with this share (0 to 1) of the strongest block's value.

    >>> paint_style(0.5, 0, alert=0)
    'background:rgba(217,72,28,.275);border-bottom:.11em solid rgba(217,72,28,1)'
    """
    colour = _rgba(position, alert)
    ground, thickness = _part(share * STRONGEST), _part(share * THICKEST)
    fading = _part(share * LINE_FACTOR) if share * LINE_FACTOR < 1 else "1"
    return f"background:{colour}{ground});border-bottom:{thickness}em solid {colour}{fading})"


def label_ground(share: float, position: int, alert: int | None = None) -> str:
    """Return the background of the same block on white, for terminals.

    >>> label_ground(0, 0), label_ground(1, 0, alert=0)
    ('#ffffff', '#ea9a82')
    """
    return blend(label_colour(position, alert), share * STRONGEST, PAPER)


def palette_css() -> str:
    """Return the CSS of all colours, and of blocks painted with a share `--part`.

    Under the classes `.c0` to `.c19` and `.c-alert`, `currentColor` and `rgb(var(--rgb))` are the
    label's colour. `--alert` is `ALERT`; for scripts, `--colours` is the number of colours that
    repeat and `--dashes` has `DASHES`.
    """
    light = f"--paper:{PAPER};--ink:{INK};--quiet:{QUIET};--line:{LINE};"
    dark = f"--paper:{DARK_PAPER};--ink:{DARK_INK};--quiet:{DARK_QUIET};--line:{DARK_LINE};"
    every = [*enumerate(COLOURS), ("-alert", ALERT)]
    labels = (f".c{name}{{color:{colour};--rgb:{rgb(colour)}}}\n" for name, colour in every)
    return (
        f":root{{color-scheme:light dark;--alert:{ALERT};--colours:{len(COLOURS)};"
        f'--dashes:"{"|".join(DASHES)}";{light}}}\n'
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{''.join(labels)}"
        f":is(.ww-text :is(mark,.s,.p),.painted .worth){{"
        f"background-color:rgb(var(--rgb) / calc(var(--part) * {STRONGEST}));"
        f"border-bottom:calc(var(--part) * {THICKEST}em) solid "
        f"rgb(var(--rgb) / calc(var(--part) * {LINE_FACTOR}))}}\n"
    )


def rgb(colour: str) -> str:
    """Return a colour as three numbers, for `rgb(… / opacity)`.

    >>> rgb(ALERT)
    '217 72 28'
    """
    return " ".join(map(str, _channels(colour)))


def label_rgb(position: int, alert: int | None = None) -> str:
    """Return a label's colour as three numbers.

    >>> label_rgb(0), label_rgb(0, alert=0)
    ('47 118 201', '217 72 28')
    """
    return rgb(label_colour(position, alert))


def label_class(position: int, alert: int | None = None) -> str:
    """Return the class in `palette_css` of the label at this index.

    >>> label_class(22), label_class(22, alert=22)
    ('c2', 'c-alert')
    """
    return "c-alert" if position == alert else f"c{position % len(COLOURS)}"


def short(number: float, digits: int = 3) -> str:
    """Return a number for CSS and SVG, as short as possible.

    >>> short(0.5), short(2.0), short(-0.0001), short(1 / 3)
    ('.5', '2', '0', '.333')
    """
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    if text in ("", "-0", "-"):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def blend(colour: str, opacity: float, ground: str) -> str:
    """Return the colour of a translucent colour on a background.

    >>> blend("#ff0000", 0.5, "#ffffff")
    '#ff8080'
    """
    pairs = zip(_channels(colour), _channels(ground), strict=True)
    return "#" + "".join(f"{round(a * opacity + b * (1 - opacity)):02x}" for a, b in pairs)


# Formatting a number takes longer than finding it here, and a text may have thousands.
_PARTS = tuple(short(number / 1000) for number in range(1001))


def _part(number: float) -> str:
    return _PARTS[int(number * 1000 + 0.5)]


@cache
def _rgba(position: int, alert: int | None) -> str:
    return f"rgba({label_rgb(position, alert).replace(' ', ',')},"


@cache
def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
