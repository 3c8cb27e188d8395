"""Which parameters hold without tuning: `defaults.py FOLDER …`, corpora and streams.

Every setting is tried on the training part of every folder by cross-validation, the same settings
and the same folds everywhere: accuracy on corpora; on streams the average precision of ranking
subjects after several numbers of posts, which no policy can spoil. The regret of a setting is how
much it is worse than the best one there. The default is the setting of least mean regret; to see
what such a choice is worth elsewhere, each folder in turn is left out, the choice made on the
others, and its regret on that folder told. Test parts are not looked at.

With `--constants`, the constants of the prior and of label weights are compared on the corpora
among the folders instead.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from command import run_command
from corpus import read_corpus
from defaults_constants import study_constants
from numpy.typing import NDArray
from ours import watchword
from report import markdown_table, say
from stream_parts import NEGATIVE, POSITIVE, Part, read_part

FOLDS = 4
SEED = 0
POSTS = (1, 2, 5, 10, 20, 50, 100)  # after how many posts subjects are ranked
PAPER = {"smoothness": 0.455, "significance": 1.0, "sanction": 1.0, "prior": 0.0}
STRETCHES: dict[str, Sequence[tuple[float, float]]] = {
    "smoothness": ((0.03, 0.08), (0.08, 0.22), (0.22, 0.6)),
    "significance": ((0.1, 0.34), (0.34, 1.2), (1.2, 4)),
    "sanction": ((0.25, 0.25), (0.5, 0.5), (1, 1), (2, 2)),
    "prior": ((0, 0), (0.1, 0.1), (0.3, 0.3), (1, 1), (3, 3), (10, 10)),
}
PAPERS_OPTIONS = {
    "counting": "occurrences",
    "ngram_scale": "length",
    "significance_function": "vanilla",
    "max_ngram": 3,
    "prior": 0.0,
}
OPTIONS: dict[str, Sequence[Any]] = {
    "counting": ("occurrences", "documents"),
    "ngram_scale": ("length", "words", "label"),
    "significance_function": ("vanilla", "xai", "ratio"),
    "max_ngram": (1, 3),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="defaults.py", description=__doc__)
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="folder with train.jsonl.gz and test.jsonl.gz, or a folder of such folders",
    )
    parser.add_argument(
        "--constants",
        action="store_true",
        help="compare the constants of the prior and of label weights",
    )
    parser.add_argument("--draws", type=int, default=24, help="numbers tried per combination")
    parser.add_argument("--keep", type=Path, help="a folder to keep results in, to go on later")
    for name, values in OPTIONS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(values[0]),
            nargs="+",
            default=values,
            help="try only these",
        )
    options = parser.parse_args()
    options.folders = [one for folder in options.folders for one in _expanded(folder)]
    return options


def _expanded(folder: Path) -> list[Path]:
    """Return the folder, or those in it that have a training part."""
    if (folder / "train.jsonl.gz").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/train.jsonl.gz")) or [folder]


def _settings(options: argparse.Namespace) -> list[dict[str, Any]]:
    ww = watchword()
    from watchword.searching.space import draw

    numbers = draw(
        {
            "smoothness": ww.Between(0.03, 0.6),
            "significance": ww.Between(0.1, 4),
            "sanction": (0.25, 0.5, 1.0, 2.0),
            "prior": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
        },
        options.draws - 1,
        SEED,
    )
    chosen = itertools.product(*(getattr(options, name) for name in OPTIONS))
    combined = [dict(zip(OPTIONS, one, strict=True)) for one in chosen]
    return [combination | number for combination in combined for number in [PAPER, *numbers]]


def _study(options: argparse.Namespace) -> int:
    settings = _settings(options)
    names = [folder.name for folder in options.folders]
    columns = []
    for folder in options.folders:
        say(f"{folder.name}: {len(settings)} settings")
        keep = None if options.keep is None else options.keep / f"{folder.name}.results"
        score = _stream_scores if _is_stream(folder) else _corpus_scores
        columns.append(score(folder, settings, keep))
    scores = np.array(columns).T
    regrets = scores.max(axis=0) - scores
    print("\nthe best of each combination of options, by mean regret\n")
    print(_by_options(settings, scores, regrets, names))
    best = int(regrets.mean(axis=1).argmin())
    print("\nwith the options of the best: the best of each stretch of a number\n")
    print(_by_number(settings, scores, names, best))
    print("\nleft out, chosen on the others\n")
    print(_left_out(settings, scores, regrets, names))
    print(f"\nchosen on all: {_spelt(settings[best])}\n")
    shown = [f"{scores[best, at]:.3f} (best {scores[:, at].max():.3f})" for at in range(len(names))]
    print(markdown_table(["", *names], [["chosen", *shown]]))
    return 0


def _by_options(
    settings: list[dict[str, Any]],
    scores: NDArray[np.float64],
    regrets: NDArray[np.float64],
    names: list[str],
) -> str:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, setting in enumerate(settings):
        groups.setdefault(tuple(setting[name] for name in OPTIONS), []).append(at)
    rows = []
    for key, places in groups.items():
        mean = regrets[places].mean(axis=1).min()  # of one setting everywhere
        best = scores[places].max(axis=0)  # of another one on each
        rows.append((mean, [*map(str, key), *(f"{one:.3f}" for one in best), f"{mean:.3f}"]))
    rows.sort(key=lambda row: row[0])
    header = [*OPTIONS, *names, "regret of one setting for all"]
    papers = [at for at, one in enumerate(settings) if PAPERS_OPTIONS.items() <= one.items()]
    if papers:
        best = scores[papers].max(axis=0)
        mean = regrets[papers].mean(axis=1).min()
        label = ["the paper's, no prior", "", "", ""]
        rows.append((mean, [*label, *(f"{one:.3f}" for one in best), f"{mean:.3f}"]))
    return markdown_table(header, [row for _, row in rows])


def _by_number(
    settings: list[dict[str, Any]],
    scores: NDArray[np.float64],
    names: list[str],
    best: int,
) -> str:
    alike = [
        at
        for at, one in enumerate(settings)
        if all(one[name] == settings[best][name] for name in OPTIONS)
    ]
    rows = []
    for name, stretches in STRETCHES.items():
        for low, high in stretches:
            places = [at for at in alike if low <= settings[at][name] <= high]
            if places:
                shown = f"{low:g}" if low == high else f"{low:g} to {high:g}"
                found = scores[places].max(axis=0)
                rows.append([f"{name} {shown}", *(f"{one:.3f}" for one in found)])
    return markdown_table(["", *names], rows)


def _left_out(
    settings: list[dict[str, Any]],
    scores: NDArray[np.float64],
    regrets: NDArray[np.float64],
    names: list[str],
) -> str:
    rows = []
    for at, name in enumerate(names):
        others = [other for other in range(len(names)) if other != at]
        chosen = int(regrets[:, others].mean(axis=1).argmin()) if others else 0
        numbers = [f"{scores[chosen, at]:.3f}", f"{scores[:, at].max():.3f}"]
        rows.append([name, *numbers, f"{regrets[chosen, at]:.3f}", _spelt(settings[chosen])])
    return markdown_table(["left out", "chosen", "best", "regret", "setting"], rows)


def _spelt(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


# Corpora


def _corpus_scores(folder: Path, settings: list[dict[str, Any]], keep: Path | None) -> list[float]:
    ww = watchword()
    train = read_corpus(folder).train
    found = ww.search(
        train.texts,
        train.labels,
        settings,
        folds=FOLDS,
        seed=SEED,
        refine=False,
        keep=keep,
        progress=_progress,
    )
    by_setting = {_spelt(one.parameters): one.value for one in found.settings}
    return [by_setting[_spelt(setting)] for setting in settings]


def _progress(items: Any, total: int) -> Any:
    for number, item in enumerate(items, start=1):
        if number % 50 == 0:
            say(f"  {number} of {total}")
        yield item


# Streams


def _is_stream(folder: Path) -> bool:
    with gzip.open(folder / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        return "subject" in json.loads(lines.readline())


def _stream_scores(folder: Path, settings: list[dict[str, Any]], keep: Path | None) -> list[float]:
    del keep  # as long as it takes to read them
    ww = watchword()
    from watchword.model.engine import engine_of
    from watchword.model.parameters import Parameters
    from watchword.searching.result import parameters_of
    from watchword.searching.run import SHAPING, Split, follow

    part = read_part(folder / "train.jsonl.gz")
    labels = [POSITIVE if truth else NEGATIVE for truth in part.truth]
    of_posts = np.repeat(labels, np.diff(part.starts)).tolist()
    engine = engine_of(ww.TauSS3())
    base = parameters_of(engine.parameters)
    terms = engine.source.read_both(part.texts)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, setting in enumerate(settings):
        shape = tuple((base | setting).get(name) for name in SHAPING)
        groups.setdefault(shape, []).append(at)
    total = np.zeros(len(settings))
    from watchword.evaluation.folds import deal

    folds = deal(labels, folds=FOLDS, seed=SEED)
    for fold in folds:
        posts = part.posts_of(fold.held_out.tolist())
        learnt = part.posts_of(fold.others(len(labels)).tolist())
        for places in groups.values():
            alike = [settings[at] for at in places]
            split = Split(engine.source, terms, [(one,) for one in of_posts], posts, learnt)
            trails = follow(split, alike, base)
            for at in places:
                table = trails.confidence(Parameters(**(base | settings[at])))
                values = table.values[:, table.labels.index(POSITIVE)]
                other = table.values[:, table.labels.index(NEGATIVE)]
                total[at] += _average_precision(part, fold.held_out, values, other)
    return (total / len(folds)).tolist()


def _average_precision(
    part: Part,
    subjects: NDArray[np.int64],
    values: NDArray[np.float64],
    others: NDArray[np.float64],
) -> float:
    """Of ranking these subjects by their sums, mean over several numbers of posts."""
    from watchword.evaluation.metrics import average_precision

    sizes = np.diff(part.starts)[subjects]
    begins = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in (values, others)]
    found = []
    for posts in POSTS:
        ends = begins + np.minimum(sizes, posts)
        value, other = (column[ends] - column[begins] for column in sums)
        whole = value + other
        shares = np.where(whole > 0, value / np.where(whole > 0, whole, 1), 0.5)
        truth = part.truth[subjects].tolist()
        ids = [str(at) for at in subjects.tolist()]
        found.append(average_precision(shares, truth, positive=True, subjects=ids))
    return float(np.mean(found))


def main() -> int:
    options = _options()
    if options.constants:
        corpora = [folder for folder in options.folders if not _is_stream(folder)]
        return run_command("defaults.py", lambda: study_constants(corpora))
    return run_command("defaults.py", lambda: _study(options))


if __name__ == "__main__":
    sys.exit(main())
