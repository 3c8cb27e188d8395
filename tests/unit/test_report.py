"""Early-detection reports: all subjects, wrong decisions first, and the page in a browser."""

import re
from itertools import groupby

import pytest

import watchword as ww
from browser import DESKTOP, PHONE, eventually
from hostile import HOSTILE_TEXT
from story_pages import Page, is_plain
from watchword.explain.report import OUTCOMES, report_data, report_html

PEOPLE = ww.make_risk_streams(40, seed=8, prevalence=0.3, posts_per_subject=(5, 15))
MODEL = ww.TauSS3.paper()  # which decides wrongly in both ways here
ww.teach(MODEL, PEOPLE[:20])
OTHERS = PEOPLE[20:]
POLICY = ww.Overtakes("at risk")


def data(policy=POLICY, subjects=OTHERS, by="post", **options):
    return report_data(ww.replay(subjects, MODEL, policy, by=by), MODEL, subjects, **options)


def test_report_lists_all_subjects_errors_first():
    plain = data()
    assert sorted(row["subject"] for row in plain["subjects"]) == [one.id for one in OTHERS]
    outcomes = [row["outcome"] for row in plain["subjects"]]
    assert [outcome for outcome, _ in groupby(outcomes)] == sorted(
        set(outcomes), key=OUTCOMES.index
    )
    assert plain["outcomes"] == {one: outcomes.count(one) for one in dict.fromkeys(outcomes)}


def test_a_report_has_its_policy_in_the_notation_of_the_command_line():
    plain = data(ww.Repeats("at risk", 2))
    assert {plain["policy_text"], *(one["policy_text"] for one in plain["stories"])} == {
        "repeats(times=2)"
    }


@pytest.mark.parametrize(
    ("truth", "posts", "outcome"),
    [
        ("at risk", ["x"], "found"),
        ("at risk", ["a"], "missed"),
        ("control", ["x"], "false alarm"),
        ("control", ["a"], "left alone"),
        (None, ["x"], "alert"),
        (None, ["a"], "no alert"),
    ],
)
def test_outcome_of_each_kind_of_decision(truth, posts, outcome):
    model = ww.TauSS3()
    model.learn_many(["x", "a"], ["at risk", "control"])
    subjects = [ww.Subject("ann", [ww.Post(post) for post in posts], truth)]
    plain = report_data(ww.replay(subjects, model, POLICY), model, subjects)
    assert [row["outcome"] for row in plain["subjects"]] == [outcome]


def test_stories_have_the_alerts_of_the_replay():
    for policy in (POLICY, ww.StandsOut("at risk"), ww.Repeats("at risk", 2)):
        found = ww.replay(OTHERS, MODEL, policy)
        alerts = {one.subject: one.delay for one in found.outcomes}
        stories = report_data(found, MODEL, OTHERS)["stories"]
        assert {one["subject"]: one["decision"]["delay"] for one in stories} == alerts


def test_alerts_by_chunk_come_at_the_end_of_a_chunk():
    plain = data(by="chunk")
    for story, row in zip(plain["stories"], plain["subjects"], strict=True):
        assert bool(story["decision"]["delay"]) == (row["label"] is not None)
        assert story["changes"] == []  # nothing can be said from one post to the next
    assert "every\ntenth of the posts" in report_html(plain)


def test_a_report_is_plain_data():
    assert is_plain(data(ww.StandsOut("at risk")))


def test_size_is_bounded_and_omissions_are_stated():
    plain = data(stories=3, texts=1, characters=40)
    assert len(plain["stories"]) == 3
    assert plain["left_out"]["stories"] == len(OTHERS) - 3
    shown = [one for story in plain["stories"] for one in story["shown"]]
    assert len(shown) <= 3
    assert all(len(one["explanation"]["text"]) <= 40 for one in shown)
    page = report_html(plain)
    assert f"{len(OTHERS) - 3:,} more are not shown" in page
    assert "more characters left out" in page


def test_without_texts_no_post_is_shown():
    page = report_html(data(texts=0))
    assert 'class="ww-text"' not in page
    assert 'class="ww-timeline"' in page


def test_no_measures_without_truth():
    unknown = [ww.Subject(one.id, one.posts) for one in OTHERS]
    page = report_html(data(subjects=unknown))
    assert "No measures: the label of some subjects is unknown." in page
    assert "ERDE" not in page


def test_measures_are_shown_with_their_bounds():
    page = report_html(data())
    measures = ww.replay(OTHERS, MODEL, POLICY).measures
    row = re.search(r"ERDE50</th>(.*?)</tr>", page)[1]
    bounds = measures.erde50_bounds
    numbers = (measures.erde50, bounds.never, bounds.at_once, bounds.best)
    assert re.findall(r">([\d.]+ %)<", row) == [f"{100 * number:.2f} %" for number in numbers]


def test_the_page_has_pictures_of_thresholds_and_delays():
    page = report_html(data(ww.Overtakes("at risk", margin=0.05), stories=0))
    assert "Measures against the margin" in page
    assert "Delays of" in page
    assert "Measures against" not in report_html(data(ww.Repeats("at risk"), stories=0))


def test_the_subjects_must_be_those_of_the_replay():
    found = ww.replay(OTHERS, MODEL, POLICY)
    with pytest.raises(ValueError, match="those of the replay"):
        report_data(found, MODEL, OTHERS[1:])


def test_report_without_subjects_is_empty():
    page = report_html(data(subjects=[]))
    assert page.startswith("<!doctype html>")


def test_links_lead_somewhere_and_ids_are_unique():
    page = Page(report_html(data()))
    assert len(page.ids) == len(set(page.ids))
    assert {target.removeprefix("#") for target in page.targets} <= set(page.ids)


def hostile_report():
    label = HOSTILE_TEXT.replace("\ud800", "")
    model = ww.TauSS3()
    model.learn_many([f"alone {HOSTILE_TEXT}", "garden"], [label, "<i>other</i>"])
    posts = [ww.Post(f"alone {HOSTILE_TEXT}", title=HOSTILE_TEXT), ww.Post("garden")]
    subjects = [ww.Subject(f"{HOSTILE_TEXT} {at}", posts, label) for at in range(3)]
    found = ww.replay(subjects, model, ww.Overtakes(label))
    return report_html(report_data(found, model, subjects), title=HOSTILE_TEXT)


def test_hostile_names_stay_text():
    page = hostile_report()
    page.encode()
    tags = Page(page).tags
    assert not {tag for tag, _ in tags} & {"script", "i", "iframe", "img"}
    assert not [name for _, known in tags for name in known if name.startswith("on")]


# In a browser


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(page, viewport=DESKTOP, **options):
        path = tmp_path / "page.html"
        path.write_bytes(page.encode())
        return browser.open(path.as_uri(), wait=False, viewport=viewport, **options)

    return open_page


def visible_outcomes(page):
    return set(page.locator("tbody tr[class]:visible td:nth-of-type(1)").all_inner_texts())


def test_subjects_can_be_filtered(opened):
    plain = data(ww.Overtakes("at risk", margin=1.5))
    present = set(plain["outcomes"])
    assert present == {"missed", "false alarm", "found", "left alone"}
    page = opened(report_html(plain))
    eventually(lambda: visible_outcomes(page), present)
    page.get_by_label("wrong", exact=True).check()
    eventually(lambda: visible_outcomes(page), {"missed", "false alarm"})
    eventually(page.locator("section.v-found:visible").count, 0)
    page.get_by_label("right", exact=True).check()
    eventually(lambda: visible_outcomes(page), {"found", "left alone"})
    page.get_by_label("missed").check()
    eventually(lambda: visible_outcomes(page), {"missed"})


def test_the_filter_works_with_the_keyboard(opened):
    page = opened(report_html(data(ww.Overtakes("at risk", margin=1.5))))
    page.get_by_label("all", exact=True).focus()
    page.keyboard.press("ArrowRight")
    eventually(lambda: visible_outcomes(page), {"missed", "false alarm"})


def test_a_subject_leads_to_its_story(opened):
    page = opened(report_html(data()))
    page.locator("tbody a").nth(2).click()
    eventually(page.locator(":target h3").first.is_visible, True)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_are_as_wide_as_the_window(opened, viewport):
    story = MODEL.story(OTHERS[0], POLICY)
    for markup in (report_html(data()), story.to_page()):
        page = opened(markup, viewport=viewport)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_nothing_of_a_hostile_report_is_executed(opened):
    page = opened(hostile_report())
    assert page.locator("script").count() == 0
    assert page.locator("section").count() == 3


def test_the_posts_of_a_story_can_be_painted_for_another_label(opened):
    story = MODEL.story(max(OTHERS, key=lambda one: one.label == "at risk"), POLICY)
    page = opened(story.to_page())
    paint = "all => all.map((element) => getComputedStyle(element).backgroundColor)"
    marks = page.locator("mark")
    before = marks.evaluate_all(paint)
    page.get_by_label("control").check()
    eventually(lambda: marks.evaluate_all(paint) != before, True)


def test_a_link_in_a_story_leads_to_the_post(opened):
    page = opened(MODEL.story(OTHERS[0], POLICY).to_page())
    page.locator('a[href^="#post-"]').first.click()
    eventually(page.locator(":target").is_visible, True)


def test_the_page_shows_erde_with_the_deadlines_of_the_replay():
    people = ww.make_risk_streams(20, seed=1)
    model = ww.TauSS3()
    ww.teach(model, people)
    found = ww.replay(people, model, ww.Overtakes("at risk"), deadlines=(5, 30))
    page = report_html(report_data(found, model, people, stories=0))
    assert "ERDE5<" in page
    assert "ERDE30<" in page
    assert "ERDE50<" not in page
