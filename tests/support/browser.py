"""A real browser for tests: the system's Chromium, driven by Playwright; nothing is downloaded.

    def test_…(browser):  # a fixture, known to all tests through conftest.py
        page = browser.open("http://127.0.0.1:…")

Every page is watched: a request to any other server, a violation of its Content-Security-Policy or
an error in a script fails the test at its end, unless the test expects it.

A page answers most actions after a while: it asks a server, loads a frame or redraws. Tests wait
for the answer, with Playwright's `expect` or with `eventually`, and never read it at once.
"""

import os
import shutil
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from sanitizing import SANITIZED

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}

# Milliseconds; a busy machine may need many times as long as an idle one.
PATIENCE = 60_000

_FLAGS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# Set before any script of the page runs. Hostile texts try to set `hacked`.
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


_READY = "body[data-ready]:not(:has(main[aria-busy]))"


def chromium():
    """Return the path of the browser, None if there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


_RUNNING = []


@pytest.fixture(scope="session")
def browser_process():
    """Start one browser for all tests."""
    if _RUNNING:  # a fixture that another module imports is another fixture to pytest
        yield _RUNNING[0]
        return
    if SANITIZED:
        pytest.skip("a browser does not run with the sanitizers")
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("there is no chromium: .ci/run installs it")
        pytest.skip("there is no chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        _RUNNING.append(Pages(launched))
        yield _RUNNING[0]
        _RUNNING.clear()
        launched.close()


class Pages:
    """Pages by their options, reused because opening a page takes longer than most tests."""

    def __init__(self, process):
        self._process = process
        self._idle = {}

    def take(self, **options):
        idle = self._idle.setdefault(repr(sorted(options.items())), [])
        if idle:
            return idle.pop(), idle
        context = self._process.new_context(**options)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_WATCH)
        return context.new_page(), idle


class Browser:
    """Pages that a test opens, with all that went wrong on them."""

    def __init__(self, pages):
        self._pages = pages
        self._taken = []
        self.pages = []
        self.errors = []
        self.elsewhere = []

    def open(self, url, *, wait=True, **options):
        """Return a page with the URL open.

        With `wait`, only when its scripts report ready and no request of them is pending.
        """
        options = {"viewport": DESKTOP, "reduced_motion": "reduce"} | options
        page, idle = self._pages.take(**options)
        own = urlsplit(url).netloc
        listeners = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "dialog": self._refuse,
            "request": lambda request: self._note(request.url, own),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        self._taken.append((page, idle, listeners, options["viewport"]))
        self.pages.append(page)
        page.goto(url)
        if wait:
            page.wait_for_selector(_READY)
        return page

    def _refuse(self, dialog):
        self.errors.append(f"a dialog was opened: {dialog.message}")
        dialog.dismiss()

    def _note(self, url, own):
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != own:
            self.elsewhere.append(url)

    def check(self):
        """Check that no page broke a rule or raised an error."""
        for page in self.pages:
            assert page.evaluate("window.hacked") is None
            assert page.evaluate("window.violations") == []
        assert self.errors == []
        assert self.elsewhere == []

    def close(self):
        """Empty the pages and return them to the pool, with nothing left of what a test set."""
        for page, idle, listeners, viewport in self._taken:
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            page.unroute_all()
            page.context.clear_cookies()
            page.context.clear_permissions()
            page.goto("about:blank")
            if page.viewport_size != viewport:
                page.set_viewport_size(viewport)
            page.mouse.move(0, 0)
            idle.append(page)


def eventually(read, expected):
    """Check that what a function reads from a page becomes what is expected."""
    end = time.monotonic() + PATIENCE / 1000
    while (found := read()) != expected and time.monotonic() < end:
        time.sleep(0.02)
    assert found == expected


@contextmanager
def watched(pages):
    """Yield a `Browser` and check its pages at the end."""
    opened = Browser(pages)
    try:
        yield opened
        opened.check()
    finally:
        opened.close()


@pytest.fixture
def browser(browser_process):
    with watched(browser_process) as opened:
        yield opened
