"""PAN 2012: conversations read as subjects, one per author."""

import pytest

import watchword as ww
from erisk_files import write
from watchword.erisk import read_pan
from watchword.errors import DataFormatError
from watchword.evaluation.metrics import f_score

CONVERSATIONS = """<?xml version="1.0" encoding="UTF-8"?>
<conversations>
  <conversation id="c1">
    <message line="1"><author>97964e7a</author><time>03:20</time><text>Hola.</text></message>
    <message line="2"><author>0158d0d6</author><time>03:20</time><text>hi &lt;3</text></message>
    <message line="3"><author>0158d0d6</author><time>03:21</time><text></text></message>
    <message line="4"><author>97964e7a</author><time>03:21</time><text>how are you?</text></message>
  </conversation>
  <conversation id="c2">
    <message line="1"><author>0158d0d6</author><time>11:00</time><text>again</text></message>
    <message line="2"><author>aaaa</author><time>11:01</time><text>who?</text></message>
  </conversation>
</conversations>
"""


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "training.xml", CONVERSATIONS), write(
        tmp_path / "ids.txt", "97964e7a\r\n\n"
    )


def test_authors_are_subjects_with_their_messages(files):
    first, second, third = read_pan(*files)
    assert [(one.id, one.label) for one in (first, second, third)] == [
        ("97964e7a", "predator"),
        ("0158d0d6", "other"),
        ("aaaa", "other"),
    ]
    assert [post.text for post in first.posts] == ["Hola.", "how are you?"]
    assert [post.text for post in second.posts] == ["hi <3", "", "again"]
    assert second.posts[0].id == "c1-2"


def test_the_context_is_what_others_wrote_since_the_last_message(files):
    first, second, third = read_pan(*files)
    assert [post.context for post in first.posts] == [(), ("hi <3",)]
    assert [post.context for post in second.posts] == [("Hola.",), (), ()]
    assert third.posts[0].context == ("again",)


def test_without_a_list_there_are_no_labels(files):
    assert {one.label for one in read_pan(files[0])} == {None}


def test_authors_can_be_replayed_and_measured_by_f_half(files):
    people = read_pan(*files)
    model = ww.TauSS3()
    ww.teach(model, people)
    found = ww.replay(people, model, ww.Overtakes("predator"))
    alerted = [one.label or "other" for one in found.outcomes]
    truth = [one.truth for one in found.outcomes]
    assert f_score(truth, alerted, positive="predator", beta=0.5) == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<conversations>", "not valid XML"),
        ("<conversations/>", "contains no message"),
        ("<!DOCTYPE x [<!ENTITY y 'z'>]><x>&y;</x>", "document types are not allowed"),
        ("<c><conversation id='k'><message/></conversation></c>", "conversation 'k' has no author"),
        (
            "<c><conversation id='k'><message><author>a</author><body>Hi</body></message>"
            "</conversation></c>",
            "conversation 'k' has no text",
        ),
    ],
)
def test_wrong_conversations_are_errors(tmp_path, content, message):
    with pytest.raises(DataFormatError, match=message):
        read_pan(write(tmp_path / "file.xml", content))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataFormatError, match=r"no\.xml: No such file"):
        read_pan(tmp_path / "no.xml")


def test_a_predator_who_is_not_an_author_is_an_error(files):
    with pytest.raises(DataFormatError, match=r"ids\.txt: zz is not among the authors"):
        read_pan(files[0], write(files[1], "97964e7a\nzz\n"))


# F_β


def test_f_half_weighs_precision_more():
    truth, alerts = [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]  # precision 1/2, recall 1/3
    assert f_score(truth, alerts, positive=1) == pytest.approx(0.4)
    expected = 1.25 * (1 / 2) * (1 / 3) / (0.25 / 2 + 1 / 3)
    assert f_score(truth, alerts, positive=1, beta=0.5) == pytest.approx(expected)
    assert f_score(truth, [0] * 5, positive=1, beta=0.5) == 0
