"""The description of the API in OpenAPI 3.1, made from the same tables that read its parameters."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from evalcore.settings import Settings
from evalcore.web.answers import Resource
from evalcore.web.parameters import LONGEST, Parameter, ParamValues
from evalcore.web.schemas import build_schemas, page_schema

_KEYS = {"304": "NotModified", "400": "Refused", "404": "Refused", "409": "Refused"}
_HEALTH = {
    "operationId": "health",
    "summary": "Whether the server can do its work.",
    "parameters": [],
    "responses": {
        code: {"description": about, "content": {"application/json": {"schema": {}}}}
        for code, about in (("200", "It can."), ("503", "Its index cannot be read."))
    },
}
_ABOUT = (
    "Boards, rankings, runs and cases of this Evalboard, with the numbers that its pages show. "
    "Reading only. Every answer has an ETag; send it back as If-None-Match. Scores are 0 to 100, "
    "scores of cases 0 to 1, costs USD, latencies seconds, times UTC; null is unknown or not run. "
    "Texts of gated data sets are never given."
)


def build_api_document(resources: Iterable[Resource]) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Evalboard", "version": version("evalboard"), "description": _ABOUT},
        "paths": {
            "/api/v1/health": {"get": _HEALTH},
            **{resource.path: {"get": _build_operation(resource)} for resource in resources},
        },
        "components": {
            "schemas": build_schemas(),
            "responses": {
                "NotModified": {"description": "The answer to the given ETag still holds."},
                "Refused": {
                    "description": "Why there is no answer; `parameter` names what is at fault.",
                    "content": _build_media_content(
                        "application/json", {"$ref": "#/components/schemas/Error"}
                    ),
                },
            },
        },
    }


def _build_operation(resource: Resource) -> dict[str, Any]:
    name = resource.path.rpartition("/")[2].partition(".")[0]
    schema = page_schema(resource.item) if resource.item else {"type": "string"}
    good = {
        "description": resource.about,
        "headers": {"ETag": {"schema": {"type": "string"}}},
        "content": _build_media_content(resource.media, schema),
    }
    others = {
        code: {"$ref": f"#/components/responses/{response}"} for code, response in _KEYS.items()
    }
    return {
        "operationId": name,
        "summary": resource.about,
        "parameters": [_build_parameter(parameter) for parameter in resource.parameters],
        "responses": {"200": good, **others},
    }


def _build_media_content(media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {media: {"schema": schema}}


def _build_parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "maxLength": LONGEST}
    if parameter.kind in ("integer", "numbers"):
        schema = {"type": "integer", "minimum": parameter.minimum, "maximum": parameter.maximum}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.default is not None:
        schema["default"] = parameter.default
    many = parameter.kind in ("list", "numbers")
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.required,
        "schema": {"type": "array", "items": schema} if many else schema,
        **({"explode": False} if many else {}),
    }


def build_openapi_resource(others: tuple[Resource, ...]) -> Resource:
    """The route that gives the description of all the others."""

    def render_document(settings: Settings, params: ParamValues) -> Any:
        return build_api_document(others)

    return Resource(
        path="/api/v1/openapi.json",
        about="This description.",
        content=render_document,
        signature=None,
        cache="max-age=300",
    )
