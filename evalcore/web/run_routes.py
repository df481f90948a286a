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
from evalcore.web.paging import CURSOR, LIMIT, page
from evalcore.web.parameters import Given, Parameter, Refusal, place_of

_FILTERS = ("benchmark", "metric", "outcome", "difficulty", "dialect", "reason", "cause")


def _runs(settings: Settings, given: Given) -> Any:
    found = [row for row in runs.all_rows(settings.run_roots) if _fits(row, given)]
    rest = found
    if given["cursor"]:
        last = tuple(place_of(given["cursor"], (bool, str, str)))
        rest = [row for row in found if runs.compute_run_order(row) < last]
    shown = rest[: given["limit"]]
    following = runs.compute_run_order(shown[-1]) if len(rest) > len(shown) else None
    return page(
        RUNS.path,
        given,
        [api_payloads.run_data(redact_run_row(row)) for row in shown],
        len(found),
        following,
    )


def _fits(row: RunRow, given: Given) -> bool:
    return (
        given["state"] in ("", row.state)
        and given["target"] in ("", row.target.identity)
        and (not given["benchmark"] or given["benchmark"] in row.benchmarks)
    )


def _folder(settings: Settings, given: Given) -> RunFolder:
    try:
        return find_run(given["run"], settings.run_roots)
    except UsageError:
        raise Refusal(404, "no_run", "run: no such run; /api/v1/runs lists them", "run") from None


def _run_signature(settings: Settings, given: Given) -> str:
    return _folder(settings, given).signature()


def _cases(settings: Settings, given: Given) -> Any:
    _folder(settings, given)
    where = CaseFilter(**{name: given[name] for name in _FILTERS}, text=given["q"])
    after = tuple(place_of(given["cursor"], (int, int))) if given["cursor"] else START
    cases, total = case_page(
        settings.run_roots, given["run"], where, limit=given["limit"] + 1, after=after
    )
    shown = cases.iloc[: given["limit"]]
    following = None
    if len(cases) > len(shown):
        last = shown.iloc[-1]
        following = [int(last["position"]), int(last["epoch"])]
    data = [
        case | {"note": case["note"] and redact_paths(case["note"])}
        for case in api_payloads.case_data(shown)
    ]
    told = page(CASES.path, given, data, total, following)
    return {"run": given["run"], **told}


RUNS = Resource(
    path="/api/v1/runs",
    about="Every run as it stands now, newest first, those that come with the project last.",
    content=_runs,
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
    content=_cases,
    signature=_run_signature,
    parameters=(
        Parameter("run", "the id of a run", required=True),
        Parameter("benchmark", "keys of benchmarks", kind="list"),
        Parameter("metric", "keys of metrics", kind="list"),
        Parameter("outcome", "how cases ended", kind="list", choices=(*OUTCOMES, MISSING)),
        Parameter("difficulty", "levels of difficulty", kind="numbers", least=1, most=3),
        Parameter("dialect", "SQL dialects", kind="list"),
        Parameter("reason", "codes of why cases ended so", kind="list"),
        Parameter("cause", "coarse causes of failure", kind="list"),
        Parameter("q", "text in the id or the note; of a gated case in the id alone"),
        LIMIT,
        CURSOR,
    ),
    item="Case",
)
