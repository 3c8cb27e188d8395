"""Painted pages in a real browser: no scripts run, and everything is reachable by keyboard."""

import pytest

import watchword as ww
from browser import DESKTOP, PHONE
from hooks import by_blanks
from hostile import HOSTILE

MODEL = ww.TauSS3.paper()
MODEL.learn_many(
    ["machine learning " * 3, "learning to rest", "the machine rests", "a match"],
    ["tech", "calm", "calm", "sports"],
)
TEXT = (
    "So, machine learning!\r\nA match. The machine rests.\n\tmachine learning \u202eand\u202c rest"
)

PAINT = "element => getComputedStyle(element).backgroundColor"
TOLD = "element => getComputedStyle(element, '::after')"


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
    """Return the details shown for a block, or None."""
    display = locator.evaluate(f"element => ({TOLD})(element).display")
    content = locator.evaluate(f"element => ({TOLD})(element).content")
    return "" if display == "none" else content


def test_browser_text_content_equals_the_text(opened):
    page = opened()
    assert page.locator(".ww-text").evaluate("element => element.textContent") == TEXT


def test_browser_text_content_equals_a_long_text(opened):
    text = "a match and machine learning\r\n" * 5_000
    page = opened(text)
    assert page.locator(".ww-text").evaluate("element => element.textContent") == text


def test_choosing_a_label_paints_for_it(opened):
    page = opened("machine learning, a match", label="tech")
    assert opacity(page, "machine learning") > 0.5
    assert opacity(page, "match") == 0
    page.get_by_label("sports").check()
    assert opacity(page, "machine learning") == 0
    assert opacity(page, "match") > 0.2


def test_choosing_a_level_paints_its_blocks(opened):
    page = opened("machine learning. a match", label="tech")
    sentence = page.locator(".ww-text .s").first
    assert opacity(page, "machine learning") > 0.5
    page.get_by_label("sentences").check()
    assert opacity(page, "machine learning") == 0
    assert "0.275" in sentence.evaluate(PAINT)  # the other sentence is worth twice as much


def test_tables_follow_label_and_level(opened):
    page = opened(label="tech")
    assert page.locator("table:visible caption").all_inner_texts() == ["n-grams for tech"]
    page.get_by_label("calm").check()
    page.get_by_label("paragraphs").check()
    assert page.locator("table:visible caption").all_inner_texts() == ["paragraphs for calm"]


def test_pointing_at_a_block_shows_its_numbers(opened):
    page = opened()
    block = page.locator("mark", has_text="machine learning").first
    assert told(block) == ""
    block.hover()
    assert "count 3" in told(block)


def test_details_in_a_long_text_stay_within_the_window(opened):
    page = opened("machine learning, a match\n" * 3_000)
    block = page.locator("mark", has_text="machine learning").first
    block.hover()
    assert "count 3" in told(block)
    part = page.locator(".ww-part").first
    assert part.evaluate("element => getComputedStyle(element).contentVisibility") == "visible"


def test_the_keyboard_reaches_blocks_and_choices(opened):
    page = opened("machine learning, a match", label="sports")  # the highest is the first
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("tech").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("sentences").is_checked()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    focused = page.locator("mark:focus")
    assert focused.inner_text() == "machine learning"
    assert "count 3" in told(focused)


def test_focus_inside_a_sentence_shows_its_numbers(opened):
    page = opened("machine learning. a match", level="sentence")
    page.locator("mark[tabindex]").first.focus()
    assert "this sentence" in told(page.locator(".ww-text .s").first)


def test_numbers_are_described_for_screen_readers(opened):
    page = opened()
    block = page.locator("mark[tabindex]", has_text="machine learning").first
    described = page.locator("#" + block.get_attribute("aria-describedby"))
    assert "count 3" in described.text_content()


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
    assert page.locator("script, img, a, iframe").count() == 0
    page.locator("mark").first.hover()
    assert told(page.locator("mark").first)


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
    assert opacity(page, "machine learning") == 0.55
    block = page.locator("mark")
    assert "count 3" in block.get_attribute("title")
    block.focus()
    assert "count 3" in told(block)
