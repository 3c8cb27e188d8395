"""Policies as formulas over arrays, and the rules of the driver, for comparison with the core.

A policy is plain data, as returned by `Policy.to_dict`; a step is a `watchword.Step`. Functions of
numbers are those of `math`, which are the core's as well: results are compared bit by bit.
"""

import math
from dataclasses import replace

import numpy as np


def of_each(function, values):
    return np.array([function(value) for value in values.tolist()], np.float64)


def log_ratio(gain, other_gain):
    return of_each(math.log, (gain + 0.01) / (other_gain + 0.01))


def score(name, step):
    if name == "share":
        total = step.value + step.other
        return np.divide(step.value, total, out=np.zeros(total.shape), where=total > 0)
    difference = step.value - step.other
    if name == "difference":
        found = 0.5 + 0.5 * difference / (1 + np.abs(difference))
    else:
        sums = {"softmax": difference, "log_ratio": step.log_ratios}[name]
        found = 0.5 + 0.5 * of_each(math.tanh, sums / np.maximum(step.posts, 1) / 2)
    return np.where((step.value != 0) | (step.other != 0), found, 0.0)


def lean(value, other):
    total = value + other
    return np.divide(value - other, total, out=np.zeros(total.shape), where=total > 0)


def per_post(sums, step):
    return of_each(math.tanh, sums / np.maximum(step.posts, 1) / 2)


def log_posts(step):
    return of_each(math.log, np.maximum(step.posts, 1))


# Features in their order.
FEATURES = {
    "share": lambda step: lean(step.value, step.other),
    "log_ratio": lambda step: per_post(step.log_ratios, step),
    "posts": lambda step: log_posts(step),
    "share_posts": lambda step: lean(step.value, step.other) * log_posts(step),
    "evidence": lambda step: of_each(math.log1p, step.value + step.other),
    "gain": lambda step: lean(step.gain, step.other_gain),
}


def weighed(policy, step):
    """Return the weighted sum of features."""
    total = np.zeros(step.posts.shape)
    for name, feature in FEATURES.items():
        if policy[name]:
            total = total + policy[name] * feature(step)
    return total


def remembered_by(policy):
    """Return the number of memory columns of a policy."""
    if policy["policy"] in ("After", "RankedBy"):
        return remembered_by(policy["of"])
    if "policies" in policy:
        return sum(remembered_by(part) for part in policy["policies"])
    return 1 if policy["policy"] in ("Stays", "Repeats") else 0


def in_a_row(step, holds):
    step.memory[:, 0] = np.where(holds, step.memory[:, 0] + 1, 0)
    return step.memory[:, 0]


def falling(policy, posts):
    read = np.maximum(posts - policy["wait"], 0)
    drop = of_each(math.exp, -read / policy["scale"])
    return policy["end"] + (policy["start"] - policy["end"]) * drop


def alerts(policy, step):
    """Return the mask of alerts; update the step's memory."""
    kind = policy["policy"]
    if kind == "RankedBy":
        return alerts(policy["of"], step)
    if kind == "After":
        return alerts(policy["of"], step) & (step.posts >= policy["posts"])
    if kind in ("AnyOf", "AllOf"):
        found, begin = [], 0
        for part in policy["policies"]:
            end = begin + remembered_by(part)
            found.append(alerts(part, replace(step, memory=step.memory[:, begin:end])))
            begin = end
        return (np.logical_or if kind == "AnyOf" else np.logical_and).reduce(found)
    if kind == "Overtakes":
        enough = step.value > policy["ratio"] * step.other + policy["margin"]
        return enough & (step.value > 0)
    if kind == "Leaps":
        return (step.gain > 0) & (step.gain >= policy["factor"] * step.other_gain)
    if kind == "Repeats":
        return in_a_row(step, step.gain > step.other_gain) >= policy["times"]
    if kind == "StandsOut":
        lead = step.value - step.other
        if step.round <= 2 or not lead.size:
            return np.zeros(lead.shape, np.bool_)
        middle = np.median(lead)
        return lead > middle + policy["gamma"] * np.median(np.abs(lead - middle))
    if kind == "Weighs":
        return (weighed(policy, step) >= policy["threshold"]) & (step.value > 0)
    reached = score(policy["score"], step)
    if kind == "ReachesFalling":
        return (reached >= falling(policy, step.posts)) & (step.posts > policy["wait"])
    if kind == "Stays":
        return in_a_row(step, reached >= policy["threshold"]) > policy["last"]
    assert kind == "Reaches"
    return reached >= policy["threshold"]


def advance(policy, step, *, read, decided):
    """Return the new alerts and the memory after the step, by the rules of the driver."""
    noted = replace(step, memory=step.memory.copy())
    new = alerts(policy, noted) & read & ~decided
    noted.memory[~read] = step.memory[~read]
    return new, noted.memory
