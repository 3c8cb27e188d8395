"""One post at a time: what does each call cost, beside the core on the same posts in a batch?

A model learns generated text. Then the same posts are read in one batch by one thread
(`confidence_many`), and one by one with every call that takes a single post. All take turns, and
the best of several runs counts; a ratio is a call's time divided by the batch's time per post.
Times are those of the thread, so that other programs show as little as possible.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from command import run_command
from ours import distinct_ngrams, paper_model, watchword
from report import markdown_table, say
from zipf import Posts, ZipfText

UNLEARNT = 200
FIRST_UNLEARNT = 9  # of posts that the model has not learnt itself: a pass, or building an index

Job = Callable[[], object]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="one_by_one.py", description=__doc__)
    parser.add_argument("--ngrams", type=int, default=1_700_000, help="default: %(default)s")
    parser.add_argument("--posts", type=int, default=5_000, help="default: %(default)s")
    parser.add_argument(
        "--post-words", type=int, default=30, help="mean length of a post (default: %(default)s)"
    )
    parser.add_argument("--labels", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--subjects", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--repeats", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--refine", action="store_true", help="refine the model first")
    options = parser.parse_args()
    for name in ("ngrams", "posts", "post_words", "labels", "subjects", "repeats"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def _measure(options: argparse.Namespace) -> int:
    text = ZipfText(seed=1, labels=options.labels)
    model = paper_model()
    taught = _teach(model, text, options)
    if options.refine:
        model.refine(taught.texts, taught.labels)
    posts = text.posts(options.posts, post_words=options.post_words)
    say(f"reading {options.posts:,} posts")
    core = {"confidence_many, one batch": lambda: model.confidence_many(posts.texts, threads=1)}
    jobs = core | _reading_jobs(model, posts) | _stream_jobs(model, posts, options)
    best = _best(jobs, options.repeats)
    per_post = {name: seconds / options.posts * 1e6 for name, seconds in best.items()}
    per_post |= _learning(model, text.posts(options.posts, post_words=options.post_words))
    base = per_post["confidence_many, one batch"]
    print(f"{distinct_ngrams(model):,} n-grams, {options.labels} labels", end="")
    print(f"{', refined' if options.refine else ''}; {options.posts:,} posts of about ", end="")
    print(f"{options.post_words} words, one thread\n")
    rows = [[name, f"{time:.2f}", f"{time / base:.1f}"] for name, time in per_post.items()]
    print(markdown_table(["call", "µs per post", "ratio"], rows))
    return 0


def _teach(model: Any, text: ZipfText, options: argparse.Namespace) -> Posts:
    say(f"learning up to {options.ngrams:,} n-grams")
    for chunk in text.stream(post_words=options.post_words):
        model.learn_many(chunk.texts, chunk.labels, threads=1)
        if distinct_ngrams(model) >= options.ngrams:
            return chunk
    raise AssertionError("the text has no end")


def _each(call: Callable[[str], object], texts: list[str]) -> Job:
    def run() -> None:
        for text in texts:
            call(text)

    return run


def _reading_jobs(model: Any, posts: Posts) -> dict[str, Job]:
    jobs = {
        name: _each(getattr(model, name), posts.texts)
        for name in ("predict_one", "confidence_one", "probability_one")
    }
    empty = [""] * len(posts.texts)
    return jobs | {
        f"{name}, empty text": _each(getattr(model, name), empty)
        for name in ("predict_one", "confidence_one", "probability_one")
    }


def _policies(label: Any) -> dict[str, Any]:
    ww = watchword()
    policies = {
        "Overtakes": ww.Overtakes(label, margin=1e9),
        "Leaps": ww.Leaps(label, factor=1e9),
        "Reaches": ww.Reaches(label, 1.0),
        "Reaches, softmax": ww.Reaches(label, 1.0, score="softmax"),
        "Reaches, difference": ww.Reaches(label, 1.0, score="difference"),
        "Reaches, log_ratio": ww.Reaches(label, 1.0, score="log_ratio"),
        "Stays": ww.Stays(label, 1.0),
        "Repeats": ww.Repeats(label, 10**6),
        "ReachesFalling": ww.ReachesFalling(label, 1.0, 1.0),
    }
    combined = policies["Overtakes"] | policies["Leaps"]
    return policies | {
        "After": policies["Overtakes"].after(3),
        "AnyOf": combined,
        "AllOf": policies["Stays"] & policies["Repeats"],
        "a policy in Python": _doubles()(label),
    }


def _doubles() -> Any:
    @dataclass(frozen=True)
    class Doubles(watchword().Policy):  # type: ignore[misc]
        positive: Any

        def alerts(self, step: Any) -> Any:
            return step.value > 1e9 * step.other

    return Doubles


def _stream_jobs(model: Any, posts: Posts, options: argparse.Namespace) -> dict[str, Job]:
    names = [f"subject {place % options.subjects}" for place in range(options.posts)]
    jobs: dict[str, Job] = {}
    for name, policy in _policies(model.labels[0]).items():
        jobs[f"Reader.read, {name}"] = _each(model.reader(policy).read, posts.texts)
        jobs[f"Watcher.read, {name}"] = _watcher_job(model.watcher(policy), names, posts.texts)
    policy = watchword().Overtakes(model.labels[0])
    many, each = model.watcher(policy), model.watcher(policy)
    jobs["Watcher.read_many"] = lambda: many.read_many(names, posts.texts, threads=1)
    jobs["Watcher.read_each"] = lambda: each.read_each(names, posts.texts, threads=1)
    return jobs


def _watcher_job(watcher: Any, names: list[str], texts: list[str]) -> Job:
    def run() -> None:
        for name, text in zip(names, texts, strict=True):
            watcher.read(name, text)

    return run


def _best(jobs: dict[str, Job], repeats: int) -> dict[str, float]:
    """Return the best time of each job in seconds; they take turns."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            best[name] = min(best[name], _seconds(job))
    return best


def _seconds(job: Job) -> float:
    start = time.thread_time_ns()
    job()
    return (time.thread_time_ns() - start) / 1e9


def _learning(model: Any, posts: Posts) -> dict[str, float]:
    """Return µs per post for learning, and for unlearning, alone and with the next reading."""
    say("learning and unlearning")
    pairs = list(zip(posts.texts, posts.labels, strict=True))
    learn = sum(_seconds(lambda post=post: model.learn_one(*post)) for post in pairs) / len(pairs)
    own = _unlearn(model, pairs, posts.texts[-1])
    model.learn_many(posts.texts, posts.labels)
    loaded, unchecked = (type(model).from_bytes(model.to_bytes()) for _ in range(2))
    checked = _unlearn(loaded, pairs, posts.texts[-1])
    promised = _unlearn(unchecked, pairs, posts.texts[-1], check=False)
    times = {
        "learn_one": learn,
        "unlearn_one, the first call": own.alone[0],
        "unlearn_one": statistics.median(own.alone),
        "unlearn_one and the next predict_one": statistics.median(own.with_reading),
        "unlearn_one and the next predict_one, 99 %": _percentile(own.with_reading, 0.99),
        "unlearn_one, loaded model, at first": statistics.median(checked.alone[:FIRST_UNLEARNT]),
        "unlearn_one, loaded model, later": statistics.median(checked.alone[FIRST_UNLEARNT:]),
        "unlearn_one, loaded model, check=False": statistics.median(promised.alone),
    }
    return {name: seconds * 1e6 for name, seconds in times.items()}


@dataclass(frozen=True)
class Unlearning:
    """Seconds per call, alone and with the next reading."""

    alone: list[float]
    with_reading: list[float]


def _unlearn(
    model: Any, pairs: list[tuple[str, str]], read: str, *, check: bool = True
) -> Unlearning:
    alone: list[float] = []
    with_reading: list[float] = []
    for post in pairs[: FIRST_UNLEARNT + UNLEARNT]:
        alone.append(_seconds(lambda post=post: model.unlearn_one(*post, check=check)))
        with_reading.append(alone[-1] + _seconds(lambda: model.predict_one(read)))
    return Unlearning(alone, with_reading)


def _percentile(times: list[float], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))]


def main() -> int:
    options = _options()
    return run_command("one_by_one.py", lambda: _measure(options))


if __name__ == "__main__":
    sys.exit(main())
