"""The tasks of the paper end to end: train, replay chunk by chunk, submit, compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from watchword._checks import Progress, tracked
from watchword._display import aligned
from watchword._files import AnyPath
from watchword.data import Subject
from watchword.erisk.layout import Collection, SetPart, find_collections, read_collection, together
from watchword.erisk.published import Task, TaskName, task_named
from watchword.erisk.run_files import ChunkDecision, ChunkRun, write_submissions
from watchword.erisk.run_score import BOUND_TITLES, RunScore
from watchword.erisk.scoring import score_runs
from watchword.erisk.synthetic import MARKER
from watchword.erisk.truth import POSITIVE, read_counts
from watchword.errors import DataFormatError
from watchword.evaluation.replaying import Replay, replay
from watchword.evaluation.scores import first_alerts
from watchword.model.parameters import PAPER_TASKS
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.policies import Overtakes, Policy
from watchword.streams.readers import teach

_BATCH = 20_000  # posts per learning step

# Both tasks of 2018 have the same layout; the path names the task.
_ABOUT = {
    "2018-depression": re.compile(r"depress|task[ _-]?1|\bt1\b", re.IGNORECASE),
    "2018-anorexia": re.compile(r"anorexi|task[ _-]?2|\bt2\b", re.IGNORECASE),
}


class SetPlace(NamedTuple):
    """A set of a task: a collection, or the part of it selected by file names."""

    collection: Collection
    which: SetPart | None = None


class TaskSets(NamedTuple):
    """The training sets and the test set of a task."""

    train: list[SetPlace]
    test: SetPlace


class OfficialTest(NamedTuple):
    """The subjects of a test set and their official numbers of writings."""

    subjects: list[Subject]
    counts: Mapping[str, int]
    is_synthetic: bool


@dataclass(frozen=True)
class TaskResult:
    """The result of a task; `print` shows it in the published table.

    `score` is None without golden truth. `files` are the written submissions. The replay uses the
    writings in the files, the score the official counts.
    """

    task: Task
    name: str
    score: RunScore | None
    replay: Replay
    files: tuple[Path, ...]
    is_synthetic: bool  #: whether `make_collection` wrote the test set

    @property
    def is_official_size(self) -> bool:
        """Whether the test set has the official number of subjects of each label."""
        size, score = self.task.test, self.score
        found = None if score is None else (score.subjects, score.positives)
        return found == (size.subjects, size.positives)

    def __str__(self) -> str:
        lines = [self.task.title]
        if self.score is None:
            return "\n".join([*lines, str(self.replay)])
        lines += [f"{self.score.subjects} subjects, {self.score.positives} positive", ""]
        rows = [
            (f"{'>' if row.is_own else ' '} {row.name}", *map(_to_the_point, row.cells))
            for row in table_rows(self.task, [self.score])
        ]
        table = aligned([("", *TABLE_TITLES), *rows])
        return "\n".join([*lines, *table, *self.warning()])

    def warning(self) -> list[str]:
        """Return a warning if the test set is not the official one: results are not comparable."""
        size = self.task.test
        if self.is_synthetic:
            return ["", "This test set is synthetic: do not compare the rows."]
        if self.is_official_size:
            return []
        official = f"{size.subjects} subjects, {size.positives} positive"
        return ["", f"This is not the official test set, which has {official}: do not compare."]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: this run's row, the published rows, the bounds, and all decisions.

        ERDE is a fraction everywhere.
        """
        return {
            "task": self.task.name,
            "title": self.task.title,
            "name": self.name,
            "is_synthetic": self.is_synthetic,
            "score": None if self.score is None else self.score.to_dict(),
            "published": [row.to_dict() for row in self.task.table],
            "policy": self.replay.policy.to_dict(),
            "files": [str(path) for path in self.files],
            "subjects": [asdict(outcome) for outcome in self.replay.outcomes],
        }


def run_task(
    task: TaskName,
    data: AnyPath,
    *,
    out: AnyPath | None = None,
    name: str = "watchword",
    model: TauSS3 | None = None,
    policy: Policy | None = None,
    train: Sequence[AnyPath] | None = None,
    test: AnyPath | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TaskResult:
    """Train on a task's training set, decide chunk by chunk on its test set, and compare.

    The sets are searched for in the folder `data` and below; `train` and `test` give their folders
    if none or several are found. Every post is learnt as a document with its subject's label. By
    default the model and the policy are the paper's: `TauSS3.paper(prune_period=1_000_000)`, which
    drops n-grams with count ≤ 10 every million words, and `Overtakes("positive")`. A trained model
    is used without further training. A model that prunes periodically learns in one thread, in the
    order of the training sets and of their subjects; `threads` then applies to the test set only.

    With `out`, the ten files of a submission, `NAME_1.txt` to `NAME_10.txt`, are written there.

    >>> import tempfile
    >>> from watchword.erisk import make_collection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_collection(folder, "2018-anorexia", subjects=20, most_writings=20)
    ...     result = run_task("2018-anorexia", folder)
    >>> result.score.subjects, result.is_synthetic
    (13, True)
    """
    chosen = task_named(task)
    model = TauSS3(**PAPER_TASKS) if model is None else model
    policy = Overtakes(POSITIVE) if policy is None else policy
    if policy.positive != POSITIVE:
        raise ValueError(f"the policy must alert for {POSITIVE!r}, got {policy!r}")
    sets = find_sets(task, data, train=train, test=test)
    if not model.labels:
        for place in sets.train:
            learn(model, read_training(place, progress), threads=threads, progress=progress)
    found = read_test(sets.test, progress)
    return decide(chosen, found, model, policy, name=name, out=out, threads=threads)


def read_training(place: SetPlace, progress: Progress | None = None) -> list[Subject]:
    """Read a training set, in the order in which it is learnt."""
    subjects = read_collection(place.collection, which=place.which, progress=progress)
    if any(subject.label is None for subject in subjects):
        raise DataFormatError(f"{place.collection.path}: no golden truth (needed for training)")
    # Periodic pruning depends on the order, so it is the same for all layouts of a set.
    subjects.sort(key=lambda subject: not subject.id.startswith("train_"))
    return subjects


def learn(
    model: TauSS3,
    subjects: Sequence[Subject],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Teach a model the posts of subjects; one that prunes periodically learns in one thread."""
    batches = list(_batches(subjects))
    for batch in tracked(batches, len(batches), progress):
        teach(model, batch, threads=threads)


def read_test(place: SetPlace, progress: Progress | None = None) -> OfficialTest:
    """Read a test set with the official number of writings per subject."""
    collection, which = place
    subjects = read_collection(collection, which=which, progress=progress)
    known = {} if collection.counts is None else read_counts(collection.counts)
    counts = {subject.id: known.get(subject.id, len(subject.posts)) for subject in subjects}
    return OfficialTest(subjects, counts, (collection.path / MARKER).exists())


def decide(
    task: Task,
    test: OfficialTest,
    model: TauSS3,
    policy: Policy,
    *,
    name: str = "watchword",
    out: AnyPath | None = None,
    threads: int | None = None,
) -> TaskResult:
    """Decide chunk by chunk about the subjects of a test set, and measure the decisions."""
    report = replay(test.subjects, model, policy, by="chunk", threads=threads)
    decisions = decisions_of(report)
    score = None
    if report.measures is not None:
        truth = {subject.id: str(subject.label) for subject in test.subjects}
        [score] = score_runs(truth, [ChunkRun(name, decisions)], counts=test.counts).runs
    files = () if out is None else tuple(write_submissions(out, decisions, name=name))
    return TaskResult(task, name, score, report, files, test.is_synthetic)


def find_sets(
    task: TaskName,
    data: AnyPath,
    *,
    train: Sequence[AnyPath] | None = None,
    test: AnyPath | None = None,
) -> TaskSets:
    """Find the sets of a task below a folder.

    The depression sets may also be in the layout of 2022 (`2017_cases`, `2018_cases`). Both test
    sets of 2018 have the same layout; if there are two, their paths must contain depression or
    anorexia (or task 1, task 2).
    """
    task_named(task)
    found = _Collections(Path(data))
    training = found.train(task) if train is None else [_named(path) for path in train]
    return TaskSets(training, found.test(task) if test is None else _named(test))


class _Collections:
    """The collections below a folder, by kind."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _by_kind(self) -> dict[str, list[Collection]]:
        by_kind: dict[str, list[Collection]] = {}
        for collection in find_collections(self._root):
            by_kind.setdefault(_kind(collection), []).append(collection)
        return by_kind

    def train(self, task: TaskName) -> list[SetPlace]:
        if task == "2018-anorexia":
            return [SetPlace(self._one("anorexia train"))]
        if self._by_kind.get("2017 train") or not self._by_kind.get("2017 cases"):
            kinds = ["2017 train"] + ["2017 test"] * (task == "2018-depression")
            return [SetPlace(self._one(kind)) for kind in kinds]
        which: SetPart | None = "train" if task == "2017-depression" else None
        return [SetPlace(self._one("2017 cases"), which)]

    def test(self, task: TaskName) -> SetPlace:
        if task == "2017-depression":
            if self._by_kind.get("2017 test") or not self._by_kind.get("2017 cases"):
                return SetPlace(self._one("2017 test"))
            return SetPlace(self._one("2017 cases"), "test")
        candidates = self._about(task)
        if task == "2018-depression" and not candidates and self._by_kind.get("2018 cases"):
            return SetPlace(self._one("2018 cases"))
        return SetPlace(self._one("2018 test", candidates))

    def _about(self, task: TaskName) -> list[Collection]:
        """Return the test sets of 2018 whose path names this task, or no task."""
        about: dict[Collection, list[str]] = {}
        for collection in self._by_kind.get("2018 test", []):
            path = collection.path.relative_to(self._root).as_posix()
            about[collection] = [name for name, word in _ABOUT.items() if word.search(path)]
        own = [collection for collection, names in about.items() if task in names]
        return own or [collection for collection, names in about.items() if not names]

    def _one(self, kind: str, candidates: list[Collection] | None = None) -> Collection:
        found = self._by_kind.get(kind, []) if candidates is None else candidates
        if not found:
            raise DataFormatError(f"{self._root}: contains no {kind} set")
        if len(found) > 1:
            paths = ", ".join(str(collection.path) for collection in found)
            raise DataFormatError(f"{self._root}: several {kind} sets (choose one): {paths}")
        return found[0]


def _kind(collection: Collection) -> str:
    if collection.layout == "train":
        folders = [path.name for path in collection.path.iterdir()]
        is_2017 = any("_examples_anonymous" in name for name in folders)
        return "2017 train" if is_2017 else "anorexia train"
    if collection.layout == "test":
        return "2017 test" if collection.first_file.startswith("test_") else "2018 test"
    if collection.layout == "cases":
        return f"{collection.path.name[:4]} cases"
    return "folder"


def _named(path: AnyPath) -> SetPlace:
    found = together(find_collections(path))
    if len(found) != 1:
        number = "several collections" if found else "no eRisk collection"
        raise DataFormatError(f"{path}: contains {number} (choose a folder with one)")
    return SetPlace(found[0])


def _batches(subjects: Iterable[Subject]) -> Iterator[list[Subject]]:
    batch: list[Subject] = []
    posts = 0
    for subject in subjects:
        batch.append(subject)
        posts += len(subject.posts)
        if posts >= _BATCH:
            yield batch
            batch, posts = [], 0
    if batch:
        yield batch


def decisions_of(report: Replay) -> dict[str, ChunkDecision | None]:
    """Return the decision and its chunk per subject.

    Delays do not give the chunk: with fewer than ten posts they are all 0.
    """
    steps = first_alerts(report.scores, report.policy).tolist()
    return {
        subject: ChunkDecision(POSITIVE, step + 1) if step >= 0 else None
        for subject, step in zip(report.scores.subjects, steps, strict=True)
    }


TABLE_TITLES = ("ERDE5 %", "ERDE50 %", "P", "R", "F1")
TABLE_MEASURES = ("erde5", "erde50", "precision", "recall", "f1")
_COSTS = ("erde5", "erde50")


def table_values(score: RunScore) -> dict[str, float]:
    """Return the measures that are in the published tables."""
    return {name: score.measures[name] or 0.0 for name in TABLE_MEASURES}


def table_cells(values: Mapping[str, float | None], erde5_decimals: int = 2) -> tuple[str, ...]:
    """Return values as the published tables show them: ERDE in percent, empty if unknown."""
    decimals = {"erde5": erde5_decimals}
    return tuple(
        ""
        if value is None
        else f"{100 * value if name in _COSTS else value:.{decimals.get(name, 2)}f}"
        for name, value in values.items()
    )


class TableRow(NamedTuple):
    """A row of a table of results: of an own run, a published one, or a bound."""

    name: str
    is_own: bool
    values: Mapping[str, float | None]  #: by name in `TABLE_MEASURES`
    cells: tuple[str, ...]  #: the same as text, as in `TABLE_TITLES`, empty where unknown
    is_bound: bool = False


def table_rows(task: Task, scores: Sequence[RunScore]) -> list[TableRow]:
    """Return the rows of own runs and the published ones by ERDE50, then the bounds."""
    rows = []
    for score in scores:
        found = table_values(score)
        rows.append((found["erde50"], TableRow(score.name, True, found, table_cells(found))))
    for row in task.table:
        values = {name: getattr(row, name) for name in TABLE_MEASURES}
        cells = table_cells(values, row.erde5_decimals)
        rows.append((row.erde50, TableRow(row.name, False, values, cells)))
    ordered = [row for _, row in sorted(rows, key=lambda one: one[0])]
    for bound, title in BOUND_TITLES.items():
        known = {name: getattr(erde, bound) for name, erde in scores[0].bounds.items()}
        values = {name: known.get(name) for name in TABLE_MEASURES}
        ordered.append(TableRow(title, False, values, table_cells(values), is_bound=True))
    return ordered


def _to_the_point(cell: str) -> str:
    """Pad a number with one decimal by a space, not by a digit that was not published."""
    return f"{cell} " if re.fullmatch(r"[0-9]+\.[0-9]", cell) else cell
