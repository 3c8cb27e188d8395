"""JSON schemas of the records that the service sends, derived from their types."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Literal, Union

from watchword.service.records import Precision

Schema = dict[str, Any]

TIME: Schema = {"type": "string", "format": "date-time"}
WHOLE: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": ["number", "null"]}  # null instead of NaN and infinities


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
        """Return the schema of what `plain` makes of a value of this type."""
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return dict(simple)
        if is_dataclass(kind):
            return self._of_record(kind)
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

    def _of_record(self, kind: Any) -> Schema:
        name = kind.__name__
        if name not in self.named:
            self.named[name] = {}  # a record may contain its own kind
            hints = typing.get_type_hints(kind)
            own = {one.name: self.of(hints[one.name]) for one in fields(kind)}
            if kind is Precision:
                own["value"] = NUMBER
            self.named[name] = an_object(own)
        return {"$ref": f"#/components/schemas/{name}"}


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
