"""Discussions of eRisk 2025 and 2026: files, and the dialect of client and practice server."""

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from erisk_files import write
from erisk_tasks import QUICK, TOKEN, ask, runs, scripted, take_part, taught
from watchword.data import Post, Subject, read_jsonl, write_jsonl
from watchword.erisk import CollectionWarning, make_discussions, read_erisk
from watchword.erisk.client import run_client
from watchword.erisk.dialects import as_discussion, dialect_named, discussion_of
from watchword.erisk.protocol import ServerError, Writing
from watchword.erisk.server import running_server
from watchword.errors import DataFormatError, StateError


@pytest.fixture(scope="module")
def model():
    return taught()


# Files


def thread(author, body, *comments, title="", time="2024-05-08 02:55:38 UTC", target=None):
    """Return a discussion as in the files of the collection; `comments` are (author, body)."""
    submission = {"submission_id": "s1", "user_id": author, "title": title, "body": body}
    return {
        "submission": submission | {"created_utc": time, "target": author == target},
        "comments": [
            {"comment_id": f"c{at}", "user_id": by, "body": text, "target": by == target}
            for at, (by, text) in enumerate(comments)
        ],
    }


def write_collection(root, people, truth):
    for name, threads in people.items():
        write(root / "all_combined" / f"{name}.json", json.dumps(threads))
    lines = "".join(f"{name}\t{label}\n" for name, label in truth.items())
    write(root / "shuffled_ground_truth_labels.txt", lines)
    write(root / "README.txt", "Submissions and comments")
    write(root / "__MACOSX" / "._subject_a.json", b"\0\1")
    return root


def test_own_texts_are_kept_apart_from_the_context(tmp_path):
    threads = [
        thread("subject_a", "I can't.", ("bob", "Why?"), ("subject_a", "Tired."), title="Sleep"),
        thread("bob", "Help me.", ("subject_a", "How?"), ("eve", "Call."), title="Help"),
        thread("bob", "Cats.", ("eve", "Dogs.")),
    ]
    write_collection(tmp_path / "data", {"subject_a": threads}, {"subject_a": 1})
    [subject] = read_erisk(tmp_path)
    first, second, third = subject.posts
    assert (subject.id, subject.label) == ("subject_a", "positive")
    assert (first.title, first.text, first.context) == ("Sleep", "I can't.\n\nTired.", ("Why?",))
    assert (second.title, second.text) == ("", "How?")
    assert second.context == ("Help\n\nHelp me.", "Call.")
    assert (third.content, third.context) == ("", ("Cats.", "Dogs."))
    assert first.time == datetime(2024, 5, 8, 2, 55, 38, tzinfo=timezone.utc)
    assert first.id == "s1"


def test_the_flag_of_a_text_names_its_author_too(tmp_path):
    threads = [thread("hidden1", "Mine.", ("hidden1", "Mine, too."), target="hidden1")]
    write_collection(tmp_path, {"subject_a": threads}, {"subject_a": 0})
    assert read_erisk(tmp_path)[0].posts[0].text == "Mine.\n\nMine, too."


def test_files_with_the_field_names_of_the_server_are_read_in_the_order_of_rounds(tmp_path):
    threads = [
        discussion_of(Writing("subject_a", number, content=f"text {number}", id=number))
        for number in (2, 0, 1)
    ]
    write_collection(tmp_path, {"subject_a": threads}, {"subject_a": 0})
    assert [post.text for post in read_erisk(tmp_path)[0].posts] == ["text 0", "text 1", "text 2"]


def test_discussions_with_the_newest_first_are_read_from_the_oldest(tmp_path):
    dates = ("2024-05-03T10:00:00.125Z", "2024-05-02 12:00 UTC", 1714521600)  # seconds: 1 May
    threads = [thread("subject_a", str(date), time=date) for date in dates]
    write_collection(tmp_path, {"subject_a": threads}, {"subject_a": 0})
    [subject] = read_erisk(tmp_path)
    assert [post.text for post in subject.posts] == [str(date) for date in reversed(dates)]
    assert [post.time.day for post in subject.posts] == [1, 2, 3]


def test_dates_that_contradict_the_numbers_of_rounds_are_a_warning(tmp_path):
    threads = [
        discussion_of(Writing("subject_a", number, content="Hi.", date=f"2024-05-0{9 - number}"))
        for number in range(3)
    ]
    write_collection(tmp_path, {"subject_a": threads}, {"subject_a": 0})
    with pytest.warns(CollectionWarning, match="the dates contradict the order"):
        read_erisk(tmp_path)


def test_deleted_texts_are_empty(tmp_path):
    threads = [thread("bob", "[deleted]", ("subject_a", "[removed]"), ("eve", None))]
    write_collection(tmp_path, {"subject_a": threads}, {"subject_a": 0})
    with pytest.warns(CollectionWarning, match="no post of any subject has text"):
        [subject] = read_erisk(tmp_path)
    assert [(post.content, post.context) for post in subject.posts] == [("", ())]


def test_a_subject_of_the_truth_without_a_file_is_never_alerted(tmp_path):
    truth = {"subject_a": 1, "subject_sOPw3Ku": 0}
    write_collection(tmp_path, {"subject_a": [thread("subject_a", "Hi.")]}, truth)
    with pytest.warns(CollectionWarning, match="subject_sOPw3Ku is listed, but without writings"):
        found = read_erisk(tmp_path)
    assert [(one.id, one.label, len(one.posts)) for one in found] == [
        ("subject_a", "positive", 1),
        ("subject_sOPw3Ku", "negative", 0),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "expected a list of discussions"),
        ("[1]", "a post must be an object, got 1"),
        ('[{"submission": []}]', "a submission must be an object"),
        ('[{"foo": 1}]', "a post must have the field body or content or message; it has 'foo'"),
        ('[{"submission": {}, "comments": {}}]', "a submission must have the field body"),
        ('[{"body": "Hi."}]', "a submission must have the field author or user_id or target"),
        ('[{"body": "Hi.", "author": "a", "comments": [{"text": "x"}]}]', "a comment must have"),
        ('[{"body": "Hi.", "target": "True"}]', "target must be true or false, got a string"),
        ('[{"id_message": 1, "text": "Hola."}]', "body or content or message; it has 'id_message'"),
        ('[{"nick": "ann", "number": 0, "content": "Hi."}]', "posts of 'ann' .* round_N.json"),
        ('[{"submission": {}, "comments": 3}]', "expected a list of comments"),
        ('[{"submission": {"body": 3, "author": "a"}}]', "body must be a string"),
        (
            '[{"targetSubject": "subject_b", "author": "a", "body": "x"}]',
            "contains posts of 'subject_b'",
        ),
        ('[{"title": "x"', "invalid JSON"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(tmp_path, content, message):
    write(tmp_path / "all_combined" / "subject_a.json", content)
    with pytest.raises(DataFormatError, match=message) as error:
        read_erisk(tmp_path)
    assert "subject_a.json" in str(error.value)


def test_unknown_fields_are_ignored():
    item = discussion_of(Writing("ann", 3, content="Hi.", id=7)) | {"upvotes": [1], "edited": None}
    assert as_discussion(item).content == "Hi."


# Context


def test_models_read_the_context_only_if_asked():
    post = Post("Me too.", title="Sleep", context=("Who sleeps badly?", "I do."))
    assert post.content == "Sleep\n\nMe too."
    whole = Subject("ann", [post, Post("No reply.")], "x").with_context()
    assert whole.posts[0].content == "Sleep\n\nMe too.\n\nWho sleeps badly?\n\nI do."
    assert whole.posts[1] == Post("No reply.")
    assert whole.label == "x"


def test_context_without_own_text_has_no_empty_paragraph():
    assert Post("", context=("a", "b")).with_context().text == "a\n\nb"


def test_json_lines_keep_the_context(tmp_path):
    people = [Subject("ann", [Post("Hi.", context=("Ho?", "He.")), Post("Bye.")])]
    write_jsonl(tmp_path / "people.jsonl", people)
    assert read_jsonl(tmp_path / "people.jsonl") == people


def test_other_fields_named_context_are_ignored(tmp_path):
    line = {"subject": "ann", "text": "Hi.", "context": {"page": 3}}
    path = write(tmp_path / "people.jsonl", json.dumps(line))
    assert read_jsonl(path)[0].posts[0].context == ()


# Synthetic collections


@pytest.fixture
def made(tmp_path):
    make_discussions(tmp_path / "made", subjects=12, seed=3)
    with pytest.warns(CollectionWarning, match="subject_absent"):
        return read_erisk(tmp_path / "made")


def test_synthetic_discussions_have_the_quirks_of_the_real_ones(made):
    posts = [post for one in made for post in one.posts]
    assert {one.label for one in made} == {"positive", "negative"}
    assert any(not post.content for post in posts)
    assert any(post.context and post.text and not post.title for post in posts)
    assert any(post.title and post.text for post in posts)
    assert not any("[deleted]" in text for post in posts for text in post.context)


def test_the_same_seed_gives_the_same_files(tmp_path):
    for name, seed in ("a", 1), ("b", 1), ("c", 2):
        make_discussions(tmp_path / name, subjects=6, seed=seed)
    a, b, c = (
        [path.read_bytes() for path in sorted((tmp_path / name).rglob("*.json"))] for name in "abc"
    )
    assert a == b != c
    with pytest.raises(FileExistsError):
        make_discussions(tmp_path / "a", subjects=6)


# The dialect


TEXTS = st.text("ab ", min_size=1).filter(str.strip)


@given(TEXTS | st.just(""), TEXTS | st.just(""), st.lists(TEXTS, max_size=3))
def test_a_writing_survives_as_a_discussion(title, text, context):
    writing = Writing("ann", 4, title=title, content=text, id="x", context=tuple(context))
    sent = json.loads(json.dumps([discussion_of(writing)]))
    found = dialect_named("discussions").parse(sent)
    assert found is not None
    assert found.writings == (writing,)


def test_a_round_as_the_organisers_describe_it_is_read():
    sent = {
        "submissionId": "uZ5M1V",
        "author": "subject_b",
        "date": "2024-05-08T02:55:38.000+00:00",
        "body": "Anyone awake?",
        "title": "Night",
        "number": 0,
        "targetSubject": "subject_a",
        "comments": [
            {
                "commentId": "mNE0",
                "author": "subject_a",
                "date": "2024-05-08T03:01:00.000+00:00",
                "body": "Me, as always.",
                "parent": "uZ5M1V",
            }
        ],
    }
    found = dialect_named("discussions").parse([sent])
    assert found is not None
    post = found.posts["subject_a"]
    assert (post.content, post.context) == ("Me, as always.", ("Night\n\nAnyone awake?",))
    assert post.time == datetime(2024, 5, 8, 2, 55, 38, tzinfo=timezone.utc)
    assert dialect_named("discussions").parse([]) is None


@pytest.mark.parametrize("context", [False, True])
def test_the_client_speaks_discussions_with_the_practice_server(made, model, tmp_path, context):
    people = [one for one in made if one.posts]
    crew = [(model, ww.Overtakes("at risk")), (model, ww.Repeats("at risk", times=2))]
    with running_server(people, runs=2, dialect="discussions") as server:
        report = take_part(
            server, crew, tmp_path / "journal", dialect="discussions", context=context
        )
        results = server.task.results()
    read = [one.with_context() for one in people] if context else people
    for (_, policy), alerts, result in zip(crew, report.alerts, results.runs, strict=True):
        replayed = ww.replay(read, model, policy)
        expected = {one.subject: one.delay for one in replayed.outcomes if one.label}
        assert alerts == result.alerts == expected
    assert report.alerts[0]


def test_a_journal_resumes_with_the_context(made, model, tmp_path):
    people = [one for one in made if one.posts]
    options = {"dialect": "discussions", "context": True}

    def stop(report):
        if report.number == 3:
            raise KeyboardInterrupt

    with running_server(people, runs=1, dialect="discussions") as server:
        with pytest.raises(KeyboardInterrupt):
            take_part(server, runs(1, model), tmp_path / "j", on_round=stop, **options)
        with pytest.raises(StateError, match="started with another model or policy"):
            take_part(server, runs(1, model), tmp_path / "j", dialect="discussions")
        report = take_part(server, runs(1, model), tmp_path / "j", **options)
    with running_server(people, runs=1, dialect="discussions") as server:
        assert take_part(server, runs(1, model), tmp_path / "calm", **options) == report


@pytest.mark.parametrize(
    ("asked", "served"), [("writings", "discussions"), ("discussions", "writings")]
)
def test_a_404_names_the_other_dialect(made, model, tmp_path, asked, served):
    with (
        running_server(made, dialect=served) as server,
        pytest.raises(ServerError, match=f"served at /get{served}/.*use dialect '{served}'"),
    ):
        take_part(server, runs(1, model), tmp_path / "journal", dialect=asked)


def test_the_practice_server_sends_the_documented_fields():
    posts = [Post("Me.", context=("Who?", "You?"))]
    with running_server([Subject("ann", posts)], token=TOKEN, dialect="discussions") as server:
        status, [sent] = ask(server.url, f"/getdiscussions/{TOKEN}")
    assert status == 200
    assert sorted(sent) == sorted(
        ["submissionId", "author", "date", "body", "title", "number", "targetSubject", "comments"]
    )
    assert (sent["targetSubject"], sent["body"]) == ("ann", "Who?")
    assert [(one["author"], one["body"]) for one in sent["comments"]] == [
        ("other1", "You?"),
        ("ann", "Me."),
    ]


def test_a_server_of_others_is_understood_over_a_socket(model, tmp_path):
    """A server as one team's client describes it, with fields that are not documented."""
    rounds = [
        [
            {"targetSubject": name, "number": number, "author": "x", "body": "b", "score": 3}
            | {"comments": [{"author": name, "body": "I can't go on."}]}
            for name in ("subject_a", "subject_b")[: 2 - number]
        ]
        for number in (0, 1)
    ]
    answers: list[list[dict[str, object]]] = []

    def answer(method, path, body):
        if method == "POST":
            assert path == f"/submit/{TOKEN}/0"
            answers.append(json.loads(body))
            return 200, {}, b"ok"
        if path != f"/getdiscussions/{TOKEN}":
            return 404, {}, b"Not Found"
        at = len(answers)
        return 200, {}, json.dumps(rounds[at] if at < len(rounds) else []).encode()

    with scripted(answer) as script:
        options = QUICK | {"journal": tmp_path / "j", "dialect": "discussions"}
        report = run_client(script.url, TOKEN, runs(1, model), **options)
    assert report.rounds == 2
    assert [[one["nick"] for one in each] for each in answers] == [["subject_a", "subject_b"]] * 2
