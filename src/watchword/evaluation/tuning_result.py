"""Results of tuning: all settings with all measures, and warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from watchword._display import ToDict, aligned, csv_of, finite, many, named_values, view
from watchword.data import Subject
from watchword.evaluation.held_out import HeldOut, HeldOutDecisions, warnings_about
from watchword.evaluation.metrics import Interval
from watchword.evaluation.objectives import Objective, head_of, shown_number
from watchword.model.tau_ss3 import TauSS3
from watchword.streams.notation import spell_policy
from watchword.streams.policies import Policy
from watchword.streams.readers import teach

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from watchword.evaluation.charts import Chart
    from watchword.evaluation.replay_charts import TuningChart

KEPT = 50  # trials whose decisions are kept
_LISTED = 10  # trials in a table
_SHOWN = 5  # trials in a notebook


@dataclass(frozen=True)
class Trial(ToDict):
    """A setting of model and policy, and its measures on held-out subjects.

    `value` is what was optimised. `measures` has each ERDE, `f1`, `f_latency`, `precision`,
    `recall`, `median_delay` (of the correct alerts of all folds; infinite without any),
    `alert_rate` (the share of subjects with an alert) and `average_precision`; all but the median
    delay are means over folds.
    """

    parameters: dict[str, Any]
    policy: Policy
    value: float
    by_fold: tuple[float, ...]
    refined: bool = False  #: whether the models were refined
    measures: Mapping[str, float] = field(default_factory=dict)
    meets_limits: bool = True  #: whether it keeps the limits `at_most` and `at_least`

    @property
    def setting(self) -> str:
        """Parameters and policy as text, the policy in the notation of the command line."""
        parts = [named_values(self.parameters), "refined" if self.refined else ""]
        return "".join(f"{part}; " for part in parts if part) + spell_policy(self.policy)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with None for an infinite median delay."""
        plain: dict[str, Any] = finite(super().to_dict())
        return plain


@dataclass(frozen=True)
class Tuning:
    """All settings tried, the chosen one first, then the others from best to worst.

    Settings that exceed a limit come last. `print` shows the measures of the first settings, the
    intervals of the chosen one and `warnings`; `chart` and `plot` draw pictures.
    """

    measure: str
    trials: tuple[Trial, ...]
    base: dict[str, Any] | None  #: parameters of the model, None if scores were tuned
    objective: Objective = field(repr=False)
    held_out: HeldOut = field(repr=False, compare=False)
    outcomes: tuple[HeldOutDecisions, ...] = field(
        repr=False, compare=False
    )  #: of the first trials

    @property
    def best(self) -> Trial:
        """The chosen setting: the best, of equals the first.

        A refined one must be clearly better than the best counted one: see `tune`, also for
        `one_standard_error`.
        """
        return self.trials[0]

    @property
    def bounds(self) -> Mapping[str, Mapping[str, float]]:
        """The measures of never alerting, and of alerting everyone at the first post."""
        return self.held_out.bounds

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to distrust the chosen setting, each as a sentence.

        There is one if the policy alerts no subject or every subject; if it waits for the end of
        the streams (the median alert comes after 90 % of a subject's posts or later, subjects with
        a single post left out); and if it is worse than never alerting, or than alerting everyone
        at the first post, in any ERDE, F₁, F_latency or precision.
        """
        return warnings_about(self.held_out, self.best.measures, self.outcomes[0])

    def model(self, subjects: Iterable[Subject], *, threads: int | None = None) -> TauSS3:
        """Return a model with the best parameters, taught with these subjects.

        It is refined if that was clearly better by cross-validation (`best.refined`).
        """
        if self.base is None:
            raise ValueError("there is no model: the policies were tuned on scores")
        model = TauSS3(**(self.base | self.best.parameters))
        teach(model, subjects, refine=self.best.refined, threads=threads)
        return model

    def intervals(
        self,
        trial: Trial | None = None,
        *,
        seed: int = 0,
        repeats: int = 1000,
        confidence_level: float = 0.95,
    ) -> dict[str, Interval]:
        """Return bootstrap intervals of all measures of a trial [default: the chosen one].

        The subjects of each fold are resampled, positives and others separately. The interval shows
        how much the value depends on the subjects, not that it is the best of many and therefore
        too good: see `nested_tune`. The trial must be one of the first 50. There is no interval of
        a function.
        """
        at = 0 if trial is None else self._kept(trial)
        return self.held_out.intervals(
            self.outcomes[at],
            self.objective,
            seed=seed,
            repeats=repeats,
            confidence_level=confidence_level,
        )

    def _kept(self, trial: Trial) -> int:
        for at, one in enumerate(self.trials[: len(self.outcomes)]):
            if one is trial:
                return at
        raise ValueError(f"trial must be one of the first {len(self.outcomes)} trials")

    @cached_property
    def _best_intervals(self) -> dict[str, Interval]:
        return self.intervals()

    def __repr__(self) -> str:
        best = f", best {shown_number(self.measure, self.best.value)}" if self.trials else ""
        return f"<Tuning of {many(len(self.trials), 'trial')} by {self.measure}{best}>"

    def __str__(self) -> str:
        warned = [f"Warning: {one}" for one in self.warnings]
        return "\n".join([*self.lines(), *warned])

    def lines(self, most: int = _LISTED) -> list[str]:
        """Return a table of at most `most` settings and the bounds, and the intervals."""
        lines = measure_lines(self.objective, self.held_out.names, self._rows(most))
        more = len(self.trials) - most
        if more > 0:
            lines.insert(1 + most, f"and {more} more")
        between = interval_lines(self._best_intervals)
        return [*lines, "", f"95 % intervals of the first setting{self._ignored}:", *between]

    @property
    def _ignored(self) -> str:
        """What the intervals leave out, in words."""
        chosen = len(self.trials)
        if chosen < 2:
            return ""
        return f", ignoring the choice among {chosen:,} settings (see nested_tune, --outer-folds)"

    def _rows(self, most: int) -> list[TrialRow]:
        return [
            *((trial.value, trial.measures, trial.setting) for trial in self.trials[:most]),
            *((None, bound, f"({name})") for name, bound in self.bounds.items()),
        ]

    def chart(self, kind: TuningChart = "policies", **options: Any) -> Chart:
        """Return a picture as plain data, to be saved, shown in a notebook or plotted.

        `"policies"` has the best setting of each kind of policy, with the standard error over
        folds, beside the bounds; `"frontier"` the best precision, or another `measure`, for each
        median delay, with at least the recall `least_recall` [default: 0.5]; `"thresholds"` each
        ERDE and F₁ of the chosen policy against its threshold; `"delays"` a histogram of the
        delays of the chosen setting. All are of held-out subjects.
        """
        from watchword.evaluation.replay_charts import tuning_chart

        return tuning_chart(self, kind, **options)

    def plot(self, kind: TuningChart = "policies", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw one of the charts with matplotlib (`watchword[plot]`) on the given or new axes."""
        return self.chart(kind, **options).plot(ax)

    def _repr_html_(self) -> str:
        result_html: Callable[..., str] = view("result_html")
        table = measure_cells(self.objective, self.held_out.names, self._rows(_SHOWN))
        chart = self.chart("frontier").to_dict()
        return result_html(repr(self), table, warnings=self.warnings, chart=chart)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the first trial is the chosen one."""
        return {
            "measure": self.measure,
            "bounds": finite(self.bounds),
            "warnings": list(self.warnings),
            "intervals": plain_intervals(self._best_intervals),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON, in ASCII."""
        return json.dumps(self.to_dict(), default=repr)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per setting: parameters, policy and measures; None for infinite values."""
        return [
            {
                **trial.parameters,
                "refined": trial.refined,
                "policy": spell_policy(trial.policy),
                self.measure: finite(trial.value),
                **finite(trial.measures),
                "meets_limits": trial.meets_limits,
            }
            for trial in self.trials
        ]

    def to_csv(self, *, spreadsheet_safe: bool = False) -> str:
        """Return a line per setting.

        With `spreadsheet_safe`, text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        return csv_of(self.rows(), spreadsheet_safe=spreadsheet_safe)


TrialRow = tuple[float | None, Mapping[str, float], str]


def measure_lines(
    objective: Objective, names: Sequence[str], rows: Sequence[TrialRow]
) -> list[str]:
    """Return a table: the optimised value, the other measures, and the setting."""
    cells = measure_cells(objective, names, rows)
    numbers = aligned([row[1:] for row in cells], words=0)
    width = max(map(len, numbers))
    return [f"{line:{width}}  {row[0]}" for line, row in zip(numbers, cells, strict=True)]


def measure_cells(
    objective: Objective, names: Sequence[str], rows: Sequence[TrialRow]
) -> list[list[str]]:
    """Return the same table as cells, with a row of titles and the setting in front."""
    found = [objective.row(names, value, measures) for value, measures, _ in rows]
    cells = [["setting", *(head_of(name) for name in found[0])]]
    return cells + [
        [text, *(shown_number(name, one) for name, one in row.items())]
        for (_, _, text), row in zip(rows, found, strict=True)
    ]


def interval_lines(intervals: Mapping[str, Interval]) -> list[str]:
    """Return a table of measures with their values and intervals."""
    rows: list[tuple[str, ...]] = [("", "value", "from", "to")]
    rows += [
        (head_of(name), *(shown_number(name, number) for number in (one.value, one.low, one.high)))
        for name, one in intervals.items()
    ]
    return aligned(rows)


def plain_intervals(intervals: Mapping[str, Interval]) -> dict[str, list[float | None]]:
    """Return the ends of intervals as plain data."""
    return {name: finite([one.low, one.high]) for name, one in intervals.items()}
