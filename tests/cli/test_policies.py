"""Policies on the command line: syntax, meaning, and error messages."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchword.streams.policies as wp
from untyped import untyped
from watchword.cli.policy_notation import (
    MOST_POLICIES,
    parse_policies,
    parse_policy,
    parse_tried,
)
from watchword.evaluation.fitted_policies import Learnt
from watchword.streams.notation import NAMES, spell_policy

RISK = "at risk"


def read(text):
    return parse_policy(text, RISK)


# What is understood


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_known_by_its_name(name):
    assert read(name) == untyped(NAMES[name])(RISK)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("overtakes()", wp.Overtakes(RISK)),
        (" overtakes ( ratio = 2 , margin=-1.5 ) ", wp.Overtakes(RISK, ratio=2, margin=-1.5)),
        ("overtakes(ratio=2,)", wp.Overtakes(RISK, ratio=2)),
        ("Overtakes(ratio=1e-3)", wp.Overtakes(RISK, ratio=0.001)),
        ("reaches(threshold=.8, score=softmax)", wp.Reaches(RISK, threshold=0.8, score="softmax")),
        ("stands-out(gamma=2.5)", wp.StandsOut(RISK, gamma=2.5)),
        (
            "weighs(share=2, share_posts=-0.25, threshold=1)",
            wp.Weighs(RISK, share=2, share_posts=-0.25, threshold=1),
        ),
        ("reaches_falling(wait=3)", wp.ReachesFalling(RISK, wait=3)),
        ("repeats(times=2)", wp.Repeats(RISK, times=2)),
        ("reaches(score=log_ratio)", wp.Reaches(RISK, score="log_ratio")),
        ("leaps after 2 ranked_by difference", wp.Leaps(RISK).after(2).ranked_by("difference")),
        ("leaps ranked-by share after 2", wp.Leaps(RISK).ranked_by("share").after(2)),
    ],
)
def test_parameters_are_read(text, meant):
    assert read(text) == meant


def test_operator_precedence():
    first, second, third = wp.Overtakes(RISK), wp.Leaps(RISK), wp.Repeats(RISK)
    assert read("overtakes or leaps and repeats after 3") == first | (second & third.after(3))


def test_parentheses_group():
    grouped = (wp.Overtakes(RISK) | wp.Leaps(RISK)) & wp.Repeats(RISK)
    assert read("(overtakes or leaps) and repeats") == grouped
    assert read("((overtakes or leaps) and repeats) after 7") == grouped.after(7)


def test_the_label_may_be_a_number():
    assert parse_policy("leaps", 1).positive == 1


def test_lists_give_every_combination():
    found = parse_policies("overtakes(ratio=1|2, margin=0|1|3) after 1|5", RISK)
    assert len(found) == len(set(found)) == 12
    assert found[0] == wp.Overtakes(RISK).after(1)
    assert found[-1] == wp.Overtakes(RISK, ratio=2, margin=3).after(5)


def test_lists_multiply_across_combined_policies():
    assert len(parse_policies("overtakes(ratio=1|2) or leaps(factor=2|4|8)", RISK)) == 6


# What is not


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a policy instead of the end"),
        ("overtake", r"unknown policy 'overtake' \(known: overtakes\(ratio, margin\), leaps"),
        ("overtakes(ration=2)", r"unknown argument 'ration' of overtakes \(known: ratio, margin"),
        ("overtakes(ratio=2", r"expected '\)' instead of the end"),
        ("overtakes(ratio 2)", "expected '=' after ratio instead of '2'"),
        ("overtakes(ratio=)", r"expected a value instead of '\)'"),
        ("reaches(0.5)", "expected an argument with its name, such as threshold=0.5,"),
        ("reaches(0.5|0.6)", "expected an argument with its name, such as threshold=0.5,"),
        ("overtakes(ratio=2, 1)", "expected an argument with its name, such as margin=1,"),
        ("overtakes(ratio=2, ratio=3)", "duplicate argument 'ratio'"),
        ("overtakes leaps", "expected 'or', 'and', 'after', 'ranked_by' or the end instead of 'l"),
        ("overtakes or", "expected a policy instead of the end"),
        ("overtakes after soon", "must be a whole number, got 'soon'"),
        ("overtakes after 0", "at least 1"),
        ("overtakes(ratio=-1)", "ratio must not be negative"),
        ("overtakes(ratio=much)", "ratio must be a number"),
        ("reaches(score=sum)", "score must be one of 'share', 'softmax'"),
        ("overtakes ranked_by 3", "score must be one of 'share', 'softmax', 'difference', 'log_"),
        ("repeats(times=2.5)", "times must be a whole number"),
        ("overtakes(ratio=1e999)", "ratio must be finite"),
        ("repeats(times=" + "9" * 5000 + ")", "times must be a whole number"),
        ("overtakes(ratio=2x)", "cannot read '2x"),
        ("overtakes; import os", "cannot read '; import os'"),
        ("__import__(os)", "unknown policy '__import__'"),
        ("overtakes(ratio=1|2)", "describes 2 policies"),
        ("(" * 1000 + "overtakes" + ")" * 1000, "too many nested parentheses"),
    ],
)
def test_invalid_policies_are_errors(text, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read(text)


def test_too_many_variants_are_refused():
    many = "|".join(map(str, range(1000)))
    with pytest.raises(ValueError, match=f"more than {MOST_POLICIES} variants"):
        parse_policies(f"overtakes(ratio={many}, margin={many})", RISK)


@given(st.text(alphabet="overtaksndlp(),=|123.- ", max_size=40))
def test_any_text_is_parsed_or_rejected_with_a_message(text):
    try:
        found = parse_policies(text, RISK)
    except (ValueError, TypeError):
        return
    assert all(isinstance(policy, wp.Policy) for policy in found)


# Policies in files


def saved(path, data):
    path.write_text(json.dumps(data))
    return str(path)


def test_a_policy_is_read_from_a_file(tmp_path):
    policy = wp.Weighs(RISK, share=2, gain=0.1).after(3) | wp.Leaps(RISK)
    path = saved(tmp_path / "policy.json", policy.to_dict())
    assert read(path) == policy
    assert parse_tried([path, "leaps"], RISK) == [policy, wp.Leaps(RISK)]


def test_a_policy_for_another_label_is_refused(tmp_path):
    path = saved(tmp_path / "policy.json", wp.Leaps("control").to_dict())
    with pytest.raises(ValueError, match="for the label 'control', not 'at risk'"):
        read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "not a policy description"),
        ({"policy": "Leaps"}, "missing"),
        ({"policy": "Leaps", "positive": RISK, "ratio": 2}, "no parameter ratio"),
        ({"policy": "AnyOf", "policies": 3}, "not a file with a policy"),
        ({"policy": "Weighs", "positive": RISK, "share": "much"}, "share must be a number"),
    ],
)
def test_a_file_with_something_else_is_refused(tmp_path, data, message):
    path = saved(tmp_path / "policy.json", data)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert path in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the policy .*missing\.json: No such file"):
        read(str(tmp_path / "missing.json"))
    (tmp_path / "broken.json").write_bytes(b"{\xff")
    with pytest.raises(ValueError, match="is not a file with a policy"):
        read(str(tmp_path / "broken.json"))
    (tmp_path / "deep.json").write_text('{"policy":"After","of":' * 40_000)
    with pytest.raises(ValueError, match=r"too many nested|not a file with a policy"):
        read(str(tmp_path / "deep.json"))


def test_learnt_policies_are_for_tune():
    assert parse_tried(["learnt", "learnt after 2|5"], RISK) == [
        Learnt(RISK),
        Learnt(RISK, first_posts=(2, 5)),
    ]
    with pytest.raises(ValueError, match="unknown policy 'learnt'"):
        read("learnt")


# And back

numbers = st.floats(0, 1e9) | st.integers(0, 1000)
shares = st.floats(0, 1)
scores = st.sampled_from(["share", "softmax", "difference", "log_ratio"])
single = st.one_of(
    st.builds(wp.Overtakes, st.just(RISK), numbers, st.floats(-1e9, 1e9)),
    st.builds(wp.Leaps, st.just(RISK), numbers),
    st.builds(wp.Reaches, st.just(RISK), shares, scores),
    st.builds(wp.Stays, st.just(RISK), shares, st.integers(0, 9), scores),
    st.builds(wp.StandsOut, st.just(RISK), numbers),
    st.builds(wp.Weighs, st.just(RISK), st.floats(-9, 9), gain=numbers, threshold=st.floats(-9, 9)),
)
policies = st.recursive(
    single,
    lambda inner: st.one_of(
        st.builds(wp.After, inner, st.integers(1, 99)),
        st.builds(wp.RankedBy, inner, scores),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a, b: a & b, inner, inner),
    ),
    max_leaves=6,
)


@given(policies)
def test_spelling_and_parsing_round_trip(policy):
    assert read(spell_policy(policy)) == policy


def test_custom_policy_is_spelt_as_its_repr():
    class Mine(wp.Leaps):
        pass

    assert "Mine(" in spell_policy(Mine(RISK))
