"""Operations: every route of the service, with its scope, parameters, body and answer.

The application, the check of scopes, the OpenAPI description and the tests are made of this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from watchword.service import alerts, subjects
from watchword.service.alerts import MOST_NOTE
from watchword.service.bodies import JSON, LINES
from watchword.service.choices import VERDICTS
from watchword.service.records import Schema, an_object


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query, or of the path."""

    name: str
    schema: Schema
    help: str
    where: str = "query"


@dataclass(frozen=True)
class Operation:
    """A route: its scope, its parameters and its answer.

    `name` is that of its handler. Without a `scope`, it needs no token. `returns` is a name in
    `openapi._responses`. `may_conflict` says that the service may be unable to do it now.
    """

    name: str
    method: str
    path: str
    scope: str | None
    summary: str
    returns: str
    parameters: tuple[Parameter, ...] = ()
    body: dict[str, Schema] | None = None
    media_type: str = JSON
    may_conflict: bool = False

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


def _whole(name: str, text: str, *, least: int, most: int, default: int | None = None) -> Parameter:
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, schema if default is None else schema | {"default": default}, text)


def _one_of(name: str, text: str, choices: tuple[str, ...]) -> Parameter:
    return Parameter(name, {"enum": list(choices), "default": choices[0]}, text)


def _flag(name: str, text: str) -> Parameter:
    return Parameter(name, {"type": "boolean", "default": False}, text)


LARGEST = 2**63 - 1
_LIMIT = _whole("limit", "Largest number of entries.", least=1, most=1000, default=100)
_OFFSET = _whole("offset", "Entries to skip.", least=0, most=LARGEST, default=0)
_QUERY = Parameter("query", {"type": "string", "maxLength": 1_000}, "Part of the subject's id.")
_ID = Parameter(
    "id",
    {"type": "string", "minLength": 1},
    "The subject's id, percent-encoded. For . and .., which URLs cannot carry: "
    "an empty path and the parameter id of the query.",
    "path",
)
_NUMBER = Parameter(
    "number",
    {"type": "integer", "minimum": 1, "maximum": LARGEST},
    "Number of the alert or version.",
    "path",
)
_SINCE = _whole("since", "Only alerts with larger ids.", least=0, most=LARGEST, default=0)

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
_MARK: Schema = an_object(
    {
        "verdict": {"enum": list(VERDICTS)},
        "note": {"type": "string", "maxLength": MOST_NOTE},
        "label": {"type": ["string", "integer", "null"]},
    },
    optional=("note", "label"),
)
_MODE: Schema = an_object(
    {"path": {"type": ["string", "null"]}, "mode": {"enum": ["keep", "replay"]}},
    optional=("path", "mode"),
)
_EMPTY: Schema = {"type": "object"}
# As in OpenAPI 3.2, a body of JSON lines is described as the array of its lines.
_POSTS: Schema = {"type": "array", "items": _POST}


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        *("add_posts", "POST", "/posts", "write"),
        "Add posts; responds once they are committed.",
        "Receipt",
        body={JSON: {"anyOf": [_POST, _POSTS]}, LINES: _POSTS},
    ),
    Operation(
        *("list_subjects", "GET", "/subjects", "read"),
        "List subjects, by default those closest to an alert first.",
        "Subjects",
        parameters=(
            _one_of("sort", "Sort order.", ("closest", *subjects.SORTS)),
            _QUERY,
            _LIMIT,
            _OFFSET,
        ),
    ),
    Operation(
        *("get_subject", "GET", "/subjects/{id}", "read"),
        "Return a subject: its state, and its latest posts with their contributions.",
        "SubjectView",
        parameters=(
            _ID,
            _LIMIT,
            _whole("before", "Only posts numbered below this.", least=1, most=LARGEST),
        ),
    ),
    Operation(
        *("forget_subject", "DELETE", "/subjects/{id}", "admin"),
        "Delete a subject's data, including what the model learnt from it.",
        "Forgotten",
        parameters=(_ID,),
        may_conflict=True,
    ),
    Operation(
        *("get_story", "GET", "/stories/{id}", "read"),
        "Return the story of a subject whose texts are stored.",
        "Story",
        parameters=(
            _ID,
            _flag("painted", "Return explanations in the board's compact form."),
        ),
        may_conflict=True,
    ),
    Operation(
        *("list_alerts", "GET", "/alerts", "read"),
        "List alerts with their reasons and marks.",
        "Alerts",
        parameters=(
            _SINCE,
            _whole("before", "Only alerts with smaller ids.", least=1, most=LARGEST),
            _one_of("sort", "Sort order.", tuple(alerts.SORTS)),
            _LIMIT,
            Parameter("label", {"type": "string"}, "Only alerts for this label."),
            _QUERY,
            _flag("unmarked", "Only alerts without a mark."),
        ),
    ),
    Operation(
        *("stream_alerts", "GET", "/alerts/events", "read"),
        "Send alerts as they are raised, as server-sent events; resume with Last-Event-ID.",
        "Events",
        parameters=(_SINCE,),
        media_type="text/event-stream",
    ),
    Operation(
        *("get_alert", "GET", "/alerts/{number}", "read"),
        "Return an alert with its reasons and its mark.",
        "Alert",
        parameters=(_NUMBER,),
    ),
    Operation(
        *("mark_alert", "POST", "/alerts/{number}/mark", "write"),
        "Mark an alert as right, wrong or unsure.",
        "Alert",
        parameters=(_NUMBER,),
        body={JSON: _MARK},
        may_conflict=True,
    ),
    Operation(
        *("export_marks", "GET", "/marks", "read"),
        "Export marked texts as training data, one JSON object per line.",
        "Lines",
        media_type=LINES,
    ),
    Operation(
        *("get_statistics", "GET", "/statistics", "read"),
        "Return totals, running precision, arrivals and the policy.",
        "Statistics",
    ),
    Operation(
        *("list_models", "GET", "/admin/models", "admin"),
        "List all versions of the model.",
        "Models",
    ),
    Operation(
        *("reload_model", "POST", "/admin/reload", "admin"),
        "Reload the model file in the background, and switch to it.",
        "ModelVersion",
        body={JSON: _MODE},
        may_conflict=True,
    ),
    Operation(
        *("teach_model", "POST", "/admin/teach", "admin"),
        "Teach the model newly marked texts, as a new version.",
        "ModelVersion",
        body={JSON: _EMPTY},
        may_conflict=True,
    ),
    Operation(
        *("restore_model", "POST", "/admin/models/{number}/restore", "admin"),
        "Switch to an earlier or later version of the model.",
        "ModelVersion",
        parameters=(_NUMBER,),
        body={JSON: _EMPTY},
        may_conflict=True,
    ),
    Operation(
        *("get_metrics", "GET", "/metrics", "read"),
        "Return metrics for Prometheus.",
        "Text",
        media_type="text/plain",
    ),
    Operation(
        *("get_description", "GET", "/openapi.json", "read"),
        "Return this description.",
        "Description",
    ),
    Operation(
        *("get_board", "GET", "/", "read"),
        "Return the board (HTML).",
        "Text",
        media_type="text/html",
    ),
    Operation(
        *("get_file", "GET", "/static/{name}", "read"),
        "Return a file used by the board.",
        "Text",
        parameters=(Parameter("name", {"type": "string", "minLength": 1}, "File name.", "path"),),
        media_type="*/*",
    ),
    Operation(
        *("get_health", "GET", "/health", None),
        "Return whether the process is alive.",
        "Health",
    ),
    Operation(
        *("get_readiness", "GET", "/ready", None),
        "Return whether posts can be accepted: the store responds, and all sources run.",
        "Health",
    ),
)
