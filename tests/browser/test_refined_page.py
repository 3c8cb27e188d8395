"""Refined models on the live page, in a real browser."""

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import eventually
from live_pages import TEXT, scores, visitor, write
from painted import shares_at, with_shares
from watchword.explain.blocks import as_chance, as_value, score_bars
from watchword.explain.text_view import largest_contributions
from watchword.web import running_page
from web_pages import AT_RISK, documents, model, people


@pytest.fixture(scope="module")
def refined():
    found = model().replace()
    found.refine(*documents())
    return found


@pytest.fixture(scope="module")
def live(refined):
    texts, labels = documents()
    with running_page(refined, texts, labels, subjects=people(), name="refined.ww") as served:
        yield served


@pytest.fixture
def visit(browser, live):
    return visitor(browser, live)


@pytest.fixture
def page(visit):
    return visit()


def cells(page, selector):
    """Return the texts of the cells of each row."""
    return page.locator(selector).evaluate_all(
        "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


def strengths(page, selector):
    """Return how strongly each block is painted."""
    return page.locator(selector).evaluate_all(
        "all => all.map((span) => Number(span.style.getPropertyValue('--part')))"
    )


def assert_bars(page, selector, explanation):
    """Check where the bars begin, how long they are, and whether they show a negative score."""
    ordered = sorted(explanation.value, reverse=True)
    expect(page.locator(selector)).to_have_count(len(ordered))
    found = page.locator(selector).evaluate_all(
        """all => all.map((bar) => {
            const track = bar.parentElement.getBoundingClientRect();
            const own = bar.getBoundingClientRect();
            const style = (name) => Number(bar.style.getPropertyValue(name));
            return [style("--from"), style("--share"), (own.left - track.left) / track.width,
                bar.classList.contains("below")];
        })"""
    )
    for (start, width, drawn, below), bar, score in zip(
        found, score_bars(ordered), ordered, strict=True
    ):
        assert start == pytest.approx(bar.start, abs=1e-4)
        assert width == pytest.approx(bar.width, abs=1e-4)
        assert drawn == pytest.approx(bar.start, abs=0.02)
        assert below == (score < 0)


def test_scores_keep_their_signs(page, refined):
    write(page)
    explanation = refined.explain(TEXT)
    assert max(explanation.value) > 0 > min(explanation.value)
    expected = {
        label: as_value(value)
        for label, value in zip(explanation.labels, explanation.value, strict=True)
    }
    eventually(lambda: scores(page), expected)
    assert_bars(page, "[data-reading=write] .bar", explanation)


def test_scores_have_their_calibrated_probability(page, refined):
    write(page)
    probability = refined.probability_one(TEXT)
    expected = {label: as_chance(share) for label, share in probability.items()}
    read = "all => all.map((row) => [row.children[0].textContent, row.children[3].textContent])"
    row = page.locator("[data-reading=write] .score")
    eventually(lambda: dict(row.evaluate_all(read)), expected)


def test_blocks_that_lower_the_score_are_not_painted(page, refined):
    write(page)
    plain = with_shares(refined.explain(TEXT))
    for column in range(len(plain["labels"])):
        page.select_option("#paint-label", str(column))
        expected = [own[column] for own in shares_at(plain, "ngram")]
        assert 0 in expected
        eventually(lambda: strengths(page, "#write-painted .block"), expected)


def test_the_largest_contributions_have_two_parts(page, refined):
    write(page)
    explanation = refined.explain(TEXT)
    table = "[data-reading=write] [data-strongest]"
    heads = [["n-gram", "times", "counted", "corrected", "total"]]
    eventually(lambda: cells(page, f"{table} thead tr"), heads)
    for column, label in enumerate(explanation.labels):
        page.select_option("#paint-label", str(column))
        rows = [
            [one.ngram, str(one.times), *map(as_value, (one.counted, one.corrected, one.total))]
            for one in largest_contributions(explanation, label, 12)
        ]
        bias = ["bias", "", "", "", as_value(explanation.bias[column])]
        expected = [*(rows or [["none"]]), bias]
        eventually(lambda: cells(page, f"{table} tbody tr"), expected)


def test_details_show_both_parts_of_a_value(page, refined):
    write(page)
    block = refined.explain(TEXT).blocks[0].blocks[0].blocks[0]
    page.locator("#write-painted .block").first.hover()
    expect(page.locator("#details .what")).to_have_text(block.ngram)
    heads = ["label", "value", "counted", "corrected", "count", "lv", "sg", "sn"]
    eventually(lambda: cells(page, "#details thead tr"), [heads])
    expected = {
        label: [as_value(numbers[at]) for numbers in (block.value, block.counted, block.corrected)]
        for at, label in enumerate(refined.labels)
    }
    eventually(lambda: {row[0]: row[1:4] for row in cells(page, "#details tbody tr")}, expected)
    expect(page.locator("#details .heard")).to_contain_text(as_value(min(block.value)))


def test_another_setting_drops_the_corrections_and_the_page_says_so(page, refined):
    write(page)
    expect(page.locator("#dropped")).to_be_hidden()
    explanation = refined.explain(TEXT)
    own = dict(zip(explanation.labels, map(as_value, explanation.value), strict=True))
    eventually(lambda: scores(page), own)
    page.fill("#smoothness", "0.7")
    expect(page.locator("#dropped")).to_be_visible()
    values = model().replace(smoothness=0.7).confidence_one(TEXT)
    eventually(lambda: scores(page), {label: as_value(value) for label, value in values.items()})
    table = "[data-reading=write] [data-strongest]"
    heads = [["n-gram", "value", "times", "total"]]
    eventually(lambda: cells(page, f"{table} thead tr"), heads)
    page.locator("#reset").click()
    expect(page.locator("#dropped")).to_be_hidden()
    eventually(lambda: scores(page), own)


def test_what_would_change_the_label_is_that_of_the_refined_model(page, refined):
    write(page)
    change = refined.what_would_change(TEXT)
    assert change
    page.locator("[data-reading=write] .change button").click()
    expect(page.locator("[data-reading=write] .change p")).to_have_text(str(change))
    expect(page.locator("#write-painted .marked")).to_have_count(len(change.occurrences))


def test_the_model_view_says_how_the_model_is_refined(visit, refined):
    page = visit("model")
    expect(page.locator("#model-facts")).to_contain_text(str(refined.refinement))


def test_a_subject_is_replayed_with_probabilities(visit, refined):
    at, subject = next(
        (at, one)
        for at, one in enumerate(people())
        if refined.story(one, ww.Overtakes(AT_RISK)).decision
    )
    story = refined.story(subject, ww.Overtakes(AT_RISK))
    page = visit(f"subjects/{at}")
    expect(page.locator("#story-told")).to_contain_text("posts add probabilities")
    expect(page.locator("#story-told .chips li").first).to_contain_text(
        story.tipped.ngrams_for[0].ngram
    )
    expect(page.locator("#story-told .told").first).to_have_text(str(story.what_would_delay()))
