"""The page of a search: the content of the file, and the page in a real browser."""

import base64
import html
import json
import math
import random
import re
from html.parser import HTMLParser

import pytest
from playwright.sync_api import expect

import watchword as ww
from browser import DESKTOP, PHONE, eventually
from hostile import HOSTILE
from watchword.show.search import search_html, search_page
from watchword.show.search_axes import FULL, measure_axis, parameter_axis
from watchword.show.search_pack import MOST_REPORTED, pack_search, python_line

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
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self._inside:
            del self._inside[len(self._inside) - 1 - self._inside[::-1].index(tag) :]

    def handle_data(self, data):
        if not {"script", "style"} & set(self._inside):
            self.text += data


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


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


def test_large_plot_starts_with_the_most_explanatory_parameters():
    plain = made_up(40)
    for at, setting in enumerate(plain["settings"]):
        setting["parameters"]["significance"] = 1 + at
        setting["parameters"]["max_ngram"] = 1 if at > 20 else 2
    assert pack_search(plain).data["first"] == [1, 3]


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


def test_without_scripts_there_are_plots_and_the_best_settings():
    page = search_page(made_up(80))
    assert page.count("<svg") == len(VARIED)
    rows = re.search(r'<table id="settings">(.*?)</table>', page, re.DOTALL)[1]
    assert rows.count("<tr") == 51
    assert "30 more settings" in page
    assert len(re.findall(r"M[\d.]+ [\d.]+h0", page)) == 80 * len(VARIED)


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
    ("settings", "labels", "most"), [(500, 20, 0.8e6), (3000, 20, 1.5e6), (60, 400, 1.5e6)]
)
def test_the_page_is_small(settings, labels, most):
    names = [f"comp.sys.label.{at}" for at in range(labels)]
    plain = made_up(min(settings, 500), names, texts=11_314)
    plain["settings"] = (plain["settings"] * 6)[:settings]
    size = len(search_page(plain).encode())
    print(f"{settings} settings of {labels} labels: {size:,} bytes")
    assert size < most
    assert len(search_html(plain).encode()) < 1.1 * size


def test_only_the_best_of_many_settings_have_reports():
    plain = made_up(MOST_REPORTED + 40)
    page = search_page(plain)
    assert len(data_of(page)["perLabel"]) == len(data_of(page)["confusion"]) == MOST_REPORTED
    assert "only the best 500 settings have a report" in page
    assert not re.search(r"only the best \d", search_page(made_up(5)))


def unpacked(text):
    numbers, number, shift = [], 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def test_counts_are_packed_without_loss():
    plain = made_up(3, texts=60_000)
    plain["settings"][1]["confusion"] = [[0, 2, 2**40], [2, 2, 1]]
    data = pack_search(plain).data
    for at, setting in enumerate(plain["settings"]):
        assert unpacked(data["perLabel"][at]) == [
            number for row in setting["per_label"] for number in row
        ]
        numbers, cells, place = iter(unpacked(data["confusion"][at])), [], -1
        for number in numbers:
            place += 1 + (next(numbers) if number % 2 else 0)
            cells.append([*divmod(place, len(LABELS)), number // 2])
        assert cells == setting["confusion"]


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
    assert not tags & {"i", "img", "iframe", "textarea"}
    assert [tag for tag, _ in drawn.tags].count("script") == 2
    assert not any(name.startswith("on") for _, attributes in drawn.tags for name in attributes)
    assert not re.findall("[\u202a-\u202e\u2066-\u2069\x00\x1b]", shown)
    data_of(shown)


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
        return browser.open(path.as_uri(), viewport=viewport, color_scheme=scheme)

    return open_page


def picked(page):
    """Return the number of the selected setting as each part of the page tells it."""
    return page.evaluate(
        """() => {
            const parts = ["#picked-head h2", "#report-heading", "#settings tr[aria-current] th"];
            const texts = parts.map((part) => [...document.querySelectorAll(part)]
                .map((each) => each.textContent.match(/^(?:Setting )?([\\d,]+)/)?.[1]));
            return texts.flat().map((number) => Number(number.replaceAll(",", "")));
        }"""
    )


def expect_picked(page, number):
    """Wait until a setting is the selected one, which all parts of the page must agree on."""
    eventually(lambda: picked(page), [number] * 3)


def ring(page, plot):
    return tuple(
        page.locator(f"{plot} .ww-ring").evaluate(
            "ring => ['cx', 'cy'].map((name) => Number(ring.getAttribute(name)).toFixed(1))"
        )
    )


def place_of(page, plot, setting):
    """Return the coordinates of a setting's point, in pixels."""
    return page.evaluate(
        """([plot, setting]) => {
            const data = JSON.parse(document.getElementById("data").textContent);
            const svg = document.querySelector(plot);
            const [width, height, left, top, right, bottom] = data.small;
            const box = svg.getBoundingClientRect();
            const place = data.places[Number(svg.dataset.plot)][setting] / data.full;
            const up = 1 - data.heights[setting] / data.full;
            const scale = box.width / width;
            return [box.x + scale * (left + (width - left - right) * place),
                    box.y + scale * (top + (height - top - bottom) * up)];
        }""",
        [plot, setting],
    )


def test_the_best_is_picked_at_first(opened):
    plain = made_up(30)
    page = opened(plain)
    expect_picked(page, 1)
    expect(page.locator("#picked-head")).to_contain_text("best")
    line = python_line(plain["settings"][0]["parameters"], plain["base"])
    expect(page.locator("#picked-rest code").first).to_have_text(line)


def test_picking_a_point_shows_its_report_everywhere(opened):
    plain = made_up(30)
    plain["settings"][17]["confusion"] = [[0, 0, 999], [0, 2, 1], [2, 0, 70], [2, 2, 1_000_000]]
    page = opened(plain)
    before = [ring(page, f"svg[data-plot='{at}']") for at in range(len(VARIED))]
    page.mouse.click(*place_of(page, "svg[data-plot='0']", 17))
    expect_picked(page, 18)
    after = [ring(page, f"svg[data-plot='{at}']") for at in range(len(VARIED))]
    assert all(one != other for one, other in zip(before, after, strict=True))
    setting = plain["settings"][17]
    support, predicted, right = setting["per_label"][0]
    numbers = [f"{right / predicted:.3f}", f"{right / support:.3f}"]
    first = page.locator("#label-table tbody tr").first
    eventually(lambda: first.inner_text().split("\t")[:3], ["tech", *numbers])
    counts = {(row, column): count for row, column, count in setting["confusion"]}
    expect(page.locator(".ww-confusion tbody td")).to_have_text(
        [f"{counts.get((row, column), 0):,}" for row in range(3) for column in range(3)]
    )


def test_the_lines_to_copy_refine_a_refined_setting(opened):
    plain = made_up(8)
    plain["varied"].append("refined")
    for at, setting in enumerate(plain["settings"]):
        setting["parameters"]["refined"] = at % 2 == 0
    page = opened(plain)
    for at in (2, 3):
        page.locator("#settings tbody tr").nth(at).click()
        expect_picked(page, at + 1)
        python, command = page.locator("#picked-rest code").all_text_contents()
        assert python == python_line(plain["settings"][at]["parameters"], plain["base"])
        assert ("model.refine(texts, labels)" in python) == (at == 2)
        assert "refined=" not in python
        assert (" --refine" in command, " --no-refine" in command) == (at == 2, at == 3)


def test_the_lines_to_copy_are_those_of_the_picked_setting(opened):
    plain = made_up(30)
    plain["varied"].append("prune")
    for at, setting in enumerate(plain["settings"]):
        setting["parameters"]["prune"] = at % 2
    page = opened(plain)
    for at in (6, 7):
        page.locator("#settings tbody tr").nth(at).click()
        expect_picked(page, at + 1)
        python, command = page.locator("#picked-rest code").all_text_contents()
        parameters = plain["settings"][at]["parameters"]
        line = python_line(parameters, plain["base"])
        assert python == line
        words = command.split()
        assert words[:5] == ["watchword", "train", "texts.jsonl", "-o", "model.ww"]
        options = dict(zip(words[5::2], words[6::2], strict=True))
        told = {name: str(one) for name, one in parameters.items() if (name, one) != ("prune", 0)}
        told["reading"] = "words_sum"
        assert options == {"--" + name.replace("_", "-"): one for name, one in told.items()}


def test_pointing_at_a_point_shows_its_setting(opened):
    plain = made_up(30)
    page = opened(plain)
    told = page.locator("#told")
    expect(told).to_be_hidden()
    page.mouse.move(*place_of(page, "svg[data-plot='2']", 9))
    expect(told).to_contain_text("accuracy 0.8100")
    expect(told).to_contain_text(f"smoothness {plain['settings'][9]['parameters']['smoothness']}")
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()


def test_the_keyboard_walks_through_points_and_picks(opened):
    plain = made_up(30)
    for at, setting in enumerate(plain["settings"]):
        setting["parameters"]["smoothness"] = (1 + 7 * at % 30) / 31
    page = opened(plain)
    page.locator("#across").select_option(label="smoothness")
    page.locator("#large .ww-cursor").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#told")).to_contain_text("(#2)")
    expect(page.locator("#large .ww-cursor")).to_have_attribute(
        "aria-label", re.compile("#2: accuracy")
    )
    expect_picked(page, 1)
    page.keyboard.press("Enter")
    expect_picked(page, 2)
    order = sorted(one["parameters"]["smoothness"] for one in plain["settings"])
    first = page.locator("#picked-rest dd").first
    for keys, expected in (("Home", 0), ("ArrowRight", 1), ("End", -1), ("ArrowLeft", -2)):
        page.keyboard.press(keys)
        page.keyboard.press(" ")
        eventually(lambda: float(first.inner_text()), pytest.approx(order[expected], rel=1e-3))


def test_the_keyboard_reaches_every_plot_with_one_tab(opened):
    page = opened(made_up(40))
    reached = "document.activeElement.getAttribute('class') || document.activeElement.id"
    for expected in ["ww-cursor"] * len(VARIED) + ["across", "colour", "ww-cursor"]:
        page.keyboard.press("Tab")
        eventually(lambda: page.evaluate(reached), expected)


def test_rows_are_picked_by_mouse_and_by_arrows(opened):
    page = opened(made_up(30))
    page.locator("#settings tbody tr").nth(3).click()
    expect_picked(page, 4)
    page.locator("#settings tr[aria-current] button").focus()
    page.keyboard.press("ArrowDown")
    expect_picked(page, 5)
    page.keyboard.press("End")
    expect_picked(page, 30)
    eventually(lambda: page.evaluate("document.activeElement.textContent"), "30")
    in_sight = """() => {
        const box = document.querySelector(".ww-scroll").getBoundingClientRect();
        const row = document.querySelector("#settings tr[aria-current]").getBoundingClientRect();
        return box.top <= row.top && row.bottom <= box.bottom + 1;
    }"""
    eventually(lambda: page.evaluate(in_sight), True)


def column(page, place):
    return page.locator(f"#settings tbody tr > :nth-child({place})").all_inner_texts()


def test_every_column_of_the_table_sorts_both_ways(opened):
    plain = made_up(30)
    plain["settings"][4]["value"] = math.nan
    page = opened(plain)
    heads = page.locator("#settings thead th")
    expect(heads.first).to_have_attribute("aria-sort", "ascending")
    heads.nth(4).locator("button").click()
    expect(heads.nth(4)).to_have_attribute("aria-sort", "ascending")
    expect(heads.first).not_to_have_attribute("aria-sort", re.compile("."))
    numbers = [float(one) for one in column(page, 5)]
    assert numbers == sorted(numbers)
    heads.nth(4).locator("button").press("Enter")
    expect(heads.nth(4)).to_have_attribute("aria-sort", "descending")
    assert [float(one) for one in column(page, 5)] == numbers[::-1]
    heads.nth(8).locator("button").click()
    expect(heads.nth(8)).to_have_attribute("aria-sort", "ascending")
    assert column(page, 9) == sorted(column(page, 9))
    for order in ("descending", "ascending"):  # what is not known stays last
        heads.nth(1).locator("button").click()
        expect(heads.nth(1)).to_have_attribute("aria-sort", order)
        assert column(page, 2)[-1] == "–"
    expect_picked(page, 1)


def test_labels_stay_sorted_when_another_setting_is_picked(opened):
    page = opened(made_up(10))
    head = page.locator("#label-table thead th").nth(3)
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    page.locator("#settings tbody tr").nth(5).click()
    expect_picked(page, 6)
    expect(head).to_have_attribute("aria-sort", "ascending")
    values = page.locator("#label-table tbody tr > :nth-child(4)").all_inner_texts()
    assert values == sorted(values)


def test_the_best_and_the_dropped_ones_are_marked(opened):
    page = opened(made_up(20, dropped=5))
    expect(page.locator("#settings tr.ww-first")).to_have_count(1)
    expect(page.locator("#settings tr.ww-dropped")).to_have_count(5)
    page.locator("#settings tr.ww-dropped").last.click()
    expect(page.locator("#picked-head")).to_contain_text("stopped after 1 of 4 folds")


def test_the_large_plot_shows_the_chosen_parameters(opened):
    page = opened(made_up(30))
    page.locator("#across").select_option(label="max_ngram")
    page.locator("#colour").select_option(label="significance_function")
    expect(page.locator("#large svg")).to_have_attribute("aria-label", "accuracy by max_ngram")
    expect(page.locator("#legend bdi")).to_have_text(["ratio", "vanilla", "xai"])
    page.locator("#colour").select_option(label="significance")
    expect(page.locator("#legend bdi")).to_have_count(5)
    page.locator("#colour").select_option(label="none")
    expect(page.locator("#legend bdi")).to_have_count(0)


def test_tab_reaches_a_row_when_the_selected_one_is_not_drawn(opened):
    page = opened(made_up(260))
    page.locator("#settings thead button").first.click()
    expect(page.locator("#settings tbody tr > :nth-child(1)").first).to_have_text("260")
    reachable = page.locator("#settings tbody button[tabindex='0']")
    expect(reachable).to_have_text(["260"])
    reachable.press("ArrowDown")
    expect_picked(page, 259)


def test_thousands_of_settings_can_be_shown_and_picked(opened):
    page = opened(made_up(1_200))
    expect(page.locator("#settings tbody tr")).to_have_count(200)
    page.mouse.click(*place_of(page, "svg[data-plot='1']", 1_199))
    eventually(lambda: [at > 200 for at in picked(page)], [True] * 3)
    assert len(set(picked(page))) == 1
    expect(page.locator("#settings tbody tr")).to_have_count(1_200)
    page.locator("#settings tr[aria-current] button").focus()
    page.keyboard.press("End")
    expect_picked(page, 1_200)
    expect(page.locator("#left-out")).to_contain_text("only")
    expect(page.locator(".ww-confusion")).to_have_count(0)


def test_many_labels_are_merged_in_the_matrix(opened):
    plain = made_up(2, [f"label {at:03}" for at in range(60)], texts=6_000)
    page = opened(plain)
    heads = page.locator(".ww-confusion thead th")
    expect(heads).to_have_count(41)
    expect(heads.last).to_have_text("(20 other labels)")
    cells = page.locator(".ww-confusion tbody td").all_inner_texts()
    total = sum(count for _, _, count in plain["settings"][0]["confusion"])
    counts = [one.replace(",", "").replace("·", "0") for one in cells]  # a dot is a zero
    assert sum(map(int, counts)) == total


def test_several_labels_per_text_have_no_matrix(opened):
    page = opened(made_up(5, several=True) | {"measure": "hamming", "better": "less"})
    expect(page.locator("#label-table tbody tr")).to_have_count(3)
    expect(page.locator(".ww-confusion")).to_have_count(0)
    expect(page.locator("#picked-rest")).to_contain_text("micro F1")
    expect(page.locator("#settings thead")).to_contain_text("hamming loss")


def test_a_single_setting_without_parameters_has_a_page(opened):
    page = opened(made_up(1) | {"varied": []})
    expect_picked(page, 1)
    expect(page.locator("#large")).to_be_hidden()


@pytest.mark.parametrize("hostile", [one for one in HOSTILE if "\ud800" not in one])
def test_hostile_labels_and_values_do_not_run(opened, hostile):
    page = opened(with_hostile(hostile), title=hostile)
    page.locator("#settings tbody tr").nth(1).click()
    expect_picked(page, 2)
    page.locator("#colour").select_option(index=1)
    page.locator("#large .ww-cursor").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#told")).to_be_visible()
    expect(page.locator("img, iframe, script[src], a")).to_have_count(0)
    expect(page.locator("#label-table tbody tr")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_fits_the_window(opened, viewport, scheme):
    labels = [f"a.very.long.label.{'x' * at * 10}" for at in range(12)]
    plain = made_up(40, labels)
    plain["settings"][0]["parameters"]["significance_function"] = "unbroken" * 20
    page = opened(plain, viewport=viewport, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]


def test_the_large_plot_follows_the_window(opened):
    page = opened(made_up(40))
    page.set_viewport_size(PHONE)
    # By its attribute: waiting for a function would be evaluating, which the page forbids.
    expect(page.locator("#large svg")).to_have_attribute("viewBox", re.compile(r"0 0 [23]\d\d "))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_without_scripts_the_page_has_table_and_plots(browser_process, tmp_path):
    path = tmp_path / "search.html"
    path.write_bytes(search_page(made_up(60)).encode())
    page, idle = browser_process.take(viewport=DESKTOP, java_script_enabled=False)
    page.goto(path.as_uri())
    expect(page.locator("#settings tbody tr")).to_have_count(50)
    expect(page.locator("svg[data-plot]").last).to_be_visible()
    expect(page.locator("#across")).to_be_hidden()
    expect(page.get_by_text("Enable JavaScript to select points")).to_be_visible()
    page.goto("about:blank")
    idle.append(page)


# The answer disappears after a moment: look while it is there.
CLICK_AND_LISTEN = """(button) => new Promise((done) => {
    const answered = new MutationObserver(() => done(button.textContent));
    answered.observe(button, { childList: true, characterData: true, subtree: true });
    button.click();
})"""


def test_snippets_live_in_frames_of_their_own(browser, tmp_path):
    path = tmp_path / "notebook.html"
    snippets = [search_html(made_up(count)) for count in (10, 20)]
    path.write_bytes(f"<!doctype html><meta charset=utf-8>{''.join(snippets)}".encode())
    page = browser.open(path.as_uri(), wait=False)
    expect(page.locator("iframe").first).to_have_attribute("sandbox", "allow-scripts")
    for at, count in enumerate((10, 20)):
        frame = page.frame_locator("iframe").nth(at)
        expect(frame.locator("body[data-ready]")).to_be_attached()
        frame.locator("#settings tbody tr").nth(at + 2).click()
        told = re.compile(f"^Setting {at + 3} of {count}")
        expect(frame.locator("#picked-head h2")).to_have_text(told)
        said = frame.locator("#picked-rest button").first.evaluate(CLICK_AND_LISTEN)
        assert re.search("Ctrl|Copied", said)
        assert frame.locator("body").evaluate("() => window.violations") == []
    assert page.evaluate("document.querySelector('#told')") is None
