"""Take the pictures of pages for README and docs: `python tools/make_screenshots.py`.

Needs chromium and Playwright. The subjects on them are synthetic. Fonts differ between machines, so
unlike `make_pictures.py` this has nothing to check: run it when the page has changed visibly.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import watchword as ww
from watchword.searching.searcher import search
from watchword.web import LivePage, running_page

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1180, "height": 760}
TALL = {"width": 1140, "height": 800}
TEXT = """We went to a gig on Friday, and it was fine. My sister tried a new recipe.

I am not living, just working. Another day of being exhausted, and I cannot sleep.
I do not tell anyone, but I am fine."""


def writing(page: Page, live: LivePage) -> None:
    page.goto(live.url)
    page.fill("#text", TEXT)
    page.locator("#write-painted .block", has_text="not tell").hover()


def replaying(page: Page, live: LivePage) -> None:
    page.goto(f"{live.url}#subjects/3")
    page.wait_for_selector("#story-told p")


def searching(page: Page, people: list[ww.Subject]) -> None:
    """A setting of many, with the pointer at another one."""
    posts = [(post.text, person) for person in people for post in person.posts]
    found = search(
        [text for text, _ in posts],
        [str(person.label) for _, person in posts],
        measure="macro_f1",
        method="halving",
        trials=100,
        groups=[person.id for _, person in posts],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.html"
        path.write_text(found.to_page(), encoding="utf-8")
        page.set_viewport_size(TALL)
        page.goto(path.as_uri())
        page.locator("#large .ww-cursor").focus()
        for key in ["ArrowDown"] * 82:
            page.keyboard.press(key)
        page.screenshot(path=FOLDER / "search.png")
    print(f"wrote {FOLDER / 'search.png'}")


def main() -> None:
    people = ww.make_risk_streams(160, seed=3)
    model = ww.TauSS3()
    ww.teach(model, people[:80])
    policy = ww.Overtakes("at risk", margin=0.05)
    with (
        running_page(model, subjects=people[80:], policy=policy, name="model.ww") as live,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        for name, show in (("live-writing.png", writing), ("live-replay.png", replaying)):
            show(page, live)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=FOLDER / name)
            print(f"wrote {FOLDER / name}")
        searching(page, people)
        browser.close()


if __name__ == "__main__":
    main()
