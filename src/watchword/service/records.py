"""Records: the inputs and outputs of the service, as plain data, with their JSON schemas.

That is read at every start, so nothing else may be imported here.

Times are aware datetimes in UTC. `as_json_data` turns any of these records into what JSON can hold.
"""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from time import time_ns
from typing import Any, Literal, Union, overload

import msgspec

from watchword._checks import Label
from watchword.data.times import EPOCH, in_utc
from watchword.explain.alerts import AlertReasons
from watchword.web.models import to_json

ReadingOrder = Literal["arrival", "time"]
ORDERS: tuple[ReadingOrder, ...] = ("arrival", "time")
ReloadMode = Literal["keep", "replay"]
RELOAD_MODES: tuple[ReloadMode, ...] = ("keep", "replay")
Scope = Literal["feed", "read", "mark", "admin"]
SCOPES: tuple[Scope, ...] = ("feed", "read", "mark", "admin")
Verdict = Literal["right", "wrong", "unsure"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "unsure")

QUEUE_POSTS = 50_000
BODY_LIMIT = 8 << 20  # bytes
MODEL_LIMIT = 4 << 30  # bytes
RATE = 2_000  # requests per second
MOST_CONNECTIONS = 512


class IncomingPost(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=False):
    """A post on its way in. `(subject, id)` identifies it: sent again, it changes nothing.

    >>> IncomingPost("ann", "1", "I cannot sleep").time is None
    True
    """

    subject: str
    id: str
    text: str
    time: datetime | None = None


@dataclass(frozen=True)
class Position:
    """How far a source has been read: committed together with the posts up to there."""

    source: str
    position: str


class RejectedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line or entry of a source that was left out: what identifies it there, and the reason.

    A post without an id would have had `line` as its id. There is nothing of its content.
    """

    source: str
    line: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Receipt:
    """The result of a batch: new posts, posts that were already there, ids of new alerts.

    With rounds, posts are read when their round closes, so a receipt has no alerts.
    """

    accepted: int
    duplicates: int
    alerts: tuple[int, ...] = ()


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict of a person about an alert.

    `label` is the true label, where it is known: of a right alert the label of the alert, of a
    wrong one the other label if there are only two, or the one that the person named.
    """

    alert: int
    verdict: Verdict
    note: str
    by: str
    at: datetime
    label: Label | None = None


class TokenView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The token of a request: its name, and what it allows."""

    name: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True)
class Alert:
    """An alert about a subject, with its reasons. A subject has at most one.

    `delay` is the number of posts read when it was raised, `post_id` and `post_time` those of the
    post that raised it, `model` the fingerprint of the model, `policy` the policy in the notation
    of the command line, and `confidence` the sum per label at that time.
    """

    id: int
    subject: str
    label: Label
    post_id: str
    post_time: datetime | None
    raised_at: datetime
    delay: int
    score: float
    confidence: dict[Label, float]
    model: str
    policy: str
    reasons: AlertReasons
    mark: Mark | None = None


@dataclass(frozen=True)
class HistoryPost:
    """A post of a subject: what it added, and the sums after it; the text only if it is kept.

    `number` counts from 1 in the order in which posts were read. While a post waits for its round,
    its number is None, and it has added nothing yet.
    """

    number: int | None
    post_id: str
    time: datetime | None
    arrived: datetime
    added: dict[Label, float]
    sums: dict[Label, float]
    text: str | None = None


@dataclass(frozen=True)
class SubjectRow:
    """A subject in a list: its number of posts, its score, and the alert, if there is one."""

    id: str
    posts: int
    score: float
    confidence: dict[Label, float]
    label: Label | None
    last_time: datetime | None
    alert: int | None


@dataclass(frozen=True)
class SubjectView:
    """A subject: the current state, the decision, and a page of the history, oldest first.

    `label` is the positive label if there is an alert, and `delay` that of the alert, else 0.
    `before` is the argument for the page of earlier posts, None if there are no earlier ones.
    """

    id: str
    posts: int
    score: float
    confidence: dict[Label, float]
    label: Label | None
    delay: int
    first_time: datetime | None
    last_time: datetime | None
    alert: int | None
    model: str
    policy: str
    history: tuple[HistoryPost, ...]
    before: int | None


@dataclass(frozen=True)
class TrainingText:
    """A marked subject as training data; `text` is None where texts are not stored."""

    subject: str
    label: Label
    text: str | None
    post_id: str | None = None


@dataclass(frozen=True)
class Precision:
    """How many alerts were marked right and wrong, and the share of right ones of these.

    The share, `value`, is None before any of them.
    """

    right: int
    wrong: int
    unsure: int
    value: float | None = field(init=False)

    def __post_init__(self) -> None:
        judged = self.right + self.wrong
        object.__setattr__(self, "value", self.right / judged if judged else None)


@dataclass(frozen=True)
class Statistics:
    """The state of the service. Totals of subjects and posts may be some seconds old.

    `per_second` has the posts accepted in each of the latest 60 seconds, newest last.
    """

    subjects: int
    posts: int
    alerts: int
    marks: Precision
    accepted: int
    duplicates: int
    per_second: tuple[int, ...]
    queued: int
    last_commit: datetime | None
    model: str
    policy: str
    version: int
    labels: tuple[Label, ...] = ()
    positive: Label = ""
    rounds: int | None = None
    waiting: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Forgotten:
    """The removed data of a subject: rows per table, texts unlearnt, versions removed."""

    subject: str
    rows: dict[str, int] = field(default_factory=dict)
    unlearnt: int = 0
    versions: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return any(self.rows.values())


@dataclass(frozen=True)
class ModelVersion:
    """A model that the service has used: a given file, or taught from marks.

    `lessons` is the number of texts that it was taught on top of the given model `root`.
    """

    number: int
    kind: Literal["given", "taught"]
    root: int
    path: str
    model: str
    lessons: int
    at: datetime
    is_active: bool


@overload
def moment(micros: int) -> datetime: ...
@overload
def moment(micros: int | None) -> datetime | None: ...
def moment(micros: int | None) -> datetime | None:
    """Return the time of a number of microseconds since 1970.

    >>> moment(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def now() -> int:
    """Return the present time as microseconds since 1970."""
    return time_ns() // 1_000


def micros(time: datetime) -> int:
    """Return a time as microseconds since 1970; a naive time is one in UTC.

    >>> micros(datetime(1970, 1, 2))
    86400000000
    """
    passed = in_utc(time) - EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def as_json_data(record: Any) -> Any:
    """Return a record as dicts, lists, strings and numbers; times as ISO 8601 with Z.

    >>> as_json_data(Position("file:/tmp/x", "12"))
    {'source': 'file:/tmp/x', 'position': '12'}
    >>> as_json_data(moment(1_500_000))
    '1970-01-01T00:00:01.500000Z'
    """
    if isinstance(record, datetime):
        return record.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(record, msgspec.Struct):
        return {name: as_json_data(getattr(record, name)) for name in record.__struct_fields__}
    if is_dataclass(record) and not isinstance(record, type):
        return {one.name: as_json_data(getattr(record, one.name)) for one in fields(record)}
    if isinstance(record, dict):
        return {str(name): as_json_data(value) for name, value in record.items()}
    return [as_json_data(one) for one in record] if isinstance(record, list | tuple) else record


def json_of(record: Any) -> bytes:
    r"""Return a record, or plain data that contains records, as JSON.

    >>> json_of(Receipt(1, 0))
    b'{"accepted":1,"duplicates":0,"alerts":[]}'
    """
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:  # of a lone surrogate
        return to_json(as_json_data(record))


Schema = dict[str, Any]

TIME: Schema = {"type": "string", "format": "date-time"}
WHOLE: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": ["number", "null"]}  # null instead of NaN and infinities
_REFERENCE = "#/components/schemas/{name}"


class Schemas:
    """Schemas by name, filled with those that others refer to.

    >>> from watchword.service.records import Receipt
    >>> schemas = Schemas()
    >>> schemas.of(Receipt)
    {'$ref': '#/components/schemas/Receipt'}
    >>> schemas.named["Receipt"]["properties"]["alerts"]
    {'type': 'array', 'items': {'type': 'integer'}}
    """

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of what `as_json_data` makes of a value of this type."""
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return dict(simple)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            [schema], named = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
            self.named |= named
            return schema
        if is_dataclass(kind):
            name = typing.cast(type, kind).__name__
            if name not in self.named:
                self.named[name] = {}  # a record may contain its own kind
                hints = typing.get_type_hints(kind)
                own = {one.name: self.of(hints[one.name]) for one in fields(kind)}
                self.named[name] = an_object(own)
            return {"$ref": _REFERENCE.format(name=name)}
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in arguments]}
        if origin in (tuple, list):
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return {}


def an_object(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_SIMPLE: dict[Any, Schema] = {
    str: TEXT,
    int: WHOLE,
    float: NUMBER,
    bool: {"type": "boolean"},
    datetime: TIME,
    type(None): {"type": "null"},
}
