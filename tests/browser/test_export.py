"""Exported pages: the content of the file, and the page in a real browser."""

import base64
import hashlib
import json
import re
import socket

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import DESKTOP, PHONE, eventually
from offline_pages import OfflineReader, exported, pruned
from watchword.errors import UnknownLabelError
from watchword.web.export import DEFAULT_FLOOR, export_page

COMMON = [("I cannot sleep, I feel so sad", "at risk"), ("I feel so good today", "well")]
RARE = [("Xanthippe told me so", "at risk"), ("ask Quillfeather, she feels good", "well")]
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '" onmouseover="window.hacked = 1',
    "</style><style>* { display: none }</style>",
    "</textarea></title><!--<script>",
    "javascript:window.hacked=1",
    "\u202eevil\u2066 \u2028 &lt; {{model}} \\u003c",
]


def taught(**arguments):
    model = ww.TauSS3(**arguments)
    documents = COMMON * (DEFAULT_FLOOR + 2) + RARE
    model.learn_many([text for text, _ in documents], [label for _, label in documents])
    return model


@pytest.fixture
def visit(browser):
    """Open a file in a browser without network."""
    return lambda path, **options: browser.open(path.as_uri(), offline=True, **options)


# What is in the file


def test_report_counts_kept_and_dropped_ngrams(tmp_path):
    model = taught()
    path, report = exported(tmp_path, model, floor=3)
    kept = len(pruned(model, 3).counts())
    assert report.path == path
    assert report.size == path.stat().st_size
    assert (report.kept, report.dropped) == (kept, len(model.counts()) - kept)
    assert report.floor == 3
    assert f"{report.size:,} bytes" in str(report)
    assert "n-grams with count ≤ 3 were dropped" in str(report)


def test_rare_words_are_dropped_by_default(tmp_path):
    model = taught()
    path, report = exported(tmp_path, model)
    assert report.floor == DEFAULT_FLOOR > 0
    page = path.read_text(encoding="utf-8").casefold()
    dropped = {word for ngram in model.counts() for word in ngram.split()}
    dropped -= {word for ngram in pruned(model, DEFAULT_FLOOR).counts() for word in ngram.split()}
    assert {"xanthippe", "quillfeather"} <= dropped
    long_ones = [word for word in dropped if len(word) > 4]  # short ones stand in any page
    assert [word for word in long_ones if word in page] == []


def test_floor_zero_keeps_all_words(tmp_path):
    path, report = exported(tmp_path, taught(), floor=0)
    page = path.read_text(encoding="utf-8")
    assert "xanthippe" in page
    assert report.dropped == 0
    assert "none were dropped" in str(report)


@pytest.mark.parametrize("floor", [0, 1, DEFAULT_FLOOR])
def test_the_ngrams_inside_are_those_of_the_pruned_model(tmp_path, visit, floor):
    model = taught(max_ngram=4)
    path, _ = exported(tmp_path, model, floor=floor)
    reader = OfflineReader(visit(path))
    reader.open_own()
    counts = {
        ngram: {label: count for label, count in zip(model.labels, row, strict=True) if count}
        for ngram, row in reader.ngrams()
    }
    assert counts == pruned(model, floor).counts()


def test_the_page_holds_the_values_of_the_pruned_model(tmp_path, visit):
    model = taught()
    path, _ = exported(tmp_path, model)
    reader = OfflineReader(visit(path))
    reader.open_own()
    text = "I cannot sleep. Xanthippe feels good today"
    value = reader.explain(text)["value"]
    assert value == list(pruned(model, DEFAULT_FLOOR).explain(text).value)
    assert value != list(model.explain(text).value)


def test_export_does_not_change_the_model(tmp_path):
    model = taught()
    before = model.to_bytes()
    exported(tmp_path, model)
    assert model.to_bytes() == before
    assert not model.statistics.pruned


def test_equal_models_give_equal_files(tmp_path):
    pages = [exported(tmp_path, taught())[0].read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]


def stemmed(word):
    return word


def tokens(text):
    return [(0, len(text), "word")]


def highest(rows):
    return rows.max(axis=0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"word_hook": stemmed}, r"word_hook \S*stemmed"),
        ({"tokenizer": tokens}, r"tokenizer \S*tokens"),
        ({"summary": highest}, r"summary \S*highest"),
        ({"summary": {"document": highest}}, r"summary \S*highest"),
    ],
)
def test_models_with_functions_are_refused(tmp_path, arguments, named):
    model = taught(**arguments)
    for one in (model, ww.TauSS3.from_bytes(model.to_bytes())):
        with pytest.raises(ww.errors.HookError, match=f"cannot export a model with the {named}"):
            exported(tmp_path, one)
    assert list(tmp_path.iterdir()) == []


def test_models_that_read_as_pyss3_does_are_refused(tmp_path):
    model = ww.TauSS3.pyss3()
    model.learn_one("any text", "label")
    with pytest.raises(ValueError, match=r"use the live page \(watchword serve\)"):
        exported(tmp_path, model, floor=0)
    assert list(tmp_path.iterdir()) == []


def test_a_floor_that_leaves_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="floor 1000 leaves no n-grams"):
        exported(tmp_path, taught(), floor=1000)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_model_is_refused(tmp_path):
    with pytest.raises(ww.errors.EmptyModelError):
        exported(tmp_path, ww.TauSS3())


@pytest.mark.parametrize(
    ("floor", "error"), [(-1, ValueError), (1.5, TypeError), (True, TypeError)]
)
def test_invalid_floors_are_refused(tmp_path, floor, error):
    with pytest.raises(error, match="floor must be"):
        exported(tmp_path, taught(), floor=floor)


# What may happen in it


def checksums(elements):
    digests = [hashlib.sha256(element.encode()).digest() for element in elements]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def test_policy_allows_only_own_scripts_and_styles(tmp_path):
    page = exported(tmp_path, taught())[0].read_text(encoding="utf-8")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="(.*)">', page)
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert directives.pop("script-src").split() == checksums(scripts)
    assert directives.pop("style-src").split() == checksums(styles)
    assert set(directives) == {"default-src", "base-uri", "form-action"}
    assert set(directives.values()) == {"'none'"}


def test_file_has_no_external_references(tmp_path):
    page = exported(tmp_path, taught())[0].read_text(encoding="utf-8")
    assert re.findall(r"https?:|//\w+\.\w|\b(?:src|href|action)\s*=|url\(|@import", page) == []


def test_browser_writing_aids_are_off(opened):
    text = opened.locator("#text")
    for attribute in ("spellcheck", "writingsuggestions"):
        expect(text).to_have_attribute(attribute, "false")
    expect(text).to_have_attribute("autocomplete", "off")
    expect(opened.locator("html")).to_have_attribute("translate", "no")


def test_page_makes_no_network_requests(tmp_path, browser):
    path, _ = exported(tmp_path, taught())
    page = browser.open(path.as_uri())
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.fill("#text", "I feel so good. http://localhost/ <img src=http://localhost/x.png>")
    expect(page.locator("#painted")).to_contain_text("x.png>")
    page.check("input[value=sentence]")
    expect(page.locator("#painted .block").first).to_contain_text("I feel so good.")
    assert asked == []


def test_policy_blocks_sending_data(tmp_path, browser):
    path, _ = exported(tmp_path, taught())
    page = browser.open(path.as_uri())
    with socket.create_server(("127.0.0.1", 0)) as server:
        page.evaluate(
            """async (address) => {
                await fetch(address).catch(() => {});
                navigator.sendBeacon(address, "text");
                const image = new Image();
                image.src = address;
                const script = document.createElement("script");
                script.textContent = "window.hacked = 1";
                document.body.append(image, script);
                document.body.setAttribute("style", "display: none");
            }""",
            f"http://127.0.0.1:{server.getsockname()[1]}/",
        )
        # Each attempt is reported only after it was blocked.
        eventually(
            lambda: {one.split()[0] for one in page.evaluate("window.violations")},
            {"connect-src", "img-src", "script-src-elem", "style-src-attr"},
        )
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert page.evaluate("window.hacked") is None
    page.evaluate("window.violations = []")
    browser.elsewhere.clear()


def test_hostile_labels_titles_and_texts_stay_text(tmp_path, visit):
    model = ww.TauSS3()
    texts = [f"{hostile} word{at}" for at, hostile in enumerate(HOSTILE)]
    model.learn_many(texts, HOSTILE)
    title = " ".join(HOSTILE) + "\ud800"
    path, _ = exported(tmp_path, model, floor=0, title=title)
    page = visit(path)
    text = "\n".join(texts)
    page.fill("#text", text)
    expect(page.locator("#painted")).to_have_js_property("textContent", text)
    expect(page.locator("#scores button")).to_have_count(len(HOSTILE))
    assert "{{model}}" in page.title()
    expect(page.locator("img, iframe")).to_have_count(0)
    page.select_option("#label", "2")
    page.locator("#painted .block.worth").first.hover()
    expect(page.locator("#details")).to_contain_text("onerror")


# What it does


def scores(page):
    """Return the values of the bars by label, as they are at one moment."""
    cells = "all => all.map((row) => [row.children[0].textContent, row.children[2].textContent])"
    return dict(page.locator("#scores button").evaluate_all(cells))


def expect_painted(page, text):
    """Wait until a text is painted."""
    expect(page.locator("#painted")).to_have_js_property("textContent", text)


@pytest.fixture
def opened(tmp_path, visit):
    return visit(exported(tmp_path, taught(), title="Café")[0])


def test_text_is_painted_as_it_is_typed(opened):
    opened.locator("#text").press_sequentially("So sad, I cannot")
    expect_painted(opened, "So sad, I cannot")
    before = scores(opened)
    opened.locator("#text").press_sequentially(" sleep")
    expect_painted(opened, "So sad, I cannot sleep")
    eventually(lambda: scores(opened)["at risk"] > before["at risk"], True)
    expect(opened.locator("#label option").first).to_contain_text("at risk")


def test_painted_values_add_up_to_the_score(opened):
    opened.fill("#text", "I cannot sleep. So sad!\n\nToday I feel good.")
    total = opened.evaluate(
        """() => {
            const contents = (id) => JSON.parse(document.getElementById(id).textContent);
            const model = new offline.Model(contents("model"), contents("characters"));
            const explanation = model.explain(document.getElementById("text").value);
            const ngrams = watchword.blocksOf(explanation, "ngram");
            return model.labels.map((label, at) =>
                [label, ngrams.reduce((sum, block) => sum + block.value[at], 0)]);
        }"""
    )
    eventually(lambda: scores(opened), {label: f"{value:.3f}" for label, value in total})


def test_the_level_can_be_chosen(opened):
    text = "I cannot sleep. So sad!\nToday I feel good."
    opened.fill("#text", text)
    expect_painted(opened, text)
    blocks = opened.locator("#painted .block")
    for level, count in (("paragraph", 2), ("sentence", 3)):
        opened.check(f"input[value={level}]")
        expect(blocks).to_have_count(count)
    opened.check("input[value=ngram]")
    eventually(lambda: blocks.count() > 3, True)


def test_the_label_can_be_chosen(opened):
    opened.fill("#text", "sad sad sad good")
    worth = opened.locator("#painted .block.worth")
    expect(worth).to_have_text(["sad", "sad", "sad"])
    opened.select_option("#label", label="well")
    expect(worth).to_have_text(["good"])
    opened.locator("#scores button", has_text="at risk").click()
    expect(worth).to_have_text(["sad", "sad", "sad"])


def test_blocks_can_be_painted_for_the_labels_they_speak_for(tmp_path, visit):
    path = tmp_path / "page.html"
    export_page(taught(), path, alert="well")
    page = visit(path)
    page.fill("#text", "I cannot sleep today")
    expect_painted(page, "I cannot sleep today")
    page.select_option("#label", label="all labels")
    for word, colour in (("sleep", "c0"), ("today", "c-alert")):
        painted = page.locator("#painted .worth", has_text=word)
        expect(painted).to_have_class([re.compile(rf" {colour}$")])


def test_an_unknown_label_to_alert_for_is_refused(tmp_path):
    with pytest.raises(UnknownLabelError, match="unknown label 'ill'"):
        export_page(taught(), tmp_path / "page.html", alert="ill")
    assert list(tmp_path.iterdir()) == []


def test_pointing_at_a_block_shows_its_numbers(opened):
    opened.fill("#text", "so sad")
    opened.locator("#painted .block", has_text="sad").hover()
    details = opened.locator("#details")
    expect(details).to_be_visible()
    row = details.locator("tr", has_text="at risk")
    expect(row.locator("td").nth(1)).to_have_text("12")
    opened.mouse.move(0, 0)
    expect(details).to_be_hidden()


def test_everything_can_be_reached_by_keyboard(opened):
    opened.keyboard.press("Tab")
    opened.keyboard.type("so sad good")
    expect(opened.locator("#text")).to_have_value("so sad good")
    expect_painted(opened, "so sad good")
    for _ in range(20):
        opened.keyboard.press("Tab")
        if opened.evaluate("document.activeElement.closest('#painted') !== null"):
            break
    opened.keyboard.press("End")
    expect(opened.locator("#painted .block:focus")).to_have_text("good")
    expect(opened.locator("#details")).to_contain_text("good")
    opened.keyboard.press("Escape")
    expect(opened.locator("#details")).to_be_hidden()


def test_lone_surrogates_are_kept(opened):
    opened.evaluate(
        """() => {
            const text = document.getElementById("text");
            text.value = "so \\ud800 sad \\udc00\\ud83d😀 good";
            text.dispatchEvent(new Event("input"));
        }"""
    )
    assert opened.evaluate(
        """() => document.getElementById("painted").textContent
            === document.getElementById("text").value"""
    )
    assert "good" in opened.locator("#painted .block.worth").all_text_contents()


def test_page_states_its_floor(opened, tmp_path, visit):
    expect(opened.locator("#facts")).to_contain_text(f"at most {DEFAULT_FLOOR} times")
    path, _ = exported(tmp_path, taught(), floor=0)
    expect(visit(path).locator("#facts")).to_contain_text("No n-grams were dropped")


def test_a_very_long_text_leaves_the_page_usable(opened):
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.evaluate("navigator.clipboard.writeText('I cannot sleep so well, 😀. '.repeat(400_000))")
    opened.locator("#text").focus()
    opened.keyboard.press("Control+v")
    expect(opened.locator("#status")).to_contain_text("first 200,000 characters")
    painted = opened.evaluate("document.getElementById('painted').textContent")
    assert painted == opened.input_value("#text")
    assert len(painted.encode("utf-16-le")) == 2 * 200_000
    opened.fill("#text", "so sad")
    expect(opened.locator("#status")).to_be_empty()
    expect(opened.locator("#painted .block.worth")).to_have_text(["so sad"])


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_is_wider_than_the_screen(tmp_path, visit, viewport):
    model = taught()
    model.learn_many(["so long " * 20], ["a very long label without any end " * 4])
    path, _ = exported(tmp_path, model, title="A title " + "without a blank" * 9)
    page = visit(path, viewport=viewport)
    page.fill("#text", "so sad " + "x" * 900)
    page.locator("#painted .block.worth").first.hover()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_the_same_content_is_written_in_any_folder(tmp_path):
    report = export_page(taught(), str(tmp_path / "as a string.html"))
    assert report.path.read_bytes().startswith(b"<!doctype html>")
    facts = json.loads(re.search(rb'"facts":(\{.*?\})', report.path.read_bytes())[1])
    assert facts["kept"] == report.kept
