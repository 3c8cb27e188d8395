"""Stories: sums and decisions equal to those of a reader, what tipped them, and pictures."""

import html as standard_html
import re
import sys
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
import watchword as ww
from hostile import HOSTILE_TEXT
from story_pages import Page, is_plain
from stream_samples import POSTS, taught
from watchword.explain.blocks import as_chance
from watchword.explain.story_view import story_page
from watchword.explain.timeline import MOST_LINES, timeline_description, timeline_svg
from watchword.explain.weights import weigh
from watchword.model.engine import engine_of

PEOPLE = ww.make_risk_streams(30, seed=5, prevalence=0.4, posts_per_subject=(6, 14))
posts = st.lists(st.sampled_from(POSTS), max_size=9)
policies = st.sampled_from(
    [
        ww.Overtakes("at risk"),
        ww.Overtakes("at risk", ratio=2, margin=0.1).after(2),
        ww.Reaches("at risk", 0.6),
        ww.Leaps("at risk", 2) | ww.Repeats("at risk", 2),
        ww.Stays("at risk", 0.5, last=1),
    ]
)


def told(given=None, policy=None, labels=("at risk", "control")):
    history = (
        ["alone", "garden sun", "alone tired alone alone", "night"] if given is None else given
    )
    return taught(labels).story(history, policy or ww.Overtakes("at risk"))


def synthetic():
    model = ww.TauSS3.paper()
    ww.teach(model, PEOPLE[:15])
    return model


WEIGHS = ww.Weighs("at risk", share=2, log_ratio=-0.25, posts=0.3, evidence=0.4, threshold=1.2)


@given(posts, st.sampled_from([WEIGHS, WEIGHS.after(2) | ww.Repeats("at risk", 9)]))
def test_weighed_features_add_up_to_what_the_policy_compares(history, policy):
    story = taught().story(history, policy)
    assert len(story.weighed) == (1 if history else 0)
    for weighed in story.weighed:
        products = [one.value * one.weight for one in weighed.features]
        assert [one.contribution for one in weighed.features] == products
        assert [abs(one) for one in products] == sorted(map(abs, products), reverse=True)
        assert weighed.total == pytest.approx(sum(products))
        assert weighed.post == (story.decision.delay or len(history))
        if story.decision:
            assert weighed.total >= weighed.threshold - 1e-12
        elif weighed.post >= 2:
            assert weighed.total <= weighed.threshold + 1e-12


def test_other_policies_weigh_no_features():
    assert told().weighed == ()
    assert told().to_dict()["weighed"] == []


def test_weighed_features_are_shown_with_their_sum_and_the_threshold():
    story = told(policy=WEIGHS)
    assert is_plain(story.to_dict())
    for written in (story.to_html(), story.to_page()):
        assert f"Features weighed at post {story.weighed[0].post}" in written
        assert "sum, compared with the threshold 1.2" in written
        assert "evidence" in written
    assert "Features weighed" not in told().to_page()


# What was read


@given(posts, policies, st.sampled_from([("at risk", "control"), ("at risk", "control", "sports")]))
def test_a_story_has_the_sums_and_the_decision_of_a_reader(history, policy, labels):
    model = taught(labels)
    reader = model.reader(policy)
    story = model.story(history, policy)
    for post, read in zip(history, story.posts, strict=True):
        decision = reader.read(post)
        assert decision.confidence == read.sums  # to the last bit
    assert story.decision == reader.decision


@given(st.data())
def test_weights_equal_explanations_and_add_up_like_the_core(data):
    corpus = data.draw(strategies.corpora())
    model = ww.TauSS3(**data.draw(strategies.parameters(own_operators=False)))
    model.learn_many(*zip(*corpus, strict=True))
    text = data.draw(strategies.any_texts())
    weights = weigh(engine_of(model), text)
    nothing = np.zeros(len(weights.places), np.bool_)
    assert weights.without(nothing).tolist() == list(model.confidence_one(text).values())
    ngrams: list[Any] = [
        ngram
        for paragraph in model.explain(text).blocks
        for sentence in paragraph.blocks
        for ngram in sentence.blocks
    ]
    assert [(*place,) for place in weights.places] == [(n.start, n.end, n.ngram) for n in ngrams]
    assert weights.contributions.tolist() == [list(ngram.contribution) for ngram in ngrams]


def test_posts_may_be_a_subject_whose_id_and_truth_are_kept():
    subject = ww.Subject("ann", [ww.Post("alone"), ww.Post("sun")], "control")
    story = told(subject)
    assert (story.subject, story.truth, story.decision.subject) == ("ann", "control", "ann")


def test_a_subject_without_posts_has_a_story():
    story = told([])
    assert not story.decision
    assert story.tipped.posts_for == ()
    assert story.decision.confidence == {"at risk": 0.0, "control": 0.0}
    assert "No posts." in story.to_page()


def test_later_learning_does_not_change_a_story():
    model = ww.TauSS3()
    model.learn_many(["alone tired", "garden sun"], ["at risk", "control"])
    story = model.story(["alone in the garden"], ww.Overtakes("at risk"))
    model.learn_many(["garden"] * 5, ["new"] * 5)
    assert list(story.posts[0].explanation.value) == list(story.posts[0].added.values())
    assert story.labels == ("at risk", "control")


def test_only_shown_posts_are_explained(monkeypatch):
    story = told(["alone", "sun"] * 1000)
    explained = []
    engine = type(story.posts[0]._engine)
    explain = engine.explain

    def noted(self, text):
        explained.append(text)
        return explain(self, text)

    monkeypatch.setattr(engine, "explain", noted)
    plain = story.to_dict(texts=7)
    assert len(explained) == len(plain["shown"]) <= 7


def test_policies_that_compare_subjects_are_refused():
    with pytest.raises(ValueError, match="a single subject has no story"):
        told(policy=ww.StandsOut("at risk"))


def test_an_unknown_label_is_refused():
    with pytest.raises(ww.errors.UnknownLabelError, match="unknown label 'x'"):
        told(policy=ww.Overtakes("x"))


@pytest.mark.parametrize("wrong", ["a single text", [1], [None], 7])
def test_posts_must_be_texts(wrong):
    with pytest.raises(TypeError):
        told(wrong)


# What tipped it


@given(posts)
def test_tipping_contributions_add_up_to_the_sums(history):
    story = told(history)
    tipped = story.tipping(1000)
    sums = story.posts[tipped.posts - 1].sums if history else {}
    for name in ("posts", "ngrams"):
        every = (*getattr(tipped, f"{name}_for"), *getattr(tipped, f"{name}_against"))
        difference = sum(one.difference for one in every)
        expected = sums.get("at risk", 0.0) - sums.get(tipped.rival, 0.0)
        assert difference == pytest.approx(expected, abs=1e-9)


def test_tipped_covers_posts_up_to_the_alert():
    story = told(["garden", "alone alone", "tired", "garden garden garden"])
    assert story.decision.delay == 2
    assert story.tipped.posts == 2
    assert [one.number for one in story.tipped.posts_for] == [2]
    assert [one.number for one in story.tipped.posts_against] == [1]


def test_tipped_covers_all_posts_without_an_alert():
    story = told(["garden garden sun", "sun", "alone"])
    assert story.tipped.posts == 3
    assert [one.ngram for one in story.tipped.ngrams_for] == ["alone"]


def test_ngrams_are_counted_over_posts():
    [alone, *_] = told(
        ["alone", "alone. alone", "sun"], ww.Overtakes("at risk").after(3)
    ).tipped.ngrams_for
    assert (alone.ngram, alone.times, alone.posts) == ("alone", 3, 2)


def test_the_rival_is_the_best_other_label_at_that_moment():
    story = told(["match match", "alone", "garden sun"], labels=("at risk", "control", "sports"))
    assert story.tipped.rival == "sports"


def test_a_model_of_one_label_has_no_rival():
    story = told(["alone"], labels=("at risk",))
    assert story.tipped.rival is None
    assert story.to_page()


def test_summary_function_tips_by_posts_only():
    model = taught(("at risk", "control"), exact=True)
    story = model.story(["alone alone", "alone"], ww.Overtakes("at risk"))
    assert story.decision
    assert story.tipped.posts_for
    assert story.tipped.ngrams_for == ()
    assert story.to_dict()["changes"] == []
    with pytest.raises(ww.errors.HookError):
        story.what_would_delay()


# What would have changed it is tested in test_change.py; here only that it is asked for


def test_story_has_changes_that_delay_and_cancel_the_alert():
    plain = told().to_dict()
    assert [change["aim"] for change in plain["changes"]] == ["delay", "cancel"]
    assert told(["sun"]).to_dict()["changes"] == []
    with pytest.raises(ValueError, match="no alert"):
        told(["sun"]).what_would_cancel()


# Plain data


@given(posts, policies)
def test_a_story_is_plain_data(history, policy):
    plain = told(history, policy).to_dict()
    assert is_plain(plain)
    assert len(plain["sums"]) == len(plain["added"]) == len(plain["times"]) == len(history)


def test_a_story_has_its_policy_in_the_notation_of_the_command_line():
    plain = told(["sun"], ww.Overtakes("at risk", margin=0.5).after(2)).to_dict()
    assert plain["policy_text"] == "overtakes(margin=0.5) after 2"


def test_shown_texts_are_limited_and_include_the_alert():
    story = told(["sun", "alone"] * 20 + ["alone"] * 20, ww.Overtakes("at risk", margin=5))
    plain = story.to_dict(texts=4)
    numbers = [one["number"] for one in plain["shown"]]
    assert len(numbers) == 4
    assert story.decision.delay in numbers
    assert numbers == sorted(numbers)


def test_long_texts_are_cut_at_a_word_with_a_note():
    story = told(["alone tired " * 1000])
    [shown] = story.to_dict(characters=50)["shown"]
    text = shown["explanation"]["text"]
    assert len(text) <= 50
    assert text.endswith(("alone", "tired"))
    assert shown["left_out"] == 12_000 - len(text)
    page = story_page(story.to_dict(characters=50))
    assert f"{shown['left_out']:,} more characters left out" in page


def test_times_of_posts_are_shown():
    when = datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc)
    story = told([ww.Post("alone", time=when)])
    assert story.to_dict()["times"] == ["2024-05-01T12:30:00+00:00"]
    assert "2024-05-01T12:30:00+00:00" in story.to_page()


# Timelines


def parsed(picture):
    return ElementTree.fromstring(picture)


def lines_of(picture):
    """Return the stroke, dashes and marker shape of every line."""
    namespace = "{http://www.w3.org/2000/svg}"
    return [
        [path.attrib for path in group.findall(f"{namespace}path")]
        for group in parsed(picture).findall(f"{namespace}g")
    ]


def test_timeline_lines_differ_without_colour():
    picture = told(labels=("at risk", "control", "sports")).timeline_svg()
    lines = lines_of(picture)
    assert len(lines) == 3
    assert len({line.get("stroke-dasharray") for line, _ in lines}) == 3
    shapes = {re.sub(r"M[\d.]+ [\d.]+", "", marks["d"]) for _, marks in lines}
    assert len(shapes) == 3


def test_timeline_marks_and_describes_the_alert():
    story = told(["sun", "alone alone", "sun"])
    root = parsed(story.timeline_svg())
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "alert after 2 posts" in texts
    description = root.find("{http://www.w3.org/2000/svg}desc").text
    assert description == timeline_description(story.to_dict())
    assert description.startswith("Alert after post 2 of 3: at risk ")


def test_timeline_describes_that_there_is_no_alert():
    assert "alert after" not in told(["sun"]).timeline_svg()
    assert timeline_description(told(["sun"]).to_dict()).startswith("No alert.")


def test_of_many_labels_the_positive_and_the_best_are_drawn():
    model = ww.TauSS3()
    labels = [f"label {number:02}" for number in range(30)]
    model.learn_many([f"word{number} alone" for number in range(30)], labels)
    story = model.story(["word7 word20", "word20"], ww.Overtakes("label 29"))
    picture = story.timeline_svg()
    assert len(lines_of(picture)) == MOST_LINES
    assert all(name in picture for name in ("label 29", "label 20", "label 07"))
    assert "22 labels of lower value are not drawn" in picture


def test_a_long_history_is_thinned_but_keeps_the_alert():
    story = told(["sun", *["alone"] * 3000], ww.Overtakes("at risk", margin=700))
    picture = timeline_svg(story.to_dict(texts=0), points=50)
    assert len(picture) < 10_000
    assert f"alert after {story.decision.delay} posts" in picture


@given(posts)
def test_any_timeline_is_well_formed(history):
    assert parsed(told(history).timeline_svg()).tag.endswith("svg")


@pytest.mark.parametrize("history", [[], ["alone"], ["sun"], ["alone", "sun"] * 30])
def test_matplotlib_draws_the_same_lines(history):
    pytest.importorskip("matplotlib")
    story = told(history)
    axes = story.plot_timeline()
    lines = {line.get_label(): line for line in axes.get_lines()}
    for column, label in enumerate(story.labels):
        assert lines[label].get_ydata().tolist() == [row[column] for row in story.to_dict()["sums"]]
    alert = [name for name in lines if name.startswith("alert after")]
    assert bool(alert) == bool(story.decision)
    axes.figure.canvas.draw()


def test_matplotlib_draws_into_axes_that_are_given():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    subject = ww.Subject(r"$\evil{$", [ww.Post("alone")])
    assert told(subject).plot_timeline(axes) is axes
    figure.canvas.draw()  # an id is no formula


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ww.errors.MissingExtraError, match=r"watchword\[plot\]"):
        told().plot_timeline()


# Pages


@given(st.lists(strategies.any_texts(), min_size=1, max_size=4))
def test_the_texts_of_posts_are_kept_character_for_character(history):
    from watchword.explain.markup import stand_ins

    story = told(history)
    page = story.to_page()
    page.encode()
    assert Page(page).texts == [stand_ins(text) for text in history]


def test_links_of_a_page_lead_to_posts_that_are_shown():
    page = Page(synthetic().story(PEOPLE[20], ww.Overtakes("at risk")).to_page())
    assert page.targets
    assert {target.removeprefix("#") for target in page.targets} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_hostile_names_and_texts_stay_text():
    label = HOSTILE_TEXT.replace("\ud800", "")
    model = ww.TauSS3()
    model.learn_many([f"alone {HOSTILE_TEXT}", "garden"], [label, "<i>other</i>"])
    subject = ww.Subject(
        HOSTILE_TEXT, [ww.Post(f"alone {HOSTILE_TEXT}", title=HOSTILE_TEXT, id=HOSTILE_TEXT)], label
    )
    story = model.story(subject, ww.Overtakes(label))
    for markup in (story.to_page(), story.to_html(), story.timeline_svg()):
        markup.encode()
        found = Page(markup)
        assert not {tag for tag, _ in found.tags} & {"script", "i", "iframe", "img"}
        assert not [name for _, known in found.tags for name in known if name.startswith("on")]
        assert "\u202e" not in re.sub(r"<bdi title=\"U\+202E\">\u202e</bdi>", "", markup)
    parsed(story.timeline_svg())


def test_a_page_has_no_outside_assets_and_a_strict_policy():
    page = told().to_page()
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|srcset|action)=", page)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert " style=" not in page


def test_a_page_says_what_was_decided_and_whether_that_is_right():
    def sentence(history, truth):
        page = told(ww.Subject("ann", [ww.Post(one) for one in history], truth)).to_page()
        return standard_html.unescape(
            re.sub("<.*?>", "", re.search(r"ww-alert\">(.*?)</p>", page)[1])
        )

    alert, silence = ["sun", "alone alone"], ["sun"]
    assert sentence(alert, "at risk") == (
        "Alert for at risk after 2 of 2 posts. The true label is at risk: right."
    )
    assert sentence(alert, "control").endswith("The true label is control: a false alarm.")
    assert sentence(silence, "at risk") == (
        "No alert for at risk in 1 post. The true label is at risk: missed."
    )
    assert sentence(silence, "control").endswith(": right.")
    assert sentence(silence, None) == "No alert for at risk in 1 post."


def test_a_page_has_the_numbers_behind_the_picture():
    story = told(["sun", "alone alone"])
    page = story.to_page()
    rows = re.findall(r'<tr><th scope="row">(\d+(?: \(alert\))?)</th>((?:<td.*?</td>)+)</tr>', page)
    assert [name for name, _ in rows][:2] == ["1", "2 (alert)"]
    shown = [float(cell) for cell in re.findall(r">([\d.e-]+)<", rows[1][1])]
    expected = [*story.posts[1].added.values(), *story.posts[1].sums.values()]
    assert shown == pytest.approx(expected, abs=1e-3)


def test_a_notebook_shows_the_story():
    snippet = told()._repr_html_()
    assert snippet.startswith('<div class="ww-story">')
    assert "<svg" in snippet


def test_posts_of_a_story_are_painted_on_one_scale():
    story = told(["alone alone", "garden sun", "alone tired alone alone", "night"])
    snippet = story.to_html()
    strengths = re.findall(r"The strongest colour stands for ([\d.]+)\.", snippet)
    assert len(strengths) == len(story.posts)
    assert len(set(strengths)) == 1
    assert f"The strongest colour stands for {strengths[0]}." in story.to_page()
    assert story.to_page().count("All posts shown have one scale.") == 1


def test_a_post_without_evidence_says_so():
    page = told(["zzz qqq", "alone"]).to_page()
    assert re.search(r"Post 1 <small>no evidence</small>", page)
    assert re.search(r"Post 2[^<]* <small><bdi>at risk</bdi> \+ ", page)


def test_posts_of_a_refined_model_have_probabilities():
    model = synthetic()
    posts = [(post.content, one.label) for one in PEOPLE[:15] for post in one.posts]
    model.refine([text for text, _ in posts], [label for _, label in posts])
    text = PEOPLE[20].posts[0].content
    page = model.story([text], ww.Overtakes("at risk")).to_page()
    chance = as_chance(model.probability_one(text)["at risk"])
    assert f"probability of <bdi>at risk</bdi> {standard_html.escape(chance)}" in page
