"""The board of the service in a real browser: live alerts, reasons, marks, export, keys."""

import json
import re
import subprocess

import pytest
from playwright.sync_api import expect

import watchword as ww
from boards import ALERTING, HARMLESS, OTHER, POLICY, RISK, alert_about, listed, running_board
from browser import DESKTOP, PHONE
from page_steps import go, holding, settled, turn_to
from ports import free_port
from services import post, send
from web_pages import HOSTILE, hostile_model


@pytest.fixture
def running(tmp_path):
    with running_board(tmp_path, store_texts=True) as started:
        yield started


@pytest.fixture
def service(running):
    return running[0]


@pytest.fixture
def board(browser, running):
    """Return a function that opens the board at an address, such as "alerts/3"."""
    return lambda address="", **options: browser.open(f"{running[1]}#{address}", **options)


def rows(page, name="alerts"):
    return page.locator(f"#{name}-list tbody tr")


# Alerts arrive


@pytest.mark.quick
def test_an_alert_arrives_by_itself(service, board):
    page = board()
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#alerts-none")).to_be_visible()
    alert_about(service, "ann")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("ann")
    expect(page.locator("#alerts-none")).to_be_hidden()


def test_alerts_that_arrive_are_new_until_they_are_opened(service, board):
    alert_about(service, "ann")
    page = board()
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".fresh")).to_have_count(0)
    alert_about(service, "bea")
    expect(rows(page).first.locator(".fresh")).to_have_text("new")
    rows(page).first.locator("a").click()
    expect(page.locator("#alert-title")).to_contain_text("bea")
    go(page, "alerts")
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".fresh")).to_have_count(0)


def test_newest_alerts_come_first(service, board):
    alert_about(service, "ann", "bea", "cid")
    page = board()
    expect(listed(page)).to_have_text(["cid", "bea", "ann"])


def test_alerts_that_arrive_while_another_is_read_are_counted(service, board):
    [first] = alert_about(service, "ann")
    page = board(f"alerts/{first}")
    expect(page.locator("#alert-title")).to_contain_text("ann")
    alert_about(service, "bea", "cid")
    expect(page.locator("#unseen")).to_have_text("2")
    expect(page).to_have_title("(2) watchword")
    page.locator("header nav a", has_text="Alerts").click()
    expect(page.locator("#unseen")).to_be_hidden()


def test_the_board_continues_when_the_service_was_restarted(browser, tmp_path):
    port = free_port()
    with running_board(tmp_path, port=port, scopes=["read", "mark"]) as (service, url):
        alert_about(service, "ann")
        page = browser.open(url)
        expect(rows(page)).to_have_count(1)
        expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#live")).to_contain_text("connection lost")
    with running_board(tmp_path, port=port) as (service, _):
        alert_about(service, "bea")
        expect(page.locator("#live")).to_have_text("live")
        expect(listed(page)).to_have_text(["bea", "ann"])


# What the service does


def test_the_state_of_the_service_is_shown(service, board):
    page = board()
    alert_about(service, "ann")
    send(service, post("bea", 1, HARMLESS))
    expect(page.locator("#totals")).to_contain_text(re.compile("posts3subjects2alerts1"))
    expect(page.locator("#policy")).to_have_text(f"--policy '{POLICY}' --positive '{RISK}'")
    expect(page.locator("#arrivals rect")).to_have_count(len(service.statistics().per_second))


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ([0] * 60, "0"),
        ([9] * 54 + [100, 200, 300, 200, 200, 7], "200"),
        ([0, 0, 0, 0, 1, 9], "0.2"),
        ([4000] * 6, "4,000"),
    ],
)
def test_the_rate_is_the_mean_of_the_latest_complete_seconds(board, seconds, told):
    assert board().evaluate("(seconds) => board.rate(seconds)", seconds) == told


def test_subjects_closest_to_an_alert_are_listed(service, board):
    send(service, *(post(name, 1, text) for name, text in SUBJECTS.items()))
    alert_about(service, "alerted")
    page = board()
    expected = [one.id for one in service.subjects(undecided=True)]
    assert expected[0] == "near"
    expect(page.locator("#closest bdi")).to_have_text(expected)


SUBJECTS = {
    "far": "a lovely day",
    "near": "the garden and cannot",
    "middle": "the lovely garden again",
}


# Sorting and searching


@pytest.mark.parametrize("sort", ["newest", "oldest", "score", "subject", "label", "time"])
def test_alerts_are_sorted_as_asked(service, board, sort):
    for name, text in (
        ("bea", f"{ALERTING} garden"),
        ("ann", "cannot"),
        ("cid", "so tired the"),
    ):
        send(service, post(name, 1, text, minutes=len(text)))
    page = board()
    page.select_option("#alerts-sort", sort)
    settled(page)
    expected = [one.subject for one in service.alerts(sort=sort)]
    assert len(expected) == 3
    expect(listed(page)).to_have_text(expected)


def test_a_click_on_a_heading_sorts(service, board):
    alert_about(service, "bea", "ann")
    page = board()
    page.locator("#alerts-list thead button", has_text="Subject").click()
    expect(listed(page)).to_have_text(["ann", "bea"])
    expect(page.locator("#alerts-sort")).to_have_value("subject")
    expect(page.locator("#alerts-list [aria-sort]")).to_have_text("Subject")


def test_alerts_are_found_by_subject_and_label(service, board):
    alert_about(service, "ann", "bea", "joanne")
    page = board()
    page.fill("#alerts-query", "ann")
    expect(listed(page)).to_have_text(["joanne", "ann"])
    page.select_option("#alerts-label", OTHER)
    expect(rows(page)).to_have_count(0)
    page.select_option("#alerts-label", RISK)
    expect(rows(page)).to_have_count(2)


def test_marked_alerts_can_be_left_out(service, board):
    first, _ = alert_about(service, "ann", "bea")
    service.mark(first, "right")
    page = board()
    page.check("#alerts-unmarked")
    expect(listed(page)).to_have_text(["bea"])


def test_subjects_are_sorted_and_found(service, board):
    send(service, *(post(name, 1, text) for name, text in SUBJECTS.items()))
    send(service, post("far", 2, HARMLESS))
    page = board("subjects")
    for sort in ("name", "posts", "score", "newest"):
        page.select_option("#subjects-sort", sort)
        expected = [one.id for one in service.subjects(sort=sort)]
        expect(listed(page, "subjects")).to_have_text(expected)
    page.fill("#subjects-query", "far")
    expect(rows(page, "subjects")).to_have_count(1)


def test_more_alerts_than_a_page_are_shown_on_demand(service, board):
    send(service, *(post(f"subject {at:03}", 1, ALERTING) for at in range(60)))
    page = board()
    expect(rows(page)).to_have_count(50)
    page.locator("#alerts-more").click()
    expect(rows(page)).to_have_count(60)
    expect(page.locator("#alerts-more")).to_be_hidden()


# One alert


def test_an_alert_has_its_reasons_counted_and_corrected_apart(service, board):
    [number] = alert_about(service, "ann")
    page = board(f"alerts/{number}")
    reasons = service.alert(number).reasons
    table = page.locator("#reasons table", has_text="N-grams for the alert")
    expect(table.locator("thead th")).to_have_text(
        ["n-gram", "times", "counted", "corrected", "total"]
    )
    expect(table.locator("tbody th")).to_have_text([one.ngram for one in reasons.ngrams_for])
    first = reasons.ngrams_for[0]
    expect(table.locator("tbody tr").first.locator("td")).to_have_text(
        [str(first.times), f"{first.counted:.3f}", "0", f"{first.difference:.3f}"]
    )


def test_long_lists_are_folded(browser, tmp_path):
    known = [f"word{at}" for at in range(9)]
    model = ww.TauSS3()
    model.learn_many([*known, "garden"], [RISK] * 9 + [OTHER])
    with running_board(tmp_path, model=model) as (service, url):
        [number] = send(service, post("ann", 1, ". ".join(known))).alerts
        assert len(service.alert(number).reasons.ngrams_for) == 9
        page = browser.open(f"{url}#alerts/{number}")
        side = page.locator("#reasons > div", has_text="N-grams for the alert")
        expect(side.locator("tbody tr:visible")).to_have_count(5)
        side.locator("button", has_text="Show 4 more").click()
        expect(side.locator("tbody tr:visible")).to_have_count(9)


def test_an_alert_has_the_curves_and_the_painted_posts_of_its_subject(service, board):
    [number] = alert_about(service, "ann")
    page = board(f"alerts/{number}")
    expect(page.locator("#alert-curves .positive polyline").first).to_have_class("c-alert")
    expect(page.locator("#alert-curves text.alert")).to_have_text("alert, post 2")
    sheets = page.locator("#alert-story .sheet")
    expect(sheets).to_have_count(2)
    expect(sheets.first).to_have_text(ALERTING)
    expect(sheets.first).to_have_class(re.compile("c-alert"))
    expect(sheets.first.locator(".worth").first).to_be_attached()
    expect(page.locator("#alert-story .ramp")).to_have_count(1)


def test_harmless_posts_are_painted_more_weakly_than_the_alerting_one(browser, tmp_path):
    model = ww.TauSS3()
    model.learn_many([f"{ALERTING}. tired", "tired of it", HARMLESS], [RISK, RISK, OTHER])
    policy = ww.Reaches(RISK, threshold=0).after(2)
    with running_board(tmp_path, model=model, policy=policy, store_texts=True) as (service, url):
        posts = post("ann", 1, "all of it, in the garden"), post("ann", 2, ALERTING)
        [number] = send(service, *posts).alerts
        sheets = browser.open(f"{url}#alerts/{number}").locator("#alert-story .sheet")
        expect(sheets).to_have_text([ALERTING, "all of it, in the garden"])
        alerting, harmless = (strongest_part(sheets.nth(at)) for at in range(2))
        assert 0 < harmless < alerting


def strongest_part(sheet):
    """Return how strongly the strongest block is painted, from 0 to 1."""
    parts = "all => all.map((each) => Number(each.style.getPropertyValue('--part')))"
    return max(sheet.locator(".worth").evaluate_all(parts))


def test_without_stored_texts_there_is_no_story(browser, tmp_path):
    with running_board(tmp_path) as (service, url):
        [number] = alert_about(service, "ann")
        page = browser.open(f"{url}#alerts/{number}")
        expect(page.locator("#alert-curves polyline").first).to_be_attached()
        settled(page)
        expect(page.locator("#alert-story")).to_be_empty()
        expect(page.locator("#reasons table").first).to_be_visible()


def test_policy_and_model_of_an_alert_are_named(service, board):
    [number] = alert_about(service, "ann")
    alert = service.alert(number)
    page = board(f"alerts/{number}")
    page.locator("summary", has_text="Policy and model").click()
    for part in (alert.policy, alert.model, alert.post_id):
        expect(page.locator("#alert-origin")).to_contain_text(part)


def test_a_subject_has_its_posts_and_its_alert(service, board):
    [number] = alert_about(service, "ann")
    page = board("subjects/ann")
    expect(rows(page, "posts")).to_have_count(2)
    expect(rows(page, "posts").first).to_contain_text(ALERTING)
    page.locator("#subject-facts a").click()
    expect(page.locator("#alert-title")).to_have_text(f"Alert {number}: ann")


def test_earlier_posts_of_a_subject_are_read_on_demand(service, board):
    send(service, *(post("ann", at, HARMLESS) for at in range(130)))
    page = board("subjects/ann")
    expect(rows(page, "posts")).to_have_count(100)
    page.locator("#posts-more").click()
    expect(rows(page, "posts")).to_have_count(130)
    expect(page.locator("#posts-more")).to_be_hidden()
    expect(rows(page, "posts").last).to_contain_text("post 1 ")


# Marks


def test_marks_with_notes_are_stored_and_counted_into_precision(service, board):
    numbers = alert_about(service, "ann", "bea", "cid", "dan")
    page = board(f"alerts/{numbers[0]}")
    for number, verdict in zip(numbers, ("right", "right", "wrong", "unsure"), strict=True):
        go(page, f"alerts/{number}")
        expect(page.locator("#alert-title")).to_contain_text(f"Alert {number}:")
        page.fill("#mark-note", f"note {number}")
        page.locator(f"[data-verdict={verdict}]").click()
        expect(page.locator("#mark-told")).to_contain_text(f"Marked {verdict}")
        mark = service.alert(number).mark
        assert (mark.verdict, mark.note) == (verdict, f"note {number}")
    # Statistics that were sent before the last mark may arrive after it.
    expect(page.locator("#marks")).to_have_text("precision66.7\u00a0%right2wrong1unsure1")


def test_a_mark_can_be_changed(service, board):
    [number] = alert_about(service, "ann")
    service.mark(number, "right", note="sure")
    page = board(f"alerts/{number}")
    expect(page.locator("[data-verdict=right]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#mark-note")).to_have_value("sure")
    page.locator("[data-verdict=wrong]").click()
    expect(page.locator("[data-verdict=wrong]")).to_have_attribute("aria-pressed", "true")
    assert service.alert(number).mark.verdict == "wrong"


def test_earlier_marks_are_shown_with_their_authors(service, board):
    [number] = alert_about(service, "ann")
    service.mark(number, "right", note="sure <b>", by="eve")
    service.mark(number, "unsure", by="tim")
    page = board(f"alerts/{number}")
    expect(page.locator("#mark-told")).to_contain_text("Marked unsure by tim")
    earlier = page.locator("#mark-earlier li")
    expect(earlier).to_have_text(re.compile(r"Earlier: right by eve, .*: sure <b>"))
    page.locator("[data-verdict=wrong]").click()
    expect(earlier).to_have_text([re.compile("unsure by tim"), re.compile("right by eve")])


def test_the_next_mark_does_not_cancel_the_one_before(service, board):
    first, second = alert_about(service, "ann", "bea")
    page = board(f"alerts/{first}")
    with holding(page, "**/mark") as held:
        page.keyboard.press("r")
        held.wait(1)
        turn_to(page, f"alerts/{second}")
        expect(page.locator("#alert-title")).to_contain_text(f"Alert {second}:")
        page.keyboard.press("w")
        held.wait(2)
        held.release()
    expect(page.locator("#mark-told")).to_contain_text("Marked wrong")
    settled(page)
    assert [service.alert(number).mark.verdict for number in (first, second)] == ["right", "wrong"]


def test_of_more_than_two_labels_the_true_one_can_be_named(browser, tmp_path):
    model = ww.TauSS3()
    model.learn_many(["cannot sleep", "lovely garden", "new match"], [RISK, "garden", "sports"])
    with running_board(tmp_path, model=model) as (service, url):
        [number] = send(service, post("ann", 1, "cannot sleep")).alerts
        page = browser.open(f"{url}#alerts/{number}")
        page.select_option("#mark-label", "sports")
        page.locator("[data-verdict=wrong]").click()
        expect(page.locator("#mark-told")).to_contain_text("Marked wrong")
        assert service.alert(number).mark.label == "sports"


def test_marks_are_exported_as_training_data(service, board):
    first, second = alert_about(service, "ann", "bea")
    service.mark(first, "right")
    service.mark(second, "wrong")
    page = board()
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.suggested_filename == "marks.jsonl"
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    found = {(one["subject"], one["text"], one["label"]) for one in map(json.loads, lines)}
    assert found == {
        (subject, text, label)
        for subject, label in (("ann", RISK), ("bea", OTHER))
        for text in (HARMLESS, ALERTING)
    }


def test_marks_teach_the_model_and_there_is_a_way_back(service, board):
    [number] = alert_about(service, "ann")
    service.mark(number, "right")
    before = service.statistics().model
    page = board()
    page.click("#teach")
    expect(page.locator("#taught")).to_contain_text("version 2")
    assert service.statistics().model != before
    page.locator("#teaching summary").click()
    expect(page.locator("#versions li").nth(1)).to_contain_text("in use")
    page.locator("#versions button").click()
    expect(page.locator("#versions li").first).to_contain_text("in use")
    assert service.statistics().model == before


def test_the_board_hides_what_a_reader_may_not_do(browser, tmp_path):
    with running_board(tmp_path, scopes=["read"]) as (service, url):
        [number] = alert_about(service, "ann")
        service.mark(number, "unsure", note="ask bea", by="eve")
        page = browser.open(f"{url}#alerts/{number}")
        expect(page.locator("#mark-told")).to_contain_text("Marked unsure by eve")
        for hidden in ("#teaching", "[data-verdict=right]", "#mark-note", "footer [data-scope]"):
            expect(page.locator(hidden)).to_be_hidden()
        page.keyboard.press("r")
        settled(page)
        expect(page.locator("#message")).to_be_hidden()
        assert len(service.marks(number)) == 1


def test_a_reviewer_marks_alerts_without_being_able_to_teach(browser, tmp_path):
    with running_board(tmp_path, scopes=["read", "mark"]) as (service, url):
        [number] = alert_about(service, "ann")
        page = browser.open(f"{url}#alerts/{number}")
        page.locator("[data-verdict=right]").click()
        expect(page.locator("#mark-told")).to_contain_text("Marked right by moderator")
        expect(page.locator("#teaching")).to_be_hidden()


def test_a_message_outlasts_what_the_board_asks_for_by_itself(browser, tmp_path):
    with running_board(tmp_path, scopes=["read", "mark"]) as (service, url):
        [number] = alert_about(service, "ann")
        page = browser.open(f"{url}#alerts/{number}")
        service.forget("ann")
        page.locator("[data-verdict=right]").click()
        expect(page.locator("#message")).to_contain_text(f"alert {number} not found")
        send(service, post("bea", 1, HARMLESS))
        alert_about(service, "cid")
        expect(page.locator("#closest")).to_contain_text("bea")
        settled(page)
        expect(page.locator("#message")).to_contain_text(f"alert {number} not found")


def test_an_unknown_alert_is_told(board):
    page = board("alerts/999")
    expect(page.locator("#message")).to_contain_text("999")


def test_a_late_search_does_not_cancel_what_is_opened(service, board):
    [number] = alert_about(service, "ann")
    page = board("subjects")
    with holding(page, f"**/alerts/{number}") as held:
        turn_to(page, f"alerts/{number}")
        held.wait()
        page.evaluate("document.querySelector('#subjects-sort').dispatchEvent(new Event('change'))")
        held.release()
    expect(page.locator("#alert-title")).to_contain_text("ann")


# Keys


@pytest.mark.quick
def test_alerts_are_judged_with_keys_alone(service, board):
    first, second, third = alert_about(service, "ann", "bea", "cid")
    page = board()
    expect(rows(page)).to_have_count(3)
    for key, number, verdict in (
        ("n", third, "right"),
        ("j", second, "wrong"),
        ("n", first, "unsure"),
    ):
        page.keyboard.press(key)
        expect(page.locator("#alert-title")).to_contain_text(f"Alert {number}:")
        settled(page)
        page.keyboard.press(verdict[0])
        expect(page.locator("#mark-told")).to_contain_text(f"Marked {verdict}")
        assert service.alert(number).mark.verdict == verdict
    page.keyboard.press("p")
    expect(page.locator("#alert-title")).to_contain_text(f"Alert {second}:")
    page.keyboard.press("k")
    expect(page.locator("#alert-title")).to_contain_text(f"Alert {third}:")


def test_keys_write_in_a_text_field(service, board):
    [number] = alert_about(service, "ann")
    page = board(f"alerts/{number}")
    settled(page)
    page.focus("#mark-note")
    page.keyboard.type("run now")
    expect(page.locator("#mark-note")).to_have_value("run now")
    assert service.alert(number).mark is None
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator("#mark-told")).to_contain_text("Marked unsure")
    assert service.alert(number).mark.note == "run now"


def test_a_slash_leads_to_the_search(board):
    page = board()
    page.keyboard.press("/")
    expect(page.locator("#alerts-query")).to_be_focused()
    expect(page.locator("#alerts-query")).to_have_value("")


# All sizes, all readers

VIEWS = ["alerts", "alerts/1", "subjects", "subjects/ann"]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_wider_than_the_window(service, board, size):
    alert_about(service, "ann", "a subject with a name " + "that_is_long" * 20)
    page = board(viewport=size)
    for view in [*VIEWS, "alerts/2"]:
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_a_phone_shows_every_column_with_its_name(service, board):
    alert_about(service, "ann")
    page = board(viewport=PHONE)
    cells = rows(page).first.locator("td")
    expect(cells).to_have_count(6)
    for cell in cells.all():
        expect(cell).to_be_visible()
    names = cells.evaluate_all("all => all.map((each) => each.dataset.name)")
    assert names == ["Subject", "Label", "Score", "Raised", "Post", "Mark"]


def test_every_control_has_a_name(service, board):
    alert_about(service, "ann")
    page = board()
    for view in VIEWS:
        go(page, view)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("input, select, textarea, button")]
                .filter((each) => !each.labels?.length && !each.ariaLabel)
                .filter((each) => each.tagName !== "BUTTON" || !each.textContent.trim())
                .map((each) => each.outerHTML)"""
        )
        assert nameless == []


# Hostile texts

NAMES = [*HOSTILE, ".", "..", "a/b?c#d%2e&e=f", "%", "🎈\ud7ff", " "]


@pytest.fixture
def hostile(tmp_path):
    label = HOSTILE[0]
    policy = ww.Reaches(label, threshold=1e-9)
    options = {"model": hostile_model(), "policy": policy, "store_texts": True}
    with running_board(tmp_path, **options) as started:
        yield started


def content(page, place):
    """Return the text of an element as it is, with all its blanks."""
    return page.locator(place).first.evaluate("(found) => found.textContent")


@pytest.mark.slow
def test_hostile_ids_labels_texts_and_notes_run_nothing(browser, hostile):
    service, url = hostile
    text = f"{HOSTILE[0]} only here {HOSTILE[0]} {' '.join(HOSTILE)}"
    page = browser.open(url)
    numbers = [send(service, post(name, name, text)).alerts[0] for name in NAMES]
    expect(rows(page)).to_have_count(len(NAMES))
    assert sorted(listed(page).all_text_contents()) == sorted(NAMES)
    for number, name in zip(numbers, NAMES, strict=True):
        service.mark(number, "wrong", note=name, by=name, label=HOSTILE[1])
        go(page, f"alerts/{number}")
        expect(page.locator("#alert-title")).to_contain_text(f"Alert {number}:")
        assert content(page, "#alert-title bdi") == name
        assert content(page, "#alert-story .sheet") == text
        page.locator("#alert-title a").click()
        expect(page.locator("#subject-title bdi")).to_have_js_property("textContent", name)
        expect(rows(page, "posts")).to_have_count(1)
    labels = page.locator("#alerts-label option").evaluate_all("all => all.map((e) => e.value)")
    assert set(labels) == {"", *HOSTILE}


@pytest.mark.parametrize(
    "address", ["nonsense", "alerts/999", "alerts/x", "subjects/%zz", "subjects/nobody"]
)
def test_unknown_addresses_leave_the_board_usable(service, board, address):
    alert_about(service, "ann")
    page = board(address)
    go(page, "alerts")
    expect(rows(page)).to_have_count(1)


@pytest.mark.parametrize("label", ["it's", 'so "sad"', "$HOME `id` \\\\"])
def test_policy_and_label_can_be_pasted_into_a_shell(tmp_path, browser, label):
    model = ww.TauSS3()
    model.learn_many([ALERTING, HARMLESS], [label, OTHER])
    with running_board(tmp_path, model=model, policy=ww.Overtakes(label, margin=1)) as (_, url):
        page = browser.open(url)
        expect(page.locator("#policy")).not_to_be_empty()
        pasted = page.locator("#policy").inner_text()
    command = ["/bin/sh", "-c", f"printf '%s\\n' {pasted}"]
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert read.splitlines() == ["--policy", "overtakes(margin=1)", "--positive", label]
