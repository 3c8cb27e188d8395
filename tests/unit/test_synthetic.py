"""The generator of made-up risk streams."""

import hashlib
import re
from datetime import datetime, timezone

import pytest

import watchword as ww
from watchword import data as datasets
from watchword.data import synthetic
from watchword.data.synthetic import AT_RISK, CONTROL, SEQUENCE_PAIRS, make_risk_streams


@pytest.fixture(scope="module")
def streams():
    return make_risk_streams(200, seed=0, prevalence=0.3)


def words(text):
    return re.findall(r"\w+", text.lower())


def texts_of(subjects, label):
    return [post.text for subject in subjects if subject.label == label for post in subject.posts]


def share(texts, sentences):
    """Return the share of texts that contain one of the sentences."""
    return sum(any(sentence in text for sentence in sentences) for text in texts) / len(texts)


def test_the_generator_is_one_of_the_datasets():
    assert datasets.make_risk_streams is synthetic.make_risk_streams


def test_the_same_seed_gives_the_same_streams():
    assert make_risk_streams(20, seed=3) == make_risk_streams(20, seed=3)


def test_the_same_seed_gives_the_same_streams_on_every_python():
    made = [
        (one.id, one.label, [(post.text, post.title, post.time, post.id) for post in one.posts])
        for one in make_risk_streams(20, seed=3)
    ]
    assert hashlib.sha256(repr(made).encode()).hexdigest()[:16] == "6df907f333d721da"


def test_another_seed_gives_other_streams():
    assert make_risk_streams(20, seed=3) != make_risk_streams(20, seed=4)


@pytest.mark.parametrize(
    ("count", "prevalence", "expected"), [(10, 0.2, 2), (10, 0, 0), (10, 1, 10), (7, 0.5, 4)]
)
def test_prevalence_is_exact(count, prevalence, expected):
    labels = [subject.label for subject in make_risk_streams(count, seed=0, prevalence=prevalence)]
    assert len(labels) == count
    assert labels.count(AT_RISK) == expected
    assert set(labels) <= {AT_RISK, CONTROL}


def test_ids_are_unique(streams):
    assert len({subject.id for subject in streams}) == 200
    assert len({post.id for subject in streams for post in subject.posts}) == sum(
        len(subject.posts) for subject in streams
    )


def test_times_go_up(streams):
    for subject in streams:
        times = [post.time for post in subject.posts]
        assert times == sorted(set(times))
        assert times[0] >= datetime(2024, 1, 1, tzinfo=timezone.utc)


def test_lengths_of_streams_stay_in_their_range():
    counts = [len(one.posts) for one in make_risk_streams(100, seed=0, posts_per_subject=(3, 5))]
    assert set(counts) == {3, 4, 5}


def test_lengths_of_streams_may_be_one_number():
    streams = make_risk_streams(5, seed=0, posts_per_subject=7)
    assert [len(subject.posts) for subject in streams] == [7] * 5


def test_zero_subjects_give_no_streams():
    assert make_risk_streams(0, seed=0) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"n_subjects": -1},
        {"prevalence": 1.5},
        {"prevalence": float("nan")},
        {"posts_per_subject": 0},
        {"posts_per_subject": (5, 3)},
    ],
)
def test_bad_arguments_are_named(bad):
    arguments = {"n_subjects": 5, "seed": 0} | bad
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_risk_streams(**arguments)


def test_risk_language_rises_over_time(streams):
    risky = [pair[0] for pair in SEQUENCE_PAIRS]
    early, late = [], []
    for subject in streams:
        if subject.label == AT_RISK:
            third = len(subject.posts) // 3
            early += [post.text for post in subject.posts[:third]]
            late += [post.text for post in subject.posts[-third:]]
    assert share(late, risky) > 2 * share(early, risky)
    assert share(late, ["I feel so", "Woke up"]) > 2 * share(early, ["I feel so", "Woke up"])


def test_controls_never_write_the_risky_sequence(streams):
    assert share(texts_of(streams, CONTROL), [pair[0] for pair in SEQUENCE_PAIRS]) == 0


@pytest.mark.parametrize("pair", SEQUENCE_PAIRS)
def test_the_sentences_of_a_pair_have_the_same_words(pair):
    risky, harmless = pair
    assert sorted(words(risky)) == sorted(words(harmless))
    assert words(risky) != words(harmless)


def test_single_words_do_not_distinguish_a_pair():
    model = ww.TauSS3(max_ngram=1)
    for risky, harmless in SEQUENCE_PAIRS:
        model.learn_many([risky, harmless], [AT_RISK, CONTROL])
    for risky, _ in SEQUENCE_PAIRS:
        at_risk, control = model.confidence_one(risky).values()
        assert at_risk == control


def test_sequences_distinguish_the_sentences_of_a_pair():
    model = ww.TauSS3(max_ngram=3)
    for risky, harmless in SEQUENCE_PAIRS:
        model.learn_many([risky, harmless], [AT_RISK, CONTROL])
    for risky, harmless in SEQUENCE_PAIRS:
        assert model.predict_many([risky, harmless]) == [AT_RISK, CONTROL]


def test_controls_use_the_words_of_exhaustion_too(streams):
    used = {word for text in texts_of(streams, CONTROL) for word in words(text)}
    assert {"exhausted", "drained", "overwhelmed", "hopeless", "numb", "burnt"} <= used


def test_sequences_recognise_subjects_better_than_words(streams):
    taught, tested = streams[::2], streams[1::2]
    model = ww.TauSS3.paper()
    for subject in taught:
        model.learn_many(
            [post.content for post in subject.posts], [subject.label] * len(subject.posts)
        )
    histories = ["\n\n".join(post.content for post in subject.posts) for subject in tested]

    def accuracy(of_model):
        predicted = of_model.predict_many(histories)
        return sum(a == b.label for a, b in zip(predicted, tested, strict=True)) / len(tested)

    assert accuracy(model) > 0.85
    assert accuracy(model.replace(max_ngram=1)) < 0.75


def test_every_pair_is_written_equally_often_by_all_subjects():
    # Then, as both sentences of a pair have the same words, words tell nothing about a subject.
    streams = make_risk_streams(2000, seed=0, prevalence=0.5, posts_per_subject=20)
    shares = {}
    for label in (AT_RISK, CONTROL):
        texts = texts_of(streams, label)
        shares[label] = [share(texts, pair) for pair in SEQUENCE_PAIRS]
    assert shares[AT_RISK] == pytest.approx(shares[CONTROL], rel=0.15)


def test_distractors_are_as_frequent_in_both_groups(streams):
    harmless = ["detective", "second half", "the quiz", "an article on feeling", "After the race"]
    at_risk, control = (share(texts_of(streams, label), harmless) for label in (AT_RISK, CONTROL))
    assert control > 0.05
    assert at_risk == pytest.approx(control, abs=0.02)


def test_first_posts_of_subjects_at_risk_have_little_risk_language(streams):
    risky = [pair[0] for pair in SEQUENCE_PAIRS]
    firsts = [subject.posts[0].text for subject in streams if subject.label == AT_RISK]
    lasts = [subject.posts[-1].text for subject in streams if subject.label == AT_RISK]
    assert share(firsts, risky) < 0.2 < share(lasts, risky)
