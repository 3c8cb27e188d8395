"""Why an alert was raised, as plain data small enough to keep with it.

Whoever reads it needs neither the texts nor the model. A story (`story.py`) is live: it has both,
and looks up the n-grams of any post.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter
from typing import Any, Literal

import msgspec

from watchword._checks import Label
from watchword._display import ToDict
from watchword.errors import HookError
from watchword.model.engine import Engine
from watchword.reasons.weights import differences, strongest, weigh_terms

_MOST = 10  # entries per list


@dataclass(frozen=True)
class ReasonNgram(ToDict):
    """An n-gram: how often it occurs, and how far it favours the positive label over the rival.

    The difference is the sum of the counted and, in a refined model, the corrected part.
    """

    ngram: str
    times: int
    difference: float
    counted: float
    corrected: float


@dataclass(frozen=True)
class ReasonPost(ToDict):
    """A post, numbered from 1, and how far it favours the positive label over the rival."""

    number: int
    post_id: str | None
    time: str | None
    difference: float


@dataclass(frozen=True)
class AlertReasons(ToDict):
    """The strongest evidence for and against an alert, strongest first.

    `rival` is the best other label at the alert. The n-grams are those of the post that raised the
    alert (`ngrams_of` is "alerting post"), or of all posts up to it where their texts are known
    ("all posts"). `covers` is the number of posts whose n-grams were looked up.
    """

    rival: Label | None = None
    ngrams_of: Literal["alerting post", "all posts"] = "alerting post"
    covers: int = 0
    ngrams_for: tuple[ReasonNgram, ...] = ()
    ngrams_against: tuple[ReasonNgram, ...] = ()
    posts_for: tuple[ReasonPost, ...] = ()
    posts_against: tuple[ReasonPost, ...] = ()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AlertReasons:
        """Return the reasons that `to_dict` described.

        >>> AlertReasons.from_dict(AlertReasons("control", covers=1).to_dict()).covers
        1
        """
        return msgspec.convert(data, cls)


def alert_reasons(
    engine: Engine,
    texts: Sequence[str],
    *,
    positive: Label,
    sums: dict[Label, float],
    posts: Sequence[tuple[int, str | None, str | None, dict[Label, float]]] = (),
    every: bool = False,
    most: int = _MOST,
) -> AlertReasons:
    """Return why the sums of a subject led to an alert.

    `texts` are the text that raised the alert or, if `every`, those of all posts up to it. `posts`
    has the number, the id, the time and the contribution of each post.

    >>> import watchword as ww
    >>> from watchword.model.engine import engine_of
    >>> model = ww.TauSS3()
    >>> model.learn_many(["cannot sleep", "lovely garden"], ["at risk", "control"])
    >>> engine, sums = engine_of(model), {"at risk": 2.0, "control": 0.0}
    >>> reasons = alert_reasons(engine, ["I cannot sleep"], positive="at risk", sums=sums)
    >>> [(one.ngram, one.corrected) for one in reasons.ngrams_for], reasons.rival
    ([('cannot', 0.0), ('sleep', 0.0)], 'control')
    """
    rival = max((one for one in sums if one != positive), key=sums.__getitem__, default=None)
    ngrams = _ngrams(engine, texts, positive, rival)
    weighed = [
        (number, post, time, own.get(positive, 0.0) - own.get(rival, 0.0))  # type: ignore[arg-type]
        for number, post, time, own in posts
    ]
    ngrams_for, ngrams_against = strongest(ngrams, most, itemgetter(2))
    posts_for, posts_against = strongest(weighed, most, itemgetter(3))
    return AlertReasons(
        rival,
        "all posts" if every else "alerting post",
        len(texts),
        tuple(starmap(ReasonNgram, ngrams_for)),
        tuple(starmap(ReasonNgram, ngrams_against)),
        tuple(starmap(ReasonPost, posts_for)),
        tuple(starmap(ReasonPost, posts_against)),
    )


def _ngrams(
    engine: Engine, texts: Sequence[str], positive: Label, rival: Label | None
) -> list[tuple[str, int, float, float, float]]:
    """Return the fields of `ReasonNgram` for all n-grams of the texts.

    None with summary functions, whose values have no shares.
    """
    labels = engine.labels
    column = labels.index(positive)
    other = labels.index(rival) if rival in labels else None
    found: dict[str, list[Any]] = {}
    try:
        for text in texts:
            terms = weigh_terms(engine, text)
            parts = (terms.counted, terms.corrections)
            favoured = (differences(one, column, other).tolist() for one in parts)
            columns = zip(terms.ngrams, terms.times.tolist(), *favoured, strict=True)
            for ngram, times, counted, corrected in columns:
                own = found.setdefault(ngram, [0, 0.0, 0.0])
                own[0] += times
                own[1] += counted
                own[2] += corrected
    except HookError:
        return []
    return [
        (ngram, times, counted + corrected, counted, corrected)
        for ngram, (times, counted, corrected) in found.items()
    ]
