"""watchword demo: a tour on synthetic data."""

from __future__ import annotations

from dataclasses import dataclass

import click

from watchword import Explanation, TauSS3, replay_scores
from watchword._checks import Label
from watchword.cli.base import progress, show, show_table, verb
from watchword.cli.options import option
from watchword.cli.policy_notation import parse_policy
from watchword.data import AT_RISK, CONTROL, Subject, make_risk_streams
from watchword.evaluation import Replay
from watchword.evaluation.objectives import as_percent
from watchword.evaluation.scores import score_streams
from watchword.model import RankedNgram
from watchword.show.terminal import largest_contributions, to_terminal
from watchword.streams.notation import spell_policy

_POLICIES = ("overtakes", "overtakes(margin=0.05)", "overtakes(margin=0.5)")


@dataclass(frozen=True)
class Demo:
    """The results of the demo."""

    taught: list[Subject]
    tested: list[Subject]
    calm: int  # test subjects that are not at risk
    right: dict[int, int]  # subjects recognised, by the longest n-gram used
    top: dict[Label, list[RankedNgram]]
    explanation: Explanation
    replays: list[Replay]


def make_demo(subjects: int, seed: int) -> Demo:
    """Train on half of the synthetic subjects and test on the others."""
    made = make_risk_streams(subjects, seed=seed, prevalence=0.3)
    risky = [subject for subject in made if subject.label == AT_RISK]
    others = [subject for subject in made if subject.label != AT_RISK]
    taught, tested = risky[::2] + others[::2], risky[1::2] + others[1::2]
    model = TauSS3()
    for subject in progress(taught, "learning", total=len(taught)):
        contents = [post.content for post in subject.posts]
        model.learn_many(contents, [subject.label or ""] * len(contents))
    histories = ["\n\n".join(post.content for post in subject.posts) for subject in tested]
    right = {}
    for length in range(1, model.parameters["max_ngram"] + 1):
        predicted = model.replace(max_ngram=length).predict_many(histories)
        pairs = zip(predicted, tested, strict=True)
        right[length] = sum(label == subject.label for label, subject in pairs)
    scores = score_streams(tested, model, AT_RISK)
    latest = "\n\n".join(post.content for post in tested[0].posts[-3:])
    return Demo(
        taught=taught,
        tested=tested,
        calm=sum(subject.label == CONTROL for subject in tested),
        right=right,
        top={label: model.top_ngrams(label, 8) for label in model.labels},
        explanation=model.explain(latest),
        replays=[replay_scores(scores, parse_policy(text, AT_RISK)) for text in _POLICIES],
    )


@verb(example="watchword demo --subjects 40 --seed 7")
@option(
    "--subjects", "Number of synthetic subjects.", type=click.IntRange(10, 100_000), default=200
)
@option("--seed", "Random seed.", type=int, default=0)
def demo(subjects: int, seed: int) -> None:
    """Train on synthetic subjects, classify others, and show why."""
    found = make_demo(subjects, seed)
    posts = sum(len(subject.posts) for subject in found.taught)
    show(
        f"Trained on {posts} posts of {len(found.taught)} synthetic subjects, some of them "
        f"increasingly exhausted.\nAccuracy on {len(found.tested)} other subjects:"
    )
    show(f"  {found.calm / len(found.tested):4.0%}  by always answering {CONTROL!r}")
    for length, right in found.right.items():
        known = "single words" if length == 1 else f"sequences of up to {length} words"
        show(f"  {right / len(found.tested):4.0%}  with {known}")
    for label, ngrams in found.top.items():
        show()
        rows = [{"n-gram": one, "value": value, "count": count} for one, value, count in ngrams]
        show_table(rows, title=f"N-grams of highest value for {label!r}")
    show()
    show(f"The latest posts of a subject at risk, painted by evidence for {AT_RISK!r}:\n")
    show(to_terminal(found.explanation, AT_RISK))
    show()
    show(f"Largest contributions to {AT_RISK!r}:\n")
    show_table([one._asdict() for one in largest_contributions(found.explanation, AT_RISK, 5)])
    show()
    show("Alerts when reading post by post, by policy:\n")
    show_table([_row(replay) for replay in found.replays])


def _row(replay: Replay) -> dict[str, object]:
    measures = replay.measures
    assert measures is not None  # noqa: S101  (synthetic subjects have labels)
    right = round(measures.recall * measures.positives)
    return {
        "policy": spell_policy(replay.policy),
        "found": f"{right} of {measures.positives}",
        "false alarms": measures.alerts - right,
        "median delay": f"{measures.median_delay:g} posts" if right else None,
        "ERDE5": as_percent(measures.erde5, 1),
        "ERDE50": as_percent(measures.erde50, 1),
        "F1": measures.f1,
    }
