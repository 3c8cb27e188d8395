"""Small models, posts and policies for tests of streams."""

from functools import cache

import numpy as np
from hypothesis import strategies as st

import watchword as ww
from strategies import examples
from watchword.streams.policies import FEATURES, After, RankedBy

# Policies are slow to draw, and many tests draw them.
FEWER = examples(0.5)

LABELS = [("at risk",), ("at risk", "control"), ("at risk", "control", "sports"), (1, 2, 30)]
TEXTS = [
    "alone tired alone alone sleep tired alone night night",
    "garden sun garden garden lovely sun today night",
    "match goal match match today today",
]


def eighths(rows):
    """Sum rows and round to eighths, which makes sums and differences of the results exact."""
    return np.round(8 * rows.sum(axis=0)) / 8


@cache
def taught(labels=LABELS[1], *, exact=False):
    """Return a model in which most words indicate one label, some two."""
    rounded = {"sentence": "sum", "paragraph": "sum", "document": eighths}
    model = ww.TauSS3.paper(summary=rounded if exact else "sum", max_ngram=2)
    model.learn_many(TEXTS[: len(labels)], labels)
    return model


POSTS: list[str | ww.Post] = [
    "",
    "nobody knows these words",
    "alone",
    "tired. And so alone!",
    "sleep",
    "night",
    "garden",
    "lovely sun in the garden",
    "sun. alone",
    "match",
    "goal today",
    "alone tired alone alone",
    ww.Post("night night", title="tired"),
    ww.Post("garden garden", title=""),
]
CONTENTS = [post.content if isinstance(post, ww.Post) else post for post in POSTS]
AS_POSTS = [post if isinstance(post, ww.Post) else ww.Post(post) for post in POSTS]


@cache
def worth(model):
    """Return the confidence of each post by itself."""
    return [model.confidence_one(content) for content in CONTENTS]


# Policies

SHARES = st.one_of(st.sampled_from([0.0, 0.4, 0.5, 0.55, 0.7, 1.0]), st.floats(0, 1))
SCORES = st.sampled_from(["share", "softmax", "difference", "log_ratio"])


def simple_policies(positive):
    label = st.just(positive)
    ratios = st.sampled_from([0.0, 0.5, 1.0, 1.3, 2.0])
    margins = st.sampled_from([-0.5, 0.0, 0.3, 1.0, 2.5])
    return st.one_of(
        st.builds(ww.Overtakes, label, ratios, margins),
        st.builds(ww.Leaps, label, st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0])),
        st.builds(ww.Reaches, label, SHARES, SCORES),
        st.builds(ww.Stays, label, SHARES, st.integers(0, 3), SCORES),
        st.builds(ww.Repeats, label, st.integers(1, 4)),
        st.builds(
            ww.ReachesFalling,
            label,
            SHARES,
            SHARES,
            st.integers(0, 4),
            st.sampled_from([0.5, 2.0, 10.0]),
            SCORES,
        ),
        weighing(label),
    )


def weighing(label):
    weights = st.sampled_from([0.0, 0.0, 1.0, -0.5, 2.5, 0.3])
    thresholds = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
    named = dict.fromkeys(FEATURES, weights)
    return st.builds(ww.Weighs, label, **named, threshold=thresholds)


def combined(first, second):
    return st.one_of(
        st.builds(After, first, st.integers(1, 6)),
        st.builds(RankedBy, first, SCORES),
        st.builds(lambda a, b: a | b, first, second),
        st.builds(lambda a, b: b & a, first, second),
    )


@cache
def policies(positive):
    """Return a strategy of policies about one subject, nested a few levels deep."""
    return st.recursive(
        simple_policies(positive), lambda inner: combined(inner, inner), max_leaves=5
    )


@cache
def population_policies(positive):
    """Return a strategy of policies that compare subjects, some combined with others."""
    gammas = st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5])
    base = st.builds(ww.StandsOut, st.just(positive), gammas)
    return st.recursive(base, lambda inner: combined(inner, policies(positive)), max_leaves=3)


@st.composite
def worlds(draw, kind=policies, labels=LABELS, exact=False):
    """Draw a model and a policy for one of its labels."""
    model = taught(draw(st.sampled_from(labels)), exact=exact)
    return model, draw(kind(draw(st.sampled_from(model.labels))))


# Streams

PLACES = st.integers(0, len(POSTS) - 1)  # of posts
SUBJECTS = st.sampled_from(["ann", "bob", "", "zoë\ud800"])
EVENTS = st.lists(st.tuples(SUBJECTS, PLACES), max_size=24)
ROUNDS = st.lists(st.dictionaries(SUBJECTS, PLACES, max_size=4), max_size=9)
STREAMS = st.dictionaries(SUBJECTS, st.lists(PLACES, max_size=9), max_size=4)


@st.composite
def cut(draw, items):
    """Cut the items into consecutive parts, some of them empty."""
    ends = sorted(draw(st.lists(st.integers(0, len(items)), max_size=4)))
    return [items[a:b] for a, b in zip([0, *ends], [*ends, len(items)], strict=True)]


def places_by_subject(events):
    """Return the indices of each subject's posts, in the order of events."""
    found = {}
    for subject, place in events:
        found.setdefault(subject, []).append(place)
    return found


def as_subjects(streams, **more):
    return [
        ww.Subject(subject, [AS_POSTS[place] for place in places], **more)
        for subject, places in streams.items()
    ]


def as_tuple(decision):
    return decision.label, decision.delay, decision.posts, decision.confidence
