"""docs/command-line.md: every command is there, and every example prints what the page shows."""

import contextlib
import doctest
import re
import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest

from command_line import call, started
from ports import free_port
from spark_cluster import HAS_SPARK
from untyped import untyped
from watchword.cli import cli
from watchword.cli.policy_notation import parse_policy
from watchword.streams.notation import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
DATA = Path(__file__).parents[1] / "data"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(group=cli, path="watchword"):
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def examples():
    """Return the commands on the page in order, each with its output."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_is_documented(name):
    assert re.search(rf"^###? {re.escape(name)}$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(
    "name", [name for name, command in commands() if not isinstance(command, click.Group)]
)
def test_every_command_has_an_example(name):
    assert any(command.startswith(name) for command, _ in examples())


def test_the_module_of_a_command_names_it_first():
    for name, command in cli.commands.items():
        module = sys.modules[command.callback.__module__]
        assert name in re.findall(r"\w+", module.__doc__.partition(":")[0])


def test_no_other_command_is_documented():
    known = {name for name, _ in commands()}
    assert set(re.findall(r"^###? (watchword .*)$", PAGE, re.MULTILINE)) == known


@pytest.mark.parametrize("option", sorted(set(re.findall(r"(?<=[ `])--[a-z0-9-]+", PAGE))))
def test_every_option_on_the_page_exists(option):
    known = {
        one
        for _, command in [("", cli), *commands()]
        for p in command.params
        for one in [*p.opts, *p.secondary_opts]
    }
    assert option in known | {"--help"}


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_documented_with_its_defaults(name):
    [written] = re.findall(rf"^\| `({name}\(.*?\))` \|", PAGE, re.MULTILINE)
    assert parse_policy(written, "x") == untyped(NAMES[name])("x")
    options = re.findall(r"(\w+)=", written)
    assert options == [
        one for one in untyped(NAMES[name]).__dataclass_fields__ if one != "positive"
    ]


@pytest.mark.parametrize("text", re.findall(r'^    --policy "(.*)"$', PAGE, re.MULTILINE))
def test_every_policy_on_the_page_can_be_parsed(text):
    parse_policy(text, "x")


@pytest.mark.slow
@pytest.mark.spark
def test_every_example_prints_what_the_page_shows(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    for name in ("old.ss3m", "scores.jsonl", "own_scores.py"):
        shutil.copy(DATA / name, tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_scores", raising=False)  # other tests have one, too
    if HAS_SPARK:
        request.getfixturevalue("spark")  # the verbs use the session that is there
    # Servers of the page run to its end, each on a port of its own.
    ports = {shown: str(free_port()) for shown in set(re.findall(r"\b87\d\d\b", PAGE))}
    wrong = []
    with contextlib.ExitStack() as stack:
        for command, expected in examples():
            if command.startswith("watchword spark") and not HAS_SPARK:
                continue  # without pyspark tests/conftest.py says so
            for shown, port in ports.items():
                command = command.replace(shown, port)
            _, *arguments = shlex.split(command)
            if arguments[-1] == "&":
                process = stack.enter_context(started(*arguments[:-1]))
                output = process.stdout.readline().decode()
                for shown, port in ports.items():
                    output = output.replace(port, shown)
            else:
                output = call(*arguments).output
            if not doctest.OutputChecker().check_output(expected, output, FLAGS):
                wrong.append(f"$ {command}\n{output}")
    assert not wrong, "\n".join(wrong)
