"""Synthetic collections of discussions, in the layout of eRisk 2025 and 2026.

They have the quirks of the real files: most submissions are by others, some discussions contain
nothing by the subject, some texts are deleted, and the golden truth names a subject without a file.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from watchword._checks import as_whole
from watchword._files import AnyPath
from watchword.data import Post, Subject, synthetic
from watchword.erisk.synthetic_collection import mark, new_folder

_BEGIN = datetime(2024, 1, 1)  # UTC
_SILENT = 5  # before one in so many posts, on average, is a discussion without the subject
_FORMAT = "%Y-%m-%d %H:%M:%S UTC"


def make_discussions(folder: AnyPath, *, subjects: int = 100, seed: int = 0) -> None:
    """Write a synthetic collection of discussions to a new folder.

    The files are `all_combined/subject_*.json`, with `shuffled_ground_truth_labels.txt` beside that
    folder. The same seed gives the same files.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_discussions(f"{folder}/made", subjects=10)
    ...     print(len(list(Path(folder).rglob("*.json"))))
    10
    """
    count = as_whole("subjects", subjects, 4)
    people = synthetic.make_risk_streams(count, seed=seed)
    others = [post for one in people if one.label != synthetic.AT_RISK for post in one.posts]
    with new_folder(folder) as temporary:
        (temporary / "all_combined").mkdir()
        labels = []
        for at, subject in enumerate(people):
            name = f"subject_{subject.id.removeprefix('subject')}"
            chance = synthetic.Chance(seed * count + at)
            text = json.dumps(_discussions(name, subject, others, chance), indent=1)
            (temporary / "all_combined" / f"{name}.json").write_text(text, encoding="utf-8")
            labels.append(f"{name}\t{int(subject.label == synthetic.AT_RISK)}\n")
        labels.insert(len(labels) // 2, "subject_absent\t0\n")
        truth = temporary / "shuffled_ground_truth_labels.txt"
        truth.write_text("".join(labels), encoding="utf-8")
        mark(temporary)


def _discussions(
    name: str, subject: Subject, others: list[Post], chance: synthetic.Chance
) -> list[dict[str, Any]]:
    def by_others(number: int) -> list[tuple[str, str]]:
        drawn = (others[chance.between(0, len(others) - 1)] for _ in range(number))
        return [(f"other_{chance.between(1, 999)}", post.text) for post in drawn]

    found: list[dict[str, Any]] = []
    for post in subject.posts:
        is_silent = chance.between(1, _SILENT) == 1
        if is_silent:  # a discussion of others, before the next one of the subject
            found.append(_discussion(name, len(found), "", by_others(1), by_others(2)))
        own, replies = [(name, post.text)], by_others(chance.between(0, 2))
        if post.title:
            found.append(_discussion(name, len(found), post.title, own, replies))
        else:
            found.append(_discussion(name, len(found), "Thoughts?", by_others(1), own + replies))
    return found


def _discussion(
    name: str,
    number: int,
    title: str,
    submission: list[tuple[str, str]],
    comments: list[tuple[str, str]],
) -> dict[str, Any]:
    """Return a discussion with the field names of the files."""
    [(author, body)] = submission
    is_deleted = author != name and number % 8 == 0
    time = (_BEGIN + timedelta(days=number)).strftime(_FORMAT)
    identity = f"{name}-{number}"
    return {
        "submission": {
            "submission_id": identity,
            "user_id": author,
            "title": title,
            "body": "[deleted]" if is_deleted else body,
            "created_utc": time,
            "target": author == name,
        },
        "comments": [
            {
                "comment_id": f"{identity}-{at}",
                "user_id": by,
                "body": text,
                "parent_id": identity,
                "created_utc": time,
                "target": by == name,
            }
            for at, (by, text) in enumerate(comments, 1)
        ],
    }
