"""Every resource of the API by its path, and the API's description in OpenAPI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from starlette.datastructures import URL
from starlette.responses import Response

from evalcore import settings
from evalcore.errors import EvalboardError, UsageError
from evalcore.web import answers, share
from evalcore.web.answers import LONGEST, ApiError, Parameter, QueryPairs, Resource
from evalcore.web.badge import BADGE
from evalcore.web.data_routes import BOARDS, CASES, RANKING, RUNS, TARGET
from evalcore.web.decision_route import DECISION
from evalcore.web.published_routes import PUBLISHED
from evalcore.web.share import PREVIEW

#: What the items of the API hold: field, and its JSON type unless that is a string. A `?` says that
#: the field is null where it is unknown or was not run.
_ITEMS = {
    "Board": """key suite published:boolean whole:boolean members:array orders:array columns:array
        floors:object comparable:object""",
    "Row": """identity target_key kind status rank:integer? rank_low:integer? rank_high:integer?
        group:integer? leader:string? score:number? low:number? high:number? coverage:number
        scores:object metrics:object passed:integer measured:integer errors:integer cost:number?
        input_tokens:number? output_tokens:number? latency:number? date:string? run_id
        self_judged:boolean""",
    "Score": """benchmark metric weight:number? score:number? low:number? high:number?
        samples:integer best:number? floor:number?""",
    "Run": """run_id state target target_key benchmarks:array created_at origin epochs:integer note
        total:integer generated:integer scored:integer fraction:number outcomes:object
        errors:object complete:boolean scores:object requests:integer rate:number eta:number?
        wall:number? input_tokens:integer? output_tokens:integer? cost:number?
        cost_sources:array""",
    "Case": """benchmark metric id epoch:integer difficulty:integer case_weight:number?
        weight:number? dialect:string? outcome score:number? evidence_kind:string? reason:string?
        cause:string? error_type:string? note:string? extraction:string? level:string?
        finish_reason:string? latency:number? input_tokens:integer? output_tokens:integer?
        cost:number? attempts:integer? cached:boolean?""",
    "Publisher": """publisher title suite source revision licence date entries:integer first_month
        last_month verdicts:boolean months:array setups:array""",
    "PublishedRow": """identity target_key kind status rank:integer? rank_low:integer?
        rank_high:integer? group:integer? leader:string? score:number? low:number? high:number?
        coverage:number scores:object metrics:object passed:integer measured:integer errors:integer
        cost:number? input_tokens:number? output_tokens:number? latency:number? date:string? run_id
        self_judged:boolean name organization type released new:boolean claimed:number? submitter
        submitted claims:object""",
    "TrendPoint": "identity date score:number? low:number? high:number? run_id",
    "MonthLeader": "month identity name score:number? low:number? high:number? tied:integer?",
    "PublishedPair": "benchmark metric first:number second:number result:object?",
    "DecisionRow": """identity name target_key kind organization licence weights
        cost_per_case:number? cost_per_run:number? latency:number? run_id score:number rank:integer
        low:number? high:number? rank_low:integer? rank_high:integer? group:integer? leads:number?
        parts:object""",
    "Finding": """row name month benchmark metric kind claimed:number? computed:number?
        reading:string? count:integer since text""",
}
ITEMS: dict[str, dict[str, str]] = {
    item: {
        name: json_type or "string"
        for name, _, json_type in (field.partition(":") for field in fields.split())
    }
    for item, fields in _ITEMS.items()
}
_PUBLISHED_HEAD = {"board": {"type": "object"}, "by": {"type": "string"}}
#: What a page of a resource holds beside items, total and next.
EXTRA_FIELDS: dict[str, dict[str, Any]] = {
    "Row": {"board": {"$ref": "#/components/schemas/Board"}, "by": {"type": "string"}},
    "Score": {
        name: {"$ref": f"#/components/schemas/{item}"}
        for name, item in (("board", "Board"), ("target", "Row"))
    },
    "Case": {"run": {"type": "string"}},
    **dict.fromkeys(("PublishedRow", "TrendPoint", "MonthLeader"), _PUBLISHED_HEAD),
    "DecisionRow": {
        **{key: {"type": "string"} for key in ("board", "level", "text")},
        **{key: {"type": "array"} for key in ("levels", "criteria", "excluded", "changes")},
        **{key: {"type": "integer"} for key in ("cases", "resamples")},
        "limits": {"type": "object"},
        "tested": {"type": "boolean"},
        "leader": {"type": ["string", "null"]},
        "leads": {"type": ["number", "null"]},
        "tied": {"type": ["integer", "null"]},
    },
    "PublishedPair": {
        "publisher": {"type": "string"},
        **{key: {"type": "object"} for key in ("first", "second")},
        **{key: {"type": "array"} for key in ("cases", "excluded")},
    },
}


def build_schemas() -> dict[str, Any]:
    """Every item and the error as JSON schemas."""
    items = {name: item_schema(fields) for name, fields in ITEMS.items()}
    texts = {"code": {"type": "string"}, "message": {"type": "string"}}
    error = {
        "type": "object",
        "required": list(texts),
        "properties": texts | {"parameter": {"type": "string"}},
    }
    holder = {"type": "object", "required": ["error"], "properties": {"error": error}}
    return {**items, "Error": holder}


def item_schema(fields: dict[str, str]) -> dict[str, Any]:
    types = {
        name: [json_type[:-1], "null"] if json_type.endswith("?") else json_type
        for name, json_type in fields.items()
    }
    properties = {name: {"type": json_type} for name, json_type in types.items()}
    return {"type": "object", "required": list(fields), "properties": properties}


def page_schema(item: str) -> dict[str, Any]:
    """A page of items."""
    properties = {
        "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
        "total": {"type": "integer"},
        "next": {"type": ["string", "null"], "description": "address of the next page"},
        **EXTRA_FIELDS.get(item, {}),
    }
    return {"type": "object", "required": list(properties), "properties": properties}


# The description of the API in OpenAPI 3.1, made from the same tables that read its parameters.

_PREFIX = "/api/v1/"
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
    "Read-only. Every response has an ETag; send it back as If-None-Match. Scores are 0 to 100, "
    "scores of cases 0 to 1, costs USD, latencies seconds, times UTC; null is unknown or not run. "
    "Texts of gated datasets are never returned."
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
                "NotModified": {"description": "Not modified since the given ETag."},
                "Refused": {
                    "description": "The error; `parameter` names the parameter at fault.",
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
                    },
                },
            },
        },
    }


def _build_operation(resource: Resource) -> dict[str, Any]:
    name = resource.path.removeprefix(_PREFIX).replace("/", "_").partition(".")[0]
    schema = page_schema(resource.item) if resource.item else {"type": "string"}
    good = {
        "description": resource.about,
        "headers": {"ETag": {"schema": {"type": "string"}}},
        "content": {resource.media: {"schema": schema}},
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
    return Resource(
        path="/api/v1/openapi.json",
        about="This description.",
        content=lambda settings, params: build_api_document(others),
        signature=None,
        cache="max-age=300",
    )


_DESCRIBED = (BOARDS, RANKING, TARGET, RUNS, CASES, DECISION, *PUBLISHED, BADGE, PREVIEW)
RESOURCES = {
    resource.path: resource for resource in (*_DESCRIBED, build_openapi_resource(_DESCRIBED))
}


def answer_api_request(path: str, pairs: QueryPairs, if_none_match: str) -> Response:
    """The answer of the resource at a path; blocking. `if_none_match` is the If-None-Match
    header."""
    if path not in RESOURCES:
        problem = "there is no such route; /api/v1/openapi.json describes those there are"
        return answers.build_error_response(ApiError(404, "no_route", problem))
    try:
        current = settings.load_settings()
    except UsageError:
        problem = "the settings of this server cannot be used; its log says why"
        return answers.build_error_response(ApiError(503, "misconfigured", problem))
    return answers.answer_resource(RESOURCES[path], pairs, if_none_match, current)


def share_page(
    page: str, query: Mapping[str, str], own: URL, root: str, if_none_match: str
) -> Response:
    """The page that stands for a link where it is shared; blocking."""
    try:
        return share.answer_share_link(
            settings.load_settings(), page, query, own, root, if_none_match
        )
    except (EvalboardError, OSError) as error:
        return answers.build_unreadable_response("share", error)
