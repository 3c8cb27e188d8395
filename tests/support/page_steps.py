"""Steps on any page with views in a browser, and requests of a page that are held back."""

import time
from contextlib import contextmanager

from playwright.sync_api import expect

from browser import PATIENCE

_TURN = """(address) => new Promise((done) => {
    const before = location.hash;
    addEventListener("hashchange", () => done(), { once: true });
    location.hash = address;
    if (location.hash === before) done();
})"""


def settled(page):
    """Wait until no request of the page is pending."""
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")


def turn_to(page, address):
    """Open another view, such as "subjects/3", and wait until the page has noticed."""
    page.evaluate(_TURN, address)


def go(page, address):
    """Open another view, and wait until it is filled."""
    turn_to(page, address)
    settled(page)


class Held:
    """Requests of a page that are held back."""

    def __init__(self, page):
        self._page = page
        self.routes = []

    def wait(self, count=1):
        """Wait for this many requests."""
        end = time.monotonic() + PATIENCE / 1000
        while len(self.routes) < count:
            assert time.monotonic() < end, f"{len(self.routes)} of {count} requests were sent"
            self._page.wait_for_timeout(20)

    def release(self):
        """Let all of them continue."""
        while self.routes:
            self.routes.pop(0).continue_()


@contextmanager
def holding(page, address):
    """Hold back the requests to an address; those never released are not answered."""
    held = Held(page)
    page.route(address, lambda route: held.routes.append(route))
    try:
        yield held
    finally:
        page.unroute(address)
