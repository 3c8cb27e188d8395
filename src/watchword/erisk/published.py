"""The three tasks of the τ-SS3 paper: the sizes of their sets, and their published results.

Tables: S. G. Burdisso, M. Errecalde, M. Montes-y-Gómez: "τ-SS3: a text classifier with dynamic
n-grams for early risk detection over text streams", section "Results". They list each team's run of
best ERDE₅ and run of best ERDE₅₀.

Precision, recall and F₁ are given in the text for the 2017 task and the two SS3 models only:
"recall, precision and F₁ were 0.55, 0.43 and 0.77", "0.52, 0.44 and 0.63". This order is wrong,
since F₁ lies between precision and recall; the numbers fit as F₁, precision and recall.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

TaskName = Literal["2017-depression", "2018-depression", "2018-anorexia"]


@dataclass(frozen=True)
class PublishedRow:
    """One run of a published table; ERDE as a fraction, with the number of printed decimals."""

    name: str
    erde5: float
    erde50: float
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    erde5_decimals: int = 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        del plain["erde5_decimals"]
        return plain


@dataclass(frozen=True)
class SetSize:
    """The number of subjects per label in a set, and their total number of writings."""

    positives: int
    negatives: int
    positive_writings: int
    negative_writings: int

    @property
    def subjects(self) -> int:
        """The number of subjects."""
        return self.positives + self.negatives


@dataclass(frozen=True)
class Task:
    """A task: its published table and the sizes of its sets."""

    name: TaskName
    title: str
    table: tuple[PublishedRow, ...]
    runs: int  #: number of submitted runs
    teams: int  #: number of teams that submitted them
    train: tuple[SetSize, ...]
    test: SetSize


def task_named(name: str) -> Task:
    """Return the task of this name.

    >>> task_named("2018-anorexia").table[0]
    PublishedRow(name='FHDO-BCSGD', erde5=0.1215, erde50=0.0596, ...
    """
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}")
    return TASKS[name]


def _rows(table: str) -> tuple[PublishedRow, ...]:
    rows = []
    for line in table.strip().splitlines():
        name, erde5, erde50, *quality = line.split()
        decimals = len(erde5.partition(".")[2])
        precision, recall, f1 = map(float, quality) if quality else (None, None, None)
        cost5, cost50 = (round(float(percent) / 100, 4) for percent in (erde5, erde50))
        rows.append(PublishedRow(name, cost5, cost50, precision, recall, f1, decimals))
    return tuple(rows)


# Name, ERDE5 % and ERDE50 %, as printed, and, where given, precision, recall, F1.
_DEPRESSION_2017 = _rows("""
τ-SS3       12.6   7.70  .43 .77 .55
SS3         12.6   8.12  .44 .63 .52
UNSLA       13.66  9.68
FHDO-BCSGA  12.82  9.69
UArizonaD   14.73 10.23
FHDO-BCSGB  12.70 10.39
UArizonaB   13.07 11.63
UQAMD       13.23 11.98
GPLC        14.06 12.14
CHEPEA      14.75 12.26
LyRE        13.74 13.74
""")

_DEPRESSION_2018 = _rows("""
τ-SS3        9.48  6.17
SS3          9.54  6.35
FHDO-BCSGB   9.50  6.44
FHDO-BCSGA   9.21  6.68
LIIRB       10.03  7.09
PEIMEXC     10.07  7.35
UNSLA        8.78  7.39
LIIRA        9.46  7.56
UQAMA       10.04  7.85
LIRMMD      11.32  8.08
UDCA        10.93  8.27
UPFA        10.01  8.28
RKMVERID     9.97  8.63
UDCC         9.47  8.65
RKMVERIC     9.81  9.08
LIRMMA      10.66  9.16
TBSA        10.81  9.22
TUA1C       10.86  9.51
TUA1A       10.19  9.70
""")

_ANOREXIA_2018 = _rows("""
FHDO-BCSGD  12.15  5.96
τ-SS3       11.31  6.26
FHDO-BCSGE  11.98  6.61
SS3         11.56  6.69
FHDO-BCSGB  11.75  6.84
PEIMEXB     12.41  7.79
UNSLB       11.40  7.82
RKMVERIA    12.17  8.63
LIIRB       13.05 10.33
LIIRA       12.78 10.47
TBSA        13.65 11.14
UPFA        13.18 11.34
UPFD        12.93 12.30
TUA1C       13.53 12.57
LIRMMB      14.45 12.62
LIRMMA      13.65 13.04
""")

_TRAIN_2017 = SetSize(83, 403, 30_851, 264_172)
_TEST_2017 = SetSize(52, 349, 18_706, 217_665)
_TEST_2018 = SetSize(79, 741, 40_665, 503_782)
_TRAIN_ANOREXIA = SetSize(20, 132, 7_452, 77_382)
# Its number of writings is unknown: assume as many per subject as in training.
_TEST_ANOREXIA = SetSize(41, 279, 15_277, 163_557)

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "2017-depression",
            "eRisk 2017, early detection of depression",
            _DEPRESSION_2017,
            runs=30,
            teams=8,
            train=(_TRAIN_2017,),
            test=_TEST_2017,
        ),
        Task(
            "2018-depression",
            "eRisk 2018, early detection of depression",
            _DEPRESSION_2018,
            runs=44,
            teams=11,
            train=(_TRAIN_2017, _TEST_2017),
            test=_TEST_2018,
        ),
        Task(
            "2018-anorexia",
            "eRisk 2018, early detection of anorexia",
            _ANOREXIA_2018,
            runs=34,
            teams=9,
            train=(_TRAIN_ANOREXIA,),
            test=_TEST_ANOREXIA,
        ),
    )
}
