"""The live page with many labels and many documents, on desktops and phones."""

import threading

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import DESKTOP, PHONE
from hooks import by_blanks
from live_pages import write
from watchword.explain import palette
from watchword.web import running_page

NAMES = [f"label {at:02} of twenty" for at in range(20)]


def twenty():
    """Return a model of twenty labels, texts and their labels; some are confused."""
    model = ww.TauSS3()
    model.learn_many([f"word{at} word{at}" for at in range(20)], NAMES)
    texts = [f"word{at}" for at in range(20)] * 6 + [f"word{(at + 1) % 20}" for at in range(5)]
    return model, texts, NAMES * 6 + NAMES[:5]


@pytest.fixture(scope="module")
def many():
    model, texts, labels = twenty()
    with running_page(model, texts, labels) as served:
        yield served


def test_twenty_labels_have_twenty_colours(browser, many):
    page = browser.open(many.url)
    write(page, "word1")
    bars = page.locator("[data-reading=write] .score .bar")
    expect(bars).to_have_count(20)
    colours = bars.evaluate_all("all => all.map((bar) => getComputedStyle(bar).backgroundColor)")
    warm = f"rgb({palette.rgb(palette.ALERT).replace(' ', ', ')})"
    assert len(set(colours)) == 20
    assert warm not in colours


def test_a_matrix_of_twenty_labels_fits_a_desktop(browser, many):
    page = browser.open(f"{many.url}#documents", viewport=DESKTOP)
    table = page.locator("#documents-matrix table")
    expect(table.locator("tbody .cell")).to_have_count(400)
    assert table.evaluate("e => e.offsetWidth <= e.parentElement.clientWidth")
    expect(table.locator("tbody .cell.right")).to_have_text(["6"] * 20)


def test_names_of_a_large_matrix_stay_in_sight_on_a_phone(browser, many):
    page = browser.open(f"{many.url}#documents", viewport=PHONE)
    frame = page.locator("#documents-matrix .scrolls")
    # At one moment: what appears above the matrix would move it between two measurements.
    across, down = frame.evaluate(
        """frame => {
            [frame.scrollLeft, frame.scrollTop] = [300, 200];
            const place = (each) => each.getBoundingClientRect();
            const row = frame.querySelectorAll("tbody th")[10];
            const column = frame.querySelectorAll("thead th")[12];
            return [place(row).x - place(frame).x, place(column).y - place(frame).y];
        }"""
    )
    assert abs(across) < 2
    assert abs(down) < 2


def test_the_names_of_a_cell_are_pointed_out(browser, many):
    page = browser.open(f"{many.url}#documents")
    page.locator("#documents-matrix tbody tr").nth(3).locator(".cell").nth(7).hover()
    expect(page.locator("#documents-matrix .here")).to_have_text([NAMES[7], NAMES[3]])


def test_the_most_frequent_confusions_are_listed_below_the_matrix(browser, many):
    page = browser.open(f"{many.url}#documents")
    items = page.locator("#documents-matrix .confusions button")
    expect(items).to_have_count(5)
    items.first.click()
    expect(page.locator("#documents-list tbody tr")).to_have_count(1)


@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("documents", ["Text", "Truth", "Predicted", "Value"]),
        ("subjects", ["Subject", "Truth", "Decision", "Posts", "Score"]),
    ],
)
def test_a_phone_shows_every_column_with_its_name(visit, view, names):
    page = visit(view, viewport=PHONE)
    cells = page.locator(f"#{view}-list tbody tr").first.locator("td")
    expect(cells).to_have_count(len(names))
    assert cells.evaluate_all("all => all.map((each) => each.dataset.name)") == names
    for cell in cells.all():
        expect(cell).to_be_visible()
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= PHONE["width"]


class Gate:
    """A tokenizer that stops at a word until it is opened."""

    def __init__(self):
        self.is_open = threading.Event()

    def __call__(self, text):
        if "gate" in text:
            assert self.is_open.wait(60)
        return by_blanks(text)


def test_a_setting_changed_for_many_documents_shows_progress(browser):
    gate = Gate()
    gate.is_open.set()
    model = ww.TauSS3(tokenizer=gate)
    model.learn_many(["one", "two"], ["a", "b"])
    texts = ["one two"] * 300 + ["gate"] + ["two"] * 99
    with running_page(model, texts, ["a"] * 400) as served:
        page = browser.open(f"{served.url}#documents")
        expect(page.locator("#documents-list tbody tr")).to_have_count(50)
        expect(page.locator("#working")).to_be_hidden()
        gate.is_open.clear()
        try:
            page.fill("#smoothness", "0.9")
            expect(page.locator("#working")).to_contain_text("75\u00a0%")
            page.evaluate("location.hash = '#write'")  # the page is not frozen
            expect(page.locator("#view-write")).to_be_visible()
            page.evaluate("location.hash = '#documents'")
            expect(page.locator("#working")).to_be_visible()
        finally:
            gate.is_open.set()
        expect(page.locator("#working")).to_be_hidden()
        expect(page.locator("#documents-facts")).to_contain_text("400 documents")
