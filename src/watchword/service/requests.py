"""Parts of requests: parameters, ids in paths, media types and small bodies.

Whatever is invalid is refused with an `HTTPException` that says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.requests import Request

from watchword.service.bodies import JSON, LINES
from watchword.service.operations import LARGEST, Operation, Parameter
from watchword.web.connections import read_body

_SMALL_BODY = 1 << 16  # bytes of a request that has no posts


class Call(NamedTuple):
    """A request to an operation that its sender, the holder of a token, may call."""

    request: Request
    sender: str | None  # the name of the token
    values: dict[str, Any]  # of all parameters
    body: dict[str, Any]  # except that of a request with posts


async def call_of(operation: Operation, request: Request, sender: str | None) -> Call:
    """Return a request with its parameters and its body, checked."""
    given = request.query_params
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
    is_small = operation.body is not None and LINES not in operation.body
    return Call(request, sender, values, await _object_in(request) if is_small else {})


def _in_query(one: Parameter, given: str | None) -> Any:
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


async def _object_in(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request that has no posts."""
    media_type_of(request, (JSON,))
    body = await read_body(request, _SMALL_BODY)
    try:
        given = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return given
