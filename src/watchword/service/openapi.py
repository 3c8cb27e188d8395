"""The OpenAPI description of the service, generated from the table of operations."""

from __future__ import annotations

from functools import cache
from typing import Any

import watchword
from watchword.service.bodies import JSON
from watchword.service.operations import Operation
from watchword.service.records import (
    TEXT,
    WHOLE,
    Alert,
    Forgotten,
    Mark,
    ModelVersion,
    Receipt,
    Schema,
    Schemas,
    Statistics,
    SubjectRow,
    SubjectView,
    TokenView,
    an_object,
)
from watchword.service.routes import OPERATIONS

_ERRORS = {
    400: "The request is invalid; the response says what is wrong, and where.",
    401: "The token is missing or wrong.",
    403: "The token does not allow this, or the request comes from another site.",
    404: "Not found.",
    409: "Not possible in the current state.",
    413: "The body is too large, or has too many posts.",
    415: "The media type of the body is not supported.",
    429: "The service cannot keep up, or too many requests were sent: see Retry-After.",
    503: "The store is unavailable: see Retry-After.",
}


@cache
def description() -> dict[str, Any]:
    """Return the description of all operations.

    >>> description()["paths"]["/posts"]["post"]["operationId"]
    'add_posts'
    """
    schemas = Schemas()
    responses = _responses(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one, responses, schemas)
    error = an_object({"error": TEXT, "line": WHOLE, "post": WHOLE}, optional=("line", "post"))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "watchword service",
            "version": watchword.__version__,
            "description": "Early risk detection over text streams: posts in, alerts out.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas.named, "Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _responses(schemas: Schemas) -> dict[str, Schema]:
    """Return the schemas of all answers by the names that operations use."""

    def some(name: str, kind: Any, **more: Schema) -> Schema:
        return an_object({name: {"type": "array", "items": schemas.of(kind)}, **more})

    records = (
        *(Receipt, SubjectView, Forgotten, Alert, Mark, Statistics, ModelVersion, TokenView),
    )
    texts: Schema = {"type": "array", "items": TEXT}
    health = an_object(
        {"status": TEXT, "reasons": texts, "warnings": texts}, optional=("warnings",)
    )
    return {kind.__name__: schemas.of(kind) for kind in records} | {
        "Subjects": some("subjects", SubjectRow),
        "Alerts": some("alerts", Alert, last=WHOLE),
        "Marks": some("marks", Mark),
        "Models": some("models", ModelVersion),
        "Story": {"type": "object"},
        "Events": TEXT,
        "Lines": TEXT,
        "Text": TEXT,
        "Description": {"type": "object"},
        "Health": health,
    }


def _described(one: Operation, responses: dict[str, Schema], schemas: Schemas) -> dict[str, Any]:
    content = {one.media_type: {"schema": responses[one.returns]}}
    answer = {"description": "Success.", "content": content}
    schema = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refused = {
        str(code): {"description": _ERRORS[code], "content": schema}
        for code in sorted(one.refusals)
    }
    parameters = [
        {
            "name": each.name,
            "in": each.where,
            "required": each.where == "path",
            "description": each.help,
            "schema": each.schema,
        }
        for each in one.parameters
    ]
    told: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": parameters,
        "responses": {"200": answer} | refused,
    }
    if one.scope is None:
        told["security"] = []
    else:
        told["description"] = f"Needs a token with the scope {one.scope}."
    if one.body is not None:
        bodies = {JSON: schemas.of(one.body)} if isinstance(one.body, type) else one.body
        content = {media: {"schema": schema} for media, schema in bodies.items()}
        told["requestBody"] = {"required": True, "content": content}
    return told
