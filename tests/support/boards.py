"""Boards of running services for browser tests, and steps on them."""

from contextlib import contextmanager

import watchword as ww
from services import OTHER, RISK, opened, post, saved_model, send
from watchword.service.serving import running_service
from watchword.service.tokens import add_token

ALERTING, HARMLESS = "so tired, I cannot sleep again", "in the garden"
POLICY = "overtakes(margin=0.01)"


@contextmanager
def running_board(folder, *, port=0, model=None, policy=None, scopes=None, **options):
    """Run a service over a store in a folder; yield it and the URL of its board.

    `scopes` are those of the token in the URL [default: all]; such a token outlives the service.
    """
    path = saved_model(folder, model)
    rule = policy or ww.Overtakes(RISK, margin=0.01)
    with opened(str(folder / "watch.db"), path, rule, **options) as service:
        token = None if scopes is None else add_token(service.store, "moderator", scopes)
        with running_service(service, port=port) as running:
            yield service, f"{running.url}/?token={token or running.token}"


def alert_about(service, *subjects):
    """Raise an alert about each subject; return their ids."""
    return [
        number
        for subject in subjects
        for number in send(service, post(subject, 1, HARMLESS), post(subject, 2, ALERTING)).alerts
    ]


def listed(page, name="alerts"):
    """Return the places of the subjects in a list on the board."""
    return page.locator(f"#{name}-list tbody .text bdi")


__all__ = [
    "ALERTING",
    "HARMLESS",
    "OTHER",
    "POLICY",
    "RISK",
    "alert_about",
    "listed",
    "running_board",
]
