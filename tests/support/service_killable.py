"""A program that feeds a service and kills the process that does; see `command_killable`.

The arguments are the store, the model, the file of posts and the number of posts in a batch. Each
run goes on from the committed position, a few posts before it: those are sent a second time. With
"follow" before the number, the service follows the file until the store has as many posts.
"""

import contextlib
import os
import time

import msgspec

import watchword as ww
from command_killable import main, prepared
from untyped import untyped
from watchword.service.following import FollowedFile
from watchword.service.postgres_store import PostgresStore
from watchword.service.records import IncomingPost, Position
from watchword.service.runner import Service
from watchword.service.sources import Sources
from watchword.service.sqlite_store import SqliteStore

AGAIN = 7  # posts that are sent a second time
POLICY = ww.Overtakes("at risk", margin=0.05) & ww.Repeats("at risk", times=2)


def put_points_in_writing(passed):
    """Call a function before, within and after every transaction that writes."""
    for kind in (SqliteStore, PostgresStore):
        writing = kind.writing

        @contextlib.contextmanager
        def marked(self, writing=writing):
            passed()
            with writing(self) as session:
                yield session
                passed()
            passed()

        untyped(kind).writing = marked


def feed(url, model, posts, size):
    """Send all posts that are not committed yet, in batches, several at a time."""
    with Service.open(url, model, POLICY, store_texts=True) as service:
        begin = int(service.position("feed") or 0)
        sent = []
        for at in range(begin, len(posts), size):
            end = min(at + size, len(posts))
            batch = posts[max(0, at - AGAIN) : end]
            sent.append(service.submit(batch, Position("feed", str(end))))
            if len(sent) > 3:
                sent.pop(0).result()
        for one in sent:
            one.result()


def follow(url, model, path, count):
    """Follow a file, which may be rotated meanwhile, until the store has a number of posts."""
    source = FollowedFile(path, poll=0.005, linger=0)
    with (
        Service.open(url, model, POLICY, store_texts=True) as service,
        Sources(service, [source]) as sources,
    ):
        while service.store.rows("SELECT count(*) FROM texts") != [(count,)]:
            sources.raise_failure()
            time.sleep(0.005)
        assert sources.missing_files == 0


def run(order, answer):
    points = prepared(order)
    put_points_in_writing(points.passed)
    url, model, path, *mode, size = order["arguments"]
    if mode:
        follow(url, model, path, int(size))
        os.write(answer, b"%d" % points.count)
        return 0
    with open(path, "rb") as lines:  # noqa: PTH123
        posts = msgspec.json.Decoder(IncomingPost).decode_lines(lines.read())
    feed(url, model, posts, int(size))
    os.write(answer, b"%d" % points.count)
    return 0


if __name__ == "__main__":
    main(run)
