"""Search for the best model parameters by cross-validation."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

from watchword._checks import Progress, Targets, as_choice, as_threads, as_whole, tracked
from watchword._files import AnyPath
from watchword.model.parameters import PAPER, Parameters
from watchword.model.tau_ss3 import TauSS3
from watchword.searching.result import (
    KeptResults,
    Measure,
    Search,
    SearchedSetting,
    is_fold_result,
    judge_of,
    parameters_of,
)
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
_BUDGET = 30.0  # seconds, by default, to tune
_REFINED = 2  # most settings that are also tried with refinement
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
    refine: bool = True,
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
    half after each fold. A random search tries the model's own parameters first; without a
    `space`, then single words and the parameters of `TauSS3.paper()`. `budget` ("30s", "5m", or
    seconds) or Ctrl-C ends the search early with the results so far. How many settings a budget
    allows depends on the machine and its load: use `trials` for results that can be repeated.

    With `refine`, the best setting and the model's own parameters, if they were tried, are also
    evaluated with refinement (`TauSS3.refine`) at the end, whatever the budget: a model is fitted
    to the texts outside each fold. `Search.model` refines if `best.refined`.

    With `keep`, every result is saved to that file immediately, with a digest of texts, labels,
    folds and program version: the same search, or a larger one, resumes from it.

    `measure` is a name in `watchword.evaluation.labels.MEASURES`, or a function from an
    `Evaluation` to a number, where higher is better. The value of a setting covers all folds
    together, as in `cross_validate`.

    >>> texts = ["machine learning", "deep learning", "what a match", "the match"] * 5
    >>> labels = ["tech", "tech", "sports", "sports"] * 5
    >>> found = search(texts, labels, {"smoothness": [0.2, 0.5], "max_ngram": [1, 2]}, folds=2)
    >>> len(found.settings), found.best.value, found.best.refined  # the best was also refined
    (5, 1.0, False)
    """
    job = Job.of(texts, labels, model, folds=folds, groups=groups, repeats=repeats, seed=seed)
    if space is None or isinstance(space, Mapping):
        tried = _settings(space, method, trials, job.base, seed)
    else:
        tried = _given(space, method, trials, job.base)
    judge_of(measure)  # fail before anything is computed
    deadline = None if budget is None else time.monotonic() + seconds_of(budget)
    rungs = [[fold] for fold in range(len(job.folds))] if method == "halving" else [job.all_folds]

    is_sound = partial(is_fold_result, labels=len(job.order), several=job.several)
    with KeptResults.open(keep, job.digest, is_sound=is_sound) as kept:
        run = Run(job, tried, rungs, kept, as_threads(threads), deadline)
        refined: list[SearchedSetting] = []

        def all_steps() -> Generator[SearchedSetting, None, None]:
            yield from run.steps(measure)
            chosen = run.to_refine(measure) if refine else []
            if chosen:
                last = Run(job, chosen, [job.all_folds], kept, run.threads, None, refined=True)
                for step in last.steps(measure):
                    refined.append(step)
                    yield step

        interrupted = False
        steps = all_steps()
        # Each rung tries half of the settings before it.
        most = sum(-(-len(tried) // 2**rung) for rung in range(len(rungs)))
        try:
            for _ in tracked(steps, most + (_REFINED if refine else 0), progress):
                pass
        except KeyboardInterrupt:
            interrupted = True
        finally:
            steps.close()
        found = run.result(measure, refined=refined, interrupted=interrupted)
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
    found = search(texts, labels, space, method="random", trials=most, budget=budget, **options)
    # An infinite space has no meaningful number of unfinished settings.
    return found if combinations(wanted) <= _MOST_TRIALS else replace(found, unfinished=0)


def search_best(
    texts: Iterable[str],
    labels: Targets,
    space: Space | None,
    *,
    budget: float | str | None,
    trials: int | None,
    **options: Any,
) -> Search:
    """Search at random for a number of trials or a time, by default for 30 seconds."""
    if trials is None:
        return search_within(_BUDGET if budget is None else budget, texts, labels, space, **options)
    return search(texts, labels, space, method="random", trials=trials, budget=budget, **options)


def seconds_of(budget: float | str) -> float:
    """Return a time in seconds from a number, or from text such as "90s", "1.5m", "2h".

    >>> seconds_of("1.5m")
    90.0
    """
    given = budget
    if isinstance(budget, str):
        matched = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)?\s*", budget)
        if matched is None:
            raise ValueError(f"budget must look like '30s', '5m' or '1h', got {given!r}")
        budget = float(matched[1]) * {"h": 3600, "m": 60, "min": 60}.get(matched[2] or "s", 1)
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"budget must be seconds or text such as '5m', got {given!r}")
    if not (math.isfinite(budget) and budget > 0):
        raise ValueError(f"budget must be above 0, got {given!r}")
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
    """Return the settings to try: first the model's own, then random ones or all of a grid.

    Without a space, single words and the parameters of the paper come second and third.
    """
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
    first = [{name: base.get(name, 0) for name in wanted}]  # 0: no pruning
    drawn = draw(wanted, count, seed)
    if space is None:
        paper = parameters_of(Parameters(**PAPER))
        # Where the model differs from the paper outside the space, the random settings do, too.
        more = {name: base[name] for name in PAPER if name not in wanted}
        fixed = {name: value for name, value in more.items() if value != paper[name]}
        own = first[0] | fixed
        first = [own, own | {"max_ngram": 1}, own | {name: paper[name] for name in own}]
        drawn = [setting | fixed for setting in drawn]
    first = [one for at, one in enumerate(first) if one not in first[:at]]
    return [*first, *(one for one in drawn if one not in first)][:count]
