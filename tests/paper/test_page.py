"""docs/paper.md: every command and test that it names exists."""

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from paper.__main__ import command_parser
from watchword.cli import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE)))
COMMANDS = sorted(set(re.findall(r"`(watchword [^`]+)`", PAGE)))
OPTIONS = sorted(set(re.findall(r"`make paper OPTIONS=([^`]+)`", PAGE)))
[WHERE] = re.findall(r"^## What is where$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", WHERE, re.MULTILINE)[1:]


@pytest.mark.parametrize("test", TESTS)
def test_a_named_test_exists(test):
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_command_and_its_options_exist(command):
    _, *words = shlex.split(command)
    found: Any = cli
    while words and words[0] in getattr(found, "commands", {}):
        found = found.commands[words.pop(0)]
    assert found is not cli
    known = {one for param in found.params for one in [*param.opts, *param.secondary_opts]}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("options", OPTIONS)
def test_named_options_of_make_paper_exist(options):
    command_parser().parse_args(shlex.split(options.strip('"')))


def test_every_part_of_the_paper_has_a_command_or_a_test():
    parts = " ".join(part for part, _ in ROWS)
    for part in (
        *(f"eq. {number}" for number in (1, 2, 4)),
        *(f"figure {number}" for number in range(1, 6)),
        *(f"Algorithm {number}" for number in (1, 2)),
        "tables 1 to 3",
    ):
        assert part in parts
    assert all("`" in named for _, named in ROWS)
