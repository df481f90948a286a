"""The API's runs and the cases of a run.

Nothing here tells where a file lies.

Texts of gated cases never leave here, whatever the settings let the pages of this machine show.
"""

from __future__ import annotations

from typing import Any, get_args

from evalcore.errors import UsageError
from evalcore.queries import api_payloads, runs
from evalcore.queries.cases import MISSING, START, CaseFilter, case_page
from evalcore.queries.path_redaction import redact_paths, redact_run_row
from evalcore.queries.runs import RunRow
from evalcore.queries.targets import OUTCOMES
from evalcore.records import RunState
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_run
from evalcore.web.answers import Resource
from evalcore.web.paging import CURSOR, LIMIT, build_api_page
from evalcore.web.parameters import ApiError, Parameter, ParamValues, decode_cursor

_FILTERS = ("benchmark", "metric", "outcome", "difficulty", "dialect", "reason", "cause")


def _build_runs_page(settings: Settings, params: ParamValues) -> Any:
    matching_rows = [
        row for row in runs.all_rows(settings.run_roots) if _matches_filters(row, params)
    ]
    rest = matching_rows
    if params["cursor"]:
        last = tuple(decode_cursor(params["cursor"], (bool, str, str)))
        rest = [row for row in matching_rows if runs.compute_run_order(row) < last]
    shown = rest[: params["limit"]]
    following = runs.compute_run_order(shown[-1]) if len(rest) > len(shown) else None
    return build_api_page(
        RUNS.path,
        params,
        [api_payloads.run_data(redact_run_row(row)) for row in shown],
        len(matching_rows),
        following,
    )


def _matches_filters(row: RunRow, params: ParamValues) -> bool:
    return (
        params["state"] in ("", row.state)
        and params["target"] in ("", row.target.identity)
        and (not params["benchmark"] or params["benchmark"] in row.benchmarks)
    )


def _find_run_folder(settings: Settings, params: ParamValues) -> RunFolder:
    try:
        return find_run(params["run"], settings.run_roots)
    except UsageError:
        raise ApiError(404, "no_run", "run: no such run; /api/v1/runs lists them", "run") from None


def _compute_run_signature(settings: Settings, params: ParamValues) -> str:
    return _find_run_folder(settings, params).signature()


def _build_cases_page(settings: Settings, params: ParamValues) -> Any:
    _find_run_folder(settings, params)
    where = CaseFilter(**{name: params[name] for name in _FILTERS}, text=params["q"])
    after = tuple(decode_cursor(params["cursor"], (int, int))) if params["cursor"] else START
    cases, total = case_page(
        settings.run_roots, params["run"], where, limit=params["limit"] + 1, after=after
    )
    shown = cases.iloc[: params["limit"]]
    following = None
    if len(cases) > len(shown):
        last = shown.iloc[-1]
        following = [int(last["position"]), int(last["epoch"])]
    data = [
        case | {"note": case["note"] and redact_paths(case["note"])}
        for case in api_payloads.case_data(shown)
    ]
    page = build_api_page(CASES.path, params, data, total, following)
    return {"run": params["run"], **page}


RUNS = Resource(
    path="/api/v1/runs",
    about="Every run as it stands now, newest first, those that come with the project last.",
    content=_build_runs_page,
    signature=None,
    parameters=(
        Parameter("state", "of a run", choices=get_args(RunState)),
        Parameter("target", "the whole name (identity) of a target", kind="target"),
        Parameter("benchmark", "the key of a benchmark that the run holds"),
        LIMIT,
        CURSOR,
    ),
    item="Run",
)
CASES = Resource(
    path="/api/v1/cases",
    about="The cases of one run in their declared order, each with its outcome and its measures.",
    content=_build_cases_page,
    signature=_compute_run_signature,
    parameters=(
        Parameter("run", "the id of a run", required=True),
        Parameter("benchmark", "keys of benchmarks", kind="list"),
        Parameter("metric", "keys of metrics", kind="list"),
        Parameter("outcome", "how cases ended", kind="list", choices=(*OUTCOMES, MISSING)),
        Parameter("difficulty", "levels of difficulty", kind="numbers", minimum=1, maximum=3),
        Parameter("dialect", "SQL dialects", kind="list"),
        Parameter("reason", "codes of why cases ended so", kind="list"),
        Parameter("cause", "coarse causes of failure", kind="list"),
        Parameter("q", "text in the id or the note; of a gated case in the id alone"),
        LIMIT,
        CURSOR,
    ),
    item="Case",
)
