"""The table of parameters, and everything that derives from it."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import watchword as ww
from watchword.cli.options import parameter_options
from watchword.model.parameters import DEFAULTS, PAPER, PYSS3, TABLE, Parameters, ParameterTypes
from watchword.sklearn import TauSS3Classifier
from watchword.web.files import static_files
from watchword.web.models import SETTINGS


def test_type_checkers_know_every_parameter_with_its_type():
    types = {one.name: one.type for one in fields(Parameters)}
    assert ParameterTypes.__annotations__.keys() == types.keys()
    assert get_type_hints(ParameterTypes) == get_type_hints(Parameters)


@pytest.mark.parametrize(
    ("constructor", "others"),
    [
        (ww.TauSS3, ["word_hook", "tokenizer"]),
        (TauSS3Classifier, ["word_hook", "tokenizer", "refine", "n_jobs"]),
    ],
)
def test_the_signature_and_the_docstring_of_a_constructor_list_every_parameter(constructor, others):
    found = inspect.signature(constructor).parameters
    assert list(found) == [*DEFAULTS, *others]
    assert {name: found[name].default for name in DEFAULTS} == DEFAULTS
    for one in TABLE:
        assert f"\n    {one.name}\n        {one.help[:30]}" in inspect.cleandoc(
            constructor.__doc__
        ).replace("\n", "\n    ")


@pytest.mark.parametrize("constructor", [ww.TauSS3, TauSS3Classifier])
def test_an_unknown_argument_is_refused_by_name(constructor):
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument 'smoothnes'"):
        constructor(smoothnes=0.3)


def test_every_preset_is_a_valid_set_of_parameters():
    assert Parameters(**PAPER).smoothness == 0.455
    assert Parameters(**PYSS3).max_ngram == 1


def test_every_parameter_is_an_option_with_its_help():
    def command() -> None:
        """Do nothing."""

    found: Any = parameter_options(command)
    options = {one.name: one for one in found.__click_params__}
    assert options.keys() == DEFAULTS.keys()
    for one in TABLE:
        assert options[one.name].help.startswith(one.help)


def test_the_live_page_has_a_control_for_every_setting():
    page = static_files()["index.html"].content.decode()
    assert "<!-- settings -->" not in page
    for name in SETTINGS:
        assert page.count(f'id="{name}"') == 1
