"""watchword demo, make: a tour on synthetic data, and synthetic subjects, some of them at risk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from watchword import Explanation, TauSS3, replay_scores
from watchword._checks import Label
from watchword._files import atomic_file
from watchword.cli.base import COUNT, FiniteFloat, emit, progress, show, show_table, verb
from watchword.cli.files import SYNTHETIC, OutputPath
from watchword.cli.options import flag, option
from watchword.cli.policy_notation import parse_policy
from watchword.data import AT_RISK, CONTROL, Post, Subject, make_risk_streams, write_jsonl
from watchword.evaluation import Replay
from watchword.evaluation.objectives import as_percent
from watchword.evaluation.scores import score_streams
from watchword.explain.text_view import largest_contributions, to_terminal
from watchword.model import RankedNgram
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


@verb(example="watchword make streams.jsonl --subjects 60 --seed 1")
@click.argument("file", type=OutputPath(SYNTHETIC, of=Path))
@option("--subjects", "Number of subjects.", type=click.IntRange(1, 1_000_000), default=200)
@option("--seed", "Random seed.", type=int, default=0)
@option("--prevalence SHARE", "Share of subjects at risk.", type=FiniteFloat(0, 1), default=0.2)
@option(
    "--posts FEWEST MOST",
    "Range of the number of posts per subject.",
    type=COUNT,
    nargs=2,
    default=(10, 40),
)
@flag("--by-time", "Write one post per line, in order of time, instead of one subject per line.")
def make(
    file: Path, subjects: int, seed: int, prevalence: float, posts: tuple[int, int], by_time: bool
) -> None:
    """Write synthetic subjects, some of them at risk.

    The posts of subjects at risk show growing exhaustion. FILE is written as JSON lines with the
    true label as "label"; its name may end in .gz, except with --by-time. No data of real people is
    used.
    """
    made = make_risk_streams(subjects, seed=seed, prevalence=prevalence, posts_per_subject=posts)
    if by_time:
        with atomic_file(file) as target:
            target.writelines(_post_lines(made))
    else:
        write_jsonl(file, made)
    labels = Counter(str(subject.label) for subject in made)
    emit([{"file": str(file), "subjects": labels, "posts": sum(len(one.posts) for one in made)}])


def _post_lines(subjects: Sequence[Subject]) -> Iterator[bytes]:
    pairs = [(subject, post) for subject in subjects for post in subject.posts]

    def when(pair: tuple[Subject, Post]) -> str:
        return "" if pair[1].time is None else pair[1].time.isoformat()

    for subject, post in sorted(pairs, key=when):
        record = {"subject": subject.id, "label": subject.label, "time": when((subject, post))}
        record |= {"post_id": post.id, "title": post.title, "text": post.text}
        yield (json.dumps(record) + "\n").encode()
