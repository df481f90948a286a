"""Everything a site tells, read from the store once, and the names of its files. All of it comes
from `evalcore.views`, so that a site says what the app and the API say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from evalcore.access import redaction
from evalcore.access.redaction import Redactor
from evalcore.errors import EvalboardError
from evalcore.records import RunSpec, content_hash
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import find_run
from evalcore.target_cards import TargetCard, load_cards
from evalcore.views import boards, methodology, stored_boards, targets
from evalcore.views.boards import Board, Row
from evalcore.views.payloads import board_data, ranking_data
from evalcore.views.ranking import list_board_orders, list_board_parts
from evalcore.views.targets import (
    Leader,
    find_leaders,
    find_peaks,
    metric_values,
    select_floor_rows,
    select_ranked_rows,
)

# File names made of names from outside: short, ASCII, and different wherever the names are.

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 48
_PLAIN = re.compile(rf"[a-z0-9_]{{1,{_LONGEST}}}")


def make_file_stem(*names: str) -> str:
    """The names joined by hyphens; one that is not plain is followed by its hash."""
    return "-".join(_make_stem(name) for name in names)


def _make_stem(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    slug = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{slug or 'x'}-{content_hash(name, 8)}"


def board_page(stem: str) -> str:
    return f"boards/{stem}.html"


def target_page(identity: str) -> str:
    return f"targets/{make_file_stem(identity)}.html"


def data_file(stem: str, kind: str) -> str:
    return f"data/{stem}.{kind}"


# Everything a site tells, read from the store once: rankings, targets, the worked example.
# All of it comes from `evalcore.views`, so that a site says what the app and the API say.

Data = dict[str, Any]


class BoardRanking(NamedTuple):
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


class BoardBaseline(NamedTuple):
    """What targets on a board are measured against: its rows by identity, and the best and the
    floor by "benchmark/metric"."""

    ranking: BoardRanking
    rows: Mapping[str, Row]
    best: Mapping[str, float]
    floor: Mapping[str, float]


class SiteFacts(NamedTuple):
    """The whole store. `specs` are those of the runs that stand on a board, without keys and
    places; `runs` the headers of each target, newest first."""

    headers: stored_boards.Headers
    rankings: Sequence[BoardRanking]
    baselines: Sequence[BoardBaseline]
    runs: Mapping[str, Sequence[RunHeader]]
    specs: Mapping[str, RunSpec]
    cards: Mapping[str, TargetCard]


def collect_site_facts(settings: Settings) -> SiteFacts:
    """Read the store; raises EvalboardError where it cannot be read."""
    headers = stored_boards.load_run_headers(settings)
    all_boards = [
        b for suite in boards.list_suites(headers) for b in boards.list_boards(headers, suite)
    ]
    rankings = [item for board in all_boards for item in _build_rankings(settings, headers, board)]
    baselines = [_build_baseline(headers, item) for item in rankings if item.first]
    standing = {
        run.run_id for item in baselines for row in item.rows.values() for run in row.runs.values()
    }
    identities = targets.list_identities(headers)
    return SiteFacts(
        headers=headers,
        rankings=rankings,
        baselines=baselines,
        runs={item: targets.list_target_runs(headers, item) for item in identities},
        specs=_load_redacted_specs(settings, sorted(standing), redaction.build_redactor(settings)),
        cards=load_cards(settings),
    )


def _build_rankings(
    settings: Settings, headers: stored_boards.Headers, board: Board
) -> list[BoardRanking]:
    data, held, rankings = board_data(headers, board), boards.list_board_rows(headers, board), []
    for number, by in enumerate(list_board_orders(board)):
        frame = stored_boards.board_ranking(settings, board, by)
        first = _find_board_leaders(held, frame, board)
        stem = make_file_stem(board.suite, board.key) + (
            f"-by-{make_file_stem(by)}" if number else ""
        )
        rows = ranking_data(frame, board)
        rankings.append(BoardRanking(board, by, stem, not number, frame, data, rows, first))
    return rankings


def _find_board_leaders(
    held: Sequence[Row], frame: pd.DataFrame, board: Board
) -> tuple[Leader, ...]:
    placed = frame[frame["status"] == "ranked"]
    standing = set(placed["identity"])
    rows = [row for row in held if row.identity in standing]
    return find_leaders(rows, placed.assign(name=placed["identity"]), list_board_parts(board))


def _build_baseline(headers: stored_boards.Headers, ranking: BoardRanking) -> BoardBaseline:
    everyone = boards.list_board_rows(headers, ranking.board)
    return BoardBaseline(
        ranking=ranking,
        rows={row.identity: row for row in everyone},
        best=find_peaks(select_ranked_rows(everyone), metric_values),
        floor=find_peaks(select_floor_rows(everyone), metric_values),
    )


def _load_redacted_specs(
    settings: Settings, runs: Sequence[str], censor: Redactor
) -> dict[str, RunSpec]:
    """A run that was deleted meanwhile, or whose spec is broken, has none."""
    specs = {}
    for run in runs:
        try:
            specs[run] = redaction.redact_spec(
                find_run(run, settings.run_roots).read_spec(), censor
            )
        except EvalboardError:
            continue
    return specs


class WorkedExample(NamedTuple):
    """A benchmark's score worked out for one target: the terms and their sums."""

    benchmark: str
    identity: str
    target_key: str
    mode: str
    terms: list[Data]
    sums: methodology.ScoreSums


def build_worked_examples(settings: Settings, baseline: BoardBaseline) -> list[WorkedExample]:
    """Per benchmark of a board, for its best ranked target with a readable score."""
    examples = []
    for benchmark in baseline.ranking.board.columns:
        for row in baseline.ranking.rows:
            run = baseline.rows[row["identity"]].runs.get(benchmark)
            if row["status"] != "ranked" or run is None:
                continue
            try:
                spec_and_score = methodology.load_run_score(
                    settings.run_roots, run.run_id, benchmark
                )
            except EvalboardError:
                continue
            if spec_and_score is None:
                continue
            terms = methodology.build_score_terms(spec_and_score[1])
            records: list[Data] = [
                {str(name): _nan_to_none(value) for name, value in record.items()}
                for record in terms.to_dict("records")
            ]
            target_ids, mode = (
                (row["identity"], row["target_key"]),
                str(spec_and_score[0].options.get("mode", "")),
            )
            examples.append(
                WorkedExample(
                    benchmark, *target_ids, mode, records, methodology.sum_score_terms(terms)
                )
            )
            break
    return examples


def _nan_to_none(value: Any) -> Any:
    return None if pd.isna(value) else value
