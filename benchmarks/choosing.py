"""Which setting `tune` should choose among thousands: `choosing.py [FOLDER …]`.

Nested cross-validation on training subjects: every setting is tried on inner folds as in `tune`,
each rule chooses one, and its value is measured on the outer fold, which took no part. Synthetic
streams of several sizes are made with `--synthetic`. Test parts are not looked at.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from command import run_command
from numpy.typing import NDArray
from ours import watchword
from report import BenchmarkError, markdown_table, say
from stream_ours import FOLDS, OURS, SEED, subjects_of
from stream_parts import POSITIVE, read_part
from stream_threshold import FIRST_POSTS

FloatArray = NDArray[np.float64]
MEASURES = {"erde50": ("ERDE50", 1), "f_latency": ("F_latency", -1)}  # and the sign of a loss
OUTER_FOLDS = 4
# Subjects, share of positives, fewest and most posts.
SYNTHETIC = ((60, 0.3, 5, 20), (150, 0.1, 3, 12), (300, 0.2, 2, 8), (400, 0.05, 5, 30))


@dataclass(frozen=True, eq=False)
class Tried:
    """All policies with one setting of the model; values are losses."""

    setting: int
    refined: bool
    kinds: list[tuple[str, int]]  # of each policy: its kind and first post, thresholds falling
    by_fold: FloatArray  # folds × policies
    value: FloatArray  # mean over folds
    outer: FloatArray  # on the outer fold


Choice = tuple[Tried, int]
Score = Callable[[Tried], FloatArray]


def best(tried: Sequence[Tried], score: Score, *, errors: float = 0.0) -> Choice:
    """Return the lowest score, of equals the first.

    Refined models are tried with the best parameters, and must be ahead by some standard errors of
    the difference over folds.
    """
    scores = [np.round(score(one), 12) for one in tried]
    lowest = {id(one): int(each.argmin()) for one, each in zip(tried, scores, strict=True)}
    losses = {id(one): float(each.min()) for one, each in zip(tried, scores, strict=True)}
    chosen = min((one for one in tried if not one.refined), key=lambda one: losses[id(one)])
    for one in tried:
        if one.refined and one.setting == chosen.setting:
            gains = chosen.by_fold[:, lowest[id(chosen)]] - one.by_fold[:, lowest[id(one)]]
            error = float(gains.std(ddof=1)) / len(gains) ** 0.5
            if losses[id(one)] < losses[id(chosen)] - errors * error:
                chosen = one
    return chosen, lowest[id(chosen)]


def among_neighbours(posts: int, thresholds: int) -> Score:
    """Return the mean value over so many neighbouring first posts and thresholds either way."""

    def score(one: Tried) -> FloatArray:
        found = np.empty(one.value.size)
        places: dict[str, dict[int, list[int]]] = {}
        for at, (kind, first) in enumerate(one.kinds):
            places.setdefault(kind, {}).setdefault(first, []).append(at)
        for rows in places.values():
            grid = np.array([rows[first] for first in sorted(rows)])
            for row, column in np.ndindex(grid.shape):
                near = grid[
                    max(row - posts, 0) : row + posts + 1,
                    max(column - thresholds, 0) : column + thresholds + 1,
                ]
                found[grid[row, column]] = one.value[near].mean()
        return found

    return score


def _value(one: Tried) -> FloatArray:
    return one.value


def _in_best_model(posts: int, thresholds: int) -> Callable[[Sequence[Tried]], Choice]:
    near = among_neighbours(posts, thresholds)

    def rule(tried: Sequence[Tried]) -> Choice:
        chosen, _ = best(tried, _value)
        return chosen, int(np.argmin(np.round(near(chosen), 12)))

    return rule


RULES: dict[str, Callable[[Sequence[Tried]], Choice]] = {
    "best value": lambda tried: best(tried, _value),
    "refined if ahead by 1 standard error": lambda tried: best(tried, _value, errors=1),
    "refined if ahead by 2": lambda tried: best(tried, _value, errors=2),
    "never refined": lambda tried: best([one for one in tried if not one.refined], _value),
    "mean with ±1 thresholds": lambda tried: best(tried, among_neighbours(0, 1)),
    "mean with ±1 of both": lambda tried: best(tried, among_neighbours(1, 1)),
    "in the best model, mean with ±1 of both": _in_best_model(1, 1),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="choosing.py", description=__doc__)
    parser.add_argument(
        "streams", nargs="*", type=Path, metavar="FOLDER", help="stream, as for streams.py"
    )
    parser.add_argument("--synthetic", action="store_true", help="also synthetic streams")
    parser.add_argument(
        "--seeds", type=int, default=2, metavar="N", help="outer folds are dealt N times (2)"
    )
    parser.add_argument(
        "--order",
        choices=("random", "time"),
        default="random",
        help="how subjects are dealt to outer folds (default: %(default)s); time does so once",
    )
    options = parser.parse_args(arguments)
    return run_command("choosing.py", lambda: _study(options))


def _study(options: argparse.Namespace) -> int:
    ww = watchword()
    streams = {
        folder.name: (subjects_of(read_part(folder / "train.jsonl.gz")), POSITIVE)
        for folder in options.streams
    }
    for at, (count, share, *posts) in enumerate(SYNTHETIC if options.synthetic else ()):
        people = ww.make_risk_streams(
            count, seed=at + 1, prevalence=share, posts_per_subject=tuple(posts)
        )
        streams[f"{round(count * share)} of {count} synthetic"] = people, "at risk"
    if not streams:
        raise BenchmarkError("there is no stream: name a folder or use --synthetic")
    seeds = options.seeds if options.order == "random" else 1
    jobs = {
        name: _outer_folds(name, *stream, seeds, options.order) for name, stream in streams.items()
    }
    print_table({name: list(found) for name, found in jobs.items()})
    return 0


def _outer_folds(
    name: str, subjects: list[Any], positive: str, seeds: int, order: str
) -> Iterator[dict[str, list[Tried]]]:
    from watchword.evaluation.folds import folds_of

    for seed in range(seeds):
        for number, fold in enumerate(
            folds_of(subjects, positive, folds=OUTER_FOLDS, order=order, seed=seed)
        ):
            say(f"{name}: seed {seed}, outer fold {number + 1} of {OUTER_FOLDS}")
            own = set(fold)
            rest = [one for at, one in enumerate(subjects) if at not in own]
            yield tried_on(rest, [subjects[at] for at in fold], positive)


def tried_on(known: list[Any], new: list[Any], positive: str) -> dict[str, list[Tried]]:
    """Try all settings on inner folds of known subjects, and read the new ones with each."""
    watchword()
    from watchword.evaluation.folds import folds_of

    settings = [
        dict(zip(OURS, values, strict=True)) for values in itertools.product(*OURS.values())
    ]
    parts = folds_of(known, positive, folds=FOLDS, order="time", seed=SEED)
    splits = []
    for part in parts:
        own = set(part)
        rest = [one for at, one in enumerate(known) if at not in own]
        splits.append((rest, [known[at] for at in part]))
    splits.append((known, new))
    found = _tried(splits, settings, range(len(settings)), positive, refined=False)
    # Refined models are slow: only with parameters that a rule chooses.
    chosen = {rule(tried)[0].setting for tried in found.values() for rule in RULES.values()}
    refined = _tried(splits, settings, sorted(chosen), positive, refined=True)
    return {measure: tried + refined[measure] for measure, tried in found.items()}


def _tried(
    splits: list[tuple[list[Any], list[Any]]],
    settings: list[dict[str, Any]],
    chosen: Sequence[int],
    positive: str,
    *,
    refined: bool,
) -> dict[str, list[Tried]]:
    ww = watchword()
    scores: dict[int, list[Any]] = {at: [] for at in chosen}
    for rest, held_out in splits:
        model = ww.TauSS3()
        if not refined:
            ww.teach(model, rest, threads=1)
        for at in chosen:
            if refined:
                model = ww.TauSS3(**settings[at])
                ww.teach(model, rest, refine=True, threads=1)
            own = model if refined else model.replace(**settings[at])
            scores[at].append(ww.score_streams(held_out, own, positive, threads=1))
    found: dict[str, list[Tried]] = {measure: [] for measure in MEASURES}
    for at, each in scores.items():
        policies = ww.Thresholds(positive, FIRST_POSTS).policies(each[:-1])
        losses = np.array([_losses(one, policies) for one in each])  # folds, policies, measures
        sizes = [len(one.subjects) for one in each[:-1]]
        means = np.average(losses[:-1], axis=0, weights=sizes)
        kinds = [_kind(policy) for policy in policies]
        for number, measure in enumerate(MEASURES):
            columns = losses[:-1, :, number], means[:, number], losses[-1, :, number]
            found[measure].append(Tried(at, refined, kinds, *columns))
    return found


def _losses(scores: Any, policies: list[Any]) -> FloatArray:
    """Return ERDE50 and minus F_latency of each policy."""
    from watchword.evaluation.held_out import HeldOutFold
    from watchword.evaluation.metrics import LATENCY_P
    from watchword.evaluation.replaying import is_positive
    from watchword.evaluation.scores import alerts_of

    fold = HeldOutFold.of(scores.subjects, is_positive(scores), scores.totals, scores.by)
    rows = []
    for policy in policies:
        found = fold.measures(*alerts_of(scores, policy), (50,), LATENCY_P)
        rows.append((found["erde50"], -found["f_latency"]))
    return np.array(rows)


def _kind(policy: Any) -> tuple[str, int]:
    first = 1
    while hasattr(policy, "of"):
        first = getattr(policy, "posts", first)
        policy = policy.of
    return f"{type(policy).__name__} {getattr(policy, 'score', '')}", first


def print_table(jobs: dict[str, list[dict[str, list[Tried]]]]) -> None:
    """Print the mean over outer folds, and the difference to the first rule with its error."""
    head, rows = [""], [[name] for name in [*RULES, "best in hindsight"]]
    for stream, folds in jobs.items():
        for measure, (title, sign) in MEASURES.items():
            head.append(f"{stream}, {title}")
            scale = 100 if sign > 0 else -1
            columns = [[_outer(rule, one[measure]) for one in folds] for rule in RULES.values()]
            columns.append([min(float(one.outer.min()) for one in each[measure]) for each in folds])
            for row, column in zip(rows, columns, strict=True):
                values, gains = scale * np.array(column), scale * np.subtract(column, columns[0])
                digits = 2 if sign > 0 else 3
                error = gains.std(ddof=1) / len(gains) ** 0.5
                more = f" ({gains.mean():+.{digits}f} ± {error:.{digits}f})"
                row.append(f"{values.mean():.{digits}f}" + (more if row is not rows[0] else ""))
    print(markdown_table(head, rows))


def _outer(rule: Callable[[Sequence[Tried]], Choice], tried: Sequence[Tried]) -> float:
    chosen, at = rule(tried)
    return float(chosen.outer[at])


if __name__ == "__main__":
    sys.exit(main())
