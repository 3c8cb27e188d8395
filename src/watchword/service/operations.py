"""Operations of the service, each a route with its scope, and the parsing of requests to them.

The operations are in `routes`. The application, the check of scopes, the OpenAPI description and
the tests are made of them. Whatever is invalid in a request is refused with an `HTTPException` that
says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request

from watchword.data.lines import shown
from watchword.service.alerts import MOST_NOTE
from watchword.service.bodies import JSON, LINES
from watchword.service.records import RELOAD_MODES, VERDICTS, ReloadMode, Schema, Verdict, an_object
from watchword.web.connections import read_body

LARGEST = 2**63 - 1


@dataclass(frozen=True)
class ApiParameter:
    """A parameter of the query, or of the path."""

    name: str
    schema: Schema
    help: str
    where: str = "query"


@dataclass(frozen=True)
class Operation:
    """A route: its scope, its parameters and its answer.

    `name` is that of its handler. Without a `scope`, it needs no token. `returns` is a name in
    `openapi._responses`. `body` is a kind of record, or has the schema of each media type of posts.
    `may_conflict` says that the service may be unable to do it now. A handler that is no coroutine
    runs in one of the `threads`, which others cannot take.
    """

    name: str
    method: str
    path: str
    scope: str | None
    summary: str
    returns: str
    parameters: tuple[ApiParameter, ...] = ()
    body: dict[str, Schema] | type[msgspec.Struct] | None = None
    media_type: str = JSON
    may_conflict: bool = False
    threads: Literal["readers", "searches", "probes"] = "readers"

    @cached_property
    def query(self) -> tuple[str, ...]:
        """The names of all parameters of the query; an id may be there instead of in the path."""
        own = (one.name for one in self.parameters)
        return tuple(name for name in own if name not in ("number", "name"))

    @property
    def refusals(self) -> set[int]:
        """The statuses of requests that are refused."""
        found = {503} if self.scope is None else {401, 403, 429, 503}
        if self.query or self.body:
            found.add(400)
        if any(one.where == "path" for one in self.parameters):
            found.add(404)
        if self.body:
            found |= {413, 415}
        return found | {409} if self.may_conflict else found

    @property
    def route(self) -> str:
        """The path in Starlette's notation: an id may contain slashes and line feeds."""
        return self.path.replace("{id}", "{id:anything}")


def whole(
    name: str, text: str, *, least: int = 0, most: int = LARGEST, default: int | None = None
) -> ApiParameter:
    """Return a parameter for a whole number."""
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return ApiParameter(name, schema if default is None else schema | {"default": default}, text)


def one_of(name: str, text: str, choices: Iterable[str]) -> ApiParameter:
    """Return a parameter for one of some words, by default the first."""
    words = list(choices)
    return ApiParameter(name, {"enum": words, "default": words[0]}, text)


def flag(name: str, text: str) -> ApiParameter:
    """Return a parameter that is true or false."""
    return ApiParameter(name, {"type": "boolean", "default": False}, text)


LIMIT = whole("limit", "Largest number of entries.", least=1, most=1000, default=100)
OFFSET = whole("offset", "Entries to skip.", default=0)
QUERY = ApiParameter("query", {"type": "string", "maxLength": 1_000}, "Part of the subject's id.")
IN_PATH = (
    ApiParameter(
        "id",
        {"type": "string", "minLength": 1},
        "The subject's id, percent-encoded. For . and .., which URLs cannot carry: "
        "an empty path and the parameter id of the query.",
        "path",
    ),
    ApiParameter(
        "number",
        {"type": "integer", "minimum": 1, "maximum": LARGEST},
        "Number of the alert or version.",
        "path",
    ),
    ApiParameter("name", {"type": "string", "minLength": 1}, "File name.", "path"),
)
SINCE = whole("since", "Only alerts with larger ids.", default=0)

_ID_TEXT: Schema = {"type": "string", "minLength": 1}
_TIME: Schema = {
    "anyOf": [
        {"type": "string", "format": "date-time", "pattern": "^(?!000[01]|9999)"},
        {"type": "number", "minimum": -62104060800, "exclusiveMaximum": 253370764800},
        {"type": "null"},
    ]
}
_WHOLE_ID: Schema = {"type": "integer"}
_POST: Schema = an_object(
    {
        "subject": {"anyOf": [_ID_TEXT, _WHOLE_ID]},
        "id": {"anyOf": [_ID_TEXT, _WHOLE_ID]},
        "text": {"type": "string"},
        "time": _TIME,
        "title": {"type": ["string", "null"]},
    },
    optional=("time", "title"),
)
# As in OpenAPI 3.2, a body of JSON lines is described as the array of its lines.
_LINES: Schema = {"type": "array", "items": _POST}
POSTS = {JSON: {"anyOf": [_POST, _LINES]}, LINES: _LINES}


# Requests

_SMALL_BODY = 1 << 16  # bytes of a request that has no posts


class MarkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict about an alert; `label` is the true one, if the verdict does not imply it."""

    verdict: Annotated[Verdict, Meta(description=f"one of {', '.join(VERDICTS)}")]
    note: Annotated[
        str, Meta(max_length=MOST_NOTE, description=f"text of at most {MOST_NOTE} characters")
    ] = ""
    label: Annotated[str | int | None, Meta(description="a label of the model")] = None


class ReloadRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model file to load, by default the one given at the start."""

    path: Annotated[str | None, Meta(description="text")] = None
    mode: Annotated[ReloadMode, Meta(description=f"one of {', '.join(RELOAD_MODES)}")] = "keep"


class EmptyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that says all by its path."""


class Call(NamedTuple):
    """A request to an operation that its sender, the holder of a token, may call."""

    request: Request
    sender: str | None  # the name of the token
    values: dict[str, Any]  # of all parameters
    body: Any  # a record of the operation's kind; None if it has posts or no body


async def call_of(operation: Operation, request: Request, sender: str | None) -> Call:
    """Return a request with its parameters and its body, checked."""
    given = request.query_params if request.scope["query_string"] else {}
    for name in given:  # it may be misspelt
        if name not in operation.query:
            known = ", ".join(operation.query) or "none"
            raise HTTPException(400, f"unknown parameter {name[:100]!r} (known: {known})")
    values = {
        one.name: _in_path(one.name, request)
        if one.where == "path"
        else _in_query(one, given.get(one.name))
        for one in operation.parameters
    }
    kind = operation.body
    body = await _record_in(request, kind) if isinstance(kind, type) else None
    return Call(request, sender, values, body)


def _in_query(one: ApiParameter, given: str | None) -> Any:
    """Return the value of a parameter, by its schema."""
    schema, name = one.schema, f'"{one.name}"'
    if given is None:
        return schema.get("default")
    if "enum" in schema:
        if given not in schema["enum"]:
            raise HTTPException(400, f"{name} must be one of {', '.join(schema['enum'])}")
    elif schema["type"] == "integer":
        return whole_number(name, given, schema["minimum"], schema["maximum"])
    elif schema["type"] == "boolean":
        if given not in ("true", "false"):
            raise HTTPException(400, f"{name} must be true or false")
        return given == "true"
    elif len(given) > schema.get("maxLength", len(given)):
        raise HTTPException(400, f"{name} must have at most {schema['maxLength']} characters")
    return given


def whole_number(name: str, given: str, least: int, most: int) -> int:
    """Return a whole number in a range."""
    digits = given.removeprefix("-")
    # int() refuses very long numbers, and takes digits of other scripts.
    if digits.isascii() and digits.isdigit() and len(digits) <= 19 and least <= int(given) <= most:
        return int(given)
    raise HTTPException(400, f"{name} must be a whole number from {least} to {most}")


def _in_path(name: str, request: Request) -> Any:
    if name == "id":
        return _subject_in(request)
    given: str = request.path_params[name]
    if name != "number":
        return given
    if given.isascii() and given.isdigit() and len(given) <= 19 and int(given) <= LARGEST:
        return int(given)
    raise HTTPException(404, "not found")


def _subject_in(request: Request) -> str:
    """Return the subject in the path; in the query if the path has none."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    _, route, *rest = raw.partition(b"?")[0].split(b"/", 2)
    encoded = rest[0] if rest and b"%" not in route else b""  # /subjects%2Fann is no subject
    try:
        name = unquote_to_bytes(encoded).decode() or request.query_params.get("id", "")
    except UnicodeDecodeError:
        raise HTTPException(400, "the subject's id in the path is not UTF-8") from None
    if not name:
        raise HTTPException(400, "the subject's id is missing")
    return name


def media_type_of(request: Request, known: Sequence[str]) -> str:
    """Return the media type of the body, which must be one of those known."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in known:
        shown = " or ".join(known[:2])
        raise HTTPException(415, f"the media type of the body must be {shown}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException(415, "the body must not be compressed")
    return given


async def _record_in(request: Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """Return the record in the body of a request that has no posts."""
    media_type_of(request, (JSON,))
    body = await read_body(request, _SMALL_BODY)
    try:
        given = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "the body must be a JSON object")
    names = kind.__struct_fields__
    for name in given:
        if name not in names:
            fields = ", ".join(names) or "none"
            raise HTTPException(400, f"unknown field {shown(name)} (known: {fields})")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        name = str(error).rstrip("`").rpartition("`")[2].removeprefix("$.")
        [_], schemas = msgspec.json.schema_components([kind])
        expected = schemas[kind.__name__]["properties"][name]["description"]
        raise HTTPException(400, f'"{name}" must be {expected}') from None
