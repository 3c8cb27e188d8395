"""The live page in a real browser: documents, subjects and the model."""

import re

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import eventually
from live_pages import outcomes, right_ones
from page_steps import holding, settled, turn_to
from watchword.explain.blocks import as_value
from watchword.web import running_page
from web_pages import AT_RISK, documents, model, people

# Documents


def test_documents_are_listed_with_predictions(visit):
    page = visit("documents")
    expect(page.locator("#documents-list tbody tr")).to_have_count(50)
    right, total = sum(right_ones()), len(right_ones())
    expect(page.locator("#documents-facts")).to_contain_text(f"{right} of {total} right")


def test_documents_can_be_filtered_by_wrong(visit):
    page = visit("documents")
    page.locator("#documents-filters button", has_text="wrong").click()
    wrong = len(right_ones()) - sum(right_ones())
    expect(page.locator("#documents-filters [role=status]")).to_have_text(f"{wrong} shown")
    expect(page.locator("#documents-list tbody tr.right")).to_have_count(0)
    expect(page.locator("#documents-list tbody tr.wrong")).to_have_count(min(wrong, 50))


def test_pages_are_turned(visit):
    page = visit("documents")
    first = page.locator("#documents-list tbody tr").first
    expect(first).to_contain_text("1 ")
    page.locator("#documents-pages button", has_text="Next").click()
    expect(first.locator("a")).to_have_attribute("href", "#documents/50")
    page.locator("#documents-pages button", has_text="Previous").click()
    expect(first.locator("a")).to_have_attribute("href", "#documents/0")


def test_a_cell_of_the_matrix_shows_its_documents(visit):
    page = visit("documents")
    cell = page.locator("#documents-matrix tbody tr").nth(0).locator("td button").nth(1)
    count = cell.inner_text()
    cell.click()
    expect(page.locator("#documents-filters [role=status]")).to_have_text(f"{count} shown")
    expect(page.locator("#documents-filters .clear")).to_contain_text(
        "truth at risk predicted control"
    )
    page.locator("#documents-filters .clear").click()
    expect(page.locator("#documents-filters [role=status]")).to_have_text(
        f"{len(right_ones())} shown"
    )


def test_arrow_keys_move_in_the_matrix(visit):
    page = visit("documents")
    cells = page.locator("#documents-matrix tbody button.cell")
    cells.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(cells.nth(3)).to_be_focused()
    count = cells.nth(3).inner_text()
    page.keyboard.press("Enter")
    expect(page.locator("#documents-filters [role=status]")).to_have_text(f"{count} shown")
    expect(cells.nth(3)).to_be_focused()
    expect(cells.nth(3)).to_have_attribute("aria-pressed", "true")


def test_headings_of_the_matrix_choose_a_row_or_a_column(visit):
    page = visit("documents")
    page.locator("#documents-matrix tbody th button").first.click()
    many = documents()[1].count(AT_RISK)
    expect(page.locator("#documents-filters [role=status]")).to_have_text(f"{many} shown")


def test_a_document_is_opened_by_key_and_painted(visit):
    page = visit("documents")
    page.locator("#documents-list tbody a").nth(3).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#document-title")).to_have_text("Document 4")
    expect(page.locator("#document-title")).to_be_focused()
    expect(page.locator("#document-painted")).to_have_js_property("textContent", documents()[0][3])
    page.go_back()
    expect(page.locator("#documents-list")).to_be_visible()


def test_previous_and_next_follow_the_order_of_the_list(visit):
    page = visit("documents")
    page.locator("#documents-filters button", has_text="wrong").click()
    expect(page.locator("#documents-list tbody tr.right")).to_have_count(0)
    wrong = [at for at, right in enumerate(right_ones()) if not right]
    page.locator("#documents-list tbody a").first.click()
    expect(page.locator("#document-title")).to_have_text(f"Document {wrong[0] + 1}")
    page.locator("#document-trail a", has_text="Next").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#document-title")).to_have_text(f"Document {wrong[1] + 1}")
    expect(page.locator("#document-trail a", has_text="Next")).to_be_focused()


def test_the_matrix_follows_the_settings(visit):
    page = visit("documents")
    expect(page.locator("#documents-facts")).to_contain_text("right")
    page.fill("#significance", "4")
    texts, labels = documents()
    predicted = model().replace(significance=4).predict_many(texts)
    right = sum(one == other for one, other in zip(predicted, labels, strict=True))
    expect(page.locator("#documents-facts")).to_contain_text(f"{right} of {len(labels)} right")


def test_with_very_many_labels_the_largest_confusions_are_listed(browser):
    taught = ww.TauSS3()
    names = [f"label{at:02}" for at in range(40)]
    taught.learn_many([f"word{at} common" for at in range(40)], names)
    with running_page(
        taught, ["word1", "word2", "word3"], ["label01", "label05", "label05"]
    ) as served:
        page = browser.open(f"{served.url}#documents")
        confusions = page.locator(".confusions button")
        expect(confusions).to_have_text(
            ["label05 predicted as label02: 1", "label05 predicted as label03: 1"]
        )
        confusions.first.click()
        expect(page.locator("#documents-list tbody tr")).to_have_count(1)


# Subjects


def alerted():
    """Return the index of the first subject with an alert before its last post."""
    decided = enumerate(outcomes())
    return next(at for at, one in decided if one.label and 1 < one.delay < one.posts)


def test_subjects_are_listed_with_decision_and_measures(visit):
    page = visit("subjects")
    expect(page.locator("#subjects-list tbody tr")).to_have_count(len(people()))
    expect(page.locator("#subjects-measures")).to_contain_text("ERDE50")
    expect(page.locator("#subjects-list tbody tr")).to_contain_text(
        [f"alert at post {one.delay}" if one.label else "no alert" for one in outcomes()]
    )


def test_subjects_can_be_filtered_by_wrong(visit):
    page = visit("subjects")
    page.locator("#subjects-filters button", has_text="wrong").click()
    wrong = [one for one in outcomes() if (one.label == AT_RISK) != (one.truth == AT_RISK)]
    expect(page.locator("#subjects-filters [role=status]")).to_have_text(f"{len(wrong)} shown")


def test_the_policy_is_switched(visit):
    page = visit("subjects")
    page.select_option("#policy-kind", "Repeats")
    page.fill("#policy-field-times", "2")
    expected = outcomes(ww.Repeats(AT_RISK, times=2))
    first = next(at for at, one in enumerate(expected) if one.label)
    expect(page.locator("#subjects-list tbody tr").nth(first)).to_contain_text(
        f"alert at post {expected[first].delay}"
    )
    page.fill("#policy-after", "5")
    later = outcomes(ww.Repeats(AT_RISK, times=2).after(5))
    alerts = sum(one.label is not None for one in later)
    expect(page.locator("#subjects-list tbody td", has_text="alert at post")).to_have_count(alerts)


def test_alerts_may_be_about_another_label(visit):
    page = visit("subjects")
    page.select_option("#policy-positive", label="control")
    alerts = sum(one.label is not None for one in outcomes(ww.Overtakes("control")))
    expect(page.locator("#subjects-list tbody td", has_text="alert at post")).to_have_count(alerts)


def test_invalid_policy_shows_an_error(visit):
    page = visit("subjects")
    page.fill("#policy-field-ratio", "-1")
    expect(page.locator("#message")).to_contain_text("ratio must not be negative")
    page.fill("#policy-field-ratio", "1")
    expect(page.locator("#message")).to_be_hidden()


def test_a_replay_shows_the_decision_falling(visit):
    at = alerted()
    delay, posts = outcomes()[at].delay, len(people()[at].posts)
    page = visit(f"subjects/{at}")
    expect(page.locator("#replay-told")).to_have_text(f"post {delay} of {posts}")
    expect(page.locator("#subject-decision")).to_have_text("Alert at this post.")
    page.locator("#replay-back").click()
    expect(page.locator("#subject-decision")).to_have_text("No alert so far.")
    page.locator("#replay-at").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#subject-decision")).to_have_text(f"Alert since post {delay}.")
    page.keyboard.press("Home")
    expect(page.locator("#replay-told")).to_have_text(f"post 1 of {posts}")
    expect(page.locator("#subject-painted")).to_have_text(people()[at].posts[0].content)


def test_curves_are_drawn_for_every_label_and_post(visit):
    page = visit("subjects/2")
    posts = len(people()[2].posts)
    lines = page.locator("#subject-curves polyline")
    expect(lines).to_have_count(4)  # read and to come, for two labels
    page.locator("#replay-at").fill(str(posts))
    expect(lines.nth(1)).to_have_attribute("points", re.compile(rf"^(\S+ ){{{posts}}}\S+$"))
    expect(page.locator("#subject-curves .legend li")).to_have_count(2)
    sums = [0.0, 0.0]
    for post in people()[2].posts:
        sums = [
            one + more
            for one, more in zip(sums, model().confidence_one(post.content).values(), strict=True)
        ]
    told = page.locator("#subject-curves .legend .number")
    eventually(lambda: list(map(float, told.all_inner_texts())), pytest.approx(sums, abs=0.001))


def test_a_click_on_the_curves_goes_to_that_post(visit):
    page = visit("subjects/2")
    chart = page.locator("#subject-curves .chart")
    posts = len(people()[2].posts)
    told = page.locator("#replay-told")

    # Measured and clicked at once, and again if need be: the curves are redrawn when the page
    # finds its width, and a click may fall in between.
    def click_and_read():
        chart.evaluate(
            """chart => {
                chart.scrollIntoView({block: "center", behavior: "instant"});
                const box = chart.getBoundingClientRect();
                const at = {clientX: box.right - 2, clientY: box.top + box.height / 2};
                const hit = document.elementFromPoint(at.clientX, at.clientY);
                for (const kind of ["pointerdown", "pointerup", "click"])
                    hit?.dispatchEvent(new PointerEvent(kind, {...at, bubbles: true}));
            }"""
        )
        return told.inner_text()

    eventually(click_and_read, f"post {posts} of {posts}")


def test_playing_reads_to_the_end(visit):
    page = visit("subjects/2/1")
    posts = len(people()[2].posts)
    expect(page.locator("#replay-told")).to_have_text(f"post 1 of {posts}")
    with holding(page, re.compile(r"/posts/2\b")) as held:  # it must not end before the test looks
        page.locator("#replay-play").click()
        held.wait()
        expect(page.locator("#replay-play")).to_have_text("Pause")
        held.release()
    expect(page.locator("#replay-told")).to_have_text(f"post {posts} of {posts}")
    expect(page.locator("#replay-play")).to_have_text("Play")


def test_a_story_shows_the_features_that_the_policy_weighed(visit):
    page = visit("subjects/0")
    page.select_option("#policy-kind", "Weighs")
    page.fill("#policy-field-gain", "-0.5")
    policy = ww.Weighs(AT_RISK, gain=-0.5)
    [weighed] = model().story(people()[0], policy).weighed
    told = page.locator("#story-told")
    expect(told).to_contain_text(f"Features weighed at post {weighed.post}: sum")
    expect(told).to_contain_text(f"threshold {as_value(0.5)}")
    chips = told.locator(".chips").first.locator("li")
    expect(chips).to_have_count(2)
    for at, one in enumerate(weighed.features):
        expect(chips.nth(at)).to_contain_text(one.feature)
        expect(chips.nth(at)).to_contain_text(as_value(abs(one.contribution)))


def test_the_policy_moves_the_alert_of_a_subject(visit):
    at = alerted()
    page = visit(f"subjects/{at}")
    expect(page.locator("#subject-facts")).to_contain_text(" alert for")
    page.fill("#policy-field-margin", "1000")
    expect(page.locator("#subject-facts")).to_contain_text("no alert for")
    expect(page.locator("#subject-curves line.alert")).to_have_count(0)


def test_story_links_to_posts(visit):
    at = alerted()
    story = model().story(people()[at], ww.Overtakes(AT_RISK))
    page = visit(f"subjects/{at}")
    expect(page.locator("#story-told .chips").first.locator("li").first).to_contain_text(
        story.tipped.ngrams_for[0].ngram
    )
    expect(page.locator("#story-told .told").last).to_have_text(str(story.what_would_cancel()))
    strongest = story.tipped.posts_for[0].number
    page.locator("#story-told button", has_text=re.compile(rf"^post {strongest} ")).first.click()
    expect(page.locator("#replay-told")).to_contain_text(f"post {strongest} of")


def test_story_loads_while_posts_change(visit):
    page = visit("documents")
    with holding(page, re.compile(r"/posts/1\b")) as held:  # never answered
        turn_to(page, "subjects/2/1")
        expect(page.locator("#replay-told")).to_contain_text("post 1 of")
        held.wait()
        page.locator("#replay-forth").click()
        expect(page.locator("#story-told .quiet").first).to_contain_text("Evidence for and against")
        assert len(held.routes) == 1


def test_a_subject_without_posts_is_shown(browser):
    with running_page(model(), subjects=[ww.Subject("ann", [])]) as served:
        page = browser.open(f"{served.url}#subjects/0")
        expect(page.locator("#subject-decision")).to_have_text("This subject has no posts.")


# The model


def test_values_of_an_ngram(visit):
    page = visit("model")
    page.fill("#ngram", "Cannot sleep")
    page.keyboard.press("Enter")
    row = page.locator("#ngram-answer tr", has_text=AT_RISK)
    value = model().value("cannot sleep")[AT_RISK]
    expect(row.locator("td").last).to_have_text(f"{value.cv:.3f}")
    page.fill("#smoothness", "0.9")
    changed = model().replace(smoothness=0.9).value("cannot sleep")[AT_RISK]
    expect(row.locator("td").last).to_have_text(f"{changed.cv:.3f}")


def test_an_ngram_that_the_model_lacks_is_said_to_be_missing(visit):
    page = visit("model")
    page.fill("#ngram", "zzzz")
    page.keyboard.press("Enter")
    expect(page.locator("#ngram-answer")).to_have_text("The model has no such n-gram.")


def test_pictures_of_the_model_are_drawn(visit):
    page = visit("model")
    page.select_option("#overview-label", label="control")
    expect(page.locator("#overview img").first).to_have_attribute("alt", "Word cloud for control")
    for image in page.locator("#overview img").all():
        image.scroll_into_view_if_needed()
        expect(image).not_to_have_js_property("naturalWidth", 0)
    page.select_option("#overview-length", "2")
    best = model().top_ngrams("control", 1, length=2)[0].ngram
    expect(page.locator("#overview-table tbody th").first).to_have_text(best)


def test_an_ngram_of_the_table_is_looked_up(visit):
    page = visit("model")
    page.locator("summary", has_text="As a table").click()
    page.locator("#overview-table button").first.click()
    expect(page.locator("#ngram-answer table")).to_be_visible()


# Several requests at once


def test_an_answer_to_an_earlier_request_leaves_the_message(visit):
    page = visit("write")
    with holding(page, "**/api/overview/0*") as held:
        turn_to(page, "model")
        held.wait()
        page.fill("#ngram", "<>")
        page.keyboard.press("Enter")
        expect(page.locator("#message")).to_contain_text("not an n-gram")
        held.release()
    expect(page.locator("#overview img").first).to_be_attached()
    expect(page.locator("#message")).to_contain_text("not an n-gram")


def test_a_subject_that_arrives_late_leaves_the_address_of_another_view(visit):
    page = visit("write")
    with holding(page, re.compile(r"/api/subjects/2(?!/)")) as held:
        turn_to(page, "subjects/2")
        held.wait()
        turn_to(page, "model")
        held.release()
    settled(page)
    expect(page).to_have_url(re.compile("#model$"))


def test_a_replay_that_was_stopped_and_started_again_goes_on_once(visit):
    page = visit("subjects/2/1")
    posts = len(people()[2].posts)
    asked = []

    def note(request):
        asked.extend(map(int, re.findall(r"/posts/(\d+)", request.url)))

    page.on("request", note)
    try:
        with holding(page, re.compile(r"/posts/2\b")) as held:
            page.locator("#replay-play").click()
            held.wait()
            page.locator("#replay-play").click()
            expect(page.locator("#replay-play")).to_have_text("Play")
            page.locator("#replay-play").click()
            expect(page.locator("#replay-told")).to_have_text(f"post {posts} of {posts}")
            expect(page.locator("#replay-play")).to_have_text("Play")
    finally:
        page.remove_listener("request", note)
    assert asked == list(range(2, posts + 1))
