"""Stories as plain data, the input of timelines and pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from watchword._checks import Label
from watchword._display import many, plain
from watchword.errors import HookError
from watchword.streams.notation import spell_policy

if TYPE_CHECKING:
    from watchword.reasons.change import Change
    from watchword.reasons.story import Story


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
