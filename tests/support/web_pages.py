"""Small models for the live page, some hostile, and requests to it without a socket."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import anyio

import watchword as ww
from watchword.data import Post, Subject
from watchword.web import Content
from watchword.web.app import make_app

AT_RISK = "at risk"
HOST = {"host": "127.0.0.1:8000"}

# Code that must never run, in every known form of injection.
HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    '" onmouseover="window.hacked = 1" autofocus onfocus="window.hacked = 1',
    "</style></textarea></title><svg onload='window.hacked = 1'>",
    "javascript:window.hacked=1//",
    "${window.hacked = 1}{{constructor.constructor('window.hacked = 1')()}}",
    "\u202egnirts desrever\u202c \u2067isolated\u2069 \x00 \x1b[31m",
]


@cache
def people(count=24, seed=3):
    made = ww.make_risk_streams(count, seed=seed, prevalence=0.4, posts_per_subject=(4, 9))
    return tuple(made)


@cache
def model():
    taught = ww.TauSS3.paper()
    ww.teach(taught, ww.make_risk_streams(40, seed=11, prevalence=0.4, posts_per_subject=(8, 12)))
    return taught


@cache
def documents():
    """Return the texts and the labels of all posts."""
    pairs = [(post.content, one.label) for one in people() for post in one.posts]
    return [text for text, _ in pairs], [label for _, label in pairs]


def content(**options):
    """Return content of every kind that a page can show."""
    texts, labels = documents()
    shown = {"texts": texts, "labels": labels, "subjects": people(), "name": "small.ww"} | options
    return Content(model(), **shown)


def hostile_model():
    """Return a model whose labels and words are attacks."""
    taught = ww.TauSS3()
    for label in HOSTILE:
        taught.learn_many(
            [f"{text} and words of {at}" for at, text in enumerate(HOSTILE)], [label] * len(HOSTILE)
        )
        taught.learn_one(f"{label} only here {label}", label)
    return taught


def hostile_subjects():
    return [
        Subject(f"{name}", [Post(text, title=name, id=name) for text in HOSTILE], HOSTILE[at % 3])
        for at, name in enumerate(HOSTILE)
    ]


def ask(app, path, *, method="GET", headers=HOST, body=None, pieces=None):
    """Return the status, headers and JSON (or text) of a response; `body` may be in pieces."""
    # In browser tests this thread already has an event loop.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, _ask, app, path, method, headers, body, pieces).result()


def send(app, path, value, **headers):
    """Send JSON by POST."""
    given = HOST | {"content-type": "application/json"} | headers
    status, _, found = ask(app, path, method="POST", headers=given, body=json.dumps(value).encode())
    return status, found


async def _ask(app, path, method, headers, body, pieces):
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 8000),
    }
    waiting = list(pieces or [body or b""])
    sent = []

    async def receive():
        if waiting:
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}
        return await anyio.sleep_forever()

    async def send_(message):
        sent.append(message)

    await app(scope, receive, send_)
    given = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    whole = b"".join(message.get("body", b"") for message in sent)
    is_json = given.get("content-type") == "application/json"
    return sent[0]["status"], given, json.loads(whole) if is_json else whole.decode()


def app(**options):
    """Return the page of `content` as an application."""
    return make_app(content(), **options)
