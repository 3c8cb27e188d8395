"""Stories of subjects: the values post by post, the decision, and what tipped it.

Created by `TauSS3.story`. Reading all posts is fast; their n-grams are looked up on demand, and
only for the posts that matter. A story is live: it has the texts and the model. What the service
keeps with an alert is small plain data: `alert.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from watchword._checks import Label, as_list, as_texts, as_whole
from watchword._display import ToDict, many, plain
from watchword.data import Post, Subject
from watchword.errors import HookError
from watchword.explain.alerts import History, change_of_alert
from watchword.explain.change import Change
from watchword.explain.weights import differences, strongest
from watchword.model.engine import Engine
from watchword.model.explanation import Explanation
from watchword.streams.histories import Histories, Series
from watchword.streams.notation import spell_policy
from watchword.streams.policies import FEATURES, Policy, Weighs, as_policy
from watchword.streams.readers import Decision

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plain_story(
    story: Story, *, texts: int, characters: int, changes: bool = True
) -> dict[str, Any]:
    """Return a story as plain data, with the texts of at most `texts` posts."""
    labels, decision = story.labels, story.decision
    return {
        "subject": story.subject,
        "truth": story.truth,
        "labels": list(labels),
        "positive": story.positive,
        "refined": story.history.engine.is_refined,
        "policy": story.policy.to_dict(),
        "policy_text": spell_policy(story.policy),
        "decision": {
            "label": decision.label,
            "delay": decision.delay,
            "posts": decision.posts,
            "sums": [decision.confidence[label] for label in labels],
        },
        "times": [_time(one) for one in story.posts],
        "added": story.history.gains.tolist(),
        "sums": story.history.sums.tolist(),
        "tipped": story.tipped.to_dict(),
        "weighed": plain(story.weighed),
        "changes": _changes(story) if changes else [],
        "shown": [_shown(story, number, characters) for number in _worth_showing(story, texts)],
    }


def decision_text(
    positive: Label,
    truth: Label | None,
    *,
    delay: int,
    posts: int,
    spell: Callable[[Label], str] = repr,
) -> str:
    """Return a decision about a subject in words, and whether it is right, where that is known.

    `spell` turns a label into text or markup.

    >>> decision_text("at risk", "control", delay=2, posts=5)
    "Alert for 'at risk' after 2 of 5 posts. The true label is 'control': a false alarm."
    """
    if delay:
        text = f"Alert for {spell(positive)} after {delay:,} of {many(posts, 'post')}."
    else:
        text = f"No alert for {spell(positive)} in {many(posts, 'post')}."
    if truth is None:
        return text
    verdict = "right" if (truth == positive) == bool(delay) else "missed"
    if verdict == "missed" and delay:
        verdict = "a false alarm"
    return f"{text} The true label is {spell(truth)}: {verdict}."


def _time(one: Any) -> str | None:
    return None if one.post.time is None else one.post.time.isoformat()


def _changes(story: Story) -> list[dict[str, Any]]:
    """Return the changes that would have delayed or cancelled the alert, if there are any."""
    if not story.decision or story.history.is_given:
        return []
    found: list[Change] = []
    try:
        found = [story.what_would_delay(), story.what_would_cancel()]
    except HookError:  # with user-defined summary functions, n-grams have no shares
        return []
    return [change.to_dict() for change in found]


def _worth_showing(story: Story, most: int) -> list[int]:
    """Return the numbers of the posts to show: the alert's, then those that tipped it most."""
    every = len(story.posts)
    if every <= most:
        return list(range(1, every + 1))
    chosen = [story.decision.delay] if story.decision else []
    tipped = story.tipping(most)
    against = [one.number for one in tipped.posts_against]
    chosen += [one.number for one in tipped.posts_for[: most - most // 3]]
    chosen += [*against, *(one.number for one in tipped.posts_for)]
    return sorted(list(dict.fromkeys(chosen))[:most])


def _shown(story: Story, number: int, characters: int) -> dict[str, Any]:
    one = story.posts[number - 1]
    content = one.post.content
    beginning = _beginning(content, characters)
    whole = len(beginning) == len(content)
    explanation = one.explanation if whole else story.history.engine.explain(beginning)
    return {
        "number": number,
        "id": one.post.id,
        "time": _time(one),
        "left_out": len(content) - len(beginning),
        "explanation": explanation.to_dict(),
    }


def _beginning(text: str, characters: int) -> str:
    """Return at most `characters` characters, cut at a word boundary unless it is too far back."""
    if len(text) <= characters:
        return text
    cut = text[:characters]
    at = max(cut.rfind(" "), cut.rfind("\n"))
    return cut[:at] if at > characters // 2 else cut


_TEXTS = 12  # posts shown with their text
_CHARACTERS = 20_000  # shown of each text


@dataclass(frozen=True)
class StoryPost:
    """A post (numbered from 1), the confidence it added, and the sums up to this post.

    In a refined model, it adds probabilities; the scores are in the explanation.
    """

    number: int
    post: Post
    added: dict[Label, float]
    sums: dict[Label, float]
    _engine: Engine = field(repr=False, compare=False)

    @cached_property
    def explanation(self) -> Explanation:
        """The explanation of the post, computed on first use."""
        return self._engine.explain(self.post.content)


@dataclass(frozen=True)
class TippingPost(ToDict):
    """A post's contribution per label; `difference` is positive label minus rival."""

    number: int
    contribution: tuple[float, ...]
    difference: float


@dataclass(frozen=True)
class TippingNgram(ToDict):
    """The contribution of all occurrences of an n-gram, with the numbers of these and of posts."""

    ngram: str
    times: int
    posts: int
    contribution: tuple[float, ...]
    difference: float


@dataclass(frozen=True)
class Tipped(ToDict):
    """The strongest evidence for and against the positive label, strongest first.

    Covers the posts up to the alert or, without one, all posts. Evidence against the positive label
    is evidence for its rival, the best other label at that point. In a refined model, posts add
    probabilities, and n-grams, which overlap, add to the scores of the posts.
    """

    posts: int
    rival: Label | None
    posts_for: tuple[TippingPost, ...]
    posts_against: tuple[TippingPost, ...]
    ngrams_for: tuple[TippingNgram, ...]
    ngrams_against: tuple[TippingNgram, ...]


@dataclass(frozen=True)
class WeighedFeature(ToDict):
    """A feature of the history at the decision, its weight, and their product."""

    feature: str
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True)
class WeighedSum(ToDict):
    """The features that a policy `Weighs` weighed at the decision, the largest product first.

    Their contributions add up to `total`, which is compared with the threshold.
    """

    post: int
    total: float
    threshold: float
    features: tuple[WeighedFeature, ...]


@dataclass(frozen=True)
class Story:
    """The history of one subject under a policy: posts, decision and reasons.

    >>> import watchword as ww
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> story = model.story(["lovely", "I cannot", "sleep, cannot"], ww.Overtakes("at risk"))
    >>> story.decision.delay, story.posts[2].sums == story.decision.confidence
    (3, True)
    >>> [(one.ngram, one.times) for one in story.tipped.ngrams_for]
    [('cannot', 2), ('sleep', 1)]
    """

    subject: str | None
    truth: Label | None
    policy: Policy
    labels: tuple[Label, ...]
    posts: tuple[StoryPost, ...]
    decision: Decision
    history: History = field(repr=False, compare=False)  #: the numbers behind the story

    @property
    def positive(self) -> Label:
        """The positive label of the policy."""
        return self.policy.positive

    @cached_property
    def tipped(self) -> Tipped:
        """The ten posts and n-grams with the strongest evidence for and against an alert."""
        return self.tipping(10)

    def tipping(self, most: int) -> Tipped:
        """Return the strongest evidence, with at most `most` entries per list.

        With user-defined summary functions there are no n-grams, because they have no shares.
        """
        most = as_whole("most", most, 0)
        history = self.history
        until = history.alert or len(self.posts)
        rival = history.rival(until)
        gains = history.gains[:until]
        favoured = differences(gains, history.column, rival).tolist()
        rows = zip(map(tuple, gains.tolist()), favoured, strict=True)
        posts = [TippingPost(number, *row) for number, row in enumerate(rows, 1)]
        try:
            ngrams = self._ngrams(until, rival)
        except HookError:
            ngrams = []
        return Tipped(
            until,
            None if rival is None else self.labels[rival],
            *map(tuple, strongest(posts, most)),
            *map(tuple, strongest(ngrams, most)),
        )

    def _ngrams(self, until: int, rival: int | None) -> list[TippingNgram]:
        history = self.history
        rows: dict[str, int] = {}
        places, posts = [], []
        for post in range(until):
            ngrams = history.weights(post).terms.ngrams
            places += [rows.setdefault(ngram, len(rows)) for ngram in ngrams]
            posts += [post] * len(ngrams)
        sums = np.zeros((len(rows), len(self.labels)))
        times = np.zeros(len(rows), np.int64)
        if until:
            terms = [history.weights(post).terms for post in range(until)]
            np.add.at(sums, places, np.concatenate([own.contributions for own in terms]))
            np.add.at(times, places, np.concatenate([own.times for own in terms]))
        pairs = np.unique(np.array([places, posts], np.int64), axis=1)[0]
        in_posts = np.bincount(pairs, minlength=len(rows))
        favoured = differences(sums, history.column, rival).tolist()
        contributions = map(tuple, sums.tolist())
        columns = zip(rows, times.tolist(), in_posts.tolist(), contributions, favoured, strict=True)
        return list(starmap(TippingNgram, columns))

    @cached_property
    def weighed(self) -> tuple[WeighedSum, ...]:
        """The weighed features of each part of the policy, at the alert or the last post.

        Empty without such parts, without posts, and if the caller gave the alert.

        >>> import watchword as ww
        >>> model = ww.TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> policy = ww.Weighs("at risk", share=2, posts=0.5, threshold=2)
        >>> story = model.story(["I cannot sleep", "sleep"], policy)
        >>> [(one.feature, round(one.contribution, 2)) for one in story.weighed[0].features]
        [('share', 2.0), ('posts', 0.0)]
        """
        until = self.history.alert or len(self.posts)
        if self.history.is_given or not until:
            return ()
        return tuple(_weighed(one, self.history, until) for one in _weighing(self.policy))

    def what_would_delay(self) -> Change:
        """Return the fewest n-gram occurrences without which the alert would have come later.

        Their contributions are set to zero; the text is not read again. Raises `ValueError` without
        an alert.
        """
        return change_of_alert(self.history, "delay")

    def what_would_cancel(self) -> Change:
        """Return the fewest n-gram occurrences without which there would be no alert so far.

        >>> import watchword as ww
        >>> model = ww.TauSS3()
        >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
        >>> story = model.story(["I cannot sleep", "sleep"], ww.Overtakes("at risk"))
        >>> [(one.post, one.ngram) for one in story.what_would_cancel().occurrences]
        [(1, 'cannot'), (1, 'sleep'), (2, 'sleep')]
        """
        return change_of_alert(self.history, "cancel")

    # For renderers

    def to_dict(self, *, texts: int = _TEXTS, characters: int = _CHARACTERS) -> dict[str, Any]:
        """Return everything that charts and pages need, as plain data.

        The posts that tipped the decision include at most `texts` texts, each cut after
        `characters` characters.
        """
        return plain_story(
            self,
            texts=as_whole("texts", texts, 0),
            characters=as_whole("characters", characters, 0),
        )

    def to_html(self, *, texts: int = _TEXTS, characters: int = _CHARACTERS) -> str:
        """Return a snippet of HTML; for the arguments, see `to_dict`."""
        from watchword.explain.story_view import story_html

        return story_html(self.to_dict(texts=texts, characters=characters))

    def to_page(self, *, texts: int = _TEXTS, characters: int = _CHARACTERS) -> str:
        """Return a self-contained page; for the arguments, see `to_dict`."""
        from watchword.explain.story_view import story_page

        return story_page(self.to_dict(texts=texts, characters=characters))

    def _repr_html_(self) -> str:
        return self.to_html(texts=5, characters=2_000)

    def timeline_svg(self) -> str:
        """Return the accumulated confidence of each label over the posts as standalone SVG."""
        from watchword.explain.timeline import timeline_svg

        return timeline_svg(self.to_dict(texts=0))

    def plot_timeline(self, ax: Axes | None = None) -> Axes:
        """Draw the timeline with matplotlib on the given or new axes."""
        from watchword.explain.timeline import plot_timeline

        return plot_timeline(self.to_dict(texts=0), ax)


def tell(
    engine: Engine,
    posts: Subject | Iterable[str | Post],
    policy: Policy,
    *,
    alert: int | None = None,
) -> Story:
    """Return the story of a subject.

    `alert` gives the delay of the alert if it cannot be found from one subject alone.
    """
    if as_policy("policy", policy).is_population and alert is None:
        raise ValueError(
            f"{policy!r} compares all subjects of a round: a single subject has no story"
        )
    known = posts if isinstance(posts, Subject) else None
    given = known.posts if known else as_list(posts, "posts")  # type: ignore[arg-type]
    as_texts([post.content if isinstance(post, Post) else post for post in given])
    written = [post if isinstance(post, Post) else Post(post) for post in given]
    history = History.read(engine, policy, [post.content for post in written], alert=alert)
    labels = history.labels
    gains, sums = history.gains.tolist(), history.sums.tolist()
    read = tuple(
        StoryPost(
            at + 1,
            post,
            dict(zip(labels, gains[at], strict=True)),
            dict(zip(labels, sums[at], strict=True)),
            history.engine,
        )
        for at, post in enumerate(written)
    )
    return Story(
        subject=known.id if known else None,
        truth=known.label if known else None,
        policy=policy,
        labels=labels,
        posts=read,
        decision=Decision(
            policy.positive if history.alert else None,
            history.alert,
            len(read),
            read[-1].sums if read else dict.fromkeys(labels, 0.0),
            known.id if known else None,
        ),
        history=history,
    )


def _weighing(policy: Policy) -> list[Weighs]:
    """Return the parts of a policy that weigh features."""
    if isinstance(policy, Weighs):
        return [policy]
    return [one for part in policy.parts for one in _weighing(part)]


def _weighed(policy: Weighs, history: History, until: int) -> WeighedSum:
    own = Histories([Series.from_gains(history.gains[:until], history.column)])
    values, products = (row[-1].tolist() for row in (own.features, policy.contributions(own)))
    found = [
        WeighedFeature(name, values[FEATURES.index(name)], weight, product)
        for (name, weight), product in zip(policy.weights.items(), products, strict=True)
    ]
    ordered = sorted(found, key=lambda one: -abs(one.contribution))
    return WeighedSum(until, sum(products), policy.threshold, tuple(ordered))
