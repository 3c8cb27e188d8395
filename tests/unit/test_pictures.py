"""Pictures of a model: any words and labels are drawn, and hostile ones stay text."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from browser import PHONE, browser, browser_process, eventually  # noqa: F401
from hooks import by_blanks
from model_files import taught
from overview_samples import HOSTILE, hostile_model, learn
from painted import drawing
from strategies import corpora, unicode_texts
from watchword.explain import pictures
from watchword.explain.blocks import as_value
from watchword.explain.pictures import lay_out
from watchword.model.overview import ngram_worth


def svgs(markup):
    """Return every picture of a page, parsed as XML."""
    found = re.findall(r"<svg.*?</svg>", markup, re.DOTALL)
    assert found
    return [ET.fromstring(one) for one in found]


class Elements(HTMLParser):
    """Elements and attributes of a page, as a browser would parse them."""

    def __init__(self, markup):
        super().__init__()
        self.found = []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def assert_harmless(markup):
    markup.encode()
    svgs(markup)
    for tag, attributes in Elements(markup).found:
        assert tag not in ("script", "img", "iframe", "object", "embed", "link", "form")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert re.fullmatch(r"#label-\d+", attributes.get("href", "#label-0"))
    assert "\u202e" not in markup
    assert "\0" not in markup


@pytest.mark.parametrize("page", [True, False])
def test_hostile_words_and_labels_stay_text(page):
    model = hostile_model()
    assert_harmless(drawing(model.overview(), page)(title=HOSTILE[0]))
    for text in HOSTILE:
        assert_harmless(drawing(ngram_worth(model, text), page)())


@pytest.mark.parametrize("label", HOSTILE)
def test_pictures_of_hostile_words_are_xml(label):
    overview = hostile_model().overview()
    for picture in (overview.bars(label), overview.cloud(label), overview.distribution(label, 1)):
        root = ET.fromstring(picture)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"]


@given(corpus=corpora(contents=unicode_texts()))
def test_any_text_gives_pictures_that_are_xml(corpus):
    model = learn(corpus, {})
    assert_harmless(model.overview(n=5).to_page())


def test_a_long_name_does_not_fill_the_page():
    model = ww.TauSS3(max_ngram=1, tokenizer=by_blanks)
    model.learn_one("x" * 100_000, "y" * 100_000)
    assert len(model.overview().to_page()) < 100_000


def test_bars_are_as_long_as_values():
    overview = taught().overview()
    [label] = [one for one in overview.labels if one.label == "x"]
    root = ET.fromstring(overview.bars("x"))
    widths = [float(one.attrib["width"]) for one in root.iter("{http://www.w3.org/2000/svg}rect")]
    values = [ngram.value for ngram in label.top]
    shares = [width / widths[0] for width in widths]
    assert shares == pytest.approx([value / values[0] for value in values], abs=0.005)


def test_numbers_in_the_tables_are_those_of_the_data():
    overview = taught().overview()
    markup = overview.to_page()
    for label in overview.labels:
        for ngram, value, count in label.top:
            row = f'<bdi>{ngram}</bdi></th><td class="number">{as_value(value)}</td>'
            assert f'{row}<td class="number">{count}</td>' in markup


def test_label_without_values_is_drawn():
    model = ww.TauSS3(min_count=5)
    model.learn_many(["a b", "a b"], ["x", "y"])
    markup = model.overview().to_html()
    assert "No n-gram has a value" in markup
    assert_harmless(markup)
    for draw in (pictures.bars_svg, pictures.cloud_svg):
        ET.fromstring(draw(model.overview().to_dict(), "x"))


def test_only_some_of_many_labels_are_drawn():
    model = ww.TauSS3()
    model.learn_many([f"word{at}" for at in range(60)], list(range(60)))
    overview = model.overview(n=2)
    assert "50 more labels are not drawn" in overview.to_html()
    assert "10 more labels are not drawn" in overview.to_page()
    drawn = overview.to_page(labels=[59, 3])
    assert re.findall(r'section id="label-(\d+)"', drawn) == ["59", "3"]
    assert "are not drawn" not in drawn


@pytest.mark.parametrize("draw", [pictures.bars_svg, pictures.cloud_svg])
def test_pictures_know_their_labels_and_lengths(draw):
    plain = taught().overview().to_dict()
    with pytest.raises(ww.errors.UnknownLabelError):
        draw(plain, "weather")
    with pytest.raises(ValueError, match="length must be from 1 to 3"):
        draw(plain, "x", length=4)


def test_pictures_are_the_same_every_time():
    assert taught().overview().to_page() == taught().overview().to_page()


def test_a_notebook_shows_a_snippet():
    model = taught()
    assert model.overview()._repr_html_() == model.overview().to_html()
    assert ngram_worth(model, "a")._repr_html_() == ngram_worth(model, "a").to_html()
    assert "<html" not in model.overview().to_html()


def test_the_pictures_in_the_docs_are_what_is_drawn_now():
    tool = Path(__file__).parents[2] / "tools" / "make_pictures.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# Word clouds


@given(
    st.lists(st.tuples(unicode_texts(60), st.floats(0, 1)), max_size=40),
    st.sampled_from([(12, 44), (10, 10), (1, 200)]),
)
def test_words_of_a_cloud_never_overlap_and_stay_inside(words, sizes):
    texts, shares = [text for text, _ in words], [share for _, share in words]
    smallest, largest = sizes
    placed, width, height = lay_out(texts, shares, smallest=smallest, largest=largest)
    assert len(placed) == len(words)
    for box in placed:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= width
        assert box.y + box.height <= height
    for one, other in combinations(placed, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        below = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert beside or below


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_the_size_of_a_word_follows_its_value(shares):
    placed, _, _ = lay_out(["word"] * len(shares), shares, smallest=10, largest=50)
    assert [box.size for box in placed] == pytest.approx([10 + 40 * share for share in shares])


def test_the_first_word_of_a_cloud_is_in_the_middle():
    texts = [f"word {at}" for at in range(60)]
    placed, width, height = lay_out(texts, np.linspace(1, 0.1, 60).tolist())
    first = placed[0]
    assert abs(first.x + first.width / 2 - width / 2) < width / 6
    assert abs(first.y + first.height / 2 - height / 2) < height / 6


# In a browser


def open_page(browser, folder, markup, **options):  # noqa: F811
    path = folder / "page.html"
    path.write_text(markup, encoding="utf-8")
    return browser.open(path.as_uri(), wait=False, **options)


def boxes(page, selector):
    return page.locator(selector).evaluate_all(
        """all => all.map(one => {
            const box = one.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom];
        })"""
    )


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE}, {"color_scheme": "dark"}], ids=str)
def test_a_page_of_hostile_words_is_shown_and_stays_inside(browser, tmp_path, options):  # noqa: F811
    page = open_page(browser, tmp_path, hostile_model().overview().to_page(), **options)
    assert page.locator("section").count() == len(HOSTILE)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_words_of_a_cloud_do_not_overlap_in_a_browser(browser, tmp_path):  # noqa: F811
    model = ww.TauSS3()
    words = "wwww MMMM iiii مرحبا नमस्ते 漢字かな שלום Ångström straße mimimi WOW 12345"
    model.learn_one(words, "x")
    model.learn_one("nothing else", "y")
    page = open_page(browser, tmp_path, model.overview().to_page(labels=["x"]))
    found = boxes(page, "g > text")
    assert len(found) == 20
    for one, other in combinations(found, 2):
        beside = one[2] <= other[0] or other[2] <= one[0]
        below = one[3] <= other[1] + 3 or other[3] <= one[1] + 3  # boxes have room for accents
        assert beside or below


def test_tables_are_opened_with_the_keyboard(browser, tmp_path):  # noqa: F811
    page = open_page(browser, tmp_path, taught().overview().to_page())
    table = page.locator("details table").first
    eventually(table.is_visible, False)
    page.locator("summary", has_text="As tables").first.focus()
    page.keyboard.press("Enter")
    eventually(table.is_visible, True)
