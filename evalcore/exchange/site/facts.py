"""Everything a site tells, read from the store once: rankings, targets, the worked example.

All of it comes from `evalcore.queries`, so that a site says what the app and the API say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from evalcore import privacy
from evalcore.errors import EvalboardError
from evalcore.exchange.site.paths import stem_of
from evalcore.privacy import Redactor
from evalcore.queries import boards, methodology, stored_boards, targets
from evalcore.queries.api_payloads import board_data, ranking_data
from evalcore.queries.boards import Board, Row
from evalcore.queries.leaders import Leader, find_leaders
from evalcore.queries.metrics import (
    find_peaks,
    metric_values,
    select_floor_rows,
    select_ranked_rows,
)
from evalcore.queries.ranking import list_board_orders
from evalcore.queries.ranking_views import list_board_parts
from evalcore.records import RunSpec
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import find_run
from evalcore.target_cards import TargetCard, load_cards

Data = dict[str, Any]


class Listed(NamedTuple):
    """A ranking: a board by one of its orders. `data` and `rows` are the API's, `stem` names its
    files, `first` says that it is the board's order by default, `leaders` are of its parts."""

    board: Board
    by: str
    stem: str
    first: bool
    frame: pd.DataFrame
    data: Data
    rows: list[Data]
    leaders: tuple[Leader, ...]


class Measure(NamedTuple):
    """What targets on a board are measured against: its rows by identity, and the best and the
    floor by "benchmark/metric"."""

    listed: Listed
    rows: Mapping[str, Row]
    best: Mapping[str, float]
    floor: Mapping[str, float]


class Facts(NamedTuple):
    """The whole store. `specs` are those of the runs that stand on a board, without keys and
    places; `runs` the headers of each target, newest first."""

    headers: stored_boards.Headers
    listed: Sequence[Listed]
    measures: Sequence[Measure]
    runs: Mapping[str, Sequence[RunHeader]]
    specs: Mapping[str, RunSpec]
    cards: Mapping[str, TargetCard]


def collect(settings: Settings) -> Facts:
    """Read the store; raises EvalboardError where it cannot be read."""
    headers = stored_boards.load_run_headers(settings)
    known = [b for suite in boards.list_suites(headers) for b in boards.list_boards(headers, suite)]
    listed = [one for board in known for one in _rankings(settings, headers, board)]
    measures = [_measure(headers, one) for one in listed if one.first]
    standing = {
        run.run_id for one in measures for row in one.rows.values() for run in row.runs.values()
    }
    identities = targets.list_identities(headers)
    return Facts(
        headers=headers,
        listed=listed,
        measures=measures,
        runs={one: targets.list_target_runs(headers, one) for one in identities},
        specs=_specs(settings, sorted(standing), privacy.build_redactor(settings)),
        cards=load_cards(settings),
    )


def _rankings(settings: Settings, headers: stored_boards.Headers, board: Board) -> list[Listed]:
    data, held, found = board_data(headers, board), boards.list_board_rows(headers, board), []
    for number, by in enumerate(list_board_orders(board)):
        frame = stored_boards.board_ranking(settings, board, by)
        first = _leaders(held, frame, board)
        stem = stem_of(board.suite, board.key) + (f"-by-{stem_of(by)}" if number else "")
        rows = ranking_data(frame, board)
        found.append(Listed(board, by, stem, not number, frame, data, rows, first))
    return found


def _leaders(held: Sequence[Row], frame: pd.DataFrame, board: Board) -> tuple[Leader, ...]:
    placed = frame[frame["status"] == "ranked"]
    standing = set(placed["identity"])
    rows = [row for row in held if row.identity in standing]
    return find_leaders(rows, placed.assign(name=placed["identity"]), list_board_parts(board))


def _measure(headers: stored_boards.Headers, listed: Listed) -> Measure:
    everyone = boards.list_board_rows(headers, listed.board)
    return Measure(
        listed=listed,
        rows={row.identity: row for row in everyone},
        best=find_peaks(select_ranked_rows(everyone), metric_values),
        floor=find_peaks(select_floor_rows(everyone), metric_values),
    )


def _specs(settings: Settings, runs: Sequence[str], censor: Redactor) -> dict[str, RunSpec]:
    """A run that was deleted meanwhile, or whose spec is broken, has none."""
    found = {}
    for run in runs:
        try:
            found[run] = privacy.redact_spec(find_run(run, settings.run_roots).read_spec(), censor)
        except EvalboardError:
            continue
    return found


class Worked(NamedTuple):
    """A benchmark's score worked out for one target: the terms and their sums."""

    benchmark: str
    identity: str
    target_key: str
    mode: str
    terms: list[Data]
    sums: methodology.ScoreSums


def worked(settings: Settings, measure: Measure) -> list[Worked]:
    """Per benchmark of a board, for its best ranked target with a readable score."""
    found = []
    for benchmark in measure.listed.board.columns:
        for row in measure.listed.rows:
            run = measure.rows[row["identity"]].runs.get(benchmark)
            if row["status"] != "ranked" or run is None:
                continue
            try:
                told = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
            except EvalboardError:
                continue
            if told is None:
                continue
            terms = methodology.build_score_terms(told[1])
            records: list[Data] = [
                {str(name): _none(value) for name, value in record.items()}
                for record in terms.to_dict("records")
            ]
            one, mode = (row["identity"], row["target_key"]), str(told[0].options.get("mode", ""))
            found.append(Worked(benchmark, *one, mode, records, methodology.sum_score_terms(terms)))
            break
    return found


def _none(value: Any) -> Any:
    return None if pd.isna(value) else value
