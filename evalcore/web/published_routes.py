"""The API's published results: boards of publishers, apart from those of what was run here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from evalcore.errors import UsageError
from evalcore.settings import Settings
from evalcore.views import published_claims, published_pairs, published_payloads
from evalcore.views.published_boards import REFERENCE_MARK
from evalcore.views.published_ranking import PublishedRanking, load_published_ranking
from evalcore.web.answers import (
    CURSOR,
    LIMIT,
    ApiError,
    Parameter,
    ParamValues,
    Resource,
    bad_parameter,
    build_state_page,
)

T = TypeVar("T")
PUBLISHER = Parameter("publisher", "a publisher, as /api/v1/published lists them", required=True)
MONTH = Parameter("month", "a month, such as 2026-06; default: the newest")
SETUP = Parameter("setup", "a test setup of the publisher; default: the most frequent")
BY = Parameter("by", "what to rank by, a benchmark or `suite`; default: the first there is")
MODEL = Parameter("target", "the whole name (identity) of a model, such as scale:gpt-5.5")


def _compute_signature(settings: Settings, params: ParamValues) -> str:
    return published_payloads.compute_publications_signature(settings)


def _list_publishers(settings: Settings, params: ParamValues) -> Any:
    rows = published_payloads.list_publishers(settings)
    return _build_page(_PUBLISHERS, settings, params, rows)


def _build_page(
    resource: Resource, settings: Settings, params: ParamValues, rows: Sequence[Any]
) -> Any:
    return build_state_page(resource.path, params, rows, _compute_signature(settings, params))


def _resolve_ranking(settings: Settings, params: ParamValues) -> PublishedRanking:
    """The ranking that is asked for; raises ApiError, 404 for what is not there."""
    names = (params["publisher"], params["month"], params["by"], params["setup"])
    ranking = _find_or_refuse(lambda: load_published_ranking(settings, *names))
    if params["by"] not in ("", ranking.order):
        raise bad_parameter("by", "this board cannot be ranked by that")
    return ranking


def _find_or_refuse(find: Callable[[], T]) -> T:
    try:
        return find()
    except UsageError as error:
        raise ApiError(404, "not_published", str(error)) from None


def _build_ranking(settings: Settings, params: ParamValues) -> Any:
    ranking = _resolve_ranking(settings, params)
    rows = published_payloads.build_published_rows(ranking)
    head = {"board": published_payloads.build_published_source(ranking), "by": ranking.order}
    return {**head, **_build_page(_RANKING, settings, params, rows)}


def _build_target(settings: Settings, params: ParamValues) -> Any:
    ranking = _resolve_ranking(settings, params)
    payload = ranking.build_target_payload(params["target"])
    if payload is None:
        problem = "target: not on this board; /api/v1/published/ranking lists who is"
        raise ApiError(404, "no_target", problem, "target")
    return {**payload, **_build_page(_TARGET, settings, params, payload["items"])}


def _build_trend(settings: Settings, params: ParamValues) -> Any:
    ranking = _resolve_ranking(settings, params)
    rows = published_payloads.build_trend(ranking, params["target"])
    head = {"board": published_payloads.build_published_source(ranking), "by": ranking.order}
    return {**head, **_build_page(_TREND, settings, params, rows)}


def _build_leaders(settings: Settings, params: ParamValues) -> Any:
    ranking = _resolve_ranking(settings, params)
    rows = published_payloads.build_leaders(ranking)
    head = {"board": published_payloads.build_published_source(ranking), "by": ranking.order}
    return {**head, **_build_page(_LEADERS, settings, params, rows)}


def _build_comparison(settings: Settings, params: ParamValues) -> Any:
    rows = params["rows"]
    if len(rows) != 2:
        mark = REFERENCE_MARK.join(("publisher", "month", "id"))
        raise bad_parameter("rows", f"must name two rows, each as {mark}")
    data = published_payloads.build_comparison(
        _find_or_refuse(lambda: published_pairs.compare_published_rows(settings, *rows))
    )
    pairs = data.pop("pairs")
    return {**data, **_build_page(_COMPARISON, settings, params, pairs)}


def _build_findings(settings: Settings, params: ParamValues) -> Any:
    findings = _find_or_refuse(
        lambda: published_claims.list_claim_findings(
            settings, params["publisher"], params["month"], params["target"]
        )
    )
    rows = [published_payloads.build_finding(finding) for finding in findings]
    return _build_page(_FINDINGS, settings, params, rows)


_BOARD = (PUBLISHER, MONTH, SETUP, BY)
_PAGE = (LIMIT, CURSOR)
_PUBLISHERS = Resource(
    path="/api/v1/published",
    about="The publishers whose results are shown, with source, date, months and setups. Their "
    "figures are claims, and are never ranked with what was run here.",
    content=_list_publishers,
    signature=_compute_signature,
    parameters=_PAGE,
    item="Publisher",
)
_RANKING = Resource(
    path="/api/v1/published/ranking",
    about="The board of a publisher for a month: scores, intervals and ranks from the published "
    "verdicts, or claims without intervals where no verdict is published.",
    content=_build_ranking,
    signature=_compute_signature,
    parameters=(*_BOARD, *_PAGE),
    item="PublishedRow",
)
_TARGET = Resource(
    path="/api/v1/published/target",
    about="A model on a publisher's board: its row, and by benchmark and metric its score beside "
    "the best.",
    content=_build_target,
    signature=_compute_signature,
    parameters=(Parameter("target", MODEL.about, required=True), *_BOARD, *_PAGE),
    item="Score",
)
_TREND = Resource(
    path="/api/v1/published/trend",
    about="The scores of one model, or of all, in every month up to the one of the board.",
    content=_build_trend,
    signature=_compute_signature,
    parameters=(*_BOARD, MODEL, *_PAGE),
    item="TrendPoint",
)
_LEADERS = Resource(
    path="/api/v1/published/leaders",
    about="Who led a publisher's board in every month, and how many are statistically tied.",
    content=_build_leaders,
    signature=_compute_signature,
    parameters=(*_BOARD, *_PAGE),
    item="MonthLeader",
)
_COMPARISON = Resource(
    path="/api/v1/published/compare",
    about="Two rows of one publisher, compared case by case on what both were given.",
    content=_build_comparison,
    signature=_compute_signature,
    parameters=(
        Parameter(
            "rows", "two rows as publisher/month/id, the first is A", kind="list", required=True
        ),
        *_PAGE,
    ),
    item="PublishedPair",
)
_FINDINGS = Resource(
    path="/api/v1/published/findings",
    about="Published figures that do not follow from the published verdicts, and other oddities.",
    content=_build_findings,
    signature=_compute_signature,
    parameters=(PUBLISHER, Parameter("month", "only this month"), MODEL, *_PAGE),
    item="Finding",
)
PUBLISHED = (_PUBLISHERS, _RANKING, _TARGET, _TREND, _LEADERS, _COMPARISON, _FINDINGS)
