"""The colours of labels, grounds and inks, and what a painted block looks like.

A label has one colour for light and dark grounds alike, at least 3:1 against both, which is what
lines, bars and swatches need. Words are never written in it: text keeps the colour of its
surroundings, on a ground that lets through enough of it to be read (4.5:1 and more).
"""

from __future__ import annotations

COLOURS = (
    "#d9481c",
    "#2f76c9",
    "#17864f",
    "#a34cc0",
    "#b07a0e",
    "#0b8a96",
    "#d13b82",
    "#6b66d6",
    "#728014",
    "#7a7f87",
)

# With more labels than colours, or without colour at all, lines differ in their dashes.
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 4", "1 4", "9 3 2 3 2 3", "3 2", "6 2 1 2")

STRONGEST = 0.55  # how opaque the ground of the strongest block is
THICKEST = 0.22  # and how thick the line under it, in heights of a letter (em)
FAINTEST = 0.05  # the share from which on a ground can be told from paper, for terminals
LINE_FACTOR = 4  # browsers draw no line below one pixel: those of weak blocks fade instead

PAPER, INK, QUIET, LINE = "#ffffff", "#1c1e21", "#5a6068", "#c9cdd3"
DARK_PAPER, DARK_INK, DARK_QUIET, DARK_LINE = "#15181c", "#e9eaec", "#a4abb5", "#434a53"


def label_colour(position: int) -> str:
    """The colour of the label at this position among a model's labels; they come round again.

    >>> label_colour(0), label_colour(10)
    ('#d9481c', '#d9481c')
    """
    return COLOURS[position % len(COLOURS)]


def label_dash(position: int) -> str:
    """The `stroke-dasharray` of that label's line: empty for an unbroken one.

    >>> [label_dash(position) for position in (0, 1, 11)]
    ['', '7 3', '2 3']
    """
    # One step further on every round, so that equal colours never have equal dashes.
    rounds, at = divmod(position, len(COLOURS))
    return DASHES[(at + rounds) % len(DASHES)]


def paint_style(share: float, position: int) -> str:
    """The inline style of a block with this share (0 to 1) of the strongest block's value.

    >>> paint_style(0.5, 0)
    'background:rgba(217,72,28,.275);border-bottom:.11em solid rgba(217,72,28,1)'
    """
    rgb = ",".join(map(str, _channels(label_colour(position))))
    line = f"{short(share * THICKEST)}em solid rgba({rgb},{short(min(1, share * LINE_FACTOR))})"
    return f"background:rgba({rgb},{short(share * STRONGEST)});border-bottom:{line}"


def label_ground(share: float, position: int) -> str:
    """Return the ground of the same block on paper, for terminals.

    >>> label_ground(0, 0), label_ground(1, 0)
    ('#ffffff', '#ea9a82')
    """
    return blend(label_colour(position), share * STRONGEST, PAPER)


def palette_css() -> str:
    """Return all colours as CSS, and what blocks look like that are painted by a share `--part`.

    What is drawn with `currentColor` or `rgb(var(--rgb))` under `.c0` to `.c9` has the colour of
    its label.
    """
    names = ("paper", "ink", "quiet", "line")
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in zip(names, colours, strict=True))
        for colours in (
            (PAPER, INK, QUIET, LINE),
            (DARK_PAPER, DARK_INK, DARK_QUIET, DARK_LINE),
        )
    )
    labels = (
        f".c{at}{{color:{colour};--rgb:{label_rgb(at)}}}\n" for at, colour in enumerate(COLOURS)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{''.join(labels)}"
        f":is(.ww-text :is(mark,.s,.p),.painted .worth){{"
        f"background-color:rgb(var(--rgb) / calc(var(--part) * {STRONGEST}));"
        f"border-bottom:calc(var(--part) * {THICKEST}em) solid "
        f"rgb(var(--rgb) / calc(var(--part) * {LINE_FACTOR}))}}\n"
    )


def label_rgb(position: int) -> str:
    """The same colour as three numbers, for `rgb(… / opacity)`.

    >>> label_rgb(0)
    '217 72 28'
    """
    return " ".join(map(str, _channels(label_colour(position))))


def label_class(position: int) -> str:
    """The class of `palette_css` for the label at this position.

    >>> label_class(12)
    'c2'
    """
    return f"c{position % len(COLOURS)}"


def short(number: float, digits: int = 3) -> str:
    """A number for CSS and SVG, no longer than it must be.

    >>> short(0.5), short(2.0), short(-0.0001), short(1 / 3)
    ('.5', '2', '0', '.333')
    """
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    if text in ("", "-0", "-"):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def blend(colour: str, opacity: float, ground: str) -> str:
    """What is seen of a colour that lets a ground through.

    >>> blend("#ff0000", 0.5, "#ffffff")
    '#ff8080'
    """
    pairs = zip(_channels(colour), _channels(ground), strict=True)
    return "#" + "".join(f"{round(a * opacity + b * (1 - opacity)):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in (channel / 255 for channel in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
