"""Take the pictures of pages for README and docs: `python tools/make_screenshots.py`.

Needs chromium and Playwright. The subjects on them are synthetic. Fonts differ between machines, so
unlike `make_pictures.py` this has nothing to check: run it when the page has changed visibly.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import watchword as ww
from watchword.searching.searcher import search
from watchword.service.records import IncomingPost
from watchword.service.runner import Service
from watchword.service.serving import running_service
from watchword.web import LivePage, running_page

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1180, "height": 760}
TALL = {"width": 1140, "height": 800}
TALLER = {"width": 1140, "height": 1020}
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
    """Charts by parameter, above the table of settings."""
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
        page.screenshot(path=FOLDER / "search.png")
    print(f"wrote {FOLDER / 'search.png'}")


def judging(browser: Browser, people: list[ww.Subject], model: ww.TauSS3) -> None:
    """The board of a service that has read the posts, with an alert that is marked."""
    posts = [
        IncomingPost(person.id, str(at), person.posts[at].content, person.posts[at].time)
        for at in range(max(len(person.posts) for person in people))
        for person in people
        if at < len(person.posts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ww"
        model.save(path)
        policy = ww.Overtakes("at risk", margin=0.05)
        with (
            Service.open(f"{folder}/watch.db", path, policy) as service,
            running_service(service) as running,
        ):
            for begin in range(0, len(posts), 100):
                service.submit(posts[begin : begin + 100]).result()
            for alert, verdict in zip(
                service.alerts(), ("unsure", "right", "wrong", "right"), strict=False
            ):
                service.mark(alert.id, verdict, by="ann")
            page = browser.new_page(viewport=TALLER)
            page.goto(f"{running.url}/?token={running.token}#alerts/{service.alerts()[1].id}")
            page.wait_for_selector("#alert-curves svg")
            page.wait_for_selector("#closest li")
            page.screenshot(path=FOLDER / "board.png")
    print(f"wrote {FOLDER / 'board.png'}")


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
        judging(browser, people[80:], model)
        browser.close()


if __name__ == "__main__":
    main()
