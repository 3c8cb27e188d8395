"""What tests of the live page do again and again in the browser."""

import re
from contextlib import contextmanager

import watchword as ww
from watchword.web import running_page
from web_pages import AT_RISK, documents, model, people

TEXT = "Another day of being so tired.\nI cannot sleep, so I work 😀. And again: I cannot sleep!"


@contextmanager
def whole_page():
    """A page that has everything: a model, documents and subjects."""
    texts, labels = documents()
    with running_page(model(), texts, labels, subjects=people(), name="small.ww") as served:
        yield served


def visitor(browser, live):
    """Opens the page at an address of its own, such as "documents/3"."""
    return lambda address="", **options: browser.open(f"{live.url}#{address}", **options)


def write(page, text=TEXT):
    """Fill in a text and wait until it is painted."""
    from playwright.sync_api import expect

    page.fill("#text", text)
    units = len(text.encode("utf-16-le")) // 2
    expect(page.locator("#write-status")).to_contain_text(re.compile(rf"^{units:,} char"))


def block(page, text, view="write"):
    """The painted block with just this text."""
    exactly = re.compile(f"^{re.escape(text)}$")
    return page.locator(f"#{view}-painted .block").filter(has_text=exactly).first


def scores(page, view="write"):
    """What the bars say, by label."""
    rows = page.locator(f"[data-reading={view}] .score")
    cells = "all => all.map((row) => [row.children[0].textContent, row.children[2].textContent])"
    return dict(rows.evaluate_all(cells))


def spelled(values):
    """Values as the page writes them; none of them is tiny."""
    return {label: f"{value:.3f}" if value else "0" for label, value in values.items()}


def right_ones():
    """Whether the model is right about each document."""
    texts, labels = documents()
    return [one == other for one, other in zip(model().predict_many(texts), labels, strict=True)]


def outcomes(policy=None):
    """What is decided about each subject."""
    return ww.replay(people(), model(), policy or ww.Overtakes(AT_RISK)).outcomes
