"""The OpenAPI description: complete, and true of every answer to generated requests."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from schemathesis import GenerationMode

from doors import LINES, open_door
from services import post, send
from watchword.service.openapi import description
from watchword.service.routes import OPERATIONS

pytestmark = pytest.mark.slow

# A stream of events does not end by itself.
ENDLESS = {"/alerts/events"}
# Invalid requests are refused with one of these; a body that is too large, with 413.
REFUSALS = ["400", "401", "404", "405", "409", "413", "415"]


@pytest.fixture
def door(tmp_path):
    """Start a service of its own for each test: generated posts may be of any subject."""
    with open_door(tmp_path, options={"store_texts": True}) as door:
        send(door.service, post("ann", 1, "hello"), post("ann", 2), post("bob", 1))
        yield door


@pytest.fixture(autouse=True)
def same_requests_whatever_is_imported(monkeypatch):
    """Keep Hypothesis from drawing constants of modules that other tests have imported."""
    providers.CONSTANTS_CACHE.cache.clear()
    monkeypatch.setattr(providers, "_get_local_constants", Constants)
    yield
    providers.CONSTANTS_CACHE.cache.clear()


def test_every_operation_is_described():
    described = description()["paths"]
    for one in OPERATIONS:
        told = described[one.path][one.method.lower()]
        assert told["operationId"] == one.name
        named = {parameter["name"] for parameter in told["parameters"]}
        assert named == {parameter.name for parameter in one.parameters}
        assert ("401" in told["responses"]) == (one.scope is not None)


def cases():
    """Return every operation with valid requests and, where it takes anything, invalid ones."""
    for one in OPERATIONS:
        for mode in GenerationMode:
            takes = one.parameters or one.body
            if one.path not in ENDLESS and (takes or mode is GenerationMode.POSITIVE):
                yield pytest.param(one, mode, id=f"{one.name}-{mode.value}")


@schemathesis.serializer(LINES)
def as_lines(_context, value):
    """Write an array as lines; whatever else is generated, as JSON."""
    items = value if isinstance(value, list) else [value]
    return "".join(json.dumps(one) + "\n" for one in items).encode()


def whole(value):
    """Return a body with 1 instead of 1.0, which JSON Schema takes for a whole number."""
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict):
        return {name: whole(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize(("operation", "mode"), list(cases()))
def test_answers_to_generated_requests_are_as_described(door, operation, mode):
    schema = schemathesis.openapi.from_dict(description())
    schema.config.update(base_url=door.url)
    schema.config.checks.negative_data_rejection.expected_statuses = REFUSALS
    told = schema[operation.path][operation.method]
    headers = {"Authorization": f"Bearer {door.token}"}

    @settings(
        max_examples=20,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=told.as_strategy(mode))
    def run(case):
        if mode is GenerationMode.POSITIVE:
            case.body = whole(case.body)
        case.call_and_validate(headers=headers)

    run()
