"""Search for the best model parameters by cross-validation."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from watchword._checks import Targets, as_choice, as_threads, as_whole
from watchword._files import AnyPath
from watchword._progress import Progress, tracked
from watchword.model.tau_ss3 import TauSS3
from watchword.searching.cache import KeptResults
from watchword.searching.result import Measure, Search, is_fold_result, judge_of
from watchword.searching.run import Job, Run
from watchword.searching.space import (
    DEFAULT_SPACE,
    Between,
    Setting,
    Space,
    all_of,
    check_setting,
    check_space,
    combinations,
    draw,
    plain_value,
)

Method = Literal["grid", "random", "halving"]
METHODS: tuple[Method, ...] = get_args(Method)

_TRIALS = 100  # default number of random settings
_MOST_TRIALS = 10_000  # limit if the budget ends the search


def search(
    texts: Iterable[str],
    labels: Targets,
    space: Space | Sequence[Setting] | None = None,
    *,
    model: TauSS3 | None = None,
    measure: Measure = "accuracy",
    method: Method | None = None,
    trials: int | None = None,
    folds: int = 4,
    groups: Sequence[Hashable] | None = None,
    repeats: int = 1,
    seed: int = 0,
    budget: float | str | None = None,
    keep: AnyPath | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Search:
    """Evaluate many settings of the parameters by cross-validation; return them best first.

    `space` maps parameter names to lists of values or ranges `Between(low, high)`, or is a list of
    settings. It may hold the arguments of `TauSS3` and `prune`, the floor for pruning after
    learning. `model` provides all other parameters and the hooks; it is not changed.

    The method `"grid"` tries all combinations of the lists. `"random"` draws `trials` settings from
    the space. `"halving"` draws the same settings, evaluates them fold by fold, and drops the worse
    half after each fold. A random search tries the model's own parameters first. `budget` ("30s",
    "5m", or seconds) or Ctrl-C ends the search early with the results so far.

    With `keep`, every result is saved to that file immediately, with a digest of texts, labels,
    folds and program version: the same search, or a larger one, resumes from it.

    `measure` is a name in `watchword.evaluation.labels.MEASURES`, or a function from an
    `Evaluation` to a number, where higher is better. The value of a setting covers all folds
    together, as in `cross_validate`.

    >>> texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
    >>> labels = ["tech", "tech", "sports", "sports"] * 5
    >>> found = search(texts, labels, {"smoothness": [0.2, 0.5], "max_ngram": [1, 2]}, folds=2)
    >>> len(found.settings), found.best.value
    (4, 1.0)
    """
    job = Job.of(texts, labels, model, folds=folds, groups=groups, repeats=repeats, seed=seed)
    if space is None or isinstance(space, Mapping):
        tried = _settings(space, method, trials, job.base, seed)
    else:
        tried = _given(space, method, trials, job.base)
    judge_of(measure)  # fail before anything is computed
    deadline = None if budget is None else time.monotonic() + seconds_of(budget)
    rungs = [[fold] for fold in range(len(job.folds))] if method == "halving" else [job.all_folds]

    def is_sound(result: object) -> bool:
        return is_fold_result(result, labels=len(job.order), several=job.several)

    with KeptResults.open(keep, job.digest, is_sound=is_sound) as kept:
        run = Run(job, tried, rungs, kept, as_threads(threads), deadline)
        interrupted = False
        steps = run.steps(measure)
        try:
            for _ in tracked(steps, run.most_steps, progress):
                pass
        except KeyboardInterrupt:
            interrupted = True
        finally:
            steps.close()
        found = run.result(measure, interrupted=interrupted)
    if interrupted and not found.settings:
        raise KeyboardInterrupt
    return found


def search_within(
    budget: float | str, texts: Iterable[str], labels: Targets, space: Space | None, **options: Any
) -> Search:
    """Search at random until the budget ends, whatever the number of settings."""
    wanted = DEFAULT_SPACE if space is None else space
    check_space(wanted)
    most = int(min(_MOST_TRIALS, combinations(wanted) + 1))
    found = search(texts, labels, wanted, method="random", trials=most, budget=budget, **options)
    # An infinite space has no meaningful number of unfinished settings.
    return found if combinations(wanted) <= _MOST_TRIALS else replace(found, unfinished=0)


def seconds_of(budget: float | str) -> float:
    """Return a time in seconds from a number, or from text such as "90s", "1.5m", "2h".

    >>> seconds_of("1.5m")
    90.0
    """
    given = budget
    if isinstance(budget, str):
        matched = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)?\s*", budget)
        if matched is None:
            raise ValueError(f"a time must look like '30s', '5m' or '1h', got {given!r}")
        budget = float(matched[1]) * {"h": 3600, "m": 60, "min": 60}.get(matched[2] or "s", 1)
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"a time must be a number of seconds or text, got {given!r}")
    if not (math.isfinite(budget) and budget > 0):
        raise ValueError(f"a time must be above 0, got {given!r}")
    return float(budget)


def _given(
    settings: Sequence[Setting], method: Method | None, trials: int | None, base: dict[str, Any]
) -> list[Setting]:
    if trials is not None or method not in (None, "grid", "halving"):
        raise ValueError("a list of settings is tried completely: omit trials and method='random'")
    if isinstance(settings, str) or not isinstance(settings, Sequence):
        raise TypeError(
            f"space must map names to values, or be a list of settings, got {settings!r}"
        )
    if not settings:
        raise ValueError("there are no settings to try")
    for setting in settings:
        check_setting(setting)
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    return [
        {name: plain_value(one.get(name, base.get(name, 0))) for name in names} for one in settings
    ]


def _settings(
    space: Space | None,
    method: Method | None,
    trials: int | None,
    base: dict[str, Any],
    seed: int,
) -> list[Setting]:
    wanted = DEFAULT_SPACE if space is None else space
    check_space(wanted)
    ranges = any(isinstance(values, Between) for values in wanted.values())
    if method is None:
        method = "random" if ranges or trials is not None else "grid"
    as_choice("method", method, METHODS)
    if method == "grid":
        if trials is not None:
            raise ValueError("a grid tries all combinations: trials need a random search")
        return all_of(wanted)
    count = as_whole("trials", _TRIALS if trials is None else trials, 1)
    own = {name: base.get(name, 0) for name in wanted}  # 0: no pruning
    drawn = [setting for setting in draw(wanted, count, seed) if setting != own]
    return [own, *drawn][:count]
