"""Explanations as HTML: the text is kept, contributions add up, hostile text stays text."""

import base64
import hashlib
import html
import json
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from hooks import by_blanks, last_row
from hostile import HOSTILE
from painted import Painted, blocks_at, drawing, shares_at, unquoted, with_shares
from strategies import any_texts, corpora, examples, parameters, texts
from untyped import untyped
from watchword.explain import palette
from watchword.explain.blocks import LEVELS, Rules, as_value, blocks_of, label_lines
from watchword.explain.markup import document, escaped, kept, stand_ins
from watchword.explain.painting import PART, Painter, TaggedRange, marked
from watchword.explain.text_view import explanation_html

MODEL = ww.TauSS3.paper()
MODEL.learn_many(
    ["machine learning " * 3, "learning to rest", "the machine rests", "a match, a b c is"],
    ["tech", "calm", "calm", "sports"],
)
TEXT = "So, machine learning!\r\nA match. The machine rests; unheard of.\n\n\tmachine learning"

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "div", "p", "strong"),
    *("bdi", "fieldset", "legend", "label", "input", "svg", "rect", "data", "span", "mark"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "type", "checked"),
    *("viewBox", "viewbox", "preserveaspectratio", "aria-hidden", "width", "height", "value"),
    *("tabindex", "aria-describedby", "hidden", "scope", "title", "style"),
}


def page_of(text=TEXT, model=MODEL, **options):
    return Painted(model.explain(text).to_page(**options))


def ngrams_of(explanation):
    return [n for paragraph in explanation.blocks for s in paragraph.blocks for n in s.blocks]


# The text is kept


@given(any_texts(), st.sampled_from(LEVELS), st.booleans())
def test_stripping_the_tags_gives_the_text_back(text, level, page):
    painted = Painted(drawing(MODEL.explain(text), page)(level=level))
    assert painted.text == stand_ins(text)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_characters_allowed_in_html_are_kept(text):
    assert stand_ins(text + "\t\n\f\r") == text + "\t\n\f\r"


@given(st.text(st.characters(exclude_categories=())))
def test_forbidden_characters_are_replaced_one_for_one(text):
    shown = stand_ins(text)
    assert len(shown) == len(text)
    shown.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]", shown)


def test_carriage_returns_are_kept():
    painted = MODEL.explain("a\r\nmatch\r").to_page()
    assert "\r" not in painted
    assert Painted(painted).text == "a\r\nmatch\r"


@given(st.text(st.characters(exclude_categories=())))
def test_unescaping_kept_text_restores_it(text):
    assert html.unescape(re.sub(r"<[^>]*>", "", kept(text))) == stand_ins(text)


@pytest.mark.parametrize("control", "\u202a\u202b\u202d\u202e")
def test_direction_controls_are_isolated(control):
    painted = Painted(MODEL.explain(f"a {control}match").to_page())
    assert painted.text == f"a {control}match"
    assert f'<bdi title="U+{ord(control):X}">{control}</bdi>' in kept(control)


@pytest.mark.parametrize("gap", [" ", "\n", "-"], ids=["blank", "line", "none"])
def test_long_texts_are_divided_without_loss(gap):
    text = gap.join(["machine learning", "a match", "x"] * 4_000)
    painted = page_of(text)
    assert painted.text == text
    parts = painted.find("div", **{"class": "ww-part"})
    assert len(text) / (5 * PART) < len(parts) < len(text) / PART + 1


def test_parts_end_at_line_ends():
    text = "a match and some more\n" * 3_000
    markup = MODEL.explain(text).to_page()
    cuts = re.findall(r'(.)(?:</span>)*</div><div class="ww-part">', markup, re.S)
    assert len(cuts) > 1
    assert set(cuts) == {"\n"}


def test_no_ngram_is_divided():
    painted = page_of("machine learning " * 10_000, level="sentence")
    assert {words for _, words in painted.marks} == {"machine learning"}
    assert len(painted.marks) == 10_000


def test_long_snippets_are_in_parts_too():
    text = "a match " * 10_000
    markup = MODEL.explain(text).to_html()
    assert Painted(markup).text == text
    assert markup.count("content-visibility:auto") > 2


@given(st.lists(st.tuples(st.integers(-3, 12), st.integers(-3, 12))))
def test_text_is_kept_with_any_marks(places):
    marks = [TaggedRange(start, end, "<i>", "</i>") for start, end in places]
    assert re.sub("</?i>", "", marked("some text", marks)) == "some text"


# The parts add up


def painted_sums(painted, labels):
    """Return the sum of the painted n-grams, as shares of the strongest colour."""
    rules = painted.rules()
    shares = [rules[attributes["class"]][0] for attributes, _ in painted.marks]
    return [sum(share.get(at, 0) for share in shares) for at in range(len(labels))]


def highest_of(explanation):
    return max((max(one.contribution) for one in ngrams_of(explanation)), default=0.0)


@examples(0.5)
@given(corpora(), texts(), parameters(own_operators=False))
def test_contributions_add_up_to_the_score(corpus, text, how):
    model = ww.TauSS3(**how)
    for content, label in corpus:
        model.learn_one(content, label)
    explanation = model.explain(text)
    painted = Painted(explanation.to_page())
    shown = [float(data["value"]) for data in painted.find("data")]
    assert shown == sorted(explanation.value, reverse=True)
    rounding = 1e-4 * highest_of(explanation) * len(painted.marks) + 1e-9
    sums = painted_sums(painted, explanation.labels)
    for total, score in zip(sums, explanation.value, strict=True):
        assert total * highest_of(explanation) == pytest.approx(score, abs=rounding)


def test_tables_list_the_largest_contributions():
    markup = MODEL.explain("machine learning, machine learning. a match").to_page()
    rows = re.findall(r'<tr><th scope="row"><bdi>(.*?)</bdi></th>(.*?)</tr>', markup)
    row = next(cells for words, cells in rows if words == "machine learning")
    value = MODEL.value("machine learning")["tech"]
    numbers = re.findall(r">([\d.]+)<", row)
    assert numbers[0] == "2"
    assert numbers[1] == f"{2 * value.cv:.3f}"
    assert numbers[3] == str(value.count)


# What is painted, and how


def test_an_ngram_is_one_block():
    assert "machine learning" in [words for _, words in page_of().marks]
    assert "machine learning" in [
        words for _, words in Painted(MODEL.explain(TEXT).to_html()).marks
    ]


def test_block_describes_its_values_for_every_label():
    [(attributes, _)] = page_of("machine learning").marks
    _, telling = page_of("machine learning").rules()[attributes["class"]]
    value = MODEL.value("machine learning")["tech"]
    assert telling.splitlines() == [
        "machine learning",
        f"tech {value.cv:.3f} (count {value.count}; lv {value.lv:.3f}, sg {value.sg:.3f}, "
        f"sn {value.sn:.3f})",
        "calm, sports 0 (never learnt)",
    ]


def test_snippet_titles_describe_values():
    titles = [attributes["title"] for attributes, _ in Painted(MODEL.explain(TEXT).to_html()).marks]
    painted = page_of()
    rules = painted.rules()
    assert titles == [rules[attributes["class"]][1] for attributes, _ in painted.marks]


@pytest.fixture(scope="module")
def twelve_labels():
    """Return the explanation of a text by a model with many labels."""
    model = ww.TauSS3()
    for at in range(12):
        half = "half " * (at % 2) + "third " * (at % 3 == 0)
        model.learn_one(f"common own{at} strong {half}", f"label{at}")
    return model.explain("Common, strong, half, third, own3, words")


def test_with_many_labels_a_snippet_describes_the_painted_label_in_full(twelve_labels):
    for label in ("label11", "label4"):
        [title] = [
            attributes["title"]
            for attributes, words in Painted(twelve_labels.to_html(label)).marks
            if words == "strong"
        ]
        [strong] = [one for one in blocks_of(twelve_labels) if one.get("ngram") == "strong"]
        column = twelve_labels.labels.index(label)
        full = f"{label} {as_value(strong['value'][column])} (count {strong['count'][column]}; lv "
        assert title.splitlines()[1].startswith(full)
        assert title.count("lv") == 1


def test_with_many_labels_a_snippet_names_the_values_of_all_that_could_be_painted(twelve_labels):
    blocks = {one["ngram"]: one for one in blocks_of(twelve_labels) if one["kind"] == "ngram"}
    highest = max(max(one["contribution"]) for one in blocks.values())
    named = 0
    for attributes, words in Painted(twelve_labels.to_html()).marks:
        block = blocks[words.lower()]
        for label, value in zip(twelve_labels.labels, block["value"], strict=True):
            if value >= highest * palette.FAINTEST_COLOUR:
                told = rf"\b{label}\b[^;\n]* {re.escape(as_value(value))}( |;|$)"
                assert re.search(told, attributes["title"], re.M)
                named += 1
    assert named > 10


def test_with_many_labels_weak_values_are_a_range():
    names, value = list("abcdef"), [0.5, 0.002, 0.004, 0.003, -0.2, 0.0]
    block = {"kind": "ngram", "ngram": "so", "value": value, "contribution": value}
    block |= {name: [1, 1, 1, 1, 1, 0] for name in ("count", "lv", "sg", "sn")}
    lines = label_lines(block, names, range(6), painted=1, least=0.01)
    assert lines[1:] == ["a 0.500; 3 others -0.200 to 0.004", "f 0 (never learnt)"]
    assert lines[0].startswith("b 0.002 (count 1; lv ")


def test_sentence_describes_its_values():
    markup = MODEL.explain("A match. Machine learning").to_html("tech", level="sentence")
    told = [attributes["title"].splitlines()[0] for attributes, _ in Painted(markup).marks]
    assert told == ["this sentence"] * 2


def test_equal_ngrams_share_one_rule():
    painted = page_of("a match, a match, a match")
    assert len(painted.marks) == 6
    assert len({attributes["class"] for attributes, _ in painted.marks}) == 2


def test_unknown_ngrams_are_not_marked():
    assert page_of("unheard of things").marks == []


@pytest.mark.parametrize("summary", ["sum", "max", "mean"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_snippet_and_a_page_paint_every_block_as_strongly(level, summary):
    explanation = MODEL.replace(summary=summary).explain("machine learning. rest, the, a learning")
    shares = shares_at(with_shares(explanation), level)
    page = Painted(explanation.to_page())
    names = [
        name
        for _, attributes in page.elements
        for name in (attributes.get("class") or "").split()
        if re.fullmatch(rf"{level[0]}\d+", name)
    ]
    assert [page.rules()[name][0] for name in names] == [
        {column: share for column, share in enumerate(own) if share} for own in shares
    ]
    for column, label in enumerate(explanation.labels):
        snippet = Painted(explanation.to_html(label, level=level))
        assert [attributes["style"] for attributes, _ in snippet.marks] == [
            "color:inherit;"
            + (palette.paint_style(own[column], column) if own[column] else "background:none")
            for own in shares
        ]


def test_in_a_snippet_the_strongest_block_has_the_strongest_colour():
    shown = MODEL.explain("learning").to_html("calm", alert="calm")
    assert max(MODEL.explain("learning").value) < 0.9
    assert f"background:rgba(217,72,28,{palette.short(palette.STRONGEST)})" in shown


def test_a_snippet_for_all_labels_paints_each_block_for_the_label_it_speaks_for():
    explanation = MODEL.explain(TEXT)
    snippet = Painted(explanation.to_html(all_labels=True, alert="calm"))
    blocks = blocks_at(with_shares(explanation), "ngram")
    painted = [
        palette.paint_style(block["share"][block["speaks"]], block["speaks"], alert=0)
        for block in blocks
        if block["speaks"] is not None
    ]
    assert len(painted) > 4
    assert "217,72,28" in "".join(painted)
    styles = [attributes["style"].removeprefix("color:inherit;") for attributes, _ in snippet.marks]
    assert [style for style in styles if "rgba" in style] == painted


def test_a_page_for_all_labels_has_colour_and_strength_of_the_label_each_block_speaks_for():
    explanation = MODEL.explain(TEXT)
    page = Painted(explanation.to_page(all_labels=True))
    blocks = blocks_at(with_shares(explanation), "ngram")
    expected = {
        TEXT[block["start"] : block["end"]].lower(): (
            f"--na:{palette.short(block['share'][block['speaks']], 4)};"
            f"--nc:{palette.label_rgb(block['speaks'])};"
        )
        for block in blocks
        if block["speaks"] is not None
    }
    found = re.findall(r'\.n\d+{.*?(--na:[^;]*;--nc:[^;]*;)--t:"([^\\]*)', page.style)
    assert sorted(expected.items()) == sorted((words, own) for own, words in found)
    assert [one["id"] for one in page.find("input", type="radio") if "checked" in one] == [
        "ww-la",
        "ww-ngram",
    ]


def test_an_ngram_that_speaks_as_much_for_two_labels_is_painted_for_neither():
    taught = ww.TauSS3()
    taught.learn_many(["both", "both", "other"], ["a", "b", "c"])
    explanation = taught.explain("both")
    assert explanation.value[0] == explanation.value[1] > 0
    [(attributes, _)] = Painted(explanation.to_html(all_labels=True)).marks
    assert attributes["style"].endswith("background:none")


@pytest.mark.parametrize("page", [True, False])
def test_by_default_the_predicted_label_is_painted(page):
    explanation = MODEL.explain(TEXT)
    draw = drawing(explanation, page)
    assert draw() == draw(explanation.label)
    assert draw() != draw("sports")


def test_label_and_level_can_be_chosen_in_a_page():
    painted = page_of(label="calm", level="sentence")
    labels = painted.find("input", name="ww-label")
    levels = painted.find("input", name="ww-level")
    assert [("checked" in one, one["id"]) for one in levels] == [
        (False, "ww-ngram"),
        (True, "ww-sentence"),
        (False, "ww-paragraph"),
    ]
    checked = [one["id"] for one in labels if "checked" in one]
    assert checked == [f"ww-l{MODEL.labels.index('calm')}"]
    for one in labels + levels:
        assert f":has(#{one['id']}:checked)" in painted.style


@pytest.mark.parametrize("page", [True, False])
def test_an_unknown_label_is_named(page):
    with pytest.raises(
        ww.errors.UnknownLabelError, match="unknown label 'food'; the explanation has"
    ):
        drawing(MODEL.explain("soup"), page)("food")


def test_an_unknown_level_is_named():
    with pytest.raises(ValueError, match=r"level must be one of 'paragraph', .* got 'word'"):
        MODEL.explain("soup").to_html(level=untyped("word"))


@pytest.mark.parametrize("page", [True, False])
def test_plain_data_is_accepted(page):
    explanation = MODEL.explain(TEXT)
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert explanation_html(plain, page=page) == drawing(explanation, page)()


def test_a_notebook_shows_the_snippet():
    explanation = MODEL.explain(TEXT)
    assert explanation._repr_html_() == explanation.to_html()


def test_a_notebook_shows_the_beginning_of_a_long_text():
    shown = MODEL.explain("a match. " * 50_000)._repr_html_()
    assert len(Painted(shown).text) == 100_000
    assert "Showing only the first 100,000 of 450,000 characters" in shown


# Other ways to sum up


def explained_with(summary, text="a match. machine learning. the machine"):
    return MODEL.replace(summary=summary).explain(text)


def test_sums_are_explained():
    shown = MODEL.explain(TEXT).to_html()
    assert "the contributions add up to the score." in shown
    assert "maxima" not in shown


@pytest.mark.parametrize(("operator", "word"), [("max", "maxima"), ("mean", "means")])
def test_other_operators_are_explained(operator, word):
    assert f" With {word}, " in explained_with(operator).to_html()


def test_contribution_is_described_where_it_differs_from_the_value():
    told = [tell for _, tell in Painted(explained_with("mean").to_page()).rules().values()]
    assert any("adds 0." in tell and "to the score" in tell for tell in told)


@pytest.mark.parametrize("page", [True, False])
def test_summary_function_paints_values(page):
    explanation = explained_with(last_row)
    shown = drawing(explanation, page)("tech")
    assert "because hooks.last_row summarises" in shown
    assert ", adds " not in shown
    assert "machine learning" in [words for _, words in Painted(shown).marks]


def negative(rows):
    return -rows.sum(axis=0)


@pytest.mark.parametrize("level", LEVELS)
def test_values_below_zero_are_not_painted(level):
    explanation = MODEL.replace(summary={"sentence": negative}).explain("a match")
    painted = Painted(explanation.to_page(level=level))
    assert painted.text == "a match"
    assert all(rule[0] == {} for name, rule in painted.rules().items() if name[0] != "n")


# Nothing is obeyed


def assert_harmless(painted, tags=TAGS):
    for tag, attributes in painted.elements:
        assert tag in tags
        assert attributes.keys() <= ATTRIBUTES
        assert not attributes.keys() & {"href", "src", "action"}


@pytest.mark.parametrize("page", [True, False])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_stay_text(hostile, page):
    painted = Painted(drawing(MODEL.explain(f"a match {hostile} machine"), page)())
    assert painted.text == stand_ins(f"a match {hostile} machine")
    assert_harmless(painted)


@pytest.mark.parametrize("page", [True, False])
@pytest.mark.parametrize("hostile", [one for one in HOSTILE if "\ud800" not in one])
def test_hostile_labels_ngrams_and_titles_stay_text(hostile, page):
    model = ww.TauSS3(tokenizer=by_blanks)
    model.learn_many([f"{hostile} x", "x y"], [hostile, "other"])
    shown = drawing(model.explain(f"{hostile} x"), page)(title=hostile)
    shown.encode("utf-8")
    painted = Painted(shown)
    assert painted.text == stand_ins(f"{hostile} x")
    assert_harmless(painted)
    assert "hacked" not in re.sub(r'"[^"]*"', "", painted.style)


@pytest.mark.parametrize("page", [True, False])
def test_labels_and_titles_are_not_reordered(page):
    model = ww.TauSS3(tokenizer=by_blanks)
    model.learn_one("\u202ematch", "\u202espor\u2066ts")
    shown = drawing(model.explain("match \u202ematch"), page)(title="\u202etitle")
    assert re.findall("[\u202a-\u202e\u2066-\u2069]", unquoted(shown)) == ["\u202e"]


def test_one_style_sheet_is_allowed_and_nothing_else():
    markup = MODEL.explain(TEXT).to_page()
    painted = Painted(markup)
    digest = hashlib.sha256(painted.style.encode()).digest()
    [policy] = painted.find("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"] == (
        f"default-src 'none'; style-src 'sha256-{base64.b64encode(digest).decode()}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert painted.find("script") == []
    assert "style" not in {name for _, attributes in painted.elements for name in attributes}


def test_a_page_is_complete():
    markup = MODEL.explain(TEXT).to_page(title="Tom & <Jerry>")
    assert markup.startswith('<!doctype html>\n<html lang="en">')
    assert Painted(markup).find("meta", charset="utf-8")
    assert Painted(markup).find("meta", name="viewport")
    assert "<title>Tom &amp; &lt;Jerry&gt;</title>" in markup
    assert "<h1>Tom &amp; &lt;Jerry&gt;</h1>" in markup
    assert "http" not in markup.replace("http-equiv", "")


@pytest.mark.parametrize("css", ["a</style>", "</STYLE", "<!--"])
def test_a_style_sheet_cannot_end_its_element(css):
    with pytest.raises(ValueError, match="style must not contain </style"):
        document("title", "body", css)


def test_a_script_is_known_by_its_hash():
    page = document("title", "", script="let one = 1;\r\n")
    digest = base64.b64encode(hashlib.sha256(b"let one = 1;\n").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "<script>let one = 1;\n</script>" in page


def test_a_page_can_always_be_encoded():
    document("lone \ud800", "half \udfff of a pair", "/* \ud800 */").encode("utf-8")


@given(st.text(st.characters(exclude_categories=())))
def test_escaped_text_is_safe_in_an_attribute(text):
    shown = escaped(text)
    assert not set(shown) & set("<>\"'\x00\r")
    shown.encode("utf-8")


# Many blocks, many labels


@pytest.mark.parametrize("page", [True, False])
def test_most_must_be_a_whole_number(page):
    with pytest.raises(ValueError, match="most must be at least 0, got -1"):
        drawing(MODEL.explain(TEXT), page)(most=-1)


def test_only_the_strongest_blocks_are_marked():
    explanation = MODEL.explain("machine learning, rest. match, match")
    painted = Painted(explanation.to_page(most=2))
    values = sorted((max(ngram.value) for ngram in ngrams_of(explanation)), reverse=True)
    marked_values = [
        max(value.cv for value in MODEL.value(words).values()) for _, words in painted.marks
    ]
    assert sorted(marked_values, reverse=True) == values[:2]


@pytest.mark.parametrize("page", [True, False])
def test_number_of_unmarked_blocks_is_shown(page):
    shown = drawing(MODEL.explain("machine learning, rest. match, match"), page)(most=2)
    assert "The 2 weakest n-grams are not marked, but count in the score." in shown


@given(st.lists(st.sampled_from(["a", "match", "rest", "machine learning"])), st.integers(0, 8))
def test_of_equally_strong_blocks_the_first_are_marked(words, most):
    rules = Rules()
    places = rules.add(MODEL.explain(", ".join(words)), ["ngram"])
    order = sorted(places, key=lambda place: -rules.all[place[2]].strength)
    assert rules.strongest(places, most) == sorted(order[:most])


def test_the_tab_key_stops_at_the_strongest_ngrams():
    explanation = MODEL.explain("a match. " * 300)
    painted = Painted(explanation.to_page())
    stops = [attributes for attributes, _ in painted.marks if "tabindex" in attributes]
    assert len(stops) == 200
    described = {one["id"] for one in painted.find("p") if "id" in one}
    assert {one["aria-describedby"] for one in stops} == described


def test_blocks_without_value_are_not_in_the_tab_order():
    model = ww.TauSS3(alpha=10)
    model.learn_one("a match", "sports")
    painted = page_of("a match", model)
    assert [list(attributes) for attributes, _ in painted.marks] == [["class"], ["class"]]


def many_labels():
    model = ww.TauSS3.paper()
    for number in range(30):
        model.learn_one(f"word{number} " * (number + 1) + "all", number)
    return model


@pytest.mark.parametrize("page", [True, False])
def test_many_labels_show_the_highest_and_count_the_rest(page):
    shown = drawing(many_labels().explain("all word3 word7"), page)()
    assert len(Painted(shown).find("data")) == 20
    assert "and 10 more with lower scores" in shown


def test_chosen_label_is_always_shown():
    model = many_labels()
    values = model.explain("all word3 word7").value
    last = min(model.labels, key=lambda label: (values[model.labels.index(label)], -label))
    painted = page_of("all word3 word7", model, label=last)
    assert painted.find("input", id=f"ww-l{model.labels.index(last)}")


def test_ids_are_unique():
    ids = [attributes["id"] for _, attributes in page_of().elements if "id" in attributes]
    assert len(ids) == len(set(ids))


# One painter, many texts


def painter_for(explanation, **options):
    return Painter(explanation.labels, explanation.value, explanation.label, **options)


def test_texts_of_one_painter_share_rules_and_scale():
    strong, weak = MODEL.explain("machine learning"), MODEL.explain("machine learning, rest")
    painter = painter_for(strong)
    first, second = painter.paint(strong), painter.paint(weak)
    mark = re.search('<mark class="(n[0-9]+)"', first)[1]
    assert f'<mark class="{mark}"' in second
    assert painter.css().count(f".ww .{mark}{{") == 1
    assert (first + second).count(f'id="ww-{mark}"') == 1


def test_a_painter_refuses_other_labels():
    other = ww.TauSS3.paper()
    other.learn_one("a match", "sports")
    with pytest.raises(ValueError, match="explanation must have the labels"):
        painter_for(MODEL.explain("a")).paint(other.explain("a"))


@pytest.mark.parametrize("name", ["", "Post", "a b", "7", "a{}", "x-"])
def test_a_painters_name_is_a_plain_class(name):
    with pytest.raises(ValueError, match="name must be lower-case words joined by hyphens"):
        painter_for(MODEL.explain("a"), name=name)


# Colours

GROUNDS = [(palette.PAPER, palette.INK), (palette.DARK_PAPER, palette.DARK_INK)]
NOTEBOOKS = [
    ("#ffffff", "#000000"),
    ("#ffffff", "#212121"),
    ("#111111", "#d4d4d4"),
    ("#1e1e1e", "#cccccc"),
]


def contrast(one, other):
    """Return the contrast of two colours by WCAG, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("paper", "ink"), GROUNDS + NOTEBOOKS)
@pytest.mark.parametrize("colour", [palette.ALERT, *palette.COLOURS])
def test_painted_text_can_be_read(colour, paper, ink):
    for share in (0, 0.25, 0.5, 0.75, 1):
        ground = palette.blend(colour, share * palette.STRONGEST, paper)
        assert contrast(ink, ground) >= 4.5


@pytest.mark.parametrize(("paper", "_"), GROUNDS)
@pytest.mark.parametrize("colour", [palette.ALERT, *palette.COLOURS])
def test_lines_and_bars_can_be_seen(colour, paper, _):
    assert contrast(colour, paper) >= 3


@pytest.mark.parametrize(
    ("paper", "quiet"),
    [(palette.PAPER, palette.QUIET), (palette.DARK_PAPER, palette.DARK_QUIET)],
)
def test_quiet_text_can_be_read(paper, quiet):
    assert contrast(quiet, paper) >= 4.5


def test_twenty_labels_have_twenty_colours_and_only_the_alert_label_the_warm_one():
    for alert in (None, 0, 7, 19):
        colours = [palette.label_colour(at, alert) for at in range(20)]
        assert len(set(colours)) == 20
        assert [at for at in range(20) if colours[at] == palette.ALERT] == (
            [] if alert is None else [alert]
        )


def test_other_labels_keep_their_colours_whatever_the_alert_label():
    for alert in range(20):
        for at in set(range(20)) - {alert}:
            assert palette.label_colour(at, alert) == palette.label_colour(at)


def oklab(colour):
    """Return lightness and two chromatic axes (Ottosson 2020); distances are as seen."""
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    axes = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return axes @ np.cbrt(cones @ linear)


def test_any_two_colours_can_be_told_apart():
    every = [palette.ALERT, *palette.COLOURS]
    for one, other in combinations(every, 2):
        assert np.linalg.norm(oklab(one) - oklab(other)) > 0.075


def test_equal_colours_have_different_dashes():
    looks = {(palette.label_colour(at), palette.label_dash(at)) for at in range(100)}
    assert len(looks) == 100
