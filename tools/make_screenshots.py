"""Take the pictures of the live page for README and docs: `python tools/make_screenshots.py`.

Needs chromium and Playwright. The people on them are made up. Fonts differ between machines, so
unlike `make_pictures.py` this has nothing to check: run it when the page has changed visibly.
"""

import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import watchword as ww
from watchword.web import LivePage, running_page

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1180, "height": 760}
TEXT = """We went to a gig on Friday, and it was fine. My sister tried a new recipe.

I am not living, just working. Another day of being exhausted, and I cannot sleep.
I do not tell anyone, but I am fine."""


def writing(page: Page, live: LivePage) -> None:
    page.goto(live.url)
    page.fill("#text", TEXT)
    page.locator("#write-painted .strong").last.hover()


def replaying(page: Page, live: LivePage) -> None:
    page.goto(f"{live.url}#subjects/3")
    page.wait_for_selector("#story-told p")


def main() -> None:
    people = ww.make_risk_streams(160, seed=3)
    model = ww.TauSS3()
    ww.teach(model, people[:80])
    policy = ww.Overtakes("at risk", margin=0.5)
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
        browser.close()


if __name__ == "__main__":
    main()
