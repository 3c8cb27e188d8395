"""Fuzz target for kept data: states, journals, search results and model files.

Changes valid data at random, recomputes checksums, and uses the result as a program would.
Every input must be accepted or refused with a `WatchwordError`; any other exception ends the run
and names the input. Run `python tests/fuzz/kept.py SECONDS`; `--only NUMBER` repeats one input.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import json
import random
import sqlite3
import struct
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import watchword as ww
from model_files import with_parts
from watchword.erisk import journal
from watchword.erisk.client_runs import RunReaders
from watchword.erisk.protocol import Answer, Round, Writing
from watchword.searching.result import KeptResults, SearchedSetting, _checksum, is_fold_result

# Stand for text that json.dumps cannot write: nests deeper than Python can follow, huge numbers.
RAW = {
    "@deep@": "[" * 100_000 + "]" * 100_000,
    "@objects@": '{"a":' * 20_000 + "0" + "}" * 20_000,
    **{f"@{deep}@": "[" * deep + "]" * deep for deep in (90, 300, 900, *range(940, 1000, 5))},
    "@long@": "9" * 5_000,
    "@infinite@": "1e999",
}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**32 - 1, 2**32, 2**40 - 1, 2**40, 2**63 - 1, 2**63),
    *(2**64, 10**30, 10**400, 0.5, -0.0, 1.0, 1e308, -1e308, 5e-324, float("nan"), float("inf")),
    *("", "a", "0", "\ud800", "\x00", "at risk", "control", "x" * 5_000, "AAAA", "sum"),
    *([], {}, [[]], [0], [""], {"": 0}, {"a": {}}, [None] * 3, *RAW),
)


def text_of(tree: Any) -> bytes:
    """Return a tree as JSON, with values that only text can express."""
    text = json.dumps(tree)
    for name, raw in RAW.items():
        text = text.replace(f'"{name}"', raw)
    return text.encode("utf-8", "surrogatepass")


def changed_tree(tree: Any, chance: random.Random) -> Any:
    """Return a copy with one value, key or item changed."""
    places: list[tuple[Any, Any]] = []

    def collect(holder: Any) -> None:
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                collect(holder[key])

    whole = [copy.deepcopy(tree)]
    collect(whole)
    # Places high up are rare among many below: half of the time one of the first.
    holder, key = chance.choice(places if chance.random() < 0.5 else places[:12])
    how = chance.randrange(6)
    if how == 0 and holder is not whole:
        del holder[key]
    elif how == 1 and isinstance(holder, list) and holder is not whole:
        holder.insert(key, copy.deepcopy(chance.choice(holder)))
    elif how == 2 and isinstance(holder, dict):
        holder[chance.choice(["", "x", *holder])] = chance.choice(VALUES)
    elif how == 3 and isinstance(holder[key], int | float):
        holder[key] += chance.choice([-1, 1, 2**32])
    elif how == 4:
        holder[key] = copy.deepcopy(chance.choice(places)[0])
        if isinstance(holder[key], list) and whole[0] is holder[key]:
            holder[key] = None
    else:
        holder[key] = chance.choice(VALUES)
    return whole[0]


def changed_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return the data with some bytes replaced, removed or inserted."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(changed) + 1)
        size = chance.choice([0, 0, 1, 2, 4, 8])
        more = chance.choice(
            [b"", b"\0", b"\xff", b"\0" * 8, b"\xff" * 8, struct.pack("<d", float("nan")),
             struct.pack("<d", 1.7e308), chance.randbytes(size)]
        )  # fmt: skip
        changed[at : at + len(more) * chance.randrange(2) + size] = more
    return bytes(changed)


def changed(data: Any, chance: random.Random, how: Callable[[Any, random.Random], Any]) -> Any:
    """Return the data changed once or several times."""
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        data = how(data, chance)
    return data


# What is used


def taught() -> ww.TauSS3:
    model = ww.TauSS3.paper(max_ngram=2)
    model.learn_many(["I cannot sleep", "lovely garden, I sleep"], ["at risk", "control"])
    return model


MODEL = taught()
POLICY = ww.Stays("at risk", 0.6, last=3) | ww.Repeats("at risk", 5)
POSTS = ["I cannot sleep", "", "garden"]


def a_reader() -> Any:
    reader = MODEL.reader(POLICY)
    for post in POSTS:
        reader.read(post)
    return reader


def a_watcher() -> Any:
    watcher = MODEL.watcher(POLICY)
    watcher.read_round({"ann": POSTS[0], "bob": POSTS[2], "é": ""})
    watcher.read_many(["ann", "ann", "cid"], POSTS)
    return watcher


READER_BYTES, READER_JSON = a_reader().to_bytes(), json.loads(a_reader().to_json())
WATCHER_BYTES = a_watcher().to_bytes()


def use_reader(state: bytes | str) -> None:
    reader = MODEL.reader(POLICY, state=state, allow_changed_model=True)
    reader.read("cannot sleep")
    again = MODEL.reader(POLICY, state=reader.to_bytes())
    assert again.decision == reader.decision
    MODEL.reader(POLICY, state=reader.to_json())


def reader_of_bytes(chance: random.Random, _: Path) -> None:
    body = changed(READER_BYTES[:-4], chance, changed_bytes)
    use_reader(body + struct.pack("<I", zlib.crc32(body)))


def reader_of_json(chance: random.Random, _: Path) -> None:
    text = text_of(changed(READER_JSON, chance, changed_tree))
    use_reader(text.decode("utf-8", "surrogatepass"))


def changed_watcher(data: bytes, chance: random.Random) -> bytes:
    head, _, body = data[:-32].partition(b"\n")
    if chance.random() < 0.6:
        head = text_of(changed(json.loads(head), chance, changed_tree))
    else:
        body = changed(body, chance, changed_bytes)
    whole = head + b"\n" + body
    return whole + hashlib.sha256(whole).digest()


def use_watcher(state: bytes) -> None:
    watcher = MODEL.watcher(POLICY, state=state, allow_changed_model=True)
    watcher.read_round({"ann": "cannot sleep", "new": "garden"})
    watcher.read("ann", "again")
    watcher.decisions()
    MODEL.watcher(POLICY, state=watcher.to_bytes())


def watcher_of_bytes(chance: random.Random, _: Path) -> None:
    use_watcher(changed_watcher(WATCHER_BYTES, chance))


# Journals

RUNS = [(MODEL, POLICY), (MODEL, ww.Overtakes("at risk", margin=0.1))]
IDENTITY = journal.JournalIdentity("http://127.0.0.1:9", "token", ("one", "two"))


def sound_journal(folder: Path) -> bytes:
    """Return the bytes of a journal with three rounds after a snapshot."""
    path = folder / "sound"
    with journal.Journal.open(path, IDENTITY) as opened:
        readers = RunReaders(RUNS, opened, threads=1, context=False)
        for number in range(4):
            writings = [Writing(nick, number, content=POSTS[number % 3]) for nick in ("ann", "bob")]
            current = Round(number, tuple(writings))
            opened.received(current)
            readers.read(current)
            opened.answered(number, dict(enumerate(readers.answers)))
            for run in range(2):
                opened.acknowledged(number, run)
            opened.reported(number)
            if number == 0:
                opened.shorten(0, current.digest, [one.to_bytes() for one in readers.watchers])
    return path.read_bytes()


def changed_value(value: Any, chance: random.Random) -> Any:
    """Return another value for a row: a changed state, text or number, or anything."""
    how = chance.randrange(3)
    if how == 0 and isinstance(value, bytes) and b"\n" in value:
        return changed_watcher(value, chance)
    if how == 0 and isinstance(value, str) and value.startswith("{"):
        return text_of(changed(json.loads(value), chance, changed_tree)).decode("utf-8", "replace")
    if how == 1 and isinstance(value, int | float):
        return value + chance.choice([-1, 1, 2**32])
    return chance.choice([*VALUES, *RAW.values(), b"", b"\xff" * 20])


SCHEMAS = (
    "DROP TABLE {}",
    "ALTER TABLE {} ADD COLUMN more DEFAULT 1",
    "CREATE TRIGGER more AFTER INSERT ON {0} BEGIN DELETE FROM {0}; END",
    "CREATE INDEX more ON {} (1)",
    "PRAGMA user_version = 9",
    "PRAGMA application_id = 9",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'CHECK', 'x')",
)


def change_rows(connection: sqlite3.Connection, chance: random.Random) -> None:
    """Change, delete or duplicate a row without checks; rarely change the tables."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    tables = [name for [name] in connection.execute(query)]
    if not tables:  # an earlier change dropped the last one
        return
    table = chance.choice(tables)
    cursor = connection.execute(f"SELECT * FROM {table}")
    rows, names = cursor.fetchall(), [column[0] for column in cursor.description]
    if chance.random() < 0.05:
        connection.executescript(chance.choice(SCHEMAS).format(table))
        return
    if not rows:
        return
    row = list(chance.choice(rows))
    marks = ", ".join("?" * len(row))
    if chance.random() < 0.8:
        connection.execute(f"DELETE FROM {table} WHERE ({', '.join(names)}) IS ({marks})", row)
    if chance.random() < 0.9:
        at = chance.randrange(len(row))
        row[at] = changed_value(row[at], chance)
        if table == "results" and all(isinstance(row[one], str) for one in (0, 1, 3)):
            row[4] = _checksum(*row[:4])
        connection.execute(f"REPLACE INTO {table} VALUES ({marks})", row)


def change_database(path: Path, chance: random.Random) -> None:
    """Change a database as anyone with write access could."""
    if chance.random() < 0.3:
        path.write_bytes(changed(path.read_bytes(), chance, changed_bytes))
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for _ in range(chance.choice([1, 1, 1, 2, 4])):
            # What no database can hold is left as it was.
            with suppress(sqlite3.Error, OverflowError, ValueError, RecursionError):
                change_rows(connection, chance)


JOURNAL: bytes  # a sound one, written by main


def a_journal(chance: random.Random, folder: Path) -> None:
    path = folder / "journal"
    path.write_bytes(JOURNAL)
    change_database(path, chance)
    with journal.Journal.open(path, IDENTITY) as opened:
        readers = RunReaders(RUNS, opened, threads=1, context=False)
        for past in opened.past.rounds:
            assert all(type(run) is int for run in past.acknowledged)
            assert all(isinstance(one, Answer) for run in past.answers or [] for one in run)
        readers.delays()


# Results of searches

LABELS = ("at risk", "control")
RESULTS: dict[bool, list[Any]] = {
    False: [{"confusion": [[0, 0, 3], [0, 1, 2], [1, 1, 4]]}, {"confusion": [[1, 0, 2]]}],
    True: [{"texts": 4, "right": 2, "per_label": [[2, 1, 1], [2, 3, 1]]}] * 2,
}


def kept_results(chance: random.Random, folder: Path) -> None:
    several, path = chance.random() < 0.5, folder / "results"
    path.unlink(missing_ok=True)
    with KeptResults.open(path, "d") as kept:
        for fold, result in enumerate(RESULTS[several]):
            kept.add("s", fold, result)
    change_database(path, chance)

    def is_sound(result: object) -> bool:
        return is_fold_result(result, labels=len(LABELS), several=several)

    with KeptResults.open(path, "d", is_sound=is_sound) as kept:
        known = {fold: kept.get("s", fold) for fold in range(2)}
        found = {fold: result for fold, result in known.items() if result is not None}
        setting = SearchedSetting.of({"smoothness": 0.5}, found, LABELS, "macro_f1")
        if found:
            _ = setting.evaluation.per_label
        kept.add("s", 2, RESULTS[several][0])


# Model files

FILES = [MODEL.to_bytes(), ww.TauSS3(max_ngram=3).to_bytes()]
NUMBERS = (0, 1, 2, 5, 255, 2**16, 2**31, 2**32 - 1, 2**40 - 1, 2**40, 2**62, 2**63, 2**64 - 1)


def changed_model(manifest: dict[str, Any], arrays: dict[str, Any], chance: random.Random) -> None:
    described = manifest.pop("arrays")
    if chance.random() < 0.4:
        new = changed(manifest, chance, changed_tree)
        # Raw text is for manifests of bytes; here it is a string like others.
        manifest.clear()
        manifest.update(new if isinstance(new, dict) else {})
    manifest["arrays"] = described
    for _ in range(chance.randrange(4)):
        name = chance.choice(list(arrays))
        wide = (
            "u1" if name == "words.bytes" else "<u4" if name[-5:] in ("words", "abels") else "<u8"
        )
        array = arrays[name].astype(wide)
        if array.size and chance.random() < 0.8:
            most = int(np.iinfo(array.dtype).max)
            array[chance.randrange(array.size)] = min(chance.choice(NUMBERS), most)
        else:
            array = np.resize(array, chance.choice([0, 1, array.size + 1]))
        arrays[name] = array


def use_model(model: ww.TauSS3) -> None:
    """Call every method; a corrupt file may refuse any call."""
    questions: list[Callable[[], Any]] = [
        lambda: np.isfinite(model.confidence_many([*POSTS, "a b"])).all(),
        lambda: model.explain(POSTS[0]),
        lambda: [model.top_ngrams(label) for label in model.labels],
        lambda: model.next_words("i"),
        lambda: model.overview(3),
        lambda: model.stop_words(0.5),
        lambda: model.counts() is not None,
        lambda: model.fingerprint,
        lambda: model.statistics,
        lambda: ww.TauSS3.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes(),
    ]
    for question in questions:
        with suppress(ww.WatchwordError):
            assert question() is not False


def a_model(chance: random.Random, folder: Path) -> None:
    path = folder / "model.ww"
    try:
        data = with_parts(
            chance.choice(FILES),
            lambda manifest, arrays: changed_model(manifest, arrays, chance),
        )
    except (KeyError, UnicodeEncodeError):  # what no writer could write
        return
    path.write_bytes(data)
    with suppress(ww.WatchwordError):
        use_model(ww.TauSS3.load(path, mapped=True))
    model = ww.TauSS3.load(path)
    use_model(model)
    for change in (
        lambda: model.learn_one("i cannot", "at risk"),
        lambda: model.merge(MODEL),
        lambda: model.prune(1),
    ):
        try:
            change()
        except (ww.WatchwordError, TypeError, ValueError) as error:
            if not isinstance(error, ww.WatchwordError) and "label" not in str(error):
                raise
        use_model(model)


TARGETS = [reader_of_bytes, reader_of_json, watcher_of_bytes, a_journal, kept_results, a_model]


def run(number: int, folder: Path) -> tuple[str, bool]:
    """Try one input; return its target and whether it was accepted."""
    target = TARGETS[number % len(TARGETS)]
    try:
        target(random.Random(number), folder)
    except ww.WatchwordError:
        return target.__name__, False
    return target.__name__, True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--from", dest="first", type=int, default=0)
    asked = parser.parse_args()
    journal._HASHINGS = 1  # or nearly all time would go into hiding a token
    warnings.simplefilter("error")
    tried: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        global JOURNAL
        JOURNAL = sound_journal(Path(folder))
        numbers = itertools.count(asked.first) if asked.only is None else iter([asked.only])
        for number in numbers:
            if time.monotonic() > end:
                break
            try:
                name, accepted = run(number, Path(folder))
            except BaseException:
                print(f"input {number} (repeat it with --only {number})", file=sys.stderr)
                raise
            tried[name] += 1
            taken[name] += accepted
    for name in tried:
        print(f"{name}: {tried[name]} executions, {taken[name]} taken")
    print(f"{sum(tried.values())} executions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
