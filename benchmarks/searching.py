"""How long hundreds of settings take: `watchword.search` beside PySS3: `searching.py FOLDER`.

watchword tries them all, on four folds of the training part. That would take PySS3 too long, so it
tries three settings on the same folds, in a process and an environment of its own, and what these
cost is told per setting. README.md beside this file says what is in the figures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy_ours import FOLDS, SEED, folds_of
from command import run_command
from corpus import Part, read_corpus
from ours import watchword
from peers import ask_peer, install_peer, peers_python
from process import Stopwatch
from report import BenchmarkError, markdown_table, say

HERE = Path(__file__).resolve().parent
LENGTHS = (1, 3)
THREADS = 2

Figures = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run_command("searching.py", lambda: _run_all(options))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="searching.py", description=__doc__)
    parser.add_argument(
        "corpus",
        type=Path,
        metavar="FOLDER",
        help='folder with train.jsonl.gz and test.jsonl.gz, {"label", "text"} per line',
    )
    parser.add_argument(
        "--settings",
        type=int,
        default=500,
        metavar="N",
        help="settings that watchword tries (default: %(default)s)",
    )
    parser.add_argument(
        "--texts",
        type=int,
        default=300,
        metavar="N",
        help="texts of each fold that PySS3 reads (default: %(default)s)",
    )
    parser.add_argument("--alone", action="store_true", help="without PySS3")
    parser.add_argument(
        "--cache",
        type=Path,
        default=HERE.parent / "build" / "benchmarks",
        metavar="FOLDER",
        help="where PySS3 is kept (default: build/benchmarks)",
    )
    options = parser.parse_args(arguments)
    for name in ("settings", "texts"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    return options


def _run_all(options: argparse.Namespace) -> int:
    folder = options.corpus.resolve()
    part = read_corpus(folder).train
    python = None
    if not options.alone:
        python = peers_python(options.cache.resolve())
        install_peer(python, "pyss3")
    ours, theirs, answers = [], [], []
    for length in LENGTHS:
        say(f"watchword: {options.settings} settings, n-grams up to {length}")
        found = _search(part, length, options.settings)
        ours.append([_grams(length), *_our_cells(found, options.settings)])
        if python is None:
            continue
        answered = _pyss3(python, folder, folds_of(part.labels), length, options.texts)
        answers.append(answered)
        theirs.append([_grams(length), *_their_cells(answered, found, options.settings)])
    print(
        f"\n{folder.name}: {len(part.texts):,} texts, {part.words:,} words, "
        f"{len(set(part.labels))} labels, {FOLDS} folds\n"
    )
    header = [f"watchword, {options.settings} settings", f"wall, {THREADS} threads"]
    header += ["settings/s", "processor, each", "cores"]
    print(markdown_table(header, ours))
    if answers:
        words = answers[-1]["words"]
        share = words["read"] / words["held out"]
        header = [f"PySS3 {answers[0]['version']}, one more setting", "new ρ", "new λ", "new σ"]
        header += ["in a grid", "÷ watchword's", "new σ ÷ watchword's"]
        header += ["in a grid ÷ watchword's, by the clock", f"for {options.settings} settings"]
        print(f"\nProcessor seconds; reading from {share:.1%} of the words, scaled\n")
        print(markdown_table(header, theirs))
    return 0


def _grams(length: int) -> str:
    return "words" if length == 1 else f"1- to {length}-grams"


def _search(part: Part, length: int, settings: int) -> Figures:
    """Seconds for all of it: reading texts, learning the folds, trying the settings."""
    ww = watchword()
    from watchword.searching.space import DEFAULT_SPACE

    watch = Stopwatch()
    with watch.step("search"):
        found = ww.search(
            part.texts,
            part.labels,
            DEFAULT_SPACE | {"max_ngram": [length]},
            model=ww.TauSS3(max_ngram=length),
            method="random",
            trials=settings,
            folds=FOLDS,
            seed=SEED,
            refine=False,
            threads=THREADS,
        )
    if len(found.settings) != settings:
        raise BenchmarkError(f"{len(found.settings)} settings were tried, not {settings}")
    return {"wall": watch.wall["search"], "processor": watch.processor["search"]}


def _our_cells(found: Figures, settings: int) -> list[str]:
    wall, processor = found["wall"], found["processor"]
    cells = [f"{wall:,.1f} s", f"{settings / wall:.2f}", f"{1000 * processor / settings:,.0f} ms"]
    return [*cells, f"{processor / wall:.2f}"]


def _pyss3(
    python: Path, folder: Path, folds: tuple[tuple[int, ...], ...], length: int, texts: int
) -> dict[str, Any]:
    job = {"folder": str(folder), "folds": folds, "length": length, "texts": texts}
    answered: dict[str, Any] = ask_peer(
        [python, HERE / "searching_pyss3.py"], job, "PySS3's process"
    )
    return answered


def _their_cells(answered: dict[str, Any], found: Figures, settings: int) -> list[str]:
    ours, clock = found["processor"] / settings, found["wall"] / settings
    scale = answered["words"]["held out"] / answered["words"]["read"]
    cost = {
        name: seconds["update"] + scale * seconds["read"]
        for name, seconds in answered["seconds"].items()
    }
    # PySS3 goes through ρ innermost and σ outermost, and computes what depends on the new one: in
    # a cube of n³ settings σ is new n times, λ alone n² − n times, ρ alone in all others.
    side = settings ** (1 / 3)
    shares = {
        "smoothness": side / settings,
        "significance": (side**2 - side) / settings,
        "sanction": 1 - side**2 / settings,
    }
    mean = sum(cost[name] * share for name, share in shares.items())
    cells = [f"{cost[name]:,.1f} s" for name in ("sanction", "significance", "smoothness")]
    ratios = [mean / ours, cost["smoothness"] / ours, mean / clock]
    shown = [f"{ratio:,.0f}" for ratio in ratios]
    return [*cells, f"{mean:,.1f} s", *shown, f"{mean * settings / 3600:,.1f} h"]


if __name__ == "__main__":
    sys.exit(main())
