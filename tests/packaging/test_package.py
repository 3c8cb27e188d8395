"""The installed package: version, types, public names, and what an import loads."""

import ast
import importlib.metadata
import importlib.resources
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import watchword as ww
from untyped import untyped
from watchword._display import view
from watchword.explain import VIEWS

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1] == ww.__version__
    assert importlib.metadata.version("watchword") == ww.__version__


def test_the_changelog_knows_the_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(ww.__version__)}\b", changes, re.MULTILINE)


def test_types_are_shipped():
    assert importlib.resources.files("watchword").joinpath("py.typed").is_file()


def test_all_public_names_exist():
    assert sorted(ww.__all__) == ww.__all__
    assert all(hasattr(ww, name) for name in ww.__all__)


def test_import_loads_numpy_and_the_core_and_nothing_else():
    program = """
import sys
before = set(sys.modules)
import watchword
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
own = {name for name in loaded - sys.stdlib_module_names if not name.startswith("_sysconfigdata")}
print(*sorted(own), "watchword._native" in sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "numpy watchword True\n"


@pytest.mark.parametrize("name", VIEWS)
def test_every_registered_view_is_a_function(name):
    assert callable(view(name))


def test_no_two_classes_or_types_have_the_same_name():
    package = ROOT / "src" / "watchword"
    homes = defaultdict(set)
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if name := _defined_type(node):
                homes[name.lstrip("_")].add(path.relative_to(package).as_posix())
    # PySS3's own names: code written for it must find them.
    mirrored = {
        "EmptyModelError": "pyss3/constants.py",
        "Evaluation": "pyss3/evaluation.py",
        "SS3Vectorizer": "pyss3/vectorizer.py",
    }
    for name, home in mirrored.items():
        homes[name].remove(home)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def _defined_type(node: ast.stmt) -> str | None:
    """Return the name of a class or of an alias of a type, other than type variables."""
    if isinstance(node, ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, ast.unparse(node.value)
        if re.fullmatch(r"_?[A-Z][a-z]\w+", name) and not value.startswith("TypeVar("):
            return name
    return None


def test_only_the_model_package_uses_the_core_and_the_private_engine():
    package = ROOT / "src" / "watchword"
    private = re.compile(r"import _native|watchword\._native|(?<!self)\._engine\b")
    users = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if package / "model" not in path.parents and private.search(path.read_text("utf-8"))
    ]
    assert users == ["__init__.py"]  # it says what to do if the core was not compiled


def test_the_live_page_is_loaded_when_it_is_asked_for():
    program = """
import sys, watchword
assert "watchword.web" not in sys.modules
assert callable(watchword.web.serve)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'wep'"):
        _ = untyped(ww).wep


def test_type_checkers_know_the_modules_that_are_loaded_on_demand(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import watchword\nwatchword.web.serve(watchword.TauSS3())\n")
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-site-packages",
        "--follow-imports=silent",
    ]
    sources = {"MYPYPATH": str(Path(ww.__file__).parents[1])}
    done = subprocess.run(
        [*mypy, "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), str(script)],
        env=os.environ | sources, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
