"""Parts of requests: parameters, ids in paths, media types and small bodies.

Whatever is invalid is refused with an `HTTPException` that says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.exceptions import HTTPException
from starlette.requests import Request

from watchword.service.bodies import JSON
from watchword.service.operations import LARGEST
from watchword.web.connections import read_body

_SMALL_BODY = 1 << 16  # bytes of a request that has no posts


class Query:
    """The query of a request, with precise refusals."""

    def __init__(self, request: Request) -> None:
        self._given = request.query_params

    def text(self, name: str, *, most: int | None = None) -> str | None:
        """Return a text, None if it is missing."""
        given = self._given.get(name)
        if given is not None and most is not None and len(given) > most:
            raise HTTPException(400, f'"{name}" must have at most {most} characters')
        return given

    def whole(self, name: str, default: Any, *, least: int = 0, most: int = LARGEST) -> Any:
        """Return a whole number."""
        given = self._given.get(name)
        return default if given is None else whole_number(f'"{name}"', given, least, most)

    def one_of(self, name: str, choices: Sequence[str]) -> Any:
        """Return one of some words; the first of them by default."""
        given = self._given.get(name, choices[0])
        if given not in choices:
            raise HTTPException(400, f'"{name}" must be one of {", ".join(choices)}')
        return given

    def flag(self, name: str) -> bool:
        """Return whether something is asked for."""
        given = self._given.get(name, "false")
        if given not in ("true", "false"):
            raise HTTPException(400, f'"{name}" must be true or false')
        return given == "true"


def whole_number(name: str, given: str, least: int, most: int) -> int:
    """Return a whole number in a range."""
    digits = given.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 19:
        number = int(given)
        if least <= number <= most:
            return number
    raise HTTPException(400, f"{name} must be a whole number from {least} to {most}")


def number_in(request: Request) -> int:
    """Return the number in the path."""
    given: str = request.path_params["number"]
    # int() refuses very long numbers, and takes digits of other scripts.
    if given.isascii() and given.isdigit() and len(given) <= 19 and int(given) <= LARGEST:
        return int(given)
    raise HTTPException(404, "not found")


def subject_in(request: Request) -> str:
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


async def object_in(request: Request) -> dict[str, Any]:
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
