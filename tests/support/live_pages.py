"""Steps shared by the browser tests of the live page."""

import re
from contextlib import contextmanager

import watchword as ww
from watchword.web import running_page
from web_pages import AT_RISK, documents, model, people

TEXT = "Another day of being so tired.\nI cannot sleep, so I work 😀. And again: I cannot sleep!"


@contextmanager
def whole_page():
    """Serve a page with a model, documents and subjects."""
    texts, labels = documents()
    with running_page(model(), texts, labels, subjects=people(), name="small.ww") as served:
        yield served


def visitor(browser, live):
    """Return a function that opens a view of the page, such as "documents/3"."""
    return lambda address="", **options: browser.open(f"{live.url}#{address}", **options)


def write(page, text=TEXT):
    """Fill in a text and wait until it is painted."""
    from playwright.sync_api import expect

    page.fill("#text", text)
    units = len(text.encode("utf-16-le")) // 2
    expect(page.locator("#write-status")).to_contain_text(re.compile(rf"^{units:,} char"))


def choose_level(page, level):
    """Choose what is painted: "ngram", "sentence" or "paragraph"."""
    from playwright.sync_api import expect

    radio = f"[name=level][value={level}]"
    page.locator(f"label:has({radio})").click()  # the radio button itself is invisible
    expect(page.locator(radio)).to_be_checked()


def block(page, text, view="write"):
    """Return the painted block with exactly this text."""
    exactly = re.compile(f"^{re.escape(text)}$")
    return page.locator(f"#{view}-painted .block").filter(has_text=exactly).first


def scores(page, view="write"):
    """Return the values of the bars by label."""
    rows = page.locator(f"[data-reading={view}] .score")
    cells = "all => all.map((row) => [row.children[0].textContent, row.children[2].textContent])"
    return dict(rows.evaluate_all(cells))


def spelled(values):
    """Format values as the page does; none may be tiny."""
    return {label: f"{value:.3f}" if value else "0" for label, value in values.items()}


def right_ones():
    """Return for each document whether the model predicts its label."""
    texts, labels = documents()
    return [one == other for one, other in zip(model().predict_many(texts), labels, strict=True)]


def outcomes(policy=None):
    """Return the outcome of each subject."""
    return ww.replay(people(), model(), policy or ww.Overtakes(AT_RISK)).outcomes
