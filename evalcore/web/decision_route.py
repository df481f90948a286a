"""The API's decision: a board ranked by the weights and requirements of who asks."""

from __future__ import annotations

from typing import Any

from evalcore.errors import UsageError
from evalcore.settings import Settings
from evalcore.target_cards import cards_signature
from evalcore.views import decision_payloads, published_payloads
from evalcore.views.decision import KINDS, LEVELS, UNKNOWN
from evalcore.views.decision_payloads import DecisionQuery
from evalcore.web.answers import CURSOR, LIMIT, ApiError, Parameter, ParamValues, Resource
from evalcore.web.answers import build_state_page as build_page
from evalcore.web.data_routes import BOARD, SUITE, compute_boards_signature


def _compute_signature(settings: Settings, params: ParamValues) -> str:
    published = published_payloads.compute_publications_signature(settings)
    boards = compute_boards_signature(settings, params)
    return f"{boards}&{published}&{cards_signature(settings)}"


def _build_decision(settings: Settings, params: ParamValues) -> Any:
    query = DecisionQuery(
        **{name: params[name] for name in ("suite", "board", "published", "month", "setup")},
        level=params["level"],
        weights=params["weights"],
        max_cost_per_case=params["max_cost_per_case"],
        max_cost_per_run=params["max_cost_per_run"],
        kinds=params["kind"],
        organizations=params["organization"],
        licences=params["licence"],
        open_weights=params["model_weights"],
    )
    try:
        key, table, decision = decision_payloads.decide_query(settings, query)
    except UsageError as error:
        raise ApiError(400, "bad_decision", str(error)) from None
    payload = decision_payloads.build_decision_payload(key, table, decision)
    rows = payload.pop("items")
    page = build_page(DECISION.path, params, rows, _compute_signature(settings, params))
    return {**payload, **page}


DECISION = Resource(
    path="/api/v1/decide",
    about="A board ranked by your own weights and requirements, with intervals, ties, how often "
    "the leader leads when the cases are resampled, who is left out and why, and which single "
    "weight would change the leader.",
    content=_build_decision,
    signature=_compute_signature,
    parameters=(
        SUITE,
        BOARD,
        Parameter("published", "a publisher, in place of a board of what was run here"),
        Parameter("month", "a month of the publisher, such as 2026-06; default: the newest"),
        Parameter("setup", "a test setup of the publisher; default: the most frequent"),
        Parameter("level", "what is weighed; default: benchmarks", choices=LEVELS),
        Parameter(
            "weights",
            "weights from 0 to 100 that differ from the preset, as CRITERION:NUMBER; "
            "`criteria` of the answer lists them all",
            kind="list",
        ),
        Parameter("max_cost_per_case", "USD; who costs more or has no known price is left out"),
        Parameter("max_cost_per_run", "the same for the runs of a target together"),
        Parameter("kind", "kinds of target", kind="list", choices=KINDS),
        Parameter("organization", f"organizations, or `{UNKNOWN}`", kind="list"),
        Parameter("licence", f"licenses, or `{UNKNOWN}`", kind="list"),
        Parameter(
            "model_weights", "whether weights are open", "list", choices=("open", "closed", UNKNOWN)
        ),
        LIMIT,
        CURSOR,
    ),
    item="DecisionRow",
)
