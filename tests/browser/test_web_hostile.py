"""Hostile text everywhere on the live page: it is shown and never executed.

The `browser` fixture watches every page: had anything of it run, set `window.hacked`, loaded
something or tried to, the test would fail.
"""

import re

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import PHONE, watched
from live_pages import write
from page_steps import go, settled
from watchword.data import Document
from watchword.web import running_page
from watchword.web.models import text_limit
from web_pages import HOSTILE, hostile_model, hostile_subjects, model

LIMIT = text_limit(2)
MODEL_NAME = "".join(HOSTILE)


@pytest.fixture(scope="module")
def live():
    texts = [Document(text, label, text) for text in HOSTILE for label in HOSTILE]
    options = {"subjects": hostile_subjects(), "name": MODEL_NAME}
    with running_page(hostile_model(), texts, **options) as served:
        yield served


def text_of(page, selector):
    return page.locator(selector).first.evaluate("e => e.textContent")


def test_the_fixture_detects_executed_scripts(browser_process, live):
    with pytest.raises(AssertionError), watched(browser_process) as opened:
        opened.open(live.url).evaluate("window.hacked = 1")


@pytest.mark.parametrize("text", HOSTILE)
def test_written_text_stays_text(browser, live, text):
    page = browser.open(live.url)
    page.fill("#text", f"{text} and words of 3")
    expect(page.locator("#write-painted .block").first).to_be_visible()
    for block in page.locator("#write-painted .block").all()[:3]:
        block.hover()
        expect(page.locator("#details")).to_be_visible()
    page.locator("#view-write .change button").click()
    expect(page.locator("#view-write .change p")).not_to_be_empty()
    # What a text field cannot hold aside, not a character is lost.
    assert text_of(page, "#write-painted").replace("\ufffd", "\0").startswith(text)


def test_labels_and_model_name_stay_text(browser, live):
    page = browser.open(live.url)
    write(page, "words")
    assert text_of(page, "#model-name") == MODEL_NAME
    names = page.locator("[data-reading=write] .score .name")
    assert set(names.evaluate_all("all => all.map((each) => each.textContent)")) == set(HOSTILE)
    for column in range(len(HOSTILE)):
        page.select_option("#paint-label", str(column))
        expect(page.locator("#view-write [data-painted-for]")).to_have_js_property(
            "textContent", f"for {sorted(HOSTILE)[column]}"
        )


@pytest.mark.parametrize("size", [None, PHONE], ids=["desktop", "phone"])
def test_documents_stay_text(browser, live, size):
    page = browser.open(f"{live.url}#documents", **({"viewport": size} if size else {}))
    expect(page.locator("#documents-list tbody tr")).to_have_count(len(HOSTILE) ** 2)
    assert HOSTILE[0] in text_of(page, "#documents-list tbody")
    for cell in page.locator("#documents-matrix tbody th button").all():
        cell.click()
        settled(page)
    for at in range(0, len(HOSTILE) ** 2, len(HOSTILE)):
        go(page, f"documents/{at}")
        name = HOSTILE[at // len(HOSTILE)]
        expect(page.locator("#document-trail a").first).to_be_visible()
        assert text_of(page, "#document-title") == f"Document {name}"
        assert text_of(page, "#document-painted") == name
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_subjects_stay_text(browser, live):
    page = browser.open(f"{live.url}#subjects")
    expect(page.locator("#subjects-list tbody tr")).to_have_count(len(HOSTILE))
    for at, name in enumerate(HOSTILE):
        go(page, f"subjects/{at}")
        expect(page.locator("#story-told p").first).to_be_visible()
        assert text_of(page, "#subject-title") == f"Subject {name}"
        page.locator("#replay-at").fill("1")
        expect(page.locator("#subject-painted")).to_have_js_property(
            "textContent", f"{name}\n\n{HOSTILE[0]}"
        )


def test_model_overview_stays_text(browser, live):
    page = browser.open(f"{live.url}#model")
    page.locator("summary", has_text="As a table").click()
    for column in range(len(HOSTILE)):
        page.select_option("#overview-label", str(column))
        expect(page.locator("#overview img").first).to_have_attribute(
            "src", re.compile(rf"/api/overview/{column}/")
        )
        expect(page.locator("#overview img").first).not_to_have_js_property("naturalWidth", 0)
    for text in HOSTILE[:3]:
        page.fill("#ngram", text)
        page.keyboard.press("Enter")
        settled(page)


def test_errors_with_hostile_text_stay_text(browser, live):
    page = browser.open(f"{live.url}#model")
    page.fill("#ngram", "<>")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_contain_text("not an n-gram")


def test_picture_opened_directly_runs_nothing(browser, live):
    for column in range(3):
        page = browser.open(
            f"{live.address}/api/overview/{column}/bars.svg?token={live.token}", wait=False
        )
        expect(page.locator("svg")).to_have_count(1)
        assert page.evaluate("window.hacked") is None
    browser.pages.clear()  # that such a picture has no style of its own is a violation, and fine


def test_reversed_text_does_not_affect_its_surroundings(browser, live):
    page = browser.open(live.url)
    write(page, "abc \u202edef")
    marks = page.locator("#write-painted .control")
    expect(marks).to_have_attribute("data-name", "RLO")
    order = page.evaluate(
        """() => {
            const text = document.querySelector("#write-painted .control").nextSibling
                ?? document.querySelector("#write-painted .control").parentElement.nextSibling;
            const range = document.createRange();
            const node = text.firstChild ?? text;
            return [0, 2].map((at) => {
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                return range.getBoundingClientRect().left;
            });
        }"""
    )
    assert order[0] < order[1]


# Huge

PASTE = """(size) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "so tired ".repeat(size / 9));
    const options = { clipboardData, bubbles: true, cancelable: true };
    document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", options));
}"""


@pytest.mark.slow
def test_pasting_ten_megabytes_inserts_the_beginning_with_a_note(browser):
    with running_page(model()) as served:
        page = browser.open(served.url)
        page.evaluate(PASTE, 10_000_000)
        expect(page.locator("#write-note")).to_contain_text(f"Only the first {LIMIT:,} of ")
        expect(page.locator("#write-status")).to_contain_text(f"{LIMIT:,} characters")
        expect(page.locator("#write-note")).to_contain_text("Only the first")
        write(page, "I cannot sleep")
        expect(page.locator("#write-painted .block")).to_have_text(["I cannot sleep"])
        expect(page.locator("#write-note")).to_be_empty()


def test_ten_megabyte_document_is_cut_with_a_note(browser):
    with running_page(model(), ["I cannot sleep\n" * 700_000], ["control"]) as served:
        page = browser.open(f"{served.url}#documents")
        page.locator("#documents-list tbody a").click()
        expect(page.locator("#document-note")).to_contain_text(
            "Only the first 200,000 of 10,500,000"
        )
        go(page, "write")
        write(page, "I cannot sleep")


def test_fifty_thousand_ngrams_are_painted_and_can_be_pointed_at(browser):
    taught = ww.TauSS3(max_ngram=1)
    taught.learn_many(["a b", "b c"], ["x", "y"])
    with running_page(taught) as served:
        page = browser.open(served.url)
        # Lines of the usual length: a text field itself is slow to clear with very many of them.
        page.evaluate(
            "document.querySelector('#text').value = ('a b '.repeat(25) + '\\n').repeat(1000)"
        )
        page.locator("#text").dispatch_event("input")
        expect(page.locator("#write-status")).to_contain_text("101,000 char")
        expect(page.locator("#write-painted .block")).to_have_count(50_000)
        page.locator("#write-painted .block").nth(3).hover()
        expect(page.locator("#details .what")).to_have_text("b")
        write(page, "a")
        expect(page.locator("#write-painted .block")).to_have_count(1)


def test_very_long_word_does_not_overflow(browser):
    with running_page(model(), ["x" * 100_000], ["y" * 10_000], name="z" * 10_000) as served:
        page = browser.open(f"{served.url}#documents", viewport=PHONE)
        expect(page.locator("#documents-list tbody tr")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.locator("#documents-list tbody a").click()
        expect(page.locator("#document-painted .block")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_overview_of_fifty_thousand_ngrams(browser):
    taught = ww.TauSS3(max_ngram=1)
    taught.learn_many([" ".join(f"word{at}" for at in range(50_000)), "word1"], ["x", "y"])
    with running_page(taught) as served:
        page = browser.open(f"{served.url}#model")
        expect(page.locator("#model-facts")).to_contain_text("50,000 words")
        expect(page.locator("#overview img").first).not_to_have_js_property("naturalWidth", 0)
