"""watchword against PySS3, scikit-learn, fastText and Vowpal Wabbit: `compare.py [CORPUS]`.

Every contestant runs alone in a fresh process, one after the other, round after round, so that a
slow minute of the machine hits all of them. The peers are installed into an environment of their
own below `build/benchmarks`. README.md beside this file says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from command import run_command
from contestants import CONTESTANTS
from corpus import PUBLIC_CORPORA, fetch_public_corpus, read_corpus
from peers import REQUIREMENTS, install_peer, peers_python
from process import ONE_THREAD
from report import BenchmarkError, markdown_table, megabytes, rate, say

HERE = Path(__file__).resolve().parent
OURS = ("watchword", "watchword-2-threads", "watchword-words-only")
PEER_PACKAGES = {
    "pyss3": "pyss3",
    "scikit-learn": "scikit-learn",
    "fasttext": "fasttext",
    "vowpal-wabbit": "vowpalwabbit",
    "vowpal-wabbit-24-bits": "vowpalwabbit",
}
# Minutes instead of seconds: once is enough to tell tens of times from hundreds.
SLOW = ("pyss3",)

Run = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    return run_command("compare.py", lambda: _compare(options))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__)
    parser.add_argument(
        "corpus",
        nargs="?",
        type=Path,
        metavar="CORPUS",
        help='folder with train.jsonl.gz and test.jsonl.gz, {"label", "text"} per line '
        "(default: a public one is fetched)",
    )
    parser.add_argument(
        "--public",
        choices=PUBLIC_CORPORA,
        default=PUBLIC_CORPORA[0],
        help="which public corpus to fetch when no CORPUS is given (default: %(default)s)",
    )
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="runs of each contestant (default: 3; 1 for PySS3)"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(CONTESTANTS),
        metavar="NAME",
        help=f"only this contestant; may be repeated ({', '.join(CONTESTANTS)})",
    )
    parser.add_argument(
        "--median", action="store_true", help="show the median of the runs, not the fastest"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run to FILE")
    parser.add_argument(
        "--cache",
        type=Path,
        default=HERE.parent / "build" / "benchmarks",
        metavar="FOLDER",
        help="where the peers and the public corpus are kept (default: build/benchmarks)",
    )
    options = parser.parse_args(arguments)
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {options.repeat}")
    return options


def _compare(options: argparse.Namespace) -> int:
    names = [name for name in CONTESTANTS if not options.only or name in options.only]
    cache = options.cache.resolve()
    pythons, failures = _interpreters(names, cache)
    if options.corpus is None:
        folder = fetch_public_corpus(options.public, cache, peers_python(cache))
    else:
        folder = options.corpus.resolve()
    # Read here too, so that a wrong path is said once and before the first run.
    corpus = read_corpus(folder)
    say(f"{folder.name}: {corpus.train.words:,} words to learn, {corpus.test.words:,} to classify")

    runs: dict[str, list[Run]] = {name: [] for name in pythons}
    repeats = {name: options.repeat or (1 if name in SLOW else 3) for name in pythons}
    for turn in range(max(repeats.values(), default=0)):
        for name, python in pythons.items():
            if turn >= repeats[name] or name in failures:
                continue
            say(f"{name}: run {turn + 1} of {repeats[name]}")
            try:
                runs[name].append(run_contestant(python, name, folder))
            except BenchmarkError as error:
                failures[name] = str(error)
                say(f"{name}: {error}")
    choose = statistics.median if options.median else min
    _print_result(folder.name, {name: done for name, done in runs.items() if done}, choose)
    if options.json:
        _write_json(options.json, folder.name, runs, failures)
    for name, reason in failures.items():
        print(f"compare.py: {name} was not measured: {reason}", file=sys.stderr)
    return 1 if failures else 0


def _interpreters(names: Iterable[str], cache: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The interpreter that each contestant runs with; what cannot be had is named with a reason."""
    pythons: dict[str, Path] = {}
    failures: dict[str, str] = {}
    for name in names:
        try:
            if name in OURS:
                pythons[name] = _our_python()
            else:
                python = peers_python(cache)
                install_peer(python, PEER_PACKAGES[name])
                pythons[name] = python
        except BenchmarkError as error:
            failures[name] = str(error)
            say(f"{name}: {error}")
    return pythons, failures


def _our_python() -> Path:
    command = [sys.executable, "-c", "import watchword"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise BenchmarkError(f"watchword is not installed for {sys.executable}: run `make build`")
    return Path(sys.executable)


def run_contestant(python: Path, name: str, folder: Path) -> Run:
    """Return what a contestant took in a fresh process."""
    command = [str(python), str(HERE / "contestants.py"), name, str(folder)]
    environment = os.environ | ONE_THREAD
    finished = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if finished.returncode:
        reason = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        raise BenchmarkError(reason[-1])
    run: Run = json.loads(finished.stdout)
    wall, processor = run["wall_seconds"], run["processor_seconds"]
    busy = sum(processor.values()) / sum(wall.values())
    say(f"  learnt in {wall['learn']:.2f} s, classified in {wall['classify']:.2f} s")
    if run["threads"] == 1 and busy < 0.9:
        say(f"  only {busy:.0%} of a core was to be had: the machine is busy, repeat this")
    return run


def _print_result(
    corpus: str, runs: dict[str, list[Run]], choose: Callable[[Iterable[float]], float]
) -> None:
    if not runs:
        return
    speeds = {name: _speeds(done, choose) for name, done in runs.items()}
    ours = speeds.get("watchword")
    header = ["", "learn words/s", "ratio", "classify words/s", "ratio"]
    header += ["peak memory", "accuracy", "cores"]
    rows = []
    for name, done in runs.items():
        first = done[0]
        ratios = None if name in OURS else ours
        row = _row(f"{name} {first['version']}", speeds[name], ratios)
        row.append(megabytes(statistics.median(run["peak_growth_bytes"] for run in done)))
        accuracy = "" if first["accuracy"] is None else f"{first['accuracy']:.4f}"
        rows.append([*row, accuracy, f"{_cores(done):.2f}"])
        # Handing the texts over as they are takes some millionths of a second.
        if first["wall_seconds"]["convert_train"] > 1e-4:
            converting = _speeds(done, choose, converting=True)
            rows.append([*_row("  with the conversion", converting, ratios), "", "", ""])
    kind = "fastest" if choose is min else "median"
    any_run = next(iter(runs.values()))[0]
    print(
        f"\n{corpus}: {any_run['train_words']:,} words learnt, {any_run['test_words']:,} "
        f"classified; {kind} of the runs; ratio = watchword's speed / this one's\n"
    )
    print(markdown_table(header, rows))
    if ours and (two := speeds.get("watchword-2-threads")):
        learn, classify = two["learn"] / ours["learn"], two["classify"] / ours["classify"]
        print("\nTwo threads of watchword against one: ", end="")
        print(f"{learn:.2f} times as fast at learning, {classify:.2f} at classifying")
    print()
    for name, done in runs.items():
        print(f"- {name} ({len(done)} runs): {done[0]['measured']}")
    print(f"- {machine()}, Python {platform.python_version()}")


def _row(title: str, speeds: dict[str, float], ours: dict[str, float] | None) -> list[str]:
    cells = [title]
    for step in ("learn", "classify"):
        cells.append(rate(speeds[step]))
        cells.append(f"{ours[step] / speeds[step]:.1f}" if ours else "")
    return cells


def _speeds(
    runs: list[Run], choose: Callable[[Iterable[float]], float], *, converting: bool = False
) -> dict[str, float]:
    """Words per second of both steps, by the wall clock."""

    def speed(step: str, split: str) -> float:
        seconds = [
            run["wall_seconds"][step]
            + (run["wall_seconds"][f"convert_{split}"] if converting else 0.0)
            for run in runs
        ]
        return float(runs[0][f"{split}_words"] / choose(seconds))

    return {"learn": speed("learn", "train"), "classify": speed("classify", "test")}


def _cores(runs: list[Run]) -> float:
    """Processor time per wall time: 1 for one undisturbed thread, less on a busy machine."""
    steps = [(run, step) for run in runs for step in ("learn", "classify")]
    processor = sum(run["processor_seconds"][step] for run, step in steps)
    wall = sum(run["wall_seconds"][step] for run, step in steps)
    return float(processor / wall)


def machine() -> str:
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{processor}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def _write_json(
    path: Path, corpus: str, runs: dict[str, list[Run]], failures: dict[str, str]
) -> None:
    result = {
        "corpus": corpus,
        "machine": machine(),
        "python": platform.python_version(),
        "requirements": REQUIREMENTS,
        "runs": [run for done in runs.values() for run in done],
        "not_measured": failures,
    }
    try:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise BenchmarkError(f"cannot write {path}: {error.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
