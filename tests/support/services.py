"""Services over small models, and the posts that they read."""

from datetime import datetime, timedelta, timezone

import watchword as ww
from watchword.service.records import IncomingPost
from watchword.service.runner import Service

RISK, OTHER = "at risk", "control"
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
WORDS = ("cannot", "sleep", "lovely", "garden", "day", "tired", "again", "the")


def small_model(**parameters):
    """Return a model of two labels."""
    model = ww.TauSS3(**parameters)
    model.learn_many(
        ["cannot sleep again", "so tired, cannot sleep", "a lovely garden", "the lovely day"],
        [RISK, RISK, OTHER, OTHER],
    )
    return model


def saved_model(folder, model=None):
    """Save a model; return its path."""
    path = folder / "model.ww"
    (model or small_model()).save(path)
    return path


def post(subject, number, text="I cannot sleep", *, minutes=None):
    """Return a post whose id is a number."""
    time = None if minutes is None else START + timedelta(minutes=minutes)
    return IncomingPost(subject, str(number), text, time)


def opened(url, model, policy=None, **options):
    """Open a service that alerts for the first post that favours the label."""
    return Service.open(url, model, policy or ww.Overtakes(RISK), **options)


def send(service, *posts, position=None):
    """Send posts as one batch and return the receipt."""
    return service.submit(list(posts), position).result(60)


def vectors(service):
    """Return the posts, the delay and the sums of each subject."""
    found = {}
    for one in service.subjects(limit=10_000):
        view = service.subject(one.id)
        found[one.id] = (view.posts, view.delay, view.confidence)
    return found


def watched(model, policy, posts):
    """Return the same of a watcher that reads the posts without a break."""
    watcher = model.watcher(policy)
    for one in posts:
        watcher.read(one.subject, one.text)
    return {one.subject: (one.posts, one.delay, one.confidence) for one in watcher.decisions()}
