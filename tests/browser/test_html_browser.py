"""Painted pages in a real browser: no scripts run, and everything is reachable by keyboard."""

import re

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import DESKTOP, PHONE, eventually
from hooks import by_blanks
from hostile import HOSTILE

pytestmark = pytest.mark.quick

MODEL = ww.TauSS3.paper()
MODEL.learn_many(
    ["machine learning " * 3, "learning to rest", "the machine rests", "a match"],
    ["tech", "calm", "calm", "sports"],
)
TEXT = (
    "So, machine learning!\r\nA match. The machine rests.\n\tmachine learning \u202eand\u202c rest"
)

PAINT = "element => getComputedStyle(element).backgroundColor"
TOLD = """element => {
    const { display, content } = getComputedStyle(element, "::after");
    return display === "none" ? "" : content;
}"""


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(text=TEXT, model=MODEL, *, viewport=DESKTOP, scheme="light", **options):
        path = tmp_path / "page.html"
        path.write_bytes(model.explain(text).to_page(**options).encode())
        return browser.open(path.as_uri(), wait=False, viewport=viewport, color_scheme=scheme)

    return open_page


def opacity(page, words):
    """Return the opacity of the block with these words."""
    colour = page.locator("mark", has_text=words).first.evaluate(PAINT)
    numbers = colour.rstrip(")").split("(")[1].replace(",", " ").replace("/", " ").split()
    return float(numbers[3]) if len(numbers) == 4 else 1.0


def told(locator):
    """Return the details shown for a block; nothing if there are none."""
    return locator.evaluate(TOLD)


def expect_told(locator, words):
    """Wait until the details of a block are shown."""
    eventually(lambda: words in told(locator), True)


def test_browser_text_content_equals_the_text(opened):
    page = opened()
    expect(page.locator(".ww-text")).to_have_js_property("textContent", TEXT)


@pytest.mark.slow
def test_browser_text_content_equals_a_long_text(opened):
    text = "a match and machine learning\r\n" * 5_000
    page = opened(text)
    assert page.locator(".ww-text").evaluate("element => element.textContent") == text


def test_choosing_a_label_paints_for_it(opened):
    page = opened("machine learning, a match", label="tech")
    eventually(lambda: opacity(page, "machine learning") > 0.5, True)
    eventually(lambda: opacity(page, "match"), 0)
    page.get_by_label("sports").check()
    eventually(lambda: opacity(page, "machine learning"), 0)
    eventually(lambda: opacity(page, "match") > 0.2, True)


def test_choosing_a_level_paints_its_blocks(opened):
    page = opened("machine learning. a match", label="tech")
    sentence = page.locator(".ww-text .s").first
    eventually(lambda: opacity(page, "machine learning") > 0.5, True)
    page.get_by_label("sentences").check()
    eventually(lambda: opacity(page, "machine learning"), 0)
    # The other sentence is worth twice as much.
    expect(sentence).to_have_css("background-color", re.compile(r"0\.275"))


def test_tables_follow_label_and_level(opened):
    page = opened(label="tech")
    expect(page.locator("table:visible caption")).to_have_text(["n-grams for tech"])
    page.get_by_label("calm").check()
    page.get_by_label("paragraphs").check()
    expect(page.locator("table:visible caption")).to_have_text(["paragraphs for calm"])


def test_pointing_at_a_block_shows_its_numbers(opened):
    page = opened()
    block = page.locator("mark", has_text="machine learning").first
    eventually(lambda: told(block), "")
    block.hover()
    expect_told(block, "count 3")


@pytest.mark.slow
def test_details_in_a_long_text_stay_within_the_window(opened):
    page = opened("machine learning, a match\n" * 3_000)
    block = page.locator("mark", has_text="machine learning").first
    block.hover()
    expect_told(block, "count 3")
    expect(page.locator(".ww-part").first).to_have_css("content-visibility", "visible")


def test_the_keyboard_reaches_blocks_and_choices(opened):
    page = opened("machine learning, a match", label="sports")  # the highest is the first
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("tech")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("sentences")).to_be_checked()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    focused = page.locator("mark:focus")
    expect(focused).to_have_text("machine learning")
    expect_told(focused, "count 3")


def test_focus_inside_a_sentence_shows_its_numbers(opened):
    page = opened("machine learning. a match", level="sentence")
    page.locator("mark[tabindex]").first.focus()
    expect_told(page.locator(".ww-text .s").first, "this sentence")


def test_numbers_are_described_for_screen_readers(opened):
    page = opened()
    block = page.locator("mark[tabindex]", has_text="machine learning").first
    described = page.locator("#" + block.get_attribute("aria-describedby"))
    expect(described).to_contain_text("count 3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_fits_the_window(opened, viewport, scheme):
    page = opened(TEXT + " unbroken" * 3 + "x" * 400, viewport=viewport, scheme=scheme)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= viewport["width"]


def test_dark_windows_have_a_dark_page(opened):
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert opened(scheme="dark").evaluate(background) == "rgb(21, 24, 28)"
    assert opened(scheme="light").evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("hostile", [one for one in HOSTILE if "\ud800" not in one])
def test_hostile_texts_labels_ngrams_and_titles_do_not_run(opened, hostile):
    model = ww.TauSS3(tokenizer=by_blanks)
    model.learn_many([f"{hostile} x", "x y"], [hostile, "other"])
    page = opened(f"{hostile} x", model, title=hostile)
    expect(page.locator("script, img, a, iframe")).to_have_count(0)
    page.locator("mark").first.hover()
    eventually(lambda: bool(told(page.locator("mark").first)), True)


def test_overrides_do_not_reorder_the_words_behind_them(opened):
    page = opened("a match \u202emachine learning")
    match, machine = (
        page.locator("mark", has_text=words).first.bounding_box()["x"]
        for words in ("match", "machine")
    )
    assert match < machine


def test_snippet_works_in_any_page(browser, tmp_path):
    path = tmp_path / "mail.html"
    snippet = MODEL.explain("machine learning").to_html()
    path.write_bytes(f"<!doctype html><meta charset=utf-8>{snippet}".encode())
    page = browser.open(path.as_uri(), wait=False)
    eventually(lambda: opacity(page, "machine learning"), 0.55)
    block = page.locator("mark")
    expect(block).to_have_attribute("title", re.compile("count 3"))
    block.focus()
    expect_told(block, "count 3")
