"""SVG elements: text stays text, and the result is well-formed XML."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import unicode_texts
from watchword.explain import svg

HOSTILE = ["<script>alert(1)</script>", '"onmouseover="alert(1)', "]]>", "</style>", "&lt;", "a\0b"]


def parsed(markup):
    return ET.fromstring(markup)


@given(unicode_texts())
def test_any_text_becomes_the_content_of_an_element(content):
    assert (parsed(svg.element("text", content)).text or "") == svg.clean(content)


@given(unicode_texts())
def test_any_text_becomes_the_value_of_an_attribute(content):
    [value] = parsed(svg.element("text", aria_label=content)).attrib.values()
    # XML itself turns white space in attributes into blanks.
    assert value == svg.clean(content).translate({9: " ", 10: " ", 13: " "})


@given(unicode_texts())
def test_cleaned_text_keeps_offsets_and_can_be_encoded(content):
    cleaned = svg.clean(content)
    assert len(cleaned) == len(content)
    assert cleaned.encode().decode() == cleaned
    assert svg.clean(cleaned) == cleaned


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_never_becomes_markup(hostile):
    root = parsed(svg.drawing(9, 9, svg.text(0, 0, hostile), title=hostile, description=hostile))
    assert [child.tag.rpartition("}")[2] for child in root.iter()] == [
        "svg",
        "title",
        "desc",
        "text",
    ]
    assert [name for child in root.iter() for name in child.attrib if name.startswith("on")] == []


def test_slices_of_markup_are_plain_text():
    assert svg.element("g", svg.element("g")[:4]) == "<g>&lt;g/&gt;</g>"


@pytest.mark.parametrize("name", ["script", "Script", "style", "foreignObject", "a b", "g>", ""])
def test_harmful_elements_are_refused(name):
    with pytest.raises(ValueError, match=r"^element .* is not allowed"):
        svg.element(name)


@pytest.mark.parametrize("name", ["onclick", "style", "href", "xlink:href", "a b", "a>", ""])
def test_harmful_attributes_are_refused(name):
    with pytest.raises(ValueError, match=r"^attribute .* is not allowed"):
        svg.element("g", **{name: "x"})


@pytest.mark.parametrize("css", ["</style><script>", "a & b", "<!--"])
def test_a_style_sheet_cannot_end_itself(css):
    with pytest.raises(ValueError, match="css in a picture"):
        svg.drawing(1, 1, title="x", css=css)


def test_a_picture_has_a_title_and_a_role():
    root = parsed(svg.drawing(10, 5.5, title="Title", description="More", css=svg.STYLE))
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == "Title"
    assert root.attrib["viewBox"] == "0 0 10 5.5"
    assert [child.text for child in root][:2] == ["Title", "More"]


def test_attributes_with_value_none_are_left_out():
    assert svg.element("g", id=None, x=0) == '<g x="0"/>'


@given(st.floats(-1e9, 1e9), st.integers(0, 5))
def test_numbers_are_short_and_near(value, digits):
    written = svg.number(value, digits)
    assert abs(float(written) - value) <= 0.5 * 10.0**-digits + 1e-6
    assert "e" not in written
    assert written != "-0"
    assert not ("." in written and written.endswith("0"))


@pytest.mark.parametrize("value", [10, 100.0, np.int64(20), np.float32(0.5)])
def test_numbers_of_all_types_are_accepted(value):
    assert float(svg.number(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(value):
    with pytest.raises(ValueError, match="finite"):
        svg.element("g", x=value)


@given(unicode_texts(), st.floats(0, 300))
def test_clipped_text_fits_or_is_minimal(content, width):
    clipped = svg.clip(content, 10, width)
    assert clipped == content or clipped.endswith("…")
    assert svg.text_width(clipped, 10) <= max(width, svg.text_width("…", 10)) + 1e-6


@given(unicode_texts(), st.floats(1, 50))
def test_width_grows_with_size(content, size):
    assert svg.text_width(content, 2 * size) == pytest.approx(2 * svg.text_width(content, size))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 10))
def test_ticks_are_within_and_in_order(low, room, about):
    found = svg.ticks(low, low + room, about)
    slack = 1e-6 * max(abs(low), room)
    assert found == sorted(set(found))
    assert len(found) <= 2 * about + 2
    assert all(low - slack <= tick <= low + room + slack for tick in found)


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1), (2, 1), (0, math.inf), (0, math.nan), (0, 5e-324)]
)
def test_an_axis_of_no_length_has_one_tick(low, high):
    assert svg.ticks(low, high) == [low]


def test_a_path_goes_through_its_points():
    assert svg.path_of([]) == ""
    assert svg.path_of([(1, 2)]) == "M1 2"
