"""Streams, policies and replays as the specification words them: histories, dicts and loops.

A policy is taken as plain data, as `Policy.to_dict` gives it. Nothing is remembered from one post
to the next: whether an alert is due is found out from the whole history, again and again. A history
is a list of steps; a step has the posts read by then, the sum and the latest gain of every label.
"""

import math
from statistics import median


class TooCloseError(Exception):
    """A score so close to a threshold that the last digit of an exponential decides."""


# What was read


def by_post(gains):
    """The history of a subject whose posts were worth these dicts of label to value."""
    history, sums = [], {}
    for number, gain in enumerate(gains, 1):
        sums = {label: sums.get(label, 0.0) + gain[label] for label in gain}
        history.append({"posts": number, "sums": sums, "gains": gain})
    return history


def chunks_of(count):
    """Chunks 1 to 9 hold floor(N/10) posts, chunk 10 the rest."""
    return [count // 10] * 9 + [count - 9 * (count // 10)]


def by_chunk(gains, labels, sizes=None):
    """The history of the same subject, read in ten chunks; without posts there is none."""
    if not gains:
        return []
    posts, nothing = by_post(gains), dict.fromkeys(labels, 0.0)
    history, read, before = [], 0, nothing
    for size in sizes or chunks_of(len(gains)):
        read += size
        sums = posts[read - 1]["sums"] if read else nothing
        gain = {label: sums[label] - before[label] for label in labels}
        history.append({"posts": read, "sums": sums, "gains": gain})
        before = sums
    return history


def chunk_delay(chunk, count):
    """The official delay of an alert at chunk 1 to 10."""
    return count if chunk == 10 else count // 10 * chunk


# Policies


def positive_of(policy):
    if "of" in policy:
        return positive_of(policy["of"])
    return positive_of(policy["policies"][0]) if "policies" in policy else policy["positive"]


def against(values, positive):
    """The value of the positive label and that of the best other one."""
    return values[positive], max((values[each] for each in values if each != positive), default=0.0)


def score(policy, step):
    value, other = against(step["sums"], policy["positive"])
    if value == other == 0:
        return 0.0
    if policy["score"] == "softmax":
        return 1 / (1 + math.exp(-(value - other) / max(step["posts"], 1)))
    return value / (value + other) if value + other > 0 else 0.0


def reaches(policy, step, threshold):
    found = score(policy, step)
    rounded = policy["score"] == "softmax" or policy["policy"] == "ReachesFalling"
    if rounded and 0 < abs(found - threshold) < 1e-12:
        raise TooCloseError
    return found >= threshold


def speaks_for(policy, step):
    gain, other = against(step["gains"], policy["positive"])
    return gain > other


def wants_alert(policy, history, number=0, scores=()):
    """Whether the policy wants an alert now, in this round, with these scores of everybody."""
    kind, now = policy["policy"], history[-1]
    if kind == "AnyOf":
        return any(wants_alert(one, history, number, scores) for one in policy["policies"])
    if kind == "AllOf":
        return all(wants_alert(one, history, number, scores) for one in policy["policies"])
    if kind == "After":
        return (
            wants_alert(policy["of"], history, number, scores) and now["posts"] >= policy["posts"]
        )
    value, other = against(now["sums"], policy["positive"])
    gain, other_gain = against(now["gains"], policy["positive"])
    if kind == "Overtakes":
        return value > 0 and value > policy["ratio"] * other + policy["margin"]
    if kind == "Leaps":
        return gain > 0 and gain >= policy["factor"] * other_gain
    if kind == "Reaches":
        return reaches(policy, now, policy["threshold"])
    if kind == "Stays":
        latest = history[-policy["last"] - 1 :]
        return len(latest) > policy["last"] and all(
            reaches(policy, step, policy["threshold"]) for step in latest
        )
    if kind == "Repeats":
        latest = history[-policy["times"] :]
        return len(latest) == policy["times"] and all(speaks_for(policy, step) for step in latest)
    if kind == "ReachesFalling":
        after = now["posts"] - policy["wait"]
        if after <= 0:
            return False
        drop = (policy["start"] - policy["end"]) * math.exp(-after / policy["scale"])
        return reaches(policy, now, policy["end"] + drop)
    assert kind == "StandsOut"
    middle = median(scores)
    spread = median([abs(each - middle) for each in scores])
    return number > 2 and value - other > middle + policy["gamma"] * spread


# Decisions


def decisions(policy, history):
    """Of a lone subject after every step: the label (or None), the delay, posts and sums."""
    found, delay = [], 0
    for end in range(1, len(history) + 1):
        now = history[end - 1]
        if not delay and wants_alert(policy, history[:end]):
            delay = now["posts"]
        label = positive_of(policy) if delay else None
        found.append((label, delay, now["posts"], now["sums"]))
    return found


def first_alerts(policy, timelines, rounds, *, known_from=None):
    """At which of its own steps, from 1, each subject's alert falls; None if none does.

    A timeline maps the number of a round to the step that the subject makes in it. Everybody known
    is compared with in every round, with the latest score, or 0 before the first post. Unless
    `known_from` says otherwise, these are all subjects that ever make a step.
    """
    found = dict.fromkeys(timelines)
    positive = positive_of(policy)
    for number in range(rounds):
        histories = {
            subject: [steps[each] for each in sorted(steps) if each <= number]
            for subject, steps in timelines.items()
        }
        scores = []
        for subject, history in histories.items():
            if timelines[subject] if known_from is None else known_from[subject] <= number:
                value, other = against(history[-1]["sums"], positive) if history else (0.0, 0.0)
                scores.append(value - other)
        for subject, history in histories.items():
            if number not in timelines[subject] or found[subject] is not None:
                continue
            if wants_alert(policy, history, number, scores):
                found[subject] = len(history)
    return found


def replayed(policy, histories):
    """The same by chunk: at which one, from 1; where a chunk is empty, nobody makes a step."""
    timelines = {}
    for subject, history in histories.items():
        before = [0, *(step["posts"] for step in history)]
        timelines[subject] = {
            at: step for at, step in enumerate(history) if step["posts"] > before[at]
        }
    longest = max(map(len, histories.values()), default=0)
    found = first_alerts(policy, timelines, longest)
    return {
        subject: step and sorted(timelines[subject])[step - 1] + 1
        for subject, step in found.items()
    }
