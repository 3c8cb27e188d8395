"""watchword make: synthetic subjects, some of them at risk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from watchword._files import atomic_file
from watchword.cli.base import COUNT, FiniteFloat, emit, verb
from watchword.cli.files import SYNTHETIC, OutputPath
from watchword.cli.options import flag, option
from watchword.data import Post, Subject, make_risk_streams, write_jsonl


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
