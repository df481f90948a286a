"""The board of a scope: all targets of a column ranked anew on the cases that an application was
declared for, so that it has a rank among those that answered the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from evalcore.access.redaction import with_masked_target
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import align_columns
from evalcore.records import Record
from evalcore.scoring.ranks import RankRow, rank_board
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.headers import RunHeader
from evalcore.store.index import load_headers
from evalcore.store.run_folder import find_run
from evalcore.views.case_points import case_scores, ensure_case_tables

_CASES = """
SELECT run, metric, id, bool_or(outcome = 'not_applicable') AS outside,
       bool_and(outcome IN ('passed', 'failed', 'not_applicable')) AS settled
FROM samples WHERE benchmark = '{benchmark}' GROUP BY run, metric, id
"""


class ScopeRow(Record, frozen=True):
    """A target on the cases of a scope; `own` marks the run whose scope it is."""

    identity: str
    run_id: str
    rank: RankRow
    target_key: str = ""
    own: bool = False


class ScopeBoard(Record, frozen=True):
    """One benchmark, ranked on `cases` of the `total` cases of its column."""

    benchmark: str
    scope: dict[str, tuple[str, ...]]
    cases: int
    total: int
    rows: tuple[ScopeRow, ...]


def list_scoped_runs(run_ids: Iterable[str], settings: Settings) -> list[str]:
    """The runs among these that declare a scope, each once."""
    roots = settings.run_roots
    return [run for run in dict.fromkeys(run_ids) if find_run(run, roots).read_spec().scope]


def build_scope_boards(run_id: str, settings: Settings) -> list[ScopeBoard]:
    """A board for each benchmark of a run with a scope. Raises UsageError for a run without one, or
    without a result."""
    folder = find_run(run_id, settings.run_roots)
    spec, summary = folder.read_spec(), folder.read_summary()
    if not spec.scope or summary is None:
        raise UsageError(Note("scope_none", run=run_id))
    headers = load_headers(settings)
    boards = []
    for benchmark, score in summary.benchmarks.items():
        own_target = with_masked_target(spec).target
        runs = dict(_find_newest_runs(headers, benchmark, score.column))
        runs[own_target.identity] = (own_target.key, run_id)
        folders = [find_run(run, settings.run_roots) for _, run in runs.values()]
        query = _CASES.format(benchmark=benchmark.replace("'", "''"))
        cases = case_tables.query_samples(ensure_case_tables(folders), query)
        own = cases[cases["run"] == run_id]
        inside = own[~own["outside"].astype(bool)]
        scores = case_scores(folders)
        scores = scores[scores["benchmark"] == benchmark]
        ranks = _rank_inside(scores, cases, inside)
        rows = [
            ScopeRow(identity, run, ranks[run], key, own=run == run_id)
            for identity, (key, run) in runs.items()
            if run in ranks
        ]
        rows.sort(key=lambda row: (row.rank.rank, row.identity))
        boards.append(ScopeBoard(benchmark, spec.scope, len(inside), len(own), tuple(rows)))
    return boards


def _find_newest_runs(
    headers: list[RunHeader], benchmark: str, column: str
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The identity, with key and newest run, of each target that was asked the same cases."""
    seen = set()
    for header in sorted(headers, key=lambda each: each.created_at, reverse=True):
        score = header.benchmarks.get(benchmark)
        if score is None or score.column != column or header.identity in seen:
            continue
        seen.add(header.identity)
        yield header.identity, (header.target_key, header.run_id)


def _rank_inside(
    scores: pd.DataFrame, cases: pd.DataFrame, inside: pd.DataFrame
) -> dict[str, RankRow]:
    """The ranks by run, of those that were measured on every case inside."""
    keys = pd.MultiIndex.from_frame(inside[["metric", "id"]])
    contributions: dict[str, list[float]] = {}
    strata: list[str] = []
    for run, group in scores.groupby("run"):
        own = group.set_index(["metric", "id"])
        own = own[own.index.isin(keys)].sort_index()
        states = cases[cases["run"] == run].set_index(["metric", "id"])
        states = states[states.index.isin(keys)]
        measured = states["settled"].astype(bool) & ~states["outside"].astype(bool)
        total = float(own["weight"].sum())
        if not total or len(measured) < len(keys) or not measured.all():
            continue
        contributions[str(run)] = list(100 * own["weight"] * own["score"] / total)
        strata = [str(metric) for metric in own.index.get_level_values("metric")]
    return rank_board(contributions, strata=strata)


def format_scope_board(board: ScopeBoard) -> str:
    """The board as text for a terminal."""
    scope = "; ".join(f"{name}: {', '.join(names)}" for name, names in board.scope.items())
    head = f"{board.benchmark}: {board.cases} of {board.total} cases ({scope})"
    rows = [
        (
            str(row.rank.rank),
            f"{row.rank.low}-{row.rank.high}",
            f"{row.rank.score:.1f}",
            row.identity + (" *" if row.own else ""),
        )
        for row in board.rows
    ]
    return "\n".join([head, align_columns([("rank", "95%", "score", "target"), *rows])])
