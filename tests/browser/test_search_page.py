"""The page of a search: the content of the file, and the page in a real browser."""

import html
import math
import random
import re
from html.parser import HTMLParser

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import DESKTOP, PHONE
from hostile import HOSTILE
from watchword.explain.search import (
    FULL,
    MOST_ROWS,
    measure_axis,
    parameter_axis,
    python_line,
    search_html,
    search_page,
)

VARIED = ("smoothness", "significance", "prior", "max_ngram", "significance_function")
LABELS = ["tech", "sports", "music"]


def made_up(count, labels=LABELS, *, folds=4, texts=900, seed=1, dropped=0, several=False):
    """Return the plain data of a made-up search whose last settings were dropped."""
    chance = random.Random(seed)
    settings = []
    for at in range(count):
        parameters = {
            "smoothness": round(chance.uniform(0.05, 1), 3),
            "significance": round(10 ** chance.uniform(-1, 1.3), 3),
            "prior": chance.choice([0, 0.5, 1, 2]),
            "max_ngram": chance.choice([1, 2, 3]),
            "significance_function": chance.choice(["vanilla", "xai", "ratio"]),
        }
        value = 0.9 - 0.3 * at / count
        done = folds if at < count - dropped else 1
        matrix = confused(len(labels), texts * done // folds, value, chance)
        settings.append(
            {
                "parameters": parameters,
                "value": value,
                "by_fold": [value + chance.uniform(-0.01, 0.01) for _ in range(done)],
                "confusion": None if several else cells_of(matrix),
                "per_label": [
                    [sum(row), sum(other[at] for other in matrix), row[at]]
                    for at, row in enumerate(matrix)
                ],
            }
        )
    return {
        "measure": "accuracy",
        "better": "more",
        "texts": texts,
        "folds": folds,
        "labels": list(labels),
        "several": several,
        "base": {"sanction": 0.25, "reading": "words_sum", "summary": {"sentence": "sum"}},
        "varied": list(VARIED),
        "settings": settings,
        "unfinished": 0,
    }


def confused(size, texts, right, chance):
    matrix = [[0] * size for _ in range(size)]
    for row in range(size):
        own = texts // size
        matrix[row][row] = round(own * right)
        for _ in range(own - matrix[row][row]):
            matrix[row][(row + 1 + chance.randrange(max(1, size - 1))) % size] += 1
    return matrix


def cells_of(matrix):
    return [
        [row, column, count]
        for row, counts in enumerate(matrix)
        for column, count in enumerate(counts)
        if count
    ]


class Page(HTMLParser):
    """Elements and text of a page, as a browser would parse them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self._inside = [], "", []
        self.rows = []  # of the table: the texts of their cells
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in self._inside:
            del self._inside[len(self._inside) - 1 - self._inside[::-1].index(tag) :]

    def handle_data(self, data):
        if not {"script", "style"} & set(self._inside):
            self.text += data
        if {"th", "td"} & set(self._inside):
            self.rows[-1][-1] += data


def inner_page(snippet):
    return html.unescape(re.search(r"srcdoc='([^']*)'", snippet)[1])


# Axes


def test_many_numbers_have_a_scale_and_few_have_columns():
    many = [at / 10 for at in range(20)]
    scale = parameter_axis(many, [str(one) for one in many])
    assert not scale.columns
    assert scale.places == sorted(scale.places)
    few = parameter_axis([3, 1, 3], ["3", "1", "3"])
    assert few.columns
    assert [text for _, text in few.ticks] == ["1", "3"]


def test_wide_ranges_have_a_logarithmic_scale_with_zero():
    numbers = [0.0, *(10.0**power for power in range(-4, 5))]
    axis = parameter_axis(numbers, [str(one) for one in numbers])
    steps = [b - a for a, b in zip(axis.places[1:], axis.places[2:], strict=False)]
    assert max(steps) - min(steps) <= 1
    assert axis.ticks[0][1] == "0"
    assert axis.places[0] < axis.places[1]


def test_jitter_within_a_column_is_deterministic():
    spelt = ["a", "b"] * 50
    axis = parameter_axis(spelt, spelt)
    assert axis == parameter_axis(spelt, spelt)
    assert len(set(axis.places)) > 60
    for place, name in zip(axis.places, spelt, strict=True):
        assert (place < FULL / 2) == (name == "a")


def test_positions_are_within_the_axis_for_any_values():
    odd = [True, None, "x", 10**400, -5, 0.5, {"sentence": "max"}, math.nan]
    axis = parameter_axis(odd, [str(one) for one in odd])
    assert all(0 <= place <= FULL for place in axis.places)
    wide = [-3.0, 0.0, 1e-9, 5.0, 1e12, *range(7, 20)]
    axis = parameter_axis(wide, [str(one) for one in wide])
    assert all(0 <= place <= FULL for place, _ in axis.ticks)


@pytest.mark.parametrize(("less", "edge"), [(False, 0), (True, FULL)])
def test_outlying_settings_are_clipped_to_the_edge(less, edge):
    sign = -1 if less else 1
    values = [sign * (0.9 - at / 100) for at in range(20)] + [sign * -50.0]
    axis = measure_axis(values, less=less)
    assert axis.places[-1] == edge
    assert axis.outside == 1
    assert len(set(axis.places)) == 21


def test_equal_and_unknown_values_have_positions():
    assert measure_axis([0.5] * 20).places == [FULL // 2] * 20
    assert measure_axis([0.5] * 19 + [0.1]).outside == 0
    assert measure_axis([None, 0.5, 0.6]).places[0] is None
    assert measure_axis([None]).ticks == []


# What is in the file


def test_page_states_the_search_and_its_best_setting():
    plain = made_up(12, dropped=3) | {"unfinished": 2}
    page = Page(search_page(plain, title="Mine"))
    assert "12 settings of smoothness, significance, prior" in page.text
    assert "on 900 texts with 3 labels, in 4 folds." in page.text
    assert "3 of them were stopped before the last fold." in page.text
    assert "2 settings were not reached." in page.text
    assert "Best accuracy 0.9000" in page.text
    assert python_line(plain["settings"][0]["parameters"], plain["base"]) in page.text


def test_there_is_a_chart_for_each_parameter_and_a_row_for_each_setting():
    page = search_page(made_up(80))
    assert page.count("<svg") == len(VARIED)
    assert len(re.findall(r"M[\d.]+ [\d.]+h0", page)) == 80 * len(VARIED)
    assert Page(page).rows[0] == ["#", "accuracy", "±", "folds", *VARIED]
    assert len(Page(page).rows) == 1 + 80


def test_a_row_has_the_measure_its_deviation_and_the_parameters():
    plain = made_up(3)
    best = plain["settings"][0]
    best["by_fold"] = [0.8, 0.9, 0.9, 1.0]
    best["parameters"] |= {"smoothness": 0.123456, "significance_function": "xai"}
    row = Page(search_page(plain)).rows[1]
    assert row[:5] == ["1", "0.9000", "0.0816", "4", "0.1235"]
    assert row[-1] == "xai"


def test_rows_beyond_the_most_are_counted():
    page = Page(search_page(made_up(MOST_ROWS + 40)))
    assert len(page.rows) == 1 + MOST_ROWS
    assert "40 more settings in to_csv() and to_json()." in page.text


def test_the_best_and_the_dropped_settings_are_marked():
    page = Page(search_page(made_up(20, dropped=5)))
    kinds = [known.get("class") for tag, known in page.tags if tag == "tr"][1:]
    assert kinds == ["ww-first", *[None] * 14, *["ww-dropped"] * 5]
    assert "stopped early" in page.text


def test_a_search_without_varied_parameters_has_a_table_only():
    page = search_page(made_up(1) | {"varied": []})
    assert "<svg" not in page
    assert len(Page(page).rows) == 2


@pytest.mark.parametrize("page", [True, False])
def test_nothing_comes_from_outside(page):
    shown = (search_page if page else search_html)(made_up(20))
    whole = shown if page else inner_page(shown)
    drawn = Page(whole)
    for tag, attributes in drawn.tags:
        assert tag not in ("link", "img", "object", "embed", "base", "form")
        assert not {"src", "href", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert set(re.findall(r"https?://[^\s\"']+", whole)) == {"http://www.w3.org/2000/svg"}
    policy = drawn.tags[3][1]["content"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "labels", "most"), [(500, 20, 3e5), (3000, 20, 6e5), (60, 400, 1e5)]
)
def test_the_page_is_small(settings, labels, most):
    names = [f"comp.sys.label.{at}" for at in range(labels)]
    plain = made_up(min(settings, 500), names, texts=11_314)
    plain["settings"] = (plain["settings"] * 6)[:settings]
    size = len(search_page(plain).encode())
    print(f"{settings} settings of {labels} labels: {size:,} bytes")
    assert size < most
    assert len(search_html(plain).encode()) < 1.1 * size


@pytest.mark.parametrize("page", [True, False])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_labels_values_names_and_titles_stay_text(hostile, page):
    shown = (search_page if page else search_html)(with_hostile(hostile), title=hostile)
    shown.encode("utf-8")
    if not page:
        assert [tag for tag, _ in Page(shown).tags] == ["iframe"]
        shown = inner_page(shown)
    drawn = Page(shown)
    tags = {tag for tag, _ in drawn.tags}
    assert not tags & {"i", "img", "iframe", "textarea", "script"}
    assert not any(name.startswith("on") for _, attributes in drawn.tags for name in attributes)
    assert not re.findall("[\u202a-\u202e\u2066-\u2069\x00\x1b]", shown)


def with_hostile(hostile):
    plain = made_up(6, [hostile, "other"])
    plain["measure"] = hostile
    plain["base"]["default_label"] = hostile
    plain["varied"] = ["significance_function", "prior", hostile]
    for at, setting in enumerate(plain["settings"]):
        setting["parameters"]["significance_function"] = hostile if at % 2 else "xai"
        setting["parameters"][hostile] = at
    return plain


def test_empty_search_has_a_page():
    plain = made_up(1) | {"settings": [], "unfinished": 1}
    text = Page(search_page(plain)).text
    assert "No setting was evaluated on all folds. 1 setting was not reached." in text


def test_a_line_of_python_makes_the_model():
    plain = made_up(1)
    parameters = plain["settings"][0]["parameters"]
    line = python_line(parameters, plain["base"] | {"max_ngram": 9, "summary": {"document": "max"}})
    model = eval(line, {"TauSS3": ww.TauSS3})
    for name, value in parameters.items():
        assert model.parameters[name] == value
    assert model.parameters["reading"] == "words_sum"
    assert model.parameters["summary"]["document"] == "max"
    assert "sanction" not in line


# In a browser


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(plain, *, viewport=DESKTOP, scheme="light", **options):
        path = tmp_path / "search.html"
        path.write_bytes(search_page(plain, **options).encode())
        return browser.open(path.as_uri(), wait=False, viewport=viewport, color_scheme=scheme)

    return open_page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_fits_the_window(opened, viewport, scheme):
    plain = made_up(40)
    plain["settings"][0]["parameters"]["significance_function"] = "unbroken" * 20
    page = opened(plain, viewport=viewport, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]


@pytest.mark.parametrize("hostile", [one for one in HOSTILE if "\ud800" not in one])
def test_hostile_labels_and_values_do_not_run(opened, hostile):
    page = opened(with_hostile(hostile), title=hostile)
    expect(page.locator("#settings tbody tr")).to_have_count(6)
    expect(page.locator("img, iframe, script, a")).to_have_count(0)


def test_snippets_are_frames_of_their_own(browser, tmp_path):
    path = tmp_path / "notebook.html"
    snippets = [search_html(made_up(count)) for count in (10, 20)]
    path.write_bytes(f"<!doctype html><meta charset=utf-8>{''.join(snippets)}".encode())
    page = browser.open(path.as_uri(), wait=False)
    expect(page.locator("iframe").first).to_have_attribute("sandbox", "")
    for at, count in enumerate((10, 20)):
        rows = page.frame_locator("iframe").nth(at).locator("#settings tbody tr")
        expect(rows).to_have_count(count)
