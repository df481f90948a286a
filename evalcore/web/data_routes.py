"""The API's boards, rankings, runs and cases: what the pages show, as JSON. Tells no place of a
file and no text of a gated case."""

from __future__ import annotations

from typing import Any, get_args

from evalcore.catalog import suite_cards
from evalcore.errors import UsageError
from evalcore.results import RunState
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, find_alike_run, find_run
from evalcore.views import boards, payloads, runs, stored_boards
from evalcore.views.board_table import RankingView
from evalcore.views.boards import Board
from evalcore.views.cases import MISSING, START, CaseFilter, case_page
from evalcore.views.ranking import filter_ranking, list_board_orders
from evalcore.views.runs import RunRow, redact_paths, redact_run_row
from evalcore.views.targets import OUTCOMES
from evalcore.web.answers import (
    CURSOR,
    LIMIT,
    ApiError,
    Parameter,
    ParamValues,
    Resource,
    bad_parameter,
    build_api_page,
    build_state_page,
    decode_cursor,
)

# The API's boards and rankings: what the Ranking page shows, as JSON.

SUITE = Parameter("suite", "a suite of benchmarks; default: the first with scores")
BOARD = Parameter("board", "the `key` of a board; default: the default board of the suite")
BY = Parameter("by", "what to rank by, one of the board's `orders`; default: the first")


def compute_boards_signature(settings: Settings, params: ParamValues) -> str:
    """Changes whenever any board may have changed."""
    return f"{settings.data}&{settings.shipped}&{stored_boards.compute_boards_signature(settings)}"


def _build_boards_page(settings: Settings, params: ParamValues) -> Any:
    headers = stored_boards.load_run_headers(settings)
    suites = boards.list_suites(headers)
    if params["suite"]:
        suites = resolve_suites(headers, params["suite"])
    all_boards = [board for suite in suites for board in boards.list_boards(headers, suite)]
    data = [payloads.board_data(headers, board) for board in all_boards]
    return build_state_page(BOARDS.path, params, data, compute_boards_signature(settings, params))


def _build_ranking_page(settings: Settings, params: ParamValues) -> Any:
    headers = stored_boards.load_run_headers(settings)
    board = resolve_board(headers, params["suite"], params["board"])
    by = resolve_order(board, params["by"])
    frame = stored_boards.load_cached_ranking(settings, board, by)
    filtered = filter_ranking(frame, params["q"], params["kind"])
    rows, state = payloads.ranking_data(filtered, board), compute_boards_signature(settings, params)
    page = build_state_page(RANKING.path, params, rows, state)
    return {"board": payloads.board_data(headers, board), "by": by, **page}


def resolve_suites(headers: stored_boards.Headers, suite: str) -> list[str]:
    """That suite alone; raises Refusal (400) for one that no card and no run knows."""
    valid_suites = list(dict.fromkeys([*suite_cards(), *boards.list_suites(headers)]))
    if suite not in valid_suites:
        raise bad_parameter("suite", f"must be one of {', '.join(valid_suites)}")
    return [suite]


def resolve_board(headers: stored_boards.Headers, suite: str, key: str) -> Board:
    """The board of these names; raises Refusal (404) where there is none."""
    suites = resolve_suites(headers, suite) if suite else boards.list_suites(headers)[:1]
    candidates = [board for name in suites for board in boards.list_boards(headers, name)]
    if not candidates:
        raise ApiError(404, "no_board", "there is no board yet: no run has a score", "suite")
    for board in candidates:
        if board.key == (key or candidates[0].key):
            return board
    raise ApiError(404, "no_board", "board: no such board; /api/v1/boards lists them", "board")


def resolve_order(board: Board, by: str) -> str:
    """What to rank by; raises Refusal (400) for what this board cannot be ranked by."""
    valid_orders = list_board_orders(board)
    if by and by not in valid_orders:
        raise bad_parameter("by", f"must be one of {', '.join(valid_orders)}")
    return by or valid_orders[0]


BOARDS = Resource(
    path="/api/v1/boards",
    about="The boards there are, the default one of each suite first.",
    content=_build_boards_page,
    signature=compute_boards_signature,
    parameters=(SUITE, LIMIT, CURSOR),
    item="Board",
)
RANKING = Resource(
    path="/api/v1/ranking",
    about="The rows of a board: the ranked targets, then those without a rank, with intervals.",
    content=_build_ranking_page,
    signature=compute_boards_signature,
    parameters=(
        SUITE,
        BOARD,
        BY,
        Parameter("q", "text in the name of a target"),
        Parameter("kind", "kinds of target, such as openai or baseline", kind="list"),
        LIMIT,
        CURSOR,
    ),
    item="Row",
)


def _build_target_page(settings: Settings, params: ParamValues) -> Any:
    headers = stored_boards.load_run_headers(settings)
    board = resolve_board(headers, params["suite"], params["board"])
    ranking = RankingView(settings, headers, board, list_board_orders(board)[0])
    payload = ranking.build_target_payload(params["target"])
    if payload is None:
        problem = "target: no such target on the board; /api/v1/ranking lists them"
        raise ApiError(404, "no_target", problem, "target")
    state = compute_boards_signature(settings, params)
    return {**payload, **build_state_page(TARGET.path, params, payload["items"], state)}


TARGET = Resource(
    path="/api/v1/target",
    about="A target on a board: its row, and by benchmark and metric its score beside the best and "
    "the floor.",
    content=_build_target_page,
    signature=compute_boards_signature,
    parameters=(
        Parameter("target", "the whole name (identity) of a target", kind="target", required=True),
        SUITE,
        BOARD,
        LIMIT,
        CURSOR,
    ),
    item="Score",
)


# The API's runs and the cases of a run. Nothing here tells where a file lies. Texts of gated cases
# never leave here, whatever the settings let the pages of this machine show.

_FILTERS = (
    *("benchmark", "metric", "outcome", "difficulty", "dialect", "reason", "cause"),
    "level",
)


def _build_runs_page(settings: Settings, params: ParamValues) -> Any:
    matching = [row for row in runs.all_rows(settings.run_roots) if _matches_filters(row, params)]
    rest = matching
    if params["cursor"]:
        last = tuple(decode_cursor(params["cursor"], (bool, str, str)))
        rest = [row for row in matching if runs.compute_run_order(row) < last]
    shown = rest[: params["limit"]]
    following = runs.compute_run_order(shown[-1]) if len(rest) > len(shown) else None
    data = [payloads.run_data(redact_run_row(row)) for row in shown]
    return build_api_page(RUNS.path, params, data, len(matching), following)


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
        alike = find_alike_run(params["run"], settings.run_roots)
        problem = "run: no such run; /api/v1/runs lists them"
        problem += f" (did you mean {alike}?)" if alike else ""
        raise ApiError(404, "no_run", problem, "run") from None


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
        for case in payloads.case_data(shown)
    ]
    page = build_api_page(CASES.path, params, data, total, following)
    return {"run": params["run"], **page}


RUNS = Resource(
    path="/api/v1/runs",
    about="Every run in its current state, newest first; runs that come with the project are last.",
    content=_build_runs_page,
    signature=None,
    parameters=(
        Parameter("state", "of a run", choices=get_args(RunState)),
        Parameter("target", "the whole name (identity) of a target", kind="target"),
        Parameter("benchmark", "key of a benchmark in the run"),
        LIMIT,
        CURSOR,
    ),
    item="Run",
)
CASES = Resource(
    path="/api/v1/cases",
    about="The cases of one run in their declared order, each with its outcome and its measures.",
    content=_build_cases_page,
    signature=lambda settings, params: _find_run_folder(settings, params).signature(),
    parameters=(
        Parameter("run", "the id of a run", required=True),
        Parameter("benchmark", "keys of benchmarks", kind="list"),
        Parameter("metric", "keys of metrics", kind="list"),
        Parameter("outcome", "how cases ended", kind="list", choices=(*OUTCOMES, MISSING)),
        Parameter("difficulty", "levels of difficulty", kind="numbers", minimum=1, maximum=3),
        Parameter("dialect", "SQL dialects", kind="list"),
        Parameter("reason", "codes of why cases ended so", kind="list"),
        Parameter("cause", "coarse causes of failure", kind="list"),
        Parameter("level", "what an equivalence rests on: proved or tested", kind="list"),
        Parameter("q", "text in the id or the note; of a gated case in the id alone"),
        LIMIT,
        CURSOR,
    ),
    item="Case",
)
