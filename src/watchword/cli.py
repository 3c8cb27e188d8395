"""The verbs of the command line: each parses arguments, calls a plain function, and prints.

A new verb is a function under `@verb(example="watchword …")`; errors, exit codes and `--debug` are
taken care of by the group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

import watchword
from watchword import Explanation, RankedNgram, TauSS3, WatchwordError
from watchword.checks import Label
from watchword.datasets import AT_RISK, CONTROL, Subject, make_risk_streams
from watchword.render import strongest_ngrams, to_terminal, visible

_Item = TypeVar("_Item")


class _Verbs(click.Group):
    """A group of verbs whose errors are messages; tracebacks are for `--debug`."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise click.ClickException(_message(error)) from error


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        named = "" if error.filename is None else f"{error.filename}: "
        return visible(f"{named}{error.strerror}")
    if isinstance(error, WatchwordError | ValueError | OSError):
        return visible(str(error))
    kind = type(error).__name__
    return visible(f"unexpected {kind}: {error} (please report it, with what --debug says)")


def _example(command: str) -> str:
    return f"\b\nExample:\n  {command}"


@click.group(
    cls=_Verbs,
    epilog=_example("watchword demo"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(watchword.__version__, prog_name="watchword", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Early risk detection over text streams, with reasons."""


def verb(*, example: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a verb; its help ends with an example, which the tests run."""
    return cli.command(epilog=_example(example))


def run() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # what an output cannot encode must not end a run
            reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="watchword")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return 0


# What verbs share


def console() -> Console:
    """Open the standard output: colours only on a terminal, no guessing at what text means."""
    return Console(highlight=False, markup=False, emoji=False)


def progress(items: Iterable[_Item], description: str, *, total: int) -> Iterator[_Item]:
    """Pass the items on, with a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():  # rich's own opinion may be forced by the environment
        yield from items
        return
    errors = Console(stderr=True)
    yield from track(items, description, total=total, console=errors, transient=True)


def show(output: Console, text: Text | str) -> None:
    """Print a text; lines are wrapped only for a terminal."""
    output.print(text, soft_wrap=not output.is_terminal)


def ngram_table(title: str, ngrams: Iterable[RankedNgram]) -> Table:
    """N-grams with values and counts, for eyes."""
    table = Table("n-gram", title=Text(visible(title)), box=None, title_justify="left")
    table.add_column("value", justify="right")
    table.add_column("count", justify="right")
    for ngram, value, count in ngrams:
        table.add_row(Text(visible(ngram)), f"{value:.3f}", str(count))
    return table


# watchword demo


@dataclass(frozen=True)
class Demo:
    """What the demo found."""

    taught: list[Subject]
    tested: list[Subject]
    calm: int  # subjects under test that are not at risk
    right: dict[int, int]  # subjects recognised, by the longest n-gram used
    top: dict[Label, list[RankedNgram]]
    explanation: Explanation


def make_demo(subjects: int, seed: int) -> Demo:
    """Teach half of made-up subjects, test on the others."""
    made = make_risk_streams(subjects, seed=seed, prevalence=0.3)
    risky = [subject for subject in made if subject.label == AT_RISK]
    others = [subject for subject in made if subject.label != AT_RISK]
    taught, tested = risky[::2] + others[::2], risky[1::2] + others[1::2]
    model = TauSS3()
    for subject in progress(taught, "learning", total=len(taught)):
        contents = [post.content for post in subject.posts]
        model.learn_many(contents, [subject.label or ""] * len(contents))
    histories = ["\n\n".join(post.content for post in subject.posts) for subject in tested]
    right = {}
    for length in range(1, model.parameters["max_ngram"] + 1):
        predicted = model.replace(max_ngram=length).predict_many(histories)
        pairs = zip(predicted, tested, strict=True)
        right[length] = sum(label == subject.label for label, subject in pairs)
    latest = "\n\n".join(post.content for post in tested[0].posts[-3:])
    return Demo(
        taught=taught,
        tested=tested,
        calm=sum(subject.label == CONTROL for subject in tested),
        right=right,
        top={label: model.top_ngrams(label, 8) for label in model.labels},
        explanation=model.explain(latest),
    )


@verb(example="watchword demo --subjects 40 --seed 7")
@click.option(
    "--subjects",
    type=click.IntRange(10, 100_000),
    default=200,
    show_default=True,
    help="How many people to make up.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Other seed, other people.")
def demo(subjects: int, seed: int) -> None:
    """Learn from made-up people, recognise others, and show why."""
    found = make_demo(subjects, seed)
    output = console()
    posts = sum(len(subject.posts) for subject in found.taught)
    show(
        output,
        f"Learnt {posts} posts of {len(found.taught)} made-up subjects, some of them more and "
        f"more exhausted.\nRecognised of {len(found.tested)} others:",
    )
    show(output, f"  {found.calm / len(found.tested):4.0%}  by calling everybody {CONTROL!r}")
    for length, right in found.right.items():
        known = "single words" if length == 1 else f"sequences of up to {length} words"
        show(output, f"  {right / len(found.tested):4.0%}  with {known}")
    for label, ngrams in found.top.items():
        output.print()
        output.print(ngram_table(f"What speaks most for {label!r}", ngrams))
    output.print()
    show(output, f"The latest posts of one at risk, painted by what speaks for {AT_RISK!r}:\n")
    show(output, to_terminal(found.explanation, AT_RISK))
    output.print()
    output.print(
        ngram_table("What weighs most in it", strongest_ngrams(found.explanation, AT_RISK, 5))
    )
