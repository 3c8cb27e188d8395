"""watch: alerts as posts come in, states that outlive the process, and signals."""

import contextlib
import gzip
import io
import json
import os
import signal
import threading
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from command_line import call, failure, next_line, records, run, say, started, write_lines
from watchword._display import finite
from watchword.cli.commands.watch import show_json
from watchword.cli.output import Stops

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

HARMLESS, ALARMING = "lovely garden", "cannot sleep"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = ww.TauSS3()
    model.learn_many([ALARMING, HARMLESS], ["at risk", "control"])
    model.save("model.ww")
    return tmp_path


def post(subject, text=HARMLESS, **more):
    return {"subject": subject, "text": text, **more}


def lines(*posts):
    return "".join(json.dumps(one) + "\n" for one in posts)


def watch(*arguments, posts=()):
    return records("watch", "model.ww", "--positive", "at risk", *arguments, input=lines(*posts))


def alerted(found):
    return [(one["subject"], one["delay"]) for one in found if one["event"] == "alert"]


# What is printed


@pytest.mark.usefixtures("here")
def test_each_alert_is_printed_once():
    posts = [post("ann"), post("bob", ALARMING), post("ann", ALARMING), post("ann", ALARMING)]
    found = watch(posts=posts)
    assert alerted(found) == [("bob", 1), ("ann", 3)]
    assert found[0] == {
        "event": "alert",
        "subject": "bob",
        "label": "at risk",
        "delay": 1,
        "posts": 1,
        "confidence": found[0]["confidence"],
        "post_id": None,
        "time": None,
        "reasons": found[0]["reasons"],
    }
    assert found[0]["confidence"]["at risk"] > found[0]["confidence"]["control"]


@pytest.mark.usefixtures("here")
def test_an_alert_names_its_post_and_the_ngrams_that_speak_for_it():
    named = {"id": "p7", "time": "2024-05-01T12:30:00Z"}
    [alert] = watch(posts=[post("ann"), post("bob", ALARMING) | named, post("ann")])
    assert (alert["post_id"], alert["time"]) == ("p7", "2024-05-01T12:30:00+00:00")
    reasons = alert["reasons"]
    assert reasons["rival"] == "control"
    assert reasons["ngrams_for"][0]["difference"] > 0
    for one in reasons["ngrams_for"]:
        assert all(word in ALARMING.lower() for word in one["ngram"].split())
        assert one["counted"] + one["corrected"] == one["difference"]


@pytest.mark.usefixtures("here")
def test_with_all_only_the_alert_has_reasons():
    found = watch("--all", posts=[post("ann"), post("bob", ALARMING), post("bob", ALARMING)])
    assert ["reasons" in one for one in found] == [False, True, False]


def test_files_are_read_one_after_the_other(here):
    write_lines(here / "one.jsonl", [post("ann"), post("bob", ALARMING)])
    write_lines(here / "two.jsonl", [post("ann", ALARMING), post("ann", ALARMING)])
    assert alerted(watch("one.jsonl", "two.jsonl")) == [("bob", 1), ("ann", 3)]


def test_a_folder_may_hold_a_file_for_every_subject(here):
    for label, subject, texts in (("x", "ann", [ALARMING, ALARMING]), ("y", "bob", [HARMLESS])):
        (here / "people" / label).mkdir(parents=True)
        (here / "people" / label / f"{subject}.txt").write_text("\n".join(texts))
    assert [one["posts"] for one in watch("people", "--final")] == [1, 2, 1]


@posix
def test_compressed_data_may_come_in_a_named_pipe(here):
    os.mkfifo(here / "pipe")
    data = gzip.compress(lines(post("ann", ALARMING)).encode())
    writer = threading.Thread(target=(here / "pipe").write_bytes, args=[data])
    writer.start()
    found = watch("pipe")
    writer.join()
    assert alerted(found) == [("ann", 1)]


@posix
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("packed", [False, True])
def test_csv_rows_are_read_as_they_arrive_and_kept_on_stop(packed):
    arguments = ("--format", "csv", "--positive", "at risk", "--state", "state")
    packer = zlib.compressobj(wbits=31)

    def send(text):
        data = packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
        process.stdin.write(data if packed else text.encode())
        process.stdin.flush()

    with started("watch", "model.ww", *arguments) as process:
        send(f'subject,text\nann,"{ALARMING}"\nbob,"{HARMLESS}\n')
        assert next_line(process)["subject"] == "ann"
        send(f'{HARMLESS}"\neve,"{ALARMING}, ""so"""\ncut,"{ALARMING}')
        assert next_line(process)["subject"] == "eve"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    known = {one["subject"]: one["posts"] for one in watch("--state", "state", "--final")}
    assert known == {"ann": 1, "bob": 1, "eve": 1}


@pytest.mark.parametrize("name", ["subject1.xml", "round_1.json"])
def test_folder_without_texts_is_an_error(here, name):
    (here / "collection").mkdir()
    arguments = ("watch", "model.ww", "collection", "--positive", "at risk")
    assert "there are no subjects (LABEL/SUBJECT.txt) in it" in failure(*arguments)
    (here / "collection" / name).write_text("x")
    assert "use --format erisk" in failure(*arguments)


@pytest.mark.usefixtures("here")
def test_a_line_may_be_a_subject_with_all_posts():
    found = watch(posts=[{"subject": "ann", "posts": [HARMLESS, {"text": ALARMING}, ALARMING]}])
    assert alerted(found) == [("ann", 3)]


@pytest.mark.usefixtures("here")
def test_option_all_prints_a_decision_after_every_post():
    found = watch("--all", posts=[post("ann"), post("ann", ALARMING), post("ann", ALARMING)])
    assert [one["event"] for one in found] == ["post", "post", "alert"]
    assert [one["posts"] for one in found] == [1, 2, 3]
    assert [one["label"] for one in found] == [None, None, "at risk"]


@given(
    subject=st.text(st.characters(codec="utf-8"), min_size=1),
    labels=st.lists(st.text(max_size=3), unique=True) | st.lists(st.integers(-9, 9), unique=True),
    value=st.floats(),
    posts=st.integers(1, 9),
)
def test_a_decision_is_printed_as_json_in_ascii(subject, labels, value, posts):
    confidence = dict.fromkeys(labels, value) | dict.fromkeys(labels[:1], 0.1)
    decision = ww.Decision(labels[0] if labels else None, posts, posts, confidence, subject)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        show_json("post", [decision], {})
    record = {"event": "alert" if labels else "post", "subject": subject, "label": decision.label}
    record |= {"delay": posts, "posts": posts, "confidence": finite(confidence)}
    assert printed.getvalue() == json.dumps(record) + "\n"


@pytest.mark.usefixtures("here")
def test_option_final_prints_every_subject_at_the_end():
    found = watch("--final", posts=[post("ann", ALARMING), post("bob"), post("ann")])
    final = [one for one in found if one["event"] == "final"]
    assert [(one["subject"], one["label"], one["posts"]) for one in final] == [
        ("ann", "at risk", 2),
        ("bob", None, 1),
    ]


@pytest.mark.usefixtures("here")
def test_the_policy_decides():
    posts = [post("ann", ALARMING), post("ann", ALARMING)]
    assert alerted(watch("--policy", "overtakes after 2", posts=posts)) == [("ann", 2)]
    assert alerted(watch("--policy", "overtakes(margin=100)", posts=posts)) == []


@pytest.mark.usefixtures("here")
def test_table_rows_make_control_characters_visible():
    done = call(
        "watch", "model.ww", "--positive", "at risk", "--table",
        input=lines(post("a\x1b[31m\nb", ALARMING)),
    )  # fmt: skip
    assert done.stdout.startswith("alert  a␛[31m b")
    assert done.stdout.count("\n") == 1


@pytest.mark.usefixtures("here")
def test_an_alert_is_printed_before_the_next_post_arrives():
    with started("watch", "model.ww", "--positive", "at risk") as process:
        for subject in ("ann", "bob"):
            say(process, post(subject, ALARMING))
            assert next_line(process)["subject"] == subject
        process.stdin.close()
        assert process.wait(60) == 0


@posix
def test_a_named_pipe_is_read_as_it_fills(here):
    os.mkfifo(here / "pipe")
    with started("watch", "model.ww", "pipe", "--positive", "at risk") as process:
        # Opened for reading too, which does not wait for the other side.
        with os.fdopen(os.open("pipe", os.O_RDWR), "wb", buffering=0) as pipe:
            pipe.write(lines(post("ann", ALARMING)).encode())
            assert next_line(process)["subject"] == "ann"
        assert process.wait(60) == 0


# Bad lines


@pytest.mark.usefixtures("here")
def test_bad_lines_are_reported_and_skipped():
    bad = '{"text": "who?"}\nnonsense\n\n{"subject": ["ann"], "text": ""}\n'
    given = bad + lines(post("ann", ALARMING))
    done = call("watch", "model.ww", "--positive", "at risk", input=given)
    assert done.exit_code == 0
    assert alerted(map(json.loads, done.stdout.splitlines())) == [("ann", 1)]
    assert [line.partition(":")[2].partition(":")[0] for line in done.stderr.splitlines()] == [
        " standard input, line 2",
        " standard input, line 4",
        " standard input, line 1",
        " 3 lines in total",
    ]


@pytest.mark.usefixtures("here")
def test_data_without_subjects_is_refused_after_a_few_lines():
    without = "".join(json.dumps({"text": f"text {number}"}) + "\n" for number in range(1000))
    *skipped, message = failure(
        "watch", "model.ww", "--positive", "at risk", input=without
    ).splitlines()
    assert len(skipped) == 20
    assert message == (
        'Error: standard input: "subject" is missing in each of the first 20 lines '
        "(use --field subject=NAME)"
    )


@pytest.mark.usefixtures("here")
def test_data_without_any_subject_is_an_error():
    message = failure("watch", "model.ww", "--positive", "at risk", input='{"text": "who?"}\n')
    assert "standard input: none of its lines could be read" in message


@pytest.mark.usefixtures("here")
def test_posts_without_subjects_are_skipped_where_others_have_one():
    without = '{"text": "who?"}\n' * 15
    given = without + lines(post("ann", ALARMING)) + without
    done = call("watch", "model.ww", "--positive", "at risk", input=given)
    assert done.exit_code == 0
    assert alerted(map(json.loads, done.stdout.splitlines())) == [("ann", 1)]


@pytest.mark.usefixtures("here")
def test_bad_lines_error_keeps_earlier_posts():
    given = lines(post("ann", ALARMING)) + "nonsense\n" + lines(post("bob", ALARMING))
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state")
    done = call(*arguments, "--bad-lines", "error", input=given)
    assert done.exit_code == 1
    assert "Error: standard input, line 2: not JSON" in done.stderr
    assert alerted(map(json.loads, done.stdout.splitlines())) == [("ann", 1)]
    [final] = watch("--state", "state", "--final")
    assert final["subject"] == "ann"


# State


@pytest.mark.usefixtures("here")
def test_two_runs_with_a_state_equal_one_run():
    posts = [post("ann"), post("bob"), post("ann", ALARMING), post("bob"), post("ann", ALARMING)]
    whole = watch("--final", posts=posts)
    for cut in range(len(posts) + 1):
        state = ("--state", f"state{cut}")
        first, then = watch(*state, posts=posts[:cut]), watch(*state, "--final", posts=posts[cut:])
        assert first + then == whole


@pytest.mark.usefixtures("here")
def test_an_alert_is_not_repeated_by_later_runs():
    posts = [post("ann", ALARMING)]
    assert alerted(watch("--state", "state", posts=posts)) == [("ann", 1)]
    assert alerted(watch("--state", "state", posts=posts)) == []


@pytest.mark.usefixtures("here")
def test_from_start_skips_posts_already_read():
    posts = [post("ann"), post("bob"), post("ann", ALARMING), post("ann", ALARMING)]
    watch("--state", "state", posts=posts[:2])
    found = watch("--state", "state", "--from-start", "--final", posts=posts)
    assert alerted(found) == [("ann", 3)]
    assert [one["posts"] for one in found if one["event"] == "final"] == [3, 1]


@pytest.mark.usefixtures("here")
def test_from_start_warns_about_another_input():
    watch("--state", "state", posts=[post("ann"), post("bob")])
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state", "--from-start")
    done = call(*arguments, input=lines(post("ann")))
    assert done.exit_code == 0
    assert "1 posts more than the input has" in done.stderr


def test_python_and_the_command_share_states(here):
    watch("--state", "state", posts=[post("ann", ALARMING)])
    model = ww.TauSS3.load("model.ww")
    watcher = model.watcher(ww.Overtakes("at risk"), state=(here / "state").read_bytes())
    assert watcher.decision("ann").delay == 1


@pytest.mark.usefixtures("here")
def test_a_state_of_another_model_is_refused_unless_allowed():
    watch("--state", "state", posts=[post("ann")])
    model = ww.TauSS3.load("model.ww")
    model.learn_one("drained", "at risk")
    model.save("model.ww")
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state")
    assert "model" in failure(*arguments, input="")
    assert watch("--state", "state", "--allow-changed-model", "--final")[0]["posts"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--policy", "leaps"], "policy"), (["--positive", "control"], "policy")],
)
@pytest.mark.usefixtures("here")
def test_a_state_of_another_policy_is_refused(arguments, message):
    watch("--state", "state", posts=[post("ann")])
    said = failure(
        "watch", "model.ww", "--positive", "at risk", "--state", "state", *arguments, input=""
    )
    assert message in said


def test_a_damaged_state_is_refused_and_kept(here):
    (here / "state").write_bytes(b"so what")
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state")
    said = failure(*arguments, input=lines(post("ann")))
    assert "state: not a watcher's state" in said
    assert (here / "state").read_bytes() == b"so what"


@posix
def test_a_state_is_saved_while_nothing_arrives(here):
    with started(
        "watch", "model.ww", "--positive", "at risk", "--state", "state", "--save-every", "1"
    ) as process:
        say(process, post("ann", ALARMING))
        next_line(process)
        for _ in range(600):
            if (here / "state").exists():
                break
            time.sleep(0.1)
        process.kill()
        process.wait()
    assert watch("--state", "state", "--final")[0]["subject"] == "ann"


@posix
def test_a_second_watch_with_the_same_state_is_refused_and_changes_nothing(here):
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state")
    watch("--state", "state", posts=[post("ann")])
    before = (here / "state").read_bytes()
    with started(*arguments) as first:
        say(first, post("bob", ALARMING))
        assert next_line(first)["subject"] == "bob"  # it is at work
        second = run(*arguments, write_lines(here / "eve.jsonl", [post("eve", ALARMING)]))
        assert second.returncode == 1
        assert second.stdout == ""
        assert "state is in use by another process" in second.stderr
        assert (here / "state").read_bytes() == before
        first.stdin.close()
        assert first.wait(60) == 0
    assert [one["subject"] for one in watch("--state", "state", "--final")] == ["ann", "bob"]


@posix
def test_a_killed_watch_repeats_alerts_but_loses_none(here):
    posts = [post("ann", ALARMING), post("bob", ALARMING)]
    with started("watch", "model.ww", "--positive", "at risk", "--state", "state") as process:
        say(process, posts[0])
        assert next_line(process)["subject"] == "ann"
        process.kill()
        process.wait()
    assert not (here / "state").exists()  # saved too long ago: the post has to be fed again
    found = watch("--state", "state", "--from-start", posts=posts)
    assert alerted(found) == [("ann", 1), ("bob", 1)]


@posix
def test_undelivered_alerts_are_not_in_the_state(here):
    with started("watch", "model.ww", "--positive", "at risk", "--state", "state") as process:
        process.stdout.close()
        say(process, post("ann", ALARMING))
        process.stdin.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""
    assert not (here / "state").exists()
    assert alerted(watch("--state", "state", posts=[post("ann", ALARMING)])) == [("ann", 1)]


# Signals


def test_a_signal_ends_the_waiting_at_once():
    def items():
        yield "first"
        with stops.waiting():
            signal.raise_signal(signal.SIGTERM)
            raise AssertionError("went on waiting")

    with Stops() as stops:
        assert list(stops.until_stopped(items())) == ["first"]
    assert stops.exit_code == 143


def test_posts_read_before_a_signal_are_not_lost():
    def items():
        yield "first"
        signal.raise_signal(signal.SIGTERM)  # after the waiting, while the item is being made
        yield "second"
        with stops.waiting():
            raise AssertionError("went on waiting")

    with Stops() as stops:
        assert list(stops.until_stopped(items())) == ["first", "second"]
    assert stops.exit_code == 143


def test_no_waiting_after_a_signal():
    def items():
        signal.raise_signal(signal.SIGTERM)
        with stops.waiting():
            raise AssertionError("began to wait")
        yield

    with Stops() as stops:
        assert list(stops.until_stopped(items())) == []
    assert stops.exit_code == 143


def test_a_signal_lets_the_current_item_finish():
    done = []
    with Stops() as stops:
        for item in stops.until_stopped("abc"):
            signal.raise_signal(signal.SIGINT)
            done.append(item)
    assert done == ["a"]
    assert stops.exit_code == 130


def test_a_second_signal_exits_at_once():
    def work(stops):
        for _ in stops.until_stopped("abc"):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with Stops() as stops, pytest.raises(KeyboardInterrupt):
        work(stops)


def test_signal_handlers_are_restored():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Stops():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stops() as stops:
            signal.raise_signal(signal.SIGINT)
        assert stops.exit_code == 0
    finally:
        signal.signal(signal.SIGINT, before)


@posix
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_watch_quietly_and_saves_the_state(here, number, code):
    arguments = ("watch", "model.ww", "--positive", "at risk", "--state", "state", "--final")
    with started(*arguments) as process:
        say(process, post("ann", ALARMING))
        next_line(process)
        process.send_signal(getattr(signal, number))
        assert process.wait(60) == code
        assert next_line(process)["event"] == "final"
        assert process.stderr.read() == b""
    assert (here / "state").exists()
    assert watch("--state", "state", "--final")[0]["posts"] == 1


@posix
@pytest.mark.usefixtures("here")
def test_ctrl_c_ends_other_commands_quietly():
    with started("classify", "model.ww") as process:
        say(process, {"text": ALARMING})
        next_line(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""


# What is wrong


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.ww", "--positive", "x"], 1, "nothing.ww: No such file"),
        (["model.ww"], 2, "Missing option '--positive'"),
        (["model.ww", "--positive", "x", "--save-every", "nan"], 2, "'nan' is not a finite number"),
        (["model.ww", "--positive", "x"], 1, "unknown label 'x'; the model has 'at risk', 'con"),
        (["model.ww", "no.jsonl", "--positive", "at risk"], 1, "no.jsonl: No such file"),
        (["model.ww", "--positive", "at risk", "--policy", "x"], 2, "unknown policy 'x' (known"),
        (["model.ww", "--positive", "at risk", "--policy", "leaps(factor=1|2)"], 2, "2 policies"),
        (["model.ww", "--positive", "at risk", "--policy", "stands_out"], 2, "one by one"),
        (["model.ww", "--positive", "at risk", "--from-start"], 2, "requires --state"),
        (["model.ww", "--positive", "at risk", "--state", "."], 2, "is a directory"),
        (["model.ww", "--positive", "at risk", "--state", "no/x"], 2, "folder 'no' does not exist"),
    ],
)
@pytest.mark.usefixtures("here")
def test_watch_errors(arguments, code, message):
    assert message in failure("watch", *arguments, code=code, input="")
