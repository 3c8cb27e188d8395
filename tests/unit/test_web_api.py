"""The JSON API of the live page: model, documents and subjects, with any settings."""

import functools
import json
import urllib.parse
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from painted import with_shares
from watchword.data import Document, Post, Subject
from watchword.errors import EmptyModelError, HookError
from watchword.explain.text_view import largest_contributions
from watchword.service.board import story_for_page
from watchword.streams.policies import Overtakes, Repeats, StandsOut, Weighs
from watchword.web import Content
from watchword.web.app import make_app
from watchword.web.models import LatestUsed, compact, text_limit, to_json
from web_pages import AT_RISK, HOST, app, ask, documents, model, people, send

LIMIT = text_limit(2)


@pytest.fixture(scope="module")
def page():
    return app()


NUMBERS = ("share", "value", "contribution", "count", "lv", "sg", "sn", "counted", "corrected")


def expand(sent):
    """Return a compact explanation in the shape of to_dict with shares, as paint.js does."""

    def block_of(start, end, rule):
        kind, ngram, speaks, columns, *numbers = sent["rules"][rule]
        block = {"kind": kind, "speaks": speaks, "start": start, "end": end}
        block |= {"ngram": ngram} if kind == "ngram" else {"blocks": []}
        for name, own in zip(NUMBERS, numbers, strict=True):
            if own == 0:
                block[name] = block["value"]
            elif own is not None:
                places = dict(zip(columns, own, strict=True))
                block[name] = [places.get(at, 0) for at in range(len(sent["labels"]))]
        return {"contribution": None} | block

    plain = {name: sent[name] for name in ("text", "labels", "label", "value", "summary")}
    latest = {"document": plain | {"blocks": []}}
    outer = {"paragraph": "document", "sentence": "paragraph", "ngram": "sentence"}
    for block in (block_of(*each) for each in sent["blocks"]):
        latest[outer[block["kind"]]]["blocks"].append(block)
        latest[block["kind"]] = block
    return latest["document"]


def expected_of(explanation):
    """Return the expected result of `expand`."""
    return json.loads(json.dumps(with_shares(explanation)))


# What goes over the wire


TEXTS = st.text(st.sampled_from("ab é\n.,\U0001f600"), max_size=60)


@given(text=TEXTS, summary=st.sampled_from(["sum", "max", "mean"]))
def test_a_compact_explanation_has_all_numbers_and_shares(text, summary):
    taught = ww.TauSS3(summary=summary)
    taught.learn_many(["a b a. é b", "b b a", "é é"], ["x", "y", "z"])
    explanation = taught.explain(text)
    assert expand(json.loads(to_json(compact(explanation)))) == expected_of(explanation)


@given(text=TEXTS)
def test_a_compact_explanation_of_a_refined_model_has_the_largest_contributions(text):
    taught = ww.TauSS3()
    learnt = ["a b a. é b", "b b a", "é é"], ["x", "y", "z"]
    taught.learn_many(*learnt)
    taught.refine(*learnt)
    explanation = taught.explain(text)
    sent = json.loads(to_json(compact(explanation)))
    expected = expected_of(explanation)
    del expected["ngrams"]
    scored = {name: sent[name] for name in ("bias", "probability")}
    assert expand(sent) | scored == expected
    for label, rows in zip(explanation.labels, sent["largest"], strict=True):
        found = largest_contributions(explanation, label, 12)
        assert rows == [
            [one.ngram, one.times, one.counted, one.corrected, one.total] for one in found
        ]


def test_the_page_says_on_how_many_texts_the_model_is_refined():
    taught = ww.TauSS3()
    learnt = ["so good", "so bad"], ["up", "down"]
    taught.learn_many(*learnt)
    assert Content(taught).about()["refinement"] is None
    taught.refine(*learnt)
    assert Content(taught).about()["refinement"]["text"] == "refined on 2 texts"


def test_settings_that_change_values_drop_corrections():
    taught = ww.TauSS3()
    learnt = ["so good", "so bad"], ["up", "down"]
    taught.learn_many(*learnt)
    counted = taught.replace(smoothness=0.3).explain("so good")
    taught.refine(*learnt)
    page = make_app(Content(taught))
    _, own = send(page, "/api/explain", {"text": "so good"})
    _, other = send(page, "/api/explain", {"text": "so good", "smoothness": 0.3})
    assert own["explanation"]["value"] == list(taught.confidence_one("so good").values())
    assert other["explanation"]["value"] == list(counted.value)
    assert "largest" not in other["explanation"]


def test_a_compact_explanation_without_contributions_has_the_shares_of_values():
    taught = ww.TauSS3(summary=lambda parts: parts.sum(axis=0))
    taught.learn_many(["a b", "b c"], ["x", "y"])
    explanation = taught.explain("a b c")
    assert expand(json.loads(to_json(compact(explanation)))) == expected_of(explanation)


def test_distinct_ngrams_are_sent_once():
    taught = ww.TauSS3(max_ngram=1)
    taught.learn_many(["a b", "b c"], ["x", "y"])
    sent = compact(taught.explain("a b. " * 100))
    assert [ngram for _, ngram, *_ in sent["rules"] if ngram is not None] == ["a", "b"]


@given(st.text(max_size=20))
def test_any_string_becomes_valid_json_of_equal_length(text):
    assert len(json.loads(to_json(text).decode())) == len(text)


def test_only_the_latest_results_are_kept():
    kept, made = LatestUsed(2), []
    for key in "abac":
        kept.get(key, functools.partial(made.append, key))
    kept.get("a", lambda: made.append("again"))
    assert made == ["a", "b", "c"]
    kept.get("b", lambda: made.append("b"))
    assert made == ["a", "b", "c", "b"]


# The model


def test_about_describes_model_and_data(page):
    status, _, about = ask(page, "/api/about")
    assert status == 200
    assert about["labels"] == [AT_RISK, "control"]
    assert about["name"] == "small.ww"
    assert about["settings"]["smoothness"] == 0.455
    assert about["documents"]["total"] == len(documents()[0])
    assert about["subjects"]["total"] == len(people())
    assert about["subjects"]["policy"]["policy"] == "Overtakes"


def test_a_page_may_show_a_model_only():
    _, _, about = ask(make_app(Content(model())), "/api/about")
    assert (about["documents"], about["subjects"]) == (None, None)


def test_a_text_is_explained(page):
    text = "I cannot sleep, so I work.\n\nAgain 😀"
    status, found = send(page, "/api/explain", {"text": text})
    assert status == 200
    assert expand(found["explanation"]) == expected_of(model().explain(text))


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothness": 0.2},
        {"significance": 2, "sanction": 0.5},
        {"max_ngram": 1, "min_count": 2},
        {"alpha": 0.1, "prior": 1.5, "ngram_scale": "words"},
        {"reading": "words_sum", "significance_function": "xai"},
        {"confidence_function": "norm_gv", "summary": "max"},
    ],
)
def test_any_setting_can_be_changed(page, settings):
    text = "Another day of being so tired. I cannot sleep."
    _, found = send(page, "/api/explain", {"text": text} | settings)
    expected = model().replace(**settings).explain(text)
    assert expand(found["explanation"]) == expected_of(expected)
    assert model().parameters["smoothness"] == 0.455


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoothness": 3}, "smoothness must be in (0, 1], got 3"),
        ({"smoothness": "x"}, "smoothness must be a number, got 'x'"),
        ({"smoothness": [1]}, "smoothness must be a number, got [1]"),
        ({"sanction": "nan"}, "sanction must be finite"),
        ({"max_ngram": 9}, "max_ngram can be replaced by 3 at most"),
        ({"max_ngram": 1.5}, "max_ngram must be a whole number"),
        ({"max_ngram": "1.5"}, "max_ngram must be a whole number"),
        ({"reading": "backwards"}, "reading must be one of"),
        ({"summary": {"sentence": "max"}}, "summary must be a string"),
        ({"prior": True}, "prior must be a number"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(page, settings, message):
    status, found = send(page, "/api/explain", {"text": "so"} | settings)
    assert status == 400
    assert message in found["error"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "not valid JSON"),
        (b"{", 400, "not valid JSON"),
        (b"\xff", 400, "not valid JSON"),
        (b"[" * 100_000, 400, "not valid JSON"),
        (b"[]", 400, "the request body must be a JSON object"),
        (b"{}", 400, "text must be a string"),
        (b'{"text": 7}', 400, "text must be a string"),
    ],
)
def test_bad_requests_are_refused_with_the_reason(page, body, status, message):
    headers = HOST | {"content-type": "application/json"}
    found = ask(page, "/api/explain", method="POST", headers=headers, body=body)
    assert found[0] == status
    assert message in found[2]["error"]


def test_a_text_that_is_too_long_is_refused(page):
    status, found = send(page, "/api/explain", {"text": "x" * (LIMIT + 1)})
    assert status == 413
    assert f"the limit is {LIMIT}" in found["error"]


@pytest.fixture(scope="module")
def of_many_labels():
    taught = ww.TauSS3()
    taught.learn_many(["so tired"] * 100, [f"label {at}" for at in range(100)])
    return taught


def test_with_many_labels_texts_have_to_be_shorter(of_many_labels):
    page = make_app(Content(of_many_labels))
    limit = ask(page, "/api/about")[2]["text_limit"]
    assert limit == text_limit(100) < LIMIT
    assert send(page, "/api/explain", {"text": "x" * limit})[0] == 200
    assert send(page, "/api/explain", {"text": "x" * (limit + 1)})[0] == 413
    assert send(page, "/api/change", {"text": "x" * (limit + 1)})[0] == 413


def test_with_many_labels_less_of_a_document_or_post_is_painted(of_many_labels):
    text = "x" * 100_000
    shown = Content(of_many_labels, [text], subjects=[Subject("ann", [Post(text)])])
    page, cut = make_app(shown), {"shown": text_limit(100), "of": len(text)}
    assert ask(page, "/api/documents/0")[2]["cut"] == cut
    assert ask(page, "/api/subjects/0/posts/1")[2]["cut"] == cut


@pytest.mark.parametrize(("length", "alone"), [(LIMIT // 10, False), (LIMIT // 10 + 1, True)])
def test_long_texts_are_explained_one_by_one(monkeypatch, length, alone):
    waited = []

    async def one_by_one(_ask, work, *arguments):
        waited.append(work.__name__)
        return work(*arguments)

    monkeypatch.setattr("watchword.web.app._Ask.slowly", one_by_one)
    text = "x" * length
    page = make_app(Content(model(), subjects=[Subject("ann", [Post(text)])]))
    assert send(page, "/api/explain", {"text": text})[0] == 200
    assert ask(page, "/api/subjects/0/posts/1")[0] == 200
    assert waited == (["explain", "post"] if alone else [])


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 4000, "-1", "1.5", "x", "²"])
@pytest.mark.parametrize(
    "path",
    [
        "subjects/{}",
        "subjects/{}/story",
        "subjects/{}/posts/1",
        "subjects/0/posts/{}",
        "documents/{}",
        "overview/{}",
        "overview/{}/bars.svg",
    ],
)
def test_invalid_indices_are_404(page, path, number):
    status, _, found = ask(page, "/api/" + path.format(number))
    assert status == 404
    assert len(found["error"]) < 100


@pytest.mark.parametrize("path", ["subjects", "subjects/0", "subjects/0/story"])
@pytest.mark.parametrize("depth", [900, 5000])
def test_a_policy_that_is_nested_too_deeply_is_refused(page, path, depth, caplog):
    inner = json.dumps(Overtakes(AT_RISK).to_dict())
    nested = '{"policy":"After","posts":1,"of":' * depth + inner + "}" * depth
    query = urllib.parse.quote(nested)
    status, _, found = ask(page, f"/api/{path}?policy={query}")
    assert status == 400
    assert "nested too deeply" in found["error"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("name", ["smoothness", "alpha", "max_ngram", "min_count"])
def test_settings_too_large_for_a_number_are_refused(page, name):
    assert send(page, "/api/explain", {"text": "a", name: 10**400})[0] == 400


def test_too_large_body_is_refused_unread(page):
    pieces = [b"x" * (1 << 20)] * 100
    headers = HOST | {"content-type": "application/json"}
    status, _, found = ask(page, "/api/explain", method="POST", headers=headers, pieces=pieces)
    assert status == 413
    assert "bytes" in found["error"]


def test_lone_surrogates_are_replaced(page):
    status, found = send(page, "/api/explain", {"text": "so \ud800 tired"})
    assert status == 200
    assert found["explanation"]["text"] == "so \ufffd tired"


def test_values_of_an_ngram(page):
    _, _, found = ask(page, "/api/ngram?ngram=Cannot%20Sleep")
    expected = model().value("cannot sleep")
    assert [row["cv"] for row in found["values"]] == [value.cv for value in expected.values()]
    assert [row["word"] for row in found["next"]] == [
        word.word for word in model().next_words("cannot sleep")
    ]


def test_invalid_ngrams_are_refused(page):
    status, _, found = ask(page, "/api/ngram?ngram=%21")
    assert status == 400
    assert "not an n-gram" in found["error"]


def test_what_would_change_a_text(page):
    text = "Another day of being so tired. I cannot sleep."
    _, found = send(page, "/api/change", {"text": text})
    assert found == json.loads(json.dumps(model().what_would_change(text).to_dict()))


def test_overview_of_a_label(page):
    _, _, found = ask(page, "/api/overview/0?smoothness=0.3")
    expected = model().replace(smoothness=0.3).top_ngrams(AT_RISK, 5)
    assert [(one["ngram"], one["value"]) for one in found["top"][:5]] == [
        (one.ngram, one.value) for one in expected
    ]


@pytest.mark.parametrize("kind", ["cloud", "bars", "distribution"])
def test_pictures_are_svg(page, kind):
    status, headers, found = ask(page, f"/api/overview/1/{kind}.svg?length=2")
    assert status == 200
    assert headers["content-type"] == "image/svg+xml"
    assert found.startswith("<svg ")


@pytest.mark.parametrize("path", ["9", "9/cloud.svg", "0/portrait.svg", "x", "0/bars.svg/more"])
def test_unknown_labels_and_pictures_are_404(page, path):
    assert ask(page, f"/api/overview/{path}")[0] == 404


# Documents


def predicted():
    return model().predict_many(documents()[0])


def test_documents_are_paged_with_predictions(page):
    _, _, found = ask(page, "/api/documents?page=1")
    texts, labels = documents()
    assert [row["at"] for row in found["rows"]] == list(range(50, min(100, len(texts))))
    row = found["rows"][0]
    assert (row["truth"], row["label"]) == (labels[50], predicted()[50])
    assert row["right"] == (labels[50] == predicted()[50])
    assert texts[50].startswith(row["begin"])


def test_a_page_beyond_the_end_is_the_last_page(page):
    _, _, found = ask(page, "/api/documents?page=999")
    assert found["page"] == found["pages"] - 1
    assert found["rows"]


@pytest.mark.parametrize("right", ["true", "false"])
def test_right_and_wrong_documents_are_filtered(page, right):
    _, _, found = ask(page, f"/api/documents?right={right}")
    assert {row["right"] for row in found["rows"]} == {right == "true"}
    pairs = zip(predicted(), documents()[1], strict=True)
    assert found["total"] == sum((one == other) == (right == "true") for one, other in pairs)


def test_the_confusion_matrix_counts_all_documents(page):
    _, _, found = ask(page, "/api/documents?right=false")
    counts = {}
    for pair in zip(documents()[1], predicted(), strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    names = model().labels
    assert {(names[row], names[column]): many for row, column, many in found["cells"]} == counts


def test_a_cell_of_the_matrix_chooses_its_documents(page):
    _, _, found = ask(page, "/api/documents?row=0&column=1")
    assert {(row["truth"], row["label"]) for row in found["rows"]} == {(AT_RISK, "control")}


def test_a_document_is_explained_under_other_settings(page):
    _, _, found = ask(page, "/api/documents/3?smoothness=0.9")
    expected = model().replace(smoothness=0.9).explain(documents()[0][3])
    assert found["explanation"]["value"] == list(expected.value)
    assert found["label"] == expected.label


def test_labels_that_the_model_does_not_know_have_rows_of_their_own():
    shown = Content(model(), ["so tired", "hello"], ["nobody", None])
    status, _, found = ask(make_app(shown), "/api/documents")
    assert status == 200
    assert found["cells"] == [[2, model().labels.index(found["rows"][0]["label"]), 1]]
    assert [row["right"] for row in found["rows"]] == [False, None]


def test_documents_may_come_without_labels():
    _, _, found = ask(make_app(Content(model(), ["so tired"])), "/api/documents")
    assert (found["cells"], found["rows"][0]["right"]) == ([], None)


def test_documents_bring_their_own_label_and_id():
    shown = Content(model(), [Document("so tired", AT_RISK, "d1")])
    _, _, found = ask(make_app(shown), "/api/documents")
    assert (found["rows"][0]["id"], found["rows"][0]["truth"]) == ("d1", AT_RISK)


def test_labels_may_be_numbers():
    taught = ww.TauSS3()
    taught.learn_many(["a b", "c d"], [1, 2])
    _, _, found = ask(make_app(Content(taught, ["a"], [1])), "/api/documents")
    assert (found["rows"][0]["label"], found["rows"][0]["right"]) == (1, True)


def test_huge_document_is_cut_but_predicted_as_a_whole():
    text = "hello there " * 30_000 + "cannot sleep " * 60_000
    shown = Content(model(), [text])
    _, _, found = ask(make_app(shown), "/api/documents/0")
    assert found["cut"] == {"shown": LIMIT, "of": len(text)}
    assert found["label"] == model().predict_one(text)
    assert len(found["explanation"]["text"]) == LIMIT


@pytest.mark.parametrize(
    "path", ["documents/9999", "documents/x", "subjects/9999", "subjects/0/posts/0", "nothing"]
)
def test_unknown_paths_are_404_in_json(page, path):
    status, _, found = ask(page, f"/api/{path}")
    assert status == 404
    assert found["error"]


@pytest.mark.parametrize("path", ["documents", "subjects"])
def test_missing_data_is_404(path):
    assert ask(make_app(Content(model())), f"/api/{path}")[0] == 404


@pytest.mark.parametrize("query", ["right=maybe", "row=-1", "page=x", "column=99999999999"])
def test_bad_choices_are_refused(page, query):
    assert ask(page, f"/api/documents?{query}")[0] == 400


def test_texts_and_labels_must_be_equally_many():
    with pytest.raises(ValueError, match="2 texts but 1 labels"):
        Content(model(), ["a", "b"], ["x"])


# Subjects


def policy_query(policy):
    return "policy=" + urllib.parse.quote(json.dumps(policy.to_dict()))


@pytest.mark.parametrize(
    "policy",
    [
        Overtakes(AT_RISK),
        Overtakes(AT_RISK, ratio=2, margin=0.5).after(3),
        Repeats(AT_RISK, times=2) | Overtakes(AT_RISK, margin=1),
        StandsOut(AT_RISK, gamma=1),
    ],
)
def test_subjects_are_decided_as_in_a_replay(page, policy):
    _, _, found = ask(page, f"/api/subjects?{policy_query(policy)}")
    expected = ww.replay(people(), model(), policy)
    assert [(row["id"], row["alert"], row["delay"]) for row in found["rows"]] == [
        (one.subject, one.label is not None, one.delay) for one in expected.outcomes
    ]
    assert found["measures"]["erde50"] == expected.measures.erde50


@pytest.mark.parametrize("policy", [Overtakes(AT_RISK, margin=0.2), StandsOut(AT_RISK, gamma=1)])
def test_a_subject_is_decided_as_in_the_list(page, policy):
    _, _, listed = ask(page, f"/api/subjects?{policy_query(policy)}")
    for row in listed["rows"][:5]:
        _, _, found = ask(page, f"/api/subjects/{row['at']}?{policy_query(policy)}")
        assert {name: found[name] for name in row} == row


def test_curves_are_the_sums_of_a_reader(page):
    _, _, found = ask(page, "/api/subjects/2")
    reader = model().reader(Overtakes(AT_RISK))
    for sums, post in zip(found["sums"], people()[2].posts, strict=True):
        assert sums == pytest.approx(list(reader.read(post).confidence.values()), abs=1e-6)


def test_a_post_is_explained(page):
    _, _, found = ask(page, "/api/subjects/2/posts/1")
    expected = model().explain(people()[2].posts[0].content)
    assert found["explanation"]["value"] == list(expected.value)
    assert found["number"] == 1


def test_posts_of_a_subject_are_painted_on_one_scale(page):
    posts = [post.content for post in people()[2].posts]
    sent = [
        ask(page, f"/api/subjects/2/posts/{number}")[2]["explanation"]
        for number in range(1, len(posts) + 1)
    ]
    strongest = max(
        max(block.contribution)
        for text in posts
        for paragraph in model().explain(text).blocks
        for sentence in paragraph.blocks
        for block in sentence.blocks
    )
    assert {each["highest"]["ngram"] for each in sent} == {strongest}


def test_the_key_posts_of_a_story_are_painted_on_one_scale():
    story = model().story(people()[2], Overtakes(AT_RISK)).to_dict()
    sent = [each["explanation"] for each in story_for_page(story)["shown"]]
    assert len(sent) > 1
    assert len({each["highest"]["ngram"] for each in sent}) == 1
    alone = {compact(each["explanation"])["highest"]["ngram"] for each in story["shown"]}
    assert max(alone) == sent[0]["highest"]["ngram"] > min(alone)


def test_the_matrix_of_subjects_is_truth_and_alert(page):
    _, _, found = ask(page, "/api/subjects?row=0&column=1")
    assert {(row["truth"], row["alert"]) for row in found["rows"]} <= {(AT_RISK, False)}
    assert sum(count for *_, count in found["cells"]) == len(people())


@pytest.mark.parametrize("right", ["true", "false"])
def test_right_and_wrong_subjects_are_filtered(page, right):
    _, _, found = ask(page, f"/api/subjects?right={right}")
    assert all(row["right"] == (right == "true") for row in found["rows"])
    assert all((row["alert"] == (row["truth"] == AT_RISK)) == row["right"] for row in found["rows"])


def test_a_story_tells_what_tipped_it(page):
    _, _, listed = ask(page, "/api/subjects?column=0")
    at = listed["rows"][0]["at"]
    _, _, found = ask(page, f"/api/subjects/{at}/story")
    expected = model().story(people()[at], Overtakes(AT_RISK))
    assert [one["ngram"] for one in found["tipped"]["ngrams_for"]] == [
        one.ngram for one in expected.tipped.ngrams_for
    ]
    assert [one["aim"] for one in found["changes"]] == ["delay", "cancel"]


def test_a_story_tells_which_features_were_weighed(page):
    policy = Weighs(AT_RISK, share=2, gain=0.5, threshold=0.3)
    _, _, found = ask(page, f"/api/subjects/0/story?{policy_query(policy)}")
    [expected] = model().story(people()[0], policy).weighed
    [weighed] = found["weighed"]
    assert weighed["total"] == expected.total
    assert [one["feature"] for one in weighed["features"]] == [
        one.feature for one in expected.features
    ]


def test_population_policies_have_stories_too(page):
    query = policy_query(StandsOut(AT_RISK, gamma=1))
    assert ask(page, f"/api/subjects/0/story?{query}")[0] == 200


def test_alerts_are_by_default_about_the_rarest_label():
    taught = model()
    shown = [Subject(str(at), [Post("so")], "control") for at in range(3)]
    shown.append(Subject("3", [Post("so")], AT_RISK))
    _, _, about = ask(make_app(Content(taught, subjects=shown)), "/api/about")
    assert about["subjects"]["policy"]["positive"] == AT_RISK


def test_custom_policies_are_accepted():
    class Doubles(Overtakes):
        def alerts(self, step):
            return step.value > 2 * step.other

    shown = Content(model(), subjects=people(), policy=Doubles(AT_RISK))
    _, _, found = ask(make_app(shown), "/api/subjects")
    expected = ww.replay(people(), model(), Doubles(AT_RISK))
    assert [row["delay"] for row in found["rows"]] == [one.delay for one in expected.outcomes]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("{", "policy must be JSON"),
        ("[]", "not a policy description"),
        ('{"policy": "Overtakes", "positive": "nobody"}', "unknown label 'nobody'"),
        (
            '{"policy": "Overtakes", "positive": "at risk", "ratio": -1}',
            "ratio must not be negative",
        ),
        ('{"policy": "Overtakes"}', "positive"),
        ('{"policy":"After","posts":1,"of":' * 900 + "0" + "}" * 900, "polic"),
    ],
)
def test_bad_policies_are_refused_with_the_reason(page, policy, message):
    status, _, found = ask(page, "/api/subjects?policy=" + urllib.parse.quote(policy))
    assert status == 400
    assert message in found["error"]


def test_subjects_without_posts_or_truth_are_shown():
    shown = Content(model(), subjects=[Subject("ann", []), Subject("bob", [Post("so tired")])])
    page = make_app(shown)
    _, _, found = ask(page, "/api/subjects")
    assert [(row["posts"], row["right"]) for row in found["rows"]] == [(0, None), (1, None)]
    assert found["measures"] is None
    assert ask(page, "/api/subjects/0")[2]["sums"] == []


# Models that cannot be shown


def test_an_empty_model_is_refused():
    with pytest.raises(EmptyModelError):
        Content(ww.TauSS3())


def test_a_model_without_its_functions_is_refused():
    taught = ww.TauSS3(word_hook=str.upper)
    taught.learn_one("a", "x")
    with pytest.raises(HookError, match="word_hook"):
        Content(ww.TauSS3.from_bytes(taught.to_bytes()))


def test_a_model_with_its_functions_is_shown():
    taught = ww.TauSS3(word_hook=str.upper, summary=lambda parts: parts.max(axis=0))
    taught.learn_many(["a b", "c"], ["x", "y"])
    page = make_app(Content(taught))
    assert "summary" not in ask(page, "/api/about")[2]["settings"]
    assert send(page, "/api/explain", {"text": "a"})[1]["explanation"]["label"] == "x"


def test_later_learning_does_not_change_the_page():
    taught = model().replace()
    page = make_app(Content(taught))
    taught.learn_one("something new", "other")
    assert ask(page, "/api/about")[2]["labels"] == [AT_RISK, "control"]
