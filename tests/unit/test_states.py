"""States: resuming bit for bit, and refusal of states that do not fit."""

import hashlib
import json
import os
import stat
import struct
import subprocess
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword as ww
from stream_samples import (
    EVENTS,
    FEWER,
    PLACES,
    POSTS,
    ROUNDS,
    as_tuple,
    population_policies,
    taught,
    worlds,
)

RISK = ww.Overtakes("at risk", margin=0.5)
REMEMBERING = ww.Stays("at risk", 0.6, last=3) | ww.Repeats("at risk", 5)


def read_on(watcher, events):
    """Read events; return the decisions about all subjects after each."""
    found = []
    for subject, place in events:
        watcher.read(subject, POSTS[place])
        found.append([(one.subject, *as_tuple(one)) for one in watcher.decisions()])
    return found


def some_reader(policy=REMEMBERING):
    reader = taught().reader(policy)
    for post in ["alone", "garden sun", "night"]:
        reader.read(post)
    return reader


def some_watcher(policy=REMEMBERING):
    watcher = taught().watcher(policy)
    watcher.read_many(["ann", "bob", "ann"], ["alone tired", "sun", "garden"])
    return watcher


# Going on


@FEWER
@given(worlds(), st.lists(PLACES, max_size=10), st.lists(PLACES, max_size=10))
def test_reader_resumes_from_bytes_and_json(world, before, after):
    model, policy = world
    reader = model.reader(policy)
    for place in before:
        reader.read(POSTS[place])
    copies = [
        model.reader(policy, state=reader.to_bytes()),
        model.reader(policy, state=reader.to_json()),
    ]
    for place in after:
        expected = reader.read(POSTS[place])
        assert [copy.read(POSTS[place]) for copy in copies] == [expected, expected]
    for copy in copies:
        assert copy.decision == reader.decision
        assert copy.to_bytes() == reader.to_bytes()
        assert copy.to_json() == reader.to_json()


@FEWER
@given(worlds(), EVENTS, EVENTS)
def test_watcher_resumes_from_bytes(world, before, after):
    model, policy = world
    watcher = model.watcher(policy)
    read_on(watcher, before)
    copy = model.watcher(policy, state=watcher.to_bytes())
    assert copy.subjects == watcher.subjects
    assert read_on(copy, after) == read_on(watcher, after)
    assert copy.scores() == watcher.scores()
    assert copy.to_bytes() == watcher.to_bytes()


@FEWER
@given(worlds(population_policies), ROUNDS, ROUNDS)
def test_rounds_resume_from_bytes(world, before, after):
    model, policy = world
    watcher = model.watcher(policy)
    watcher.add("silent")

    def read_rounds(one, rounds):
        return [one.read_round({name: POSTS[at] for name, at in posts.items()}) for posts in rounds]

    read_rounds(watcher, before)
    copy = model.watcher(policy, state=watcher.to_bytes())
    assert copy.rounds == len(before)
    assert read_rounds(copy, after) == read_rounds(watcher, after)
    assert copy.to_bytes() == watcher.to_bytes()


ELSEWHERE = """
import json, sys
from pathlib import Path
import watchword as ww
model = ww.TauSS3.load("model.ww")
policy = ww.Stays("at risk", 0.6, last=3) | ww.Repeats("at risk", 5)
readers = [
    model.reader(policy, state=Path("reader").read_bytes()),
    model.reader(policy, state=Path("reader.json").read_text(encoding="utf-8")),
]
watcher = model.watcher(policy, state=Path("watcher").read_bytes())
for post in json.loads(sys.argv[1]):
    for reader in readers:
        reader.read(post)
    watcher.read("ann", post)
for reader in readers:
    print(reader.to_bytes().hex())
print(watcher.to_bytes().hex())
"""


def test_another_process_resumes_to_the_same_bytes(tmp_path):
    posts = ["alone", "tired night", "garden", "alone", "alone", "alone", "sleep", "tired"]
    reader, watcher = some_reader(), some_watcher()
    taught().save(tmp_path / "model.ww")
    (tmp_path / "reader").write_bytes(reader.to_bytes())
    (tmp_path / "reader.json").write_text(reader.to_json(), encoding="utf-8")
    watcher.save(tmp_path / "watcher")
    for post in posts:
        reader.read(post)
        watcher.read("ann", post)
    assert reader.decision
    assert reader.decision.delay > 3
    output = subprocess.run(
        [sys.executable, "-W", "error", "-c", ELSEWHERE, json.dumps(posts)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = reader.to_bytes().hex()
    assert output.split() == [ours, ours, watcher.to_bytes().hex()]


def test_the_file_of_a_watcher_holds_its_bytes(tmp_path):
    watcher = some_watcher()
    watcher.save(tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == watcher.to_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_file_of_a_watcher_is_readable_by_its_owner_only(tmp_path):
    (tmp_path / "state").touch(0o644)
    some_watcher().save(tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600


def test_a_state_may_be_any_bytes_like_object():
    reader, watcher = some_reader(), some_watcher()
    for kind in (bytearray, memoryview):
        assert (
            taught().reader(REMEMBERING, state=kind(reader.to_bytes())).decision == reader.decision
        )
        again = taught().watcher(REMEMBERING, state=kind(watcher.to_bytes()))
        assert again.decisions() == watcher.decisions()


def test_a_state_belongs_to_equal_models_wherever_they_were_taught():
    other = ww.TauSS3.from_bytes(taught().to_bytes())
    assert other.fingerprint == taught().fingerprint
    assert (
        other.reader(REMEMBERING, state=some_reader().to_bytes()).decision == some_reader().decision
    )


def test_watcher_without_subjects_resumes():
    empty = taught().watcher(REMEMBERING)
    again = taught().watcher(REMEMBERING, state=empty.to_bytes())
    again.read("ann", "alone")
    assert again.subjects == ("ann",)


@pytest.mark.parametrize("name", ["lone \ud800 surrogate", "", "line\nend", "zoë", "\0", "x" * 999])
def test_any_text_can_be_an_id(name):
    watcher = taught().watcher(RISK)
    watcher.read_many(["before", name, "after"], ["alone"] * 3)
    again = taught().watcher(RISK, state=watcher.to_bytes())
    assert again.subjects == ("before", name, "after")
    assert again.decision(name) == watcher.decision(name)


def test_numbers_stay_numbers_as_labels():
    model, policy = taught((1, 2, 30)), ww.Overtakes(1)
    reader = model.reader(policy)
    reader.read("alone garden match")
    for state in (reader.to_bytes(), reader.to_json()):
        assert list(model.reader(policy, state=state).decision.confidence) == [1, 2, 30]


def test_a_state_of_names_does_not_fit_a_model_of_numbers():
    named = ww.TauSS3()
    named.learn_many(["alone", "garden"], ["1", "2"])
    numbered = ww.TauSS3()
    numbered.learn_many(["alone", "garden"], [1, 2])
    state = named.reader(ww.Overtakes("1")).to_bytes()
    with pytest.raises(ww.errors.StateError, match="saved with another policy"):
        numbered.reader(ww.Overtakes(1), state=state, allow_changed_model=True)


def test_negative_sums_are_kept():
    # A summary of one's own may well count what speaks against a label.
    def doubtful(rows):
        return rows.sum(axis=0) - 1

    model = ww.TauSS3(summary={"sentence": "sum", "paragraph": "sum", "document": doubtful})
    model.learn_many(["alone", "garden"], ["at risk", "control"])
    reader, watcher = model.reader(RISK), model.watcher(RISK)
    assert reader.read("what").confidence == {"at risk": -1.0, "control": -1.0}
    watcher.read("ann", "what")
    assert model.reader(RISK, state=reader.to_bytes()).decision == reader.decision
    assert model.reader(RISK, state=reader.to_json()).decision == reader.decision
    assert model.watcher(RISK, state=watcher.to_bytes()).decisions() == watcher.decisions()


@dataclass(frozen=True)
class Named(ww.Policy):
    positive: str
    name: str

    def alerts(self, step):
        return step.value > 0


def test_a_custom_policy_is_identified_by_its_fields():
    policy = Named("at risk", "lone \ud800 surrogate")
    reader, watcher = taught().reader(policy), taught().watcher(policy)
    reader.read("alone")
    watcher.read("ann", "alone")
    assert taught().reader(policy, state=reader.to_bytes()).decision == reader.decision
    assert taught().reader(policy, state=reader.to_json()).decision == reader.decision
    assert taught().watcher(policy, state=watcher.to_bytes()).decisions() == watcher.decisions()
    with pytest.raises(ww.errors.StateError, match="saved with another policy"):
        taught().reader(Named("at risk", "other"), state=reader.to_bytes())


# Another model


def more_taught():
    """Return a copy of the samples' model, to learn more, and its fingerprint."""
    model = ww.TauSS3.from_bytes(taught().to_bytes())
    return model, model.fingerprint


@pytest.mark.parametrize("make", ["to_bytes", "to_json"])
def test_the_state_of_a_reader_is_refused_after_the_model_learnt_more(make):
    model, _ = more_taught()
    state = getattr(some_reader(), make)()
    model.learn_one("alone in the garden", "at risk")
    with pytest.raises(
        ww.errors.StateError, match="saved with another model, or before this model"
    ):
        model.reader(REMEMBERING, state=state)


def test_the_state_of_a_watcher_is_refused_after_the_model_learnt_more():
    model, _ = more_taught()
    model.learn_one("alone in the garden", "at risk")
    with pytest.raises(ww.errors.StateError, match="allow_changed_model=True"):
        model.watcher(REMEMBERING, state=some_watcher().to_bytes())


def test_other_parameters_make_another_model():
    model = taught().replace(smoothness=0.3)
    assert model.fingerprint != taught().fingerprint
    with pytest.raises(ww.errors.StateError, match="another model"):
        model.reader(REMEMBERING, state=some_reader().to_bytes())


def test_what_was_unlearnt_again_makes_the_same_model():
    model, before = more_taught()
    model.learn_one("something else", "control")
    assert model.fingerprint != before
    model.unlearn_one("something else", "control")
    assert model.fingerprint == before
    assert (
        model.reader(REMEMBERING, state=some_reader().to_bytes()).decision == some_reader().decision
    )


def test_many_models_have_their_own_fingerprints():
    models = [ww.TauSS3() for _ in range(100)]
    for number, model in enumerate(models):
        model.learn_one(f"word{number}", "x")
    assert len({model.fingerprint for model in models}) == 100
    assert [model.fingerprint for model in models] == [model.fingerprint for model in models]


@pytest.mark.parametrize("make", ["to_bytes", "to_json"])
def test_a_changed_model_may_resume_with_the_sums_of_the_old_one(make):
    model, _ = more_taught()
    reader = some_reader()
    before = reader.decision.confidence
    model.learn_one("alone in the garden", "at risk")
    again = model.reader(REMEMBERING, state=getattr(reader, make)(), allow_changed_model=True)
    assert again.decision.confidence == before
    gains = model.confidence_one("garden")
    assert again.read("garden").confidence == {name: before[name] + gains[name] for name in before}
    assert again.decision.posts == 4


def test_a_changed_model_may_resume_with_the_subjects_of_the_old_one():
    model, _ = more_taught()
    watcher = some_watcher()
    model.learn_one("alone in the garden", "at risk")
    again = model.watcher(REMEMBERING, state=watcher.to_bytes(), allow_changed_model=True)
    assert again.decisions() == watcher.decisions()
    # Its own states are those of the new model.
    model.watcher(REMEMBERING, state=again.to_bytes())


def test_a_new_label_begins_with_0_in_an_old_state():
    model, _ = more_taught()
    reader, watcher = some_reader(), some_watcher()
    model.learn_one("match", "a new one")
    goes_on = model.reader(REMEMBERING, state=reader.to_bytes(), allow_changed_model=True)
    assert goes_on.decision.confidence == {**reader.decision.confidence, "a new one": 0.0}
    old = reader.decision.confidence["at risk"]
    found = goes_on.read("match").confidence
    assert found["at risk"] == old
    assert found["a new one"] == model.confidence_one("match")["a new one"] > 0
    watching = model.watcher(REMEMBERING, state=watcher.to_bytes(), allow_changed_model=True)
    sums = watcher.decision("bob").confidence
    assert watching.decision("bob").confidence == {**sums, "a new one": 0.0}
    watching.read_many(["bob", "new"], ["match", "match"])
    assert watching.decision("bob").confidence["control"] == sums["control"]
    assert watching.decision("new").confidence["a new one"] == found["a new one"]


def test_a_label_that_the_model_forgot_keeps_its_sum_in_states():
    three = taught(("at risk", "control", "sports"))
    model = ww.TauSS3.from_bytes(three.to_bytes())
    reader = model.reader(RISK)
    reader.read("match garden")
    kept = reader.decision.confidence["sports"]
    other = taught()  # it never knew about sports
    again = other.reader(RISK, state=reader.to_bytes(), allow_changed_model=True)
    assert again.read("alone").confidence["sports"] == kept > 0
    assert other.reader(RISK, state=again.to_bytes()).decision == again.decision


# Another policy


@pytest.mark.parametrize(
    "other",
    [ww.Overtakes("at risk", margin=0.6), RISK.after(2), ww.Overtakes("control", margin=0.5)],
)
def test_the_state_of_another_policy_is_refused(other):
    reader, watcher = some_reader(RISK), some_watcher(RISK)
    for state in (reader.to_bytes(), reader.to_json()):
        with pytest.raises(ww.errors.StateError, match="saved with another policy"):
            taught().reader(other, state=state, allow_changed_model=True)
    with pytest.raises(ww.errors.StateError, match=r": \{.*\"margin\": 0.5"):
        taught().watcher(other, state=watcher.to_bytes(), allow_changed_model=True)


def test_a_state_of_the_same_model_has_all_its_labels():
    whole = json.loads(some_reader().to_json())
    for at in range(len(whole["confidence"])):
        less = whole["confidence"][:at] + whole["confidence"][at + 1 :]
        with pytest.raises(ww.errors.StateError, match=r"corrupt: the label .* is missing"):
            taught().reader(REMEMBERING, state=json.dumps(whole | {"confidence": less}))


def test_a_state_that_holds_fewer_notes_than_the_policy_needs_is_refused():
    whole = json.loads(some_reader().to_json())
    whole["memory"] = whole["memory"][:-1]
    with pytest.raises(ww.errors.StateError, match="memory does not fit AnyOf"):
        taught().reader(REMEMBERING, state=json.dumps(whole))


# Damage


def refuses(make, state):
    with pytest.raises(ww.errors.StateError):
        make(taught(), REMEMBERING, state=state, allow_changed_model=True)


BYTES = [
    (ww.TauSS3.reader, some_reader().to_bytes()),
    (ww.TauSS3.watcher, some_watcher().to_bytes()),
]
KINDS = pytest.mark.parametrize(("make", "state"), BYTES, ids=["reader", "watcher"])


@KINDS
def test_a_state_cut_off_anywhere_is_refused(make, state):
    for size in range(len(state)):
        refuses(make, state[:size])


@KINDS
def test_a_state_with_a_changed_byte_anywhere_is_refused(make, state):
    for place in range(len(state)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(state)
            damaged[place] ^= change
            refuses(make, bytes(damaged))


@KINDS
def test_a_state_with_appended_bytes_is_refused(make, state):
    refuses(make, state + b"\0")
    refuses(make, state + state)


@given(st.binary(max_size=80), st.sampled_from([b"", b"wws\1", b"{}\n"]))
def test_other_bytes_are_refused(data, begin):
    refuses(ww.TauSS3.reader, begin + data)
    refuses(ww.TauSS3.watcher, begin + data)


def test_json_cut_off_anywhere_is_refused():
    state = some_reader().to_json()
    for size in range(len(state)):
        refuses(ww.TauSS3.reader, state[:size])


def test_states_of_readers_and_watchers_are_not_mixed_up():
    refuses(ww.TauSS3.reader, some_watcher().to_bytes())
    refuses(ww.TauSS3.watcher, some_reader().to_bytes())
    refuses(ww.TauSS3.watcher, some_reader().to_json().encode())


@pytest.mark.parametrize("state", [7, ["x"], {}])
def test_a_state_of_the_wrong_type_is_refused(state):
    for make in (ww.TauSS3.reader, ww.TauSS3.watcher):
        with pytest.raises(TypeError):
            make(taught(), REMEMBERING, state=state)


# Damage that knows the checksum


def signed(body):
    return body + struct.pack("<I", zlib.crc32(body))


def with_head(**changes):
    """Return a reader's state with other numbers in its head and a valid checksum."""
    layout = "<3sB16s8sIIHI"
    names = ["magic", "version", "model", "policy", "posts", "delay", "columns", "labels"]
    body = some_reader().to_bytes()[:-4]
    size = struct.calcsize(layout)
    head = dict(zip(names, struct.unpack(layout, body[:size]), strict=True)) | changes
    return signed(struct.pack(layout, *head.values()) + body[size:])


def test_a_state_parsed_and_rebuilt_is_the_same():
    assert with_head() == some_reader().to_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "unknown version 02"),
        ({"magic": b"WWS"}, "not a subject.s state"),
        ({"delay": 4}, "a delay exceeds the number of posts"),
        ({"labels": 2**32 - 1}, "corrupt"),
        ({"labels": 1}, "wrong size"),
        ({"labels": 0}, "wrong size"),
        ({"columns": 65535}, "corrupt"),
        ({"columns": 1}, "corrupt"),
        ({"policy": b"\0" * 8}, "saved with another policy"),
    ],
)
def test_wrong_numbers_in_the_bytes_of_a_reader_are_refused(changes, message):
    with pytest.raises(ww.errors.StateError, match=message):
        taught().reader(REMEMBERING, state=with_head(**changes), allow_changed_model=True)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_sums_and_memory_that_are_not_finite_are_refused(number):
    state = some_reader().to_bytes()
    head = struct.calcsize("<3sB16s8sIIHI")
    for place in (head, head + 16):  # the first value of the memory, the first sum
        body = state[:place] + struct.pack("<d", number) + state[place + 8 : -4]
        with pytest.raises(ww.errors.StateError, match="a number is not finite"):
            taught().reader(REMEMBERING, state=signed(body))


def test_duplicate_label_in_bytes_is_rejected():
    state = with_head(labels=3)
    entry = struct.pack("<dBI", 1.0, 0, 7) + b"control"
    refuses(ww.TauSS3.reader, signed(state[:-4] + entry))


@pytest.mark.parametrize("name", [b"9" * 4, b"9" * 19, b"9" * 5000, b"x"])
def test_a_label_in_bytes_beyond_64_bits_is_refused(name):
    entry = struct.pack("<dBI", 1.0, 1, len(name)) + name
    state = signed(with_head(labels=3)[:-4] + entry)
    if name == b"9" * 4:
        taught().reader(REMEMBERING, state=state)
    else:
        refuses(ww.TauSS3.reader, state)


def with_entries(**changes):
    return json.dumps(json.loads(some_reader().to_json()) | changes)


def test_too_many_posts_are_rejected_without_changes():
    full = with_entries(posts=2**32 - 1)
    reader = taught().reader(some_reader().policy, state=full)
    before = reader.to_bytes()
    with pytest.raises(ww.errors.StateError, match="4294967295 posts of a subject have been read"):
        reader.read("alone")
    assert reader.to_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "something else"},
        {"version": 2},
        {"version": None},
        {"model": "not hexadecimal"},
        {"model": 7},
        {"policy": None},
        {"policy": "Overtakes"},
        {"policy": {}},
        {"posts": -1},
        {"posts": 2**32},
        {"posts": 2.0},
        {"posts": "3"},
        {"posts": True},
        {"delay": -1},
        {"delay": 4},
        {"delay": None},
        {"memory": []},
        {"memory": [1.0, 2.0, 3.0]},
        {"memory": [1.0, float("nan")]},
        {"memory": [1.0, True]},
        {"memory": [1.0, 10**400]},
        {"memory": 7},
        {"confidence": {"at risk": 1.0}},
        {"confidence": [["at risk", float("nan")], ["control", 1.0]]},
        {"confidence": [["at risk", float("inf")], ["control", 1.0]]},
        {"confidence": [["at risk", "1"], ["control", 1.0]]},
        {"confidence": [["at risk", 10**400], ["control", 1.0]]},
        {"confidence": [["at risk", 1.0], ["at risk", 1.0]]},
        {"confidence": [["at risk"], ["control"]]},
        {"confidence": [[None, 1.0], ["control", 1.0]]},
        {"confidence": [["\ud800", 1.0], ["control", 1.0]]},
    ],
    ids=str,
)
def test_wrong_entries_in_json_are_refused(changes):
    refuses(ww.TauSS3.reader, with_entries(**changes))


def test_json_parsed_and_rebuilt_is_the_same():
    assert taught().reader(REMEMBERING, state=with_entries()).decision == some_reader().decision


@pytest.mark.parametrize("key", list(json.loads(some_reader().to_json())))
def test_a_missing_entry_in_json_is_refused(key):
    whole = json.loads(some_reader().to_json())
    del whole[key]
    refuses(ww.TauSS3.reader, json.dumps(whole))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(ANY_JSON)
def test_any_other_json_is_refused(value):
    refuses(ww.TauSS3.reader, json.dumps(value))


@given(st.sampled_from(list(json.loads(some_reader().to_json()))), ANY_JSON)
def test_any_other_entry_in_json_is_refused_or_accepted(key, value):
    # An entry may happen to be right; nothing but StateError may come of one that is not.
    with suppress(ww.errors.StateError):
        taught().reader(REMEMBERING, state=with_entries(**{key: value}), allow_changed_model=True)


def test_json_nested_too_deeply_is_refused():
    refuses(ww.TauSS3.reader, "[" * 100_000)
    # Somewhere on the way it is not too deep to be read, but to be written.
    for depth in [100_000, *range(700, 1000)]:
        nested = "[" * depth + "]" * depth
        refuses(ww.TauSS3.reader, with_entries(policy={"policy": "@"}).replace('"@"', nested))
        whole = with_header(policy="@")[:-32].replace(b'"@"', nested.encode())
        refuses(ww.TauSS3.watcher, resigned(whole))


def test_a_version_nested_too_deeply_is_refused():
    for depth in [100_000, *range(700, 1000, 7)]:
        nested = "[" * depth + "]" * depth
        refuses(ww.TauSS3.reader, with_entries(version="@").replace('"@"', nested))
        whole = with_header(version="@")[:-32].replace(b'"@"', nested.encode())
        refuses(ww.TauSS3.watcher, resigned(whole))


def test_too_many_rounds_are_rejected_without_changes():
    watcher = taught().watcher(REMEMBERING, state=with_header(rounds=2**32 - 1))
    before = watcher.to_bytes()
    with pytest.raises(ww.errors.StateError, match="4294967295 rounds have been read"):
        watcher.read_round({"ann": "alone"})
    assert watcher.to_bytes() == before


def resigned(whole):
    return whole + hashlib.sha256(whole).digest()


def with_header(body=None, **changes):
    """Return a watcher's state with other entries in its header and a valid checksum."""
    head, _, rest = some_watcher().to_bytes()[:-32].partition(b"\n")
    header = json.loads(head) | changes
    return resigned(json.dumps(header).encode() + b"\n" + (rest if body is None else body))


def test_a_watcher_parsed_and_rebuilt_is_the_same():
    assert with_header() == some_watcher().to_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "watchword state"},
        {"version": 2},
        {"version": "1"},
        {"model": None},
        {"model": "xyz"},
        {"policy": None},
        {"policy": {"policy": "Overtakes"}},
        {"labels": None},
        {"labels": 2},
        {"labels": ["at risk"]},
        {"labels": ["at risk", "at risk"]},
        {"labels": ["at risk", "control", "sports"]},
        {"labels": ["at risk", None]},
        {"memory": 0},
        {"memory": 3},
        {"memory": -1},
        {"memory": 10**12},
        {"rounds": -1},
        {"rounds": 1.5},
        {"rounds": 10**30},
        {"subjects": 0},
        {"subjects": 1},
        {"subjects": 3},
        {"subjects": -1},
        {"subjects": 10**12},
        {"subjects": 2**32 - 1},
        {"subjects": "2"},
        {"subjects": None},
    ],
    ids=str,
)
def test_wrong_entries_in_the_header_of_a_watcher_are_refused(changes):
    refuses(ww.TauSS3.watcher, with_header(**changes))


@given(
    st.sampled_from(["format", "version", "model", "policy", "labels", "memory", "rounds"]),
    ANY_JSON,
)
def test_any_other_entry_in_a_header_is_refused_or_accepted(key, value):
    with suppress(ww.errors.StateError):
        taught().watcher(REMEMBERING, state=with_header(**{key: value}), allow_changed_model=True)


def body_of(
    *, posts=(2, 1), delays=(0, 0), sums=(1.0,) * 4, memory=(0.0,) * 4, names=("ann", "bob")
):
    ids = [name if isinstance(name, bytes) else name.encode() for name in names]
    return b"".join(
        [
            struct.pack("<2I", *posts),
            struct.pack("<2I", *delays),
            struct.pack("<4d", *sums),
            struct.pack("<4d", *memory),
            struct.pack("<2I", *map(len, ids)),
            *ids,
        ]
    )


def test_a_body_in_the_documented_layout_is_read():
    state = with_header(body_of(delays=(2, 0), sums=(1.5, 2.5, 3.5, 4.5)))
    watcher = taught().watcher(REMEMBERING, state=state)
    assert as_tuple(watcher.decision("ann")) == ("at risk", 2, 2, {"at risk": 1.5, "control": 2.5})
    assert as_tuple(watcher.decision("bob")) == (None, 0, 1, {"at risk": 3.5, "control": 4.5})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delays": (3, 0)}, "a delay exceeds the number of posts"),
        ({"sums": (1.0, 1.0, float("nan"), 1.0)}, "a number is not finite"),
        ({"memory": (0.0, 0.0, 0.0, float("inf"))}, "a number is not finite"),
        ({"names": ("ann", "ann")}, "duplicate subject id"),
        ({"names": ("ann", b"\xff\xfe")}, "corrupt"),
    ],
)
def test_wrong_numbers_and_names_of_a_watcher_are_refused(changes, message):
    with pytest.raises(ww.errors.StateError, match=message):
        taught().watcher(REMEMBERING, state=with_header(body_of(**changes)))


@pytest.mark.parametrize("size", [0, 1, 2**31, 2**32 - 1])
def test_wrong_sizes_of_names_are_refused(size):
    body = bytearray(body_of())
    body[80:84] = struct.pack("<I", size)
    refuses(ww.TauSS3.watcher, with_header(bytes(body)))
