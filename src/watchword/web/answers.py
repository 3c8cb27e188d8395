"""Responses of the live page and of the service: JSON, errors and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from watchword.web.files import StaticFile
from watchword.web.models import to_json


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return plain data as JSON."""
    return Response(to_json(value), status, headers, media_type="application/json")


def failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as JSON."""
    return json_response({"error": message}, status, headers)


def file_response(files: Mapping[str, StaticFile], name: str) -> Response:
    """Return a file, or an error if the name is unknown."""
    found = files.get(name)
    if found is None:
        return failure(404, "file not found")
    return Response(found.content, media_type=found.media_type)
