"""README and docs: every Python block is run and its output compared."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transformer_standin
from model_files import taught
from spark_cluster import HAS_SPARK

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)")


def name(path):
    return path.relative_to(ROOT).as_posix()


def blocks(page):
    """Return the language, content and first line of every fenced block."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found[1], found[2], text.count("\n", 0, found.start()) + 1


def output_of(example):
    command = [sys.executable, "-X", "utf8", "-W", "error", str(example)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


# Pages that tune or search for many seconds.
LONG = {"any-model.md", "early-detection.md", "erisk.md", "searching.md", "settings.md"}


def marks(page):
    if page.name == "spark.md":
        return [pytest.mark.spark]
    return [pytest.mark.slow] if page.name in LONG else []


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=marks(page)) for page in PAGES], ids=name
)
def test_python_on_a_page_does_what_the_page_says(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", transformer_standin.module)
    if page.name == "spark.md":
        if not HAS_SPARK:
            return  # tests/conftest.py says so
        request.getfixturevalue("spark")  # the session that the page's builder finds
    taught().save("model.ww")  # what examples open
    parser, runner, names = doctest.DocTestParser(), doctest.DocTestRunner(), {}
    for language, content, line in blocks(page):
        if language != "python":
            continue
        if ">>>" in content:
            test = parser.get_doctest(content, names, name(page), str(page), line)
            runner.run(test, clear_globs=False)
            names = test.globs
        else:
            exec(compile("\n" * line + content, str(page), "exec"), names)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_examples_run(example):
    assert output_of(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_readme_shows_the_example_and_its_output(example):
    contents = [content for _, content, _ in blocks(ROOT / "README.md")]
    shown = contents.index(example.read_text(encoding="utf-8"))
    assert contents[shown + 1] == output_of(example)


def test_the_unit_file_restarts_without_a_limit_and_is_hardened(tmp_path):
    [unit] = [content for kind, content, _ in blocks(ROOT / "docs/service.md") if kind == "ini"]
    assert {"StartLimitIntervalSec=0", "Restart=always", "RestartSec=5"} <= set(unit.splitlines())
    if shutil.which("systemd-analyze"):
        path = tmp_path / "watchword.service"
        path.write_text(unit, encoding="utf-8")
        command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(path)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
