"""watchword watch: alerts as posts arrive, and a state file to resume from.

With a state file no alert is lost. Posts are read, their alerts printed and flushed, and only then
is the state saved atomically, so a state never contains an alert that was not printed. After a
crash, the posts since the last save are not in the state; when they are read again, they raise the
same alerts again. Alerts are therefore delivered at least once; a subject has at most one, so its
id identifies duplicates.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

from watchword import Decision, Policy, TauSS3, Watcher
from watchword._display import visible
from watchword._files import WRITE_FAILURES, locked, read_regular
from watchword.cli.base import (
    FILE,
    FiniteFloat,
    end_torn_line,
    json_line,
    verb,
    warn,
    write_text_output,
    writing_output,
)
from watchword.cli.evaluation_options import combination_options
from watchword.cli.files import DATA, UpdatedPath
from watchword.cli.loading import Loader, load_model
from watchword.cli.options import (
    allow_changed_model_option,
    flag,
    option,
    policy_option,
    positive_option,
    reading_options,
)
from watchword.cli.output import Stops
from watchword.cli.policy_notation import policy_for
from watchword.data.lines import BadLines, Flaw, Wait
from watchword.data.texts import Texts
from watchword.errors import StateError
from watchword.explain.alerts import AlertReasons, alert_reasons
from watchword.model.engine import engine_of
from watchword.streams import FunctionModel

_MOST_REASONS = 5  # n-grams for and against an alert


@verb(
    example="""
    watchword make streams.jsonl --subjects 60
    watchword train streams.jsonl -o model.ww
    watchword make new.jsonl --subjects 20 --seed 1 --by-time
    watchword watch model.ww new.jsonl --positive "at risk" --state watch.state
    """
)
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1, type=DATA)
@positive_option
@policy_option
@combination_options
@option("--state", "State file to resume from, if it exists, and to save to.", type=UpdatedPath())
@option(
    "--save-every SECONDS", "Time between saves of the state.", type=FiniteFloat(min=0), default=60
)
@flag(
    "--from-start",
    "The input starts over: skip the posts read before the state was saved.",
)
@allow_changed_model_option
@flag("--all", "Print the decision after every post.", name="every_post")
@flag("--final", "Print a line per subject at the end.")
@reading_options(bad_lines="skip")
def watch(
    model: Path,
    data: tuple[str, ...],
    positive: str,
    policy: str,
    combination: dict[str, Any],
    state: Path | None,
    save_every: float,
    from_start: bool,
    allow_changed_model: bool,
    every_post: bool,
    final: bool,
    loader: Loader,
    threads: int | None,
    table: bool,
) -> None:
    """Read posts as they arrive and print alerts at once.

    DATA are files of JSON lines {"subject": …, "text": …}, or CSV files [default: standard input].
    Each subject gets at most one alert, with the id and the time of its post and the n-grams for
    and against it. With --state, no alert is lost: alerts are printed before the state is saved, so
    after a crash some may be printed again. MODEL may also be module:function, your own function
    from a list of texts to scores from 0 to 1.
    """
    taught = load_model(model, positive, combination)
    rule = policy_for(policy, positive, taught.labels)
    if rule.is_population:
        raise click.UsageError(
            f"{policy!r} compares all subjects of a round, but watch reads posts one by one "
            "(use another policy, or watchword evaluate)"
        )
    if from_start and state is None:
        raise click.UsageError("--from-start requires --state")
    idle = max(save_every, 1.0) if state is not None else None
    stops = Stops()
    batches = loader.batches(data or ("-",), streams=True, wait=Wait(stops.waiting, idle))
    posts = with_subjects(batches, loader.bad)
    shown = show_rows if table else show_json
    opened = Keeper.open(
        taught, rule, path=state, every=save_every, allow_changed_model=allow_changed_model
    )
    with opened as keeper, stops:
        end_torn_line()
        watch_posts(
            keeper,
            after_first(posts, keeper.posts) if from_start else posts,
            stops=stops,
            show=shown,
            every_post=every_post,
            threads=threads,
            explain=explainer(taught, rule),
        )
        if final:
            shown("final", keeper.watcher.decisions(), {})
    loader.report()
    if stops.exit_code:
        raise click.exceptions.Exit(stops.exit_code)


class Keeper:
    """A watcher whose state is saved to a file periodically."""

    def __init__(self, watcher: Watcher, path: Path | None, *, every: float) -> None:
        self.watcher = watcher
        self._path = path
        self._every = every  # seconds
        self._saved_at = time.monotonic()
        self._is_changed = False
        self._is_settled = True  # whether all decisions are printed

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        model: TauSS3 | FunctionModel,
        policy: Policy,
        *,
        path: Path | None,
        every: float,
        **options: bool,
    ) -> Iterator[Keeper]:
        """Resume from a state file, or start without one; lock the file until closed."""
        state = None
        with contextlib.nullcontext() if path is None else locked(path):
            if path is not None:
                with contextlib.suppress(FileNotFoundError):
                    state = read_regular(path, StateError)
            try:
                watcher = model.watcher(policy, state=state, **options)
            except StateError as error:
                raise StateError(f"{path}: {error}") from None
            yield cls(watcher, path, every=every)

    @property
    def posts(self) -> int:
        """The number of posts read so far, before a resume included."""
        return sum(decision.posts for decision in self.watcher.decisions())

    @contextlib.contextmanager
    def change(self) -> Iterator[Watcher]:
        """Yield the watcher to read posts and print decisions; mark it to be saved on success."""
        self._is_changed, self._is_settled = True, False
        yield self.watcher
        self._is_settled = True

    def save(self, *, if_due: bool = False) -> None:
        """Save the state if it changed; with `if_due`, only if the last save is old enough."""
        now = time.monotonic()
        due = now - self._saved_at >= self._every or not if_due
        if self._path is None or not (due and self._is_changed and self._is_settled):
            return
        _sync_output()
        self.watcher.save(self._path)
        self._saved_at, self._is_changed = now, False


def _sync_output() -> None:
    """Sync an output file to disk before the state that records its alerts."""
    with writing_output(), contextlib.suppress(ValueError):  # no file descriptor
        try:
            os.fsync(sys.stdout.fileno())
        except OSError as error:
            if error.errno in WRITE_FAILURES:
                raise
            # Otherwise a pipe or a terminal, which cannot be synced.


def watch_posts(
    keeper: Keeper,
    batches: Iterable[Texts],
    *,
    stops: Stops,
    show: Show,
    every_post: bool = False,
    threads: int | None = None,
    explain: Explain | None = None,
) -> None:
    """Read posts as they arrive until the end or a signal; save the state in any case."""
    try:
        for batch in stops.until_stopped(batches):
            if batch:
                with keeper.change() as watcher:
                    subjects = cast("list[str]", batch.subjects)  # see `with_subjects`
                    if every_post:
                        every = watcher.read_each(subjects, batch.texts, threads=threads)
                        new = [(index, one) for index, one in enumerate(every) if one.is_new]
                        show("post", every, _details(batch, new, explain))
                    else:
                        alerts = watcher.read_indexed(subjects, batch.texts, threads=threads)
                        details = _details(batch, alerts, explain).values()
                        show("alert", [one for _, one in alerts], dict(enumerate(details)))
            keeper.save(if_due=True)
    except Exception:
        keeper.save()
        raise
    keeper.save()


class Detail(NamedTuple):
    """The post that raised an alert, as far as the input says, and why it did."""

    post_id: str | None
    time: datetime | None
    reasons: AlertReasons | None

    def members(self) -> str:
        """Return it as the members of a JSON object, without its braces."""
        reasons = None if self.reasons is None else self.reasons.to_dict()
        if reasons is not None:  # earlier posts are not kept, so their shares are not known
            reasons = {name: reasons[name] for name in ("rival", "ngrams_for", "ngrams_against")}
        time = None if self.time is None else self.time.isoformat()
        return json_line({"post_id": self.post_id, "time": time, "reasons": reasons})[1:-2]


Explain = Callable[[str, Decision], AlertReasons]


def explainer(model: TauSS3 | FunctionModel, policy: Policy) -> Explain | None:
    """Return a function from the text and the decision of an alert to its reasons.

    None for a function of the user's own, which has no n-grams.
    """
    if not isinstance(model, TauSS3):
        return None
    engine, positive = engine_of(model), policy.positive
    return lambda text, decision: alert_reasons(
        engine, [text], positive=positive, sums=decision.confidence, most=_MOST_REASONS
    )


def _details(
    batch: Texts, alerts: Iterable[tuple[int, Decision]], explain: Explain | None
) -> dict[int, Detail]:
    """Return the details of the alerts that posts of a batch raised, by the posts' indices."""
    details = {}
    for index, alert in alerts:
        reasons = None if explain is None else explain(batch.texts[index], alert)
        details[index] = Detail(batch.ids[index], batch.times[index], reasons)
    return details


def with_subjects(batches: Iterable[Texts], bad: BadLines) -> Iterator[Texts]:
    """Yield the posts that have a subject; report the others as bad lines.

    Raises `DataFormatError` at the end if no post has a subject.
    """
    lacking, has_subjects = "", False
    for batch in batches:
        with_subject = [subject is not None for subject in batch.subjects]
        has_subjects = has_subjects or any(with_subject)
        if all(with_subject):
            yield batch
            continue
        for item in batch:
            if item.subject is None:
                lacking = item.source
                flaw = Flaw('"subject" is missing', arguments=("subject",))
                bad.meet(flaw, name=item.source, line=item.line)
        yield batch.only(with_subject)
    if lacking and not has_subjects:
        raise bad.nothing_in(lacking, "posts with subjects")


def after_first(batches: Iterable[Texts], count: int) -> Iterator[Texts]:
    """Yield all posts but the first `count`."""
    left = count
    for batch in batches:
        yield batch.part(left) if left else batch
        left -= min(left, len(batch))
    if left:
        warn(f"the state has read {left} posts more than the input has (is it the same input?)")


# Output

#: Prints an event's decisions, and the details of those that are new alerts, by their indices.
Show = Callable[[str, Iterable[Decision], Mapping[int, Detail]], None]


def _event(event: str, decision: Decision) -> str:
    """Return the event of a decision: a post that raises the alert is an alert."""
    return "alert" if event == "post" and decision.is_new else event


def show_json(event: str, decisions: Iterable[Decision], details: Mapping[int, Detail]) -> None:
    """Print decisions as JSON lines."""
    lines = [_json_line(_event(event, one), one) for one in decisions]
    for index, detail in details.items():
        # Before the brace that ends the line.
        lines[index] = f"{lines[index][:-2]}, {detail.members()}}}\n"
    write_text_output("".join(lines))


def _json_line(event: str, decision: Decision) -> str:
    """Return a decision as a line of JSON, as `json_line` would, but with less work."""
    label, delay, posts, confidence, subject = decision
    if not math.isfinite(sum(confidence.values())):  # JSON has no such numbers
        record = {"event": event, "subject": subject, "label": label, "delay": delay}
        return json_line(record | {"posts": posts, "confidence": confidence})
    sums = ", ".join([f"{_json(str(name))}: {value!r}" for name, value in confidence.items()])
    return (
        f'{{"event": "{event}", "subject": {encode_basestring_ascii(subject or "")}, '
        f'"label": {_json(label)}, "delay": {delay}, "posts": {posts}, '
        f'"confidence": {{{sums}}}}}\n'
    )


_json = cache(json.dumps)  # of labels and their names, which repeat


def show_rows(event: str, decisions: Iterable[Decision], details: Mapping[int, Detail]) -> None:
    """Print decisions as aligned rows."""
    rows = []
    for index, decision in enumerate(decisions):
        name = _event(event, decision)
        label = "–" if decision.label is None else str(decision.label)
        values = "  ".join(f"{name} {value:.3f}" for name, value in decision.confidence.items())
        after = f"after {decision.delay} of {decision.posts} posts" if decision else ""
        after = after or f"{decision.posts} posts"
        row = f"{name:<6} {decision.subject or '':<20} {label:<12} {after:<22} {values}"
        reasons = details[index].reasons if index in details else None
        if reasons is not None and reasons.ngrams_for:
            row += "  because of " + ", ".join(one.ngram for one in reasons.ngrams_for[:3])
        rows.append(visible(row).replace("\n", " ") + "\n")
    write_text_output("".join(rows))
