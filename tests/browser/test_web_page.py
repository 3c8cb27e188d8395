"""The live page in a real browser: writing, details, settings, and checks for all views."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from browser import DESKTOP, PHONE, eventually, watched
from live_pages import TEXT, block, choose_level, scores, spelled, visitor, write
from page_steps import go
from painted import Painted, blocks_at, shares_at, with_shares
from watchword import TauSS3
from watchword.explain import palette
from watchword.explain.blocks import Rules, as_value
from watchword.explain.text_view import largest_contributions
from watchword.web import running_page
from watchword.web.files import static_files
from web_pages import AT_RISK, documents, model

pytestmark = pytest.mark.quick

VIEWS = ["write", "documents", "documents/3", "subjects", "subjects/2", "model"]


@pytest.fixture
def page(visit):
    return visit()


# Writing


def test_text_is_painted_as_it_is_typed(page):
    page.locator("#text").press_sequentially("I cannot sleep")
    expect(page.locator("#write-painted")).to_have_text("I cannot sleep")
    expect(page.locator("#write-painted .block")).to_have_text(["I cannot sleep"])
    page.locator("#text").press_sequentially(" well")
    expect(page.locator("#write-painted .block")).to_have_text(["I cannot sleep", "well"])


def test_bars_show_what_the_model_says(page):
    write(page)
    eventually(lambda: scores(page), spelled(model().confidence_one(TEXT)))


def painted_shares(page):
    """Return how strongly each block is painted."""
    return page.locator("#write-painted .block").evaluate_all(
        "all => all.map((span) => Number(span.style.getPropertyValue('--part')))"
    )


@pytest.mark.parametrize("summary", ["sum", "max", "mean"])
def test_blocks_are_painted_for_every_label_and_level_as_in_a_notebook(page, summary):
    write(page)
    page.locator(".more summary").click()
    page.select_option("#summary", summary)
    explanation = model().replace(summary=summary).explain(TEXT)
    expect(page.locator("[data-reading=write] .score .number").first).to_have_text(
        f"{max(explanation.value):.3f}"
    )
    for column, label in enumerate(explanation.labels):
        page.select_option("#paint-label", str(column))
        for level in ("paragraph", "sentence", "ngram"):
            choose_level(page, level)
            shares = [own[column] for own in shares_at(with_shares(explanation), level)]
            eventually(lambda: painted_shares(page), shares)
            notebook = Painted(explanation.to_html(label, level=level))
            marked = [words for given, words in notebook.marks if "rgba" in given["style"]]
            eventually(page.locator("#write-painted .worth").all_text_contents, marked)


@pytest.fixture(scope="module")
def script_page(live, browser_process):
    """The page, whose functions are called without changing what it shows."""
    with watched(browser_process) as browser:
        yield browser.open(live.url)


TIES = [at / 16 for at in range(-40, 40)]  # numbers halfway between two of three digits


@given(st.lists(st.floats(-1e6, 1e6) | st.floats(-0.01, 0.01) | st.sampled_from(TIES), min_size=9))
def test_numbers_are_formatted_as_in_python(script_page, numbers):
    written = script_page.evaluate("(numbers) => numbers.map(watchword.number)", numbers)
    assert written == list(map(as_value, numbers))


def test_a_text_without_evidence_says_so(page):
    write(page, "zzz qqq")
    place = page.locator("[data-reading=write]")
    expect(place.locator(".silent")).to_contain_text("No evidence for any label; the default is")
    expect(place.locator(".predicted")).to_have_count(0)
    expect(place.locator(".ramp")).to_have_count(0)
    write(page, TEXT)
    expect(place.locator(".predicted")).to_have_count(1)
    expect(place.locator(".silent")).to_have_count(0)


def test_the_legend_names_what_the_strongest_colour_stands_for(page):
    write(page)
    rules = Rules()
    rules.add(model().explain(TEXT))
    for level in ("ngram", "sentence"):
        choose_level(page, level)
        sample = page.locator("[data-reading=write] .ramp .worth").last
        expect(sample).to_have_text(as_value(rules.highest[level]))


def test_a_word_that_adds_nothing_to_a_maximum_is_not_painted(page):
    write(page)
    page.locator(".more summary").click()
    page.select_option("#summary", "max")
    expect(page.locator("#write-painted .worth")).to_have_text(["Another day of"])


def test_labels_share_the_colours_of_the_palette(browser, monkeypatch):
    monkeypatch.setattr(palette, "COLOURS", palette.COLOURS[:3])
    static_files.cache_clear()
    taught = TauSS3()
    taught.learn_many([f"word{at}" for at in range(5)], [f"label{at}" for at in range(5)])
    try:
        with running_page(taught) as served:
            page = visitor(browser, served)()
            write(page, "word4")
            expect(page.locator("#write-painted")).to_have_class(re.compile(r"\bc1\b"))
    finally:
        static_files.cache_clear()


def test_sequences_of_words_are_one_block(page):
    write(page)
    expect(block(page, "I cannot sleep")).to_have_count(1)


def test_strongest_ngrams_are_listed_with_occurrences(page):
    write(page)
    cells = page.locator("[data-reading=write] [data-strongest] tr", has_text="i cannot sleep")
    expect(cells.locator("td").nth(1)).to_have_text("2")


@pytest.mark.parametrize("summary", ["sum", "max"])
def test_largest_contributions_are_those_of_the_terminal(page, summary):
    write(page)
    page.locator("#settings .more summary").click()
    page.select_option("#summary", summary)
    expected = largest_contributions(model().replace(summary=summary).explain(TEXT), n=12)
    table = page.locator("[data-reading=write] [data-strongest] tbody")
    expect(table.locator("th")).to_have_text([one.ngram for one in expected])
    expect(table.locator("td:last-child")).to_have_text([as_value(one.total) for one in expected])


def test_the_label_is_chosen_from_the_list_or_by_its_bar(page):
    write(page)
    expect(page.locator("#write-painted")).to_have_class(re.compile(r"\bc-alert\b"))
    page.select_option("#paint-label", label="control")
    expect(page.locator("#write-painted")).to_have_class(re.compile(r"\bc1\b"))
    page.locator("[data-reading=write] .score", has_text=AT_RISK).click()
    expect(page.locator("#write-painted")).to_have_class(re.compile(r"\bc-alert\b"))
    expect(page.locator("#paint-label")).to_have_value("0")


def speakers(page):
    """Return the text and the classes of every painted block."""
    read = "all => all.map((each) => [each.textContent, [...each.classList]])"
    return page.locator("#write-painted .worth").evaluate_all(read)


def test_painted_for_all_labels_each_block_has_the_colour_of_the_label_it_speaks_for(page):
    write(page)
    page.select_option("#paint-label", label="all labels")
    expect(page.locator("#view-write [data-painted-for]")).to_have_text("for all labels")
    explanation = model().explain(TEXT)
    colours = {0: "c-alert", 1: "c1"}
    expected = [
        [TEXT[block["start"] : block["end"]], colours[block["speaks"]]]
        for block in blocks_at(with_shares(explanation), "ngram")
        if block["speaks"] is not None
    ]
    assert {colour for _, colour in expected} == set(colours.values())
    eventually(lambda: [[text, names[-1]] for text, names in speakers(page)], expected)


def test_largest_contributions_to_all_labels_are_listed_once_with_their_labels(page):
    write(page)
    page.select_option("#paint-label", label="all labels")
    rows = page.locator("[data-reading=write] [data-strongest] tbody tr")
    rules = Rules()
    rules.add(model().explain(TEXT))
    expected = [
        [one.words, model().labels[column], as_value(one.total)]
        for column, one in rules.largest_of_all("ngram", [0, 1], 12)
    ]
    expect(rows).to_have_count(len(expected))
    cells = "all => all.map(({ cells }) => [0, 1, 4].map((at) => cells[at].textContent))"
    eventually(lambda: rows.evaluate_all(cells), expected)


def test_the_warm_colour_follows_the_label_to_alert_for(visit):
    page = visit("subjects/0")
    expect(page.locator("#subject-curves .positive polyline").first).to_have_class("c-alert")
    page.select_option("#policy-positive", label="control")
    expect(page.locator("#subject-curves .positive polyline").first).to_have_class("c-alert")
    for label, colour in (("control", "c-alert"), (AT_RISK, "c0")):
        line = page.locator("#subject-curves .legend li", has_text=label).locator("svg")
        expect(line).to_have_class(colour)


@pytest.mark.parametrize(("level", "blocks"), [("sentence", 3), ("paragraph", 2)])
def test_sentences_and_paragraphs_are_painted_too(page, level, blocks):
    write(page)
    choose_level(page, level)
    expect(page.locator("#write-painted .block")).to_have_count(blocks)
    expect(page.locator("#write-painted")).to_have_js_property("textContent", TEXT)


def test_painted_text_content_equals_any_text(page):
    source = random.Random(1)
    alphabet = "ab é\n\r\t.\U0001f600\u202e\u2069\u0301\x00\x85<&>漢ा"
    for _ in range(40):
        text = "".join(source.choices(alphabet, k=source.randrange(40)))
        plain = with_shares(model().explain(text))
        for level in ("ngram", "sentence", "paragraph"):
            kept = page.evaluate(
                """([plain, level]) => {
                    const place = document.createElement("div");
                    watchword.paint(place, JSON.parse(plain), { level });
                    return JSON.stringify(place.textContent);
                }""",
                [json.dumps(plain), level],
            )
            assert json.loads(kept) == text


def test_block_offsets_equal_those_of_python(page):
    text = "😀😀 I cannot sleep 😀 so tired"
    write(page, text)
    explanation = model().explain(text)
    expected = [
        text[n.start : n.end] for p in explanation.blocks for s in p.blocks for n in s.blocks
    ]
    eventually(page.locator("#write-painted .block").all_inner_texts, expected)


def test_only_the_latest_text_is_painted(page):
    for at in range(30):
        page.fill("#text", f"I cannot sleep {at}")
    expect(page.locator("#write-painted")).to_have_text("I cannot sleep 29")


def test_empty_text_paints_nothing(page):
    write(page)
    write(page, "")
    expect(page.locator("#write-painted .block")).to_have_count(0)


# Details


def test_pointing_at_a_block_shows_its_numbers_for_every_label(page):
    write(page)
    block(page, "I cannot sleep").hover()
    details = page.locator("#details")
    expect(details).to_be_visible()
    for label, value in model().value("i cannot sleep").items():
        own, *others = (f"{n:.3f}" if n else "0" for n in (value.cv, value.lv, value.sg, value.sn))
        expect(details.locator("tr", has_text=label).locator("td")).to_have_text(
            [own, str(value.count), *others]
        )
    page.locator("h1:visible").hover()
    expect(details).to_be_hidden()


def test_keys_go_from_block_to_block(page):
    write(page)
    page.locator("#text").focus()
    page.keyboard.press("Tab")
    details = page.locator("#details .what")
    first = page.locator("#write-painted .block").first
    expect(first).to_be_focused()
    expect(details).to_have_text(re.compile(first.inner_text().lower()))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#write-painted .block").nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#write-painted .block").last).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#write-painted .block").last).to_be_focused()
    page.keyboard.press("Home")
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#details")).to_be_hidden()


def test_block_values_are_described_for_screen_readers(page):
    write(page)
    block(page, "I cannot sleep").focus()
    expect(block(page, "I cannot sleep")).to_have_attribute("aria-describedby", re.compile("."))
    described = block(page, "I cannot sleep").get_attribute("aria-describedby")
    told = re.compile(r"^i cannot sleep: at risk 0\.\d+")
    expect(page.locator(f"#{described}")).to_have_text(told)


def test_a_click_pins_the_details(page):
    write(page)
    block(page, "I cannot sleep").click()
    page.locator("h1:visible").hover()
    page.locator("#write-painted .block").first.hover()
    expect(page.locator("#details .what")).to_have_text("i cannot sleep")
    page.locator("h1:visible").click()
    expect(page.locator("#details")).to_be_hidden()


def test_sentences_show_their_numbers(page):
    write(page)
    choose_level(page, "sentence")
    page.locator("#write-painted .block").first.hover()
    expect(page.locator("#details .what")).to_have_text(re.compile(r"sentence of \d+ n-grams"))


# Settings


@pytest.mark.parametrize("name", ["smoothness", "significance", "sanction"])
def test_a_number_changes_the_values_at_once(page, name):
    write(page)
    page.fill(f"#{name}", "0.7")
    eventually(lambda: scores(page), spelled(model().replace(**{name: 0.7}).confidence_one(TEXT)))
    expect(page.locator(f"[data-for={name}]")).to_have_value("0.7")


def test_a_slider_moves_by_keys(page):
    write(page)
    before = scores(page)
    page.locator("[data-for=smoothness]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#smoothness")).to_have_value("0.51")
    expected = spelled(model().replace(smoothness=0.51).confidence_one(TEXT))
    assert expected != before
    eventually(lambda: scores(page), expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_ngram", "1"),
        ("min_count", "5"),
        ("alpha", "0.2"),
        ("prior", "20"),
        ("ngram_scale", "words"),
        ("reading", "words_sum"),
        ("significance_function", "xai"),
        ("confidence_function", "norm_gv"),
        ("summary", "mean"),
    ],
)
def test_all_other_settings_are_used(page, name, value):
    write(page)
    page.locator(".more summary").click()
    control = page.locator(f"#{name}")
    with page.expect_request("**/api/explain") as asked:
        if control.evaluate("e => e.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
    changed = {name: asked.value.post_data_json[name]}
    assert str(changed[name]) == value
    expected = max(model().replace(**changed).confidence_one(TEXT).values())
    first = page.locator("[data-reading=write] .score .number").first
    expect(first).to_have_text(f"{expected:.3f}")


def test_reset_restores_the_settings_of_the_model(page):
    write(page)
    before = scores(page)
    expect(page.locator("#reset")).to_be_disabled()
    page.fill("#smoothness", "0.9")
    expect(page.locator("[data-reading=write] .score .number").first).not_to_have_text(
        before[AT_RISK]
    )
    page.locator("#reset").click()
    expect(page.locator("[data-reading=write] .score .number").first).to_have_text(before[AT_RISK])
    expect(page.locator("#smoothness")).to_have_value("0.455")


def test_invalid_setting_shows_an_error(page):
    write(page)
    before = scores(page)
    page.fill("#smoothness", "3")
    expect(page.locator("#message")).to_contain_text("Smoothness")
    page.fill("#smoothness", "0.455")
    write(page, TEXT + " ")
    expect(page.locator("#message")).to_be_hidden()
    eventually(lambda: scores(page), before)


def test_settings_apply_to_every_view(page):
    page.fill("#smoothness", "0.9")
    go(page, "documents/3")
    changed = model().replace(smoothness=0.9)
    highest = max(changed.confidence_one(documents()[0][3]).values())
    expect(page.locator("[data-reading=document] .score .number").first).to_have_text(
        f"{highest:.3f}"
    )


# What would change it


def test_what_would_change_the_label_is_found_and_marked(page):
    write(page)
    page.locator("#view-write .change button").click()
    change = model().what_would_change(TEXT)
    expect(page.locator("#view-write .change p")).to_have_text(str(change))
    expect(page.locator("#view-write .change li")).to_have_text(
        [one.ngram for one in change.occurrences]
    )
    expect(page.locator("#write-painted .marked")).to_have_count(len(change.occurrences))
    write(page, "something else")
    expect(page.locator("#view-write .change li")).to_have_count(0)


# All views


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_the_window(visit, view, size):
    page = visit(view, viewport=size)
    if view == "write":
        write(page)
        block(page, "I cannot sleep").click()
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator("main > section:visible h1")).to_have_count(1)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= size["width"]


def test_on_a_phone_settings_are_folded_and_details_are_at_the_bottom(visit):
    page = visit(viewport=PHONE, has_touch=True)
    expect(page.locator("#smoothness")).to_be_hidden()
    page.locator("#settings > summary").tap()
    expect(page.locator("#smoothness")).to_be_visible()
    page.locator("#settings > summary").tap()  # a tap becomes a click a little later
    expect(page.locator("#smoothness")).to_be_hidden()
    write(page)
    block(page, "I cannot sleep").tap()
    expect(page.locator("#details")).to_be_visible()
    corner = """e => {
        const { x, bottom } = e.getBoundingClientRect();
        return [x, Math.round(bottom)];
    }"""
    eventually(lambda: page.locator("#details").evaluate(corner), [0, PHONE["height"]])


LUMINANCE = """(color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_contrasts_with_the_background(visit, scheme):
    page = visit(color_scheme=scheme)
    colours = page.evaluate(
        """() => {
            const { backgroundColor, color } = getComputedStyle(document.documentElement);
            return [backgroundColor, color];
        }"""
    )
    paper, ink = (page.evaluate(LUMINANCE, colour) for colour in colours)
    assert (paper > ink) == (scheme == "light")
    assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) > 7


def test_an_address_leads_to_its_view_after_a_reload(visit):
    page = visit("subjects/2/3")
    expect(page.locator("#replay-told")).to_contain_text("post 3 of")
    page.reload()
    expect(page.locator("#replay-told")).to_contain_text("post 3 of")


@pytest.mark.parametrize(
    "address", ["nonsense", "documents/99999", "subjects/99999", "documents/x", "model/7"]
)
def test_unknown_addresses_leave_the_page_usable(visit, address):
    page = visit(address)
    go(page, "write")
    write(page)


def test_without_data_only_the_model_is_shown(browser):
    with running_page(model()) as served:
        page = browser.open(served.url)
        expect(page.locator("header nav a:visible")).to_have_text(["Write", "Model"])


def test_views_are_reached_by_keys(page):
    page.locator("header nav a", has_text="Documents").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#documents-title")).to_be_focused()
    expect(page.locator("header nav [aria-current]")).to_have_text("Documents")


def test_every_control_has_a_name(page):
    for view in VIEWS:
        go(page, view)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("input, select, textarea, button")]
                .filter((each) => !each.labels?.length && !each.ariaLabel)
                .filter((each) => each.tagName !== "BUTTON" || !each.textContent.trim())
                .map((each) => each.outerHTML)"""
        )
        assert nameless == []


# A server that asks for a token, and one that is gone


def test_token_is_removed_from_the_address(browser):
    with running_page(model(), token="very-secret-token") as served:
        page = browser.open(served.url)
        expect(page).to_have_url(f"{served.address}/")
        write(page)


def test_page_needs_the_token(browser):
    with running_page(model(), token="very-secret-token") as served:
        page = browser.open(served.address, wait=False)
        expect(page.locator("body")).to_contain_text("token missing or wrong")


def test_stopped_server_shows_an_error(browser):
    with running_page(model()) as served:
        page = browser.open(served.url)
    page.fill("#text", "so tired")
    expect(page.locator("#message")).to_contain_text("does not answer")
