"""The OpenAPI document: what the framework makes of the routes, with the contract's schemas for the bodies, and the problems."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from local_backend.daemon.documents import AnyResource, PackedBundle
from nodus_tui.contract.actions import Action
from nodus_tui.contract.environment_check import GoldCase
from nodus_tui.contract.errors import Problem
from nodus_tui.contract.http import BUNDLE_TYPE, BYTES_TYPE, LINES_TYPE, PROBLEM_TYPE, YAML_TYPE
from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest

_TEMPLATE = "#/components/schemas/{model}"

_PROBLEMS = {
    "400": "A header or the body cannot be understood.",
    "401": "No token, or one that is unknown or revoked.",
    "403": "The token's role does not allow it, or the Host or Origin is not let through.",
    "404": "There is no such thing.",
    "408": "The body took too long to arrive.",
    "413": "The body is too long.",
    "422": "A parameter, the body or a spec has faults; each is listed.",
    "429": "Too many requests of one token; Retry-After says how long to wait.",
    "default": "Another refusal, or a failure of the server.",
}

SPECS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            YAML_TYPE: {"schema": {"$ref": "#/components/schemas/SpecDocument"}},
            BUNDLE_TYPE: {"schema": {"$ref": "#/components/schemas/PackedBundle"}},
        },
    }
}
"""Added to the routes that take specs."""

ACTION_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Action"}}}}
}
"""Added to the route that takes actions."""

FILE_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file's bytes.", "content": {BYTES_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}
"""What the route to a file's bytes answers."""

EXEC_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ExecRequest"}}}}
}
"""Added to the route that starts a command."""

INPUT_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {BYTES_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}
"""Added to the route that feeds one."""

EXEC_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines of JSON: pieces of output with their places, and last the end, which has an `exitCode`. An empty line means "
        "that it goes on. Without an end, ask again with the place after the last piece.",
        "content": {
            LINES_TYPE: {"schema": {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("ExecPiece", "ExecEnd", "Problem")]}}
        },
    }
}
"""What the route to a command's output answers."""

LINES_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines of JSON, one a task; an empty line means that it goes on. A last line with a `code` says why it ended early.",
        "content": {
            LINES_TYPE: {"schema": {"oneOf": [{"$ref": "#/components/schemas/GoldCase"}, {"$ref": "#/components/schemas/Problem"}]}}
        },
    }
}
"""What the route to the gold check answers."""


def describe(app: FastAPI, *, with_tokens: bool) -> dict[str, Any]:
    """The whole document."""
    document = get_openapi(
        title="Nodus backend",
        version=app.version,
        summary="What a backend answers to a console.",
        description=app.description,
        routes=app.routes,
    )
    components: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.pop(name, None)
    _add_bodies(components)
    for operations in document["paths"].values():
        for operation in operations.values():
            _add_problems(operation["responses"])
    if with_tokens:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _add_problems(responses: dict[str, Any]) -> None:
    for status, description in _PROBLEMS.items():
        responses[status] = {"description": description, "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _add_bodies(components: dict[str, Any]) -> None:
    """The schemas that no route's signature names. Answers and bodies share a type's schema where they have the same one."""
    models: list[type[BaseModel]] = [Problem, PackedBundle, GoldCase, ExecRequest, ExecPiece, ExecEnd]
    _, own = models_json_schema([(model, "validation") for model in models], by_alias=True, ref_template=_TEMPLATE)
    found: dict[str, Any] = dict(own["$defs"])
    for name, form in (("Action", TypeAdapter[Any](Action)), ("SpecDocument", TypeAdapter[Any](AnyResource))):
        schema = form.json_schema(by_alias=True, ref_template=_TEMPLATE)
        found |= schema.pop("$defs")
        found[name] = schema
    for name, schema in found.items():
        components.setdefault(name, schema)
