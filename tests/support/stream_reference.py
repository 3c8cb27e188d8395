"""Streams, policies and replays by the letter of the specification: histories, dicts and loops.

A policy is plain data, as returned by `Policy.to_dict`. No state is kept between posts: every
decision is computed from the whole history. A history is a list of steps; a step has the number of
posts read so far, the sum and the latest gain of every label, and the gains of all posts so far.
"""

import math
from statistics import median


class TooCloseError(Exception):
    """A score so close to a threshold that the last digit of an exponential decides."""


# What was read


def by_post(gains):
    """Return the history of a subject from the confidence of each post (label → value)."""
    history, sums = [], {}
    for number, gain in enumerate(gains, 1):
        sums = {label: sums.get(label, 0.0) + gain[label] for label in gain}
        history.append({"posts": number, "sums": sums, "gains": gain, "read": gains[:number]})
    return history


def chunks_of(count):
    """Return the sizes of ten chunks: floor(N/10) posts in 1 to 9, the rest in 10."""
    return [count // 10] * 9 + [count - 9 * (count // 10)]


def by_chunk(gains, labels, sizes=None):
    """Return the history of the same subject read in ten chunks, empty without posts."""
    if not gains:
        return []
    posts, nothing = by_post(gains), dict.fromkeys(labels, 0.0)
    history, read, before = [], 0, nothing
    for size in sizes or chunks_of(len(gains)):
        read += size
        sums = posts[read - 1]["sums"] if read else nothing
        gain = {label: sums[label] - before[label] for label in labels}
        history.append({"posts": read, "sums": sums, "gains": gain, "read": gains[:read]})
        before = sums
    return history


def chunk_delay(chunk, count):
    """Return the official delay of an alert at chunk 1 to 10."""
    return count if chunk == 10 else count // 10 * chunk


# Policies


def positive_of(policy):
    if "of" in policy:
        return positive_of(policy["of"])
    return positive_of(policy["policies"][0]) if "policies" in policy else policy["positive"]


def against(values, positive):
    """Return the value of the positive label and that of the best other label."""
    return values[positive], max((values[each] for each in values if each != positive), default=0.0)


def score(policy, step):
    value, other = against(step["sums"], policy["positive"])
    if value == other == 0:
        return 0.0
    if policy["score"] == "difference":
        return 0.5 + 0.5 * (value - other) / (1 + abs(value - other))
    if policy["score"] == "log_ratio":
        pairs = [against(gains, policy["positive"]) for gains in step["read"]]
        ratios = [math.log((gain + 0.01) / (other_gain + 0.01)) for gain, other_gain in pairs]
        return 1 / (1 + math.exp(-sum(ratios) / len(ratios)))
    if policy["score"] == "softmax":
        return 1 / (1 + math.exp(-(value - other) / max(step["posts"], 1)))
    return value / (value + other) if value + other > 0 else 0.0


def reaches(policy, step, threshold):
    found = score(policy, step)
    rounded = policy["score"] != "share" or policy["policy"] == "ReachesFalling"
    logarithm = policy["score"] == "log_ratio" and found > 0
    if rounded and abs(found - threshold) < 1e-12 and (found != threshold or logarithm):
        raise TooCloseError
    return found >= threshold


def speaks_for(policy, step):
    gain, other = against(step["gains"], policy["positive"])
    return gain > other


def lean(values, positive):
    value, other = against(values, positive)
    return (value - other) / (value + other) if value + other > 0 else 0.0


def times_in_a_row(history, holds):
    return next((at for at, step in enumerate(history[::-1]) if not holds(step)), len(history))


def features(policy, history):
    """Return the features that `Weighs` weighs."""
    now, positive = history[-1], policy["positive"]
    value, other = against(now["sums"], positive)
    pairs = [against(gains, positive) for gains in now["read"]]
    ratios = [math.log((gain + 0.01) / (other_gain + 0.01)) for gain, other_gain in pairs]
    share, posts = lean(now["sums"], positive), max(now["posts"], 1)
    return {
        "share": share,
        "log_ratio": math.tanh(sum(ratios) / posts / 2),
        "posts": math.log(posts),
        "share_posts": share * math.log(posts),
        "evidence": math.log1p(value + other),
        "gain": lean(now["gains"], positive),
    }


def weighs(policy, history):
    found = sum(policy[name] * value for name, value in features(policy, history).items())
    if 0 < abs(found - policy["threshold"]) < 1e-12:
        raise TooCloseError
    return found >= policy["threshold"]


def wants_alert(policy, history, number=0, scores=()):
    """Return whether the policy alerts in this round, given the scores of all subjects."""
    kind, now = policy["policy"], history[-1]
    if kind == "AnyOf":
        return any(wants_alert(one, history, number, scores) for one in policy["policies"])
    if kind == "AllOf":
        return all(wants_alert(one, history, number, scores) for one in policy["policies"])
    if kind == "After":
        return (
            wants_alert(policy["of"], history, number, scores) and now["posts"] >= policy["posts"]
        )
    if kind == "RankedBy":
        return wants_alert(policy["of"], history, number, scores)
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
    if kind == "Weighs":
        return value > 0 and weighs(policy, history)
    assert kind == "StandsOut"
    middle = median(scores)
    spread = median([abs(each - middle) for each in scores])
    return number > 2 and value - other > middle + policy["gamma"] * spread


# Decisions


def decisions(policy, history):
    """Return a lone subject's label (or None), delay, posts and sums after every step."""
    found, delay = [], 0
    for end in range(1, len(history) + 1):
        now = history[end - 1]
        if not delay and wants_alert(policy, history[:end]):
            delay = now["posts"]
        label = positive_of(policy) if delay else None
        found.append((label, delay, now["posts"], now["sums"]))
    return found


def first_alerts(policy, timelines, rounds, *, known_from=None):
    """Return the step (from 1) of each subject's first alert, None without an alert.

    A timeline maps rounds to the step of the subject in that round. Every known subject counts in
    the comparison of every round, with its latest score, or 0 before its first post. Without
    `known_from`, these are all subjects with at least one step.
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
    """Return the chunk (from 1) of each subject's first alert; empty chunks are not steps."""
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
