"""The command line: help, errors, exit codes, and output on and off a terminal."""

import contextlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import watchword as ww
from command_line import ENVIRONMENT, call, next_line, run, run_on_terminal, started
from ports import free_port
from spark_cluster import HAS_SPARK
from watchword.cli import cli
from watchword.cli.base import LogPrinter, progress
from watchword.cli.commands.demo import make_demo

posix = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


@pytest.fixture
def broken_verb():
    """Add a command that fails in a given way for the time of a test."""
    added = []

    def add(error):
        @cli.command("broken")
        def broken():
            raise error

        added.append(broken)
        return "broken"

    yield add
    for command in added:
        del cli.commands[command.name]


def every_command(group=cli, path=("watchword",)):
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*path, name))


COMMANDS = list(every_command())
NAMES = [" ".join(path) for path, _ in COMMANDS]


# Help


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=NAMES)
def test_every_command_has_help(path, command):
    shown = CliRunner().invoke(cli, [*path[1:], "--help"])
    assert shown.exit_code == 0
    assert command.help
    assert command.help.splitlines()[0] in shown.output


@pytest.mark.parametrize(
    "path", [path for path, command in COMMANDS if isinstance(command, click.Group)]
)
def test_lists_of_commands_show_whole_summaries(path):
    shown = CliRunner().invoke(cli, [*path[1:], "--help"], terminal_width=80).output
    assert "Commands:" in shown
    assert not re.search(r"^  .*\.\.\.$", shown, re.MULTILINE)


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=NAMES)
def test_every_option_has_help(path, command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{' '.join(path)} {parameter.opts[0]}"


@pytest.mark.parametrize("command", [command for _, command in COMMANDS], ids=NAMES)
def test_options_have_no_metavar_of_clicks_number_types(command):
    context = click.Context(command)
    shown = [one.make_metavar(context) for one in command.params]
    assert not [one for one in shown if re.search("INTEGER|FLOAT|DIRECTORY", one)]


def test_ranges_are_shown_unless_obvious():
    shown = CliRunner().invoke(cli, ["validate", "--help"]).output
    assert "[default: 1; 1<=x<=1000]" in shown
    assert "x>=" not in shown


def examples(path):
    """Return the commands at the end of a help page."""
    shown = CliRunner().invoke(cli, [*path[1:], "--help"])
    found = re.search(r"\n  Example:\n((?:    watchword .*\n)+)\Z", shown.output)
    assert found, shown.output
    return found.group(1).splitlines()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.spark] if path[1:2] == ("spark",) else [])
        for path, _ in COMMANDS
    ],
    ids=NAMES,
)
def test_every_help_ends_with_an_example_that_runs(path, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    shutil.copy(Path(__file__).parents[1] / "data" / "old.ss3m", tmp_path)
    if path[1:2] == ("spark",):
        examples(path)
        if not HAS_SPARK:
            return  # tests/conftest.py says so
        request.getfixturevalue("spark")  # the verbs use the session that is there
    run_commands(examples(path))


def run_commands(lines):
    """Run commands as a shell would; those that end with & run in the background."""
    port = str(free_port())
    with contextlib.ExitStack() as stack:
        servers = []
        for line in lines:
            _, *arguments = shlex.split(line.replace("8765", port))
            if arguments[-1] == "&":
                servers.append(stack.enter_context(started(*arguments[:-1])))
                assert next_line(servers[-1])["url"].endswith(port)
                continue
            result = call(*arguments)
            assert result.exit_code == 0, result.output
        for server in servers:
            server.terminate()
            assert server.wait(60) == 0, server.stderr.read()


def test_help_example_uses_the_command():
    for path, command in COMMANDS:
        if not hasattr(command, "commands"):
            assert any(line.strip().startswith(" ".join(path)) for line in examples(path)), path


def test_version():
    shown = run("--version")
    assert (shown.returncode, shown.stdout) == (0, f"watchword {ww.__version__}\n")


# Errors


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["demo", "--subjects", "few"], ["demo", "more"], ["--nonsense"]]
)
def test_usage_errors_exit_with_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: watchword")
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ww.errors.ModelFormatError("m.ww is damaged"), "Error: m.ww is damaged\n"),
        (ww.errors.UnknownLabelError("unknown label 'x'"), "Error: unknown label 'x'\n"),
        (ValueError("smoothness must be in (0, 1], got 3"), "Error: smoothness must be in (0, 1]"),
        (FileNotFoundError(2, "No such file or directory", "m.ww"), "Error: m.ww: No such file"),
        (OSError("disk full"), "Error: disk full\n"),
        (TypeError("oops"), "Error: unexpected TypeError: oops (please report it"),
        (ValueError("a\x1b[31mb"), "Error: a␛[31mb\n"),
    ],
)
def test_errors_are_a_message_and_exit_with_1(broken_verb, error, message):
    result = CliRunner().invoke(cli, [broken_verb(error)])
    assert result.exit_code == 1
    assert result.output.startswith(message)
    assert "Traceback" not in result.output


def test_log_messages_are_printed_with_visible_control_characters(capsys):
    logger = logging.getLogger("watchword.test")
    printer = LogPrinter(logging.WARNING)
    logger.addHandler(printer)
    try:
        logger.info("nothing to see")
        logger.warning("slow %s", "\x1b[31m")
    finally:
        logger.removeHandler(printer)
    assert capsys.readouterr() == ("", "slow ␛[31m\n")


def test_debug_shows_the_traceback(broken_verb):
    error = ValueError("smoothness must be in (0, 1], got 3")
    result = CliRunner().invoke(cli, ["--debug", broken_verb(error)])
    assert result.exit_code == 1
    assert result.exception is error


@posix
def test_broken_pipe_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m watchword demo --subjects 40 | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_missing_extra_prints_the_install_command(missing):
    program = f"""
import sys
sys.modules[{missing!r}] = None
from watchword.__main__ import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "install with: pip install 'watchword[cli]'" in done.stderr


# The demo


def test_demo_shows_accuracy_ngrams_and_an_explanation():
    result = run("demo", "--subjects", "60")
    assert result.returncode == 0, result.stderr
    assert re.search(r"\d+%  with sequences of up to 3 words", result.stdout)
    assert "N-grams of highest value for 'at risk'" in result.stdout
    assert "N-grams of highest value for 'control'" in result.stdout
    assert "painted by evidence for 'at risk'" in result.stdout


@pytest.mark.slow
def test_demo_is_plain_away_from_a_terminal():
    result = run("demo", "--subjects", "40")
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


@pytest.mark.slow
def test_demo_is_the_same_for_the_same_seed():
    first, again, other = (run("demo", "--subjects", "20", "--seed", seed) for seed in "112")
    assert first.stdout == again.stdout != other.stdout


def test_demo_recognises_most_subjects():
    found = make_demo(200, 0)
    assert found.right[3] > 0.85 * len(found.tested)
    assert found.right[3] >= found.right[1]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_smallest_demo_has_both_labels_in_train_and_test(seed):
    found = make_demo(10, seed)
    for side in (found.taught, found.tested):
        assert {subject.label for subject in side} == {"at risk", "control"}


@pytest.mark.slow
def test_demo_works_with_an_ascii_output():
    assert run("demo", "--subjects", "20", PYTHONIOENCODING="ascii").returncode == 0


@posix
def test_demo_is_painted_on_a_terminal():
    code, seen = run_on_terminal("demo", "--subjects", "40")
    assert code == 0
    assert re.search(r"\x1b\[[0-9;]*48;2;", seen)  # a background colour


@posix
def test_no_color_is_respected():
    code, seen = run_on_terminal("demo", "--subjects", "40", NO_COLOR="1")
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*[34]8;", seen)


@posix
def test_progress_shows_on_a_terminal():
    assert "learning" in run_on_terminal("demo", "--subjects", "40")[1]


def test_progress_passes_all_items_on(capsys):
    assert list(progress(iter("abc"), "counting", total=3)) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")
