"""All that the Ranking page shows of a board: the ranking with the facts of its targets beside it,
what is new on it, and its filters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import pandas as pd

from evalcore.catalog import call_reference, find_target_kind, runs_models_here
from evalcore.errors import UsageError
from evalcore.records import Record, TargetSpec
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.target_cards import NO_CARD, TargetCard, load_cards
from evalcore.views import boards
from evalcore.views.board_titles import collect_options, display_names
from evalcore.views.boards import Board, Row, is_control
from evalcore.views.case_points import load_board_points
from evalcore.views.payloads import Data, board_data, ranking_data
from evalcore.views.ranking import (
    SUITE,
    Lead,
    compute_lead,
    list_board_orders,
    list_board_parts,
    match_target_text,
)
from evalcore.views.reproduce import model_card
from evalcore.views.stored_boards import (
    Headers,
    list_board_months,
    load_cached_ranking,
    load_run_headers,
    select_board_runs,
    select_runs_between,
)
from evalcore.views.targets import Leader, TargetView, find_leaders

# Which rows of a board fit what a visitor asks for, and which wish leaves nothing over.
# Every wish is a set of codes, alternatives to each other; an empty one admits all. What is not
# known of a target fits no wish about it. Ranks stay what they are among all.

#: Code -> (from, below), billions of parameters.
SIZES = {
    "xs": (0.0, 3.0),
    "s": (3.0, 10.0),
    "m": (10.0, 40.0),
    "l": (40.0, 150.0),
    "xl": (150.0, math.inf),
}
#: Code -> (from, below), USD per million tokens.
PRICES = {
    "free": (0.0, 1e-9),
    "low": (1e-9, 0.5),
    "mid": (0.5, 2.0),
    "high": (2.0, 10.0),
    "top": (10.0, math.inf),
}
_FINISHED = frozenset({"ranked", "control"})


class BoardFilter(Record, frozen=True):
    """A filter of board rows. `text` is matched against name, maker and identity, ignoring case;
    `size` and `price` hold codes of SIZES and PRICES; `evidence` requires a score in a metric that
    rests on it; `complete` leaves out unfinished runs."""

    text: str = ""
    kind: tuple[str, ...] = ()
    organization: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    size: tuple[str, ...] = ()
    price: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    complete: bool = False

    @property
    def active_fields(self) -> tuple[str, ...]:
        """The fields that ask for something."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name))


def filter_board_rows(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> pd.DataFrame:
    """Filter the rows of a `BoardTable`, preserving order and index."""
    if not board_filter.active_fields:
        return frame
    fits = pd.Series(True, index=frame.index)
    for name in board_filter.active_fields:
        fits &= _RULES[name](frame, board, board_filter)
    return frame[fits]


def find_blocking_fields(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> list[str]:
    """The fields of a wish that nothing fits of which the loosening of one alone gives rows; where
    none does, all that are on."""
    blocking = []
    for name in board_filter.active_fields:
        empty = {"text": "", "complete": False}.get(name, ())
        looser = msgspec.structs.replace(board_filter, **{name: empty})
        blocking += [name] if len(filter_board_rows(frame, board, looser)) else []
    return blocking or list(board_filter.active_fields)


def shown_parts(board: Board, evidence: Collection[str]) -> list[str]:
    """The parts of a board, or the metrics ("benchmark/metric") that rest on such evidence."""
    if not evidence:
        return list_board_parts(board)
    return [
        f"{key}/{metric.key}"
        for key, column in board.columns.items()
        for metric in column.card.metrics
        if column.evidence(metric.key) in evidence
    ]


def every_part(board: Board) -> list[str]:
    """The benchmarks of a board and all their metrics, as parts."""
    return [*board.columns, *board.metrics]


def evidence_kinds(board: Board) -> list[str]:
    """What the metrics of a board rest on, each kind once; nothing where a publisher decided."""
    if board.taken_over:
        return []
    columns = board.columns.values()
    kinds = (column.evidence(metric.key) for column in columns for metric in column.card.metrics)
    return list(dict.fromkeys(kinds))


def _match_any(name: str) -> _Rule:
    return lambda frame, board, board_filter: frame[name].isin(getattr(board_filter, name))


def _match_bands(column: str, name: str, bands: dict[str, tuple[float, float]]) -> _Rule:
    def match_rows(frame: pd.DataFrame, board: Board, board_filter: BoardFilter) -> pd.Series[bool]:
        values, fits = frame[column], pd.Series(False, index=frame.index)
        for code in getattr(board_filter, name):
            low, below = bands[code]
            fits |= (values >= low) & (values < below)
        return fits

    return match_rows


_Rule = Callable[[pd.DataFrame, Board, BoardFilter], "pd.Series[bool]"]
_RULES: dict[str, _Rule] = {
    "text": lambda frame, board, wish: match_target_text(frame, wish.text),
    "kind": _match_any("kind"),
    "organization": _match_any("organization"),
    "weights": _match_any("weights"),
    "size": _match_bands("parameters", "size", SIZES),
    "price": _match_bands("price", "price", PRICES),
    "evidence": lambda frame, board, wish: (
        frame[shown_parts(board, wish.evidence)].notna().any(axis=1)
    ),
    "complete": lambda frame, board, wish: frame["status"].isin(_FINISHED),
}


# What is known of the targets on a board beside their scores: names, makers, sizes, prices.
# Cards are typed by people and so are hostile text. What nobody said is None or empty, never 0.

FACT_COLUMNS = (
    *("name", "organization", "logo", "type", "parameters", "weights", "released", "price"),
)
OPEN, CLOSED = "open", "closed"
_LOGO = "data:image/png;base64,"


def build_target_facts(
    rows: Iterable[Row], cards: Mapping[str, TargetCard], settings: Settings
) -> pd.DataFrame:
    """One line per identity (the index): name, organization, logo (data URI), type, parameters
    (billions), weights (OPEN, CLOSED or ""), released (ISO 8601), price (USD, see
    `find_token_price`)."""
    board_rows = list(rows)
    names = display_names(
        {row.identity: row.target_key for row in board_rows},
        cards,
        collect_options(run for row in board_rows for run in row.runs.values()),
    )
    records = [
        _build_fact_record(row, cards.get(row.target_key, NO_CARD), names[row.identity], settings)
        for row in board_rows
    ]
    index = pd.Index([row.identity for row in board_rows], name="identity", dtype=str)
    frame = pd.DataFrame(records, columns=list(FACT_COLUMNS), index=index)
    return frame.astype({"parameters": float, "price": float})


def _build_fact_record(row: Row, card: TargetCard, name: str, settings: Settings) -> dict[str, Any]:
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    return {
        "name": name,
        "organization": card.organization.strip(),
        "logo": card.logo if card.logo.startswith(_LOGO) else "",
        "type": card.type,
        "parameters": card.parameters or _find_parameter_count(newest, settings),
        "weights": {True: OPEN, False: CLOSED, None: ""}[card.open_weights],
        "released": card.released,
        "price": find_token_price(newest, settings),
    }


def _find_parameter_count(run: RunHeader, settings: Settings) -> float | None:
    """The billions of parameters that a local model was found to have."""
    if not runs_models_here(run.target_key):
        return None
    card = model_card(settings.run_roots, run.run_id)
    return card.parameters / 1e9 if card else None


def find_token_price(run: RunHeader, settings: Settings) -> float | None:
    """USD per million tokens, three of the question to one of the answer, by today's price list. 0
    for programs and for what runs on this machine, None where the list does not know the model."""
    card = find_target_kind(run.target_key)
    if card is None or card.is_free:
        return 0.0 if card else None
    if not card.list_price:
        return None
    spec = TargetSpec(run.target_key, dict(run.target_options))
    try:
        price: float | None = call_reference(card.list_price, card.prefix, spec, settings)
    except UsageError:
        return None
    return price


# What is new on a board: targets that came lately, measured by the board's own newest run.

RECENT_DAYS = 30


def find_recent_targets(
    headers: Iterable[RunHeader], board: Board, released: Mapping[str, str]
) -> frozenset[str]:
    """The identities first run or released within `RECENT_DAYS` days before the newest run.

    Controls are never news. `released` holds dates by identity; a year alone is too coarse to
    count. On a board that is itself no older than that, no first run is news.
    """
    runs = [run for run in select_board_runs(headers, board) if not is_control(run.target_key)]
    if not runs:
        return frozenset()
    first: dict[str, str] = {}
    for run in runs:
        first[run.identity] = min(run.created_at, first.get(run.identity, run.created_at))
    newest = max(run.created_at for run in runs)
    edge = (pd.Timestamp(newest) - pd.Timedelta(days=RECENT_DAYS)).isoformat()
    old = min(first.values()) < edge
    return frozenset(
        identity
        for identity, begun in first.items()
        if (old and begun >= edge) or _is_recent_date(released.get(identity, ""), edge, newest)
    )


def _is_recent_date(date: str, edge: str, newest: str) -> bool:
    """Whether a release date, to the month or the day, lies in the window before the newest run."""
    size = len(date)
    return size >= len("2026-11") and edge[:size] <= date <= newest[:size]


# A ranking as the API, links, exports and the site tell it; and with all that the Ranking page
# shows beside it.


@dataclass(frozen=True, eq=False)
class RankingView:
    """A board by one of its orders, over some runs. Everything is read when it is first asked for,
    and nobody may change it."""

    settings: Settings
    headers: Headers
    board: Board
    order: str

    @cached_property
    def frame(self) -> pd.DataFrame:
        """See `ranking.build_ranking_frame`."""
        return load_cached_ranking(self.settings, self.board, self.order, self.headers)

    @cached_property
    def rows(self) -> list[Data]:
        """The items of the API."""
        return ranking_data(self.frame, self.board)

    @cached_property
    def ranked(self) -> list[Data]:
        return [row for row in self.rows if row["status"] == "ranked"]

    @cached_property
    def targets(self) -> dict[str, Row]:
        """The runs that stand on the board, by identity."""
        return {row.identity: row for row in boards.list_board_rows(self.headers, self.board)}

    @cached_property
    def names(self) -> dict[str, str]:
        """What targets are called, by identity: hostile text."""
        keys = {identity: row.target_key for identity, row in self.targets.items()}
        return display_names(keys, load_cards(self.settings), collect_options(self.headers))

    @cached_property
    def floors(self) -> dict[str, float]:
        """The scores of the controls by what they answer with."""
        order = "" if self.order == SUITE else self.order
        return boards.compute_floors(self.headers, self.board, order)

    @cached_property
    def lead(self) -> Lead | None:
        """How far the first of the ranked is ahead of the second, None where nobody is ranked."""
        first = self.frame.loc[self.frame["status"] == "ranked", "identity"].head(2)
        rows = [self.targets[identity] for identity in first]
        points = load_board_points(self.settings, rows, self.board) if rows else {}
        return compute_lead(self.frame, rows, self.board, self.order, points)

    @property
    def is_default(self) -> bool:
        """Whether it is the first of the board's orders."""
        return self.order == list_board_orders(self.board)[0]

    def find_row(self, identity: str) -> Data | None:
        return next((row for row in self.rows if row["identity"] == identity), None)

    def find_leaders(self, parts: Sequence[str]) -> tuple[Leader, ...]:
        """The best of the ranked in each of these parts."""
        ranked = self.frame[self.frame["status"] == "ranked"]
        named = ranked.assign(name=ranked["identity"].map(self.names))
        return find_leaders([self.targets[name] for name in ranked["identity"]], named, parts)

    def build_payload(self) -> Data:
        """The ranking as the API gives it, in a single page."""
        board = board_data(self.headers, self.board)
        return {"board": board, "by": self.order, "items": self.rows, "total": len(self.rows)}

    def build_target_payload(self, identity: str) -> Data | None:
        """A target as the API gives it, in a single page; None where it is not on the board."""
        row = self.find_row(identity)
        if row is None:
            return None
        view = TargetView(self.headers, self.board, identity)
        lines = [msgspec.structs.asdict(line) for line in view.list_all_scores()]
        board = board_data(self.headers, self.board)
        return {"board": board, "target": row, "items": lines, "total": len(lines)}


class BoardTable(Record, frozen=True):
    """`frame` is that of `ranking` with the columns of `build_target_facts` and `new`; nobody may
    change it.

    `floors` are the scores of the controls, `months` all that the board has runs in, whatever the
    range; `leaders` are of the ranked and `lead` is that of the first of them.
    """

    frame: pd.DataFrame
    floors: dict[str, float]
    leaders: tuple[Leader, ...]
    months: tuple[str, ...]
    lead: Lead | None = None


def board_table(
    settings: Settings, board: Board, order: str, since: str = "", until: str = ""
) -> BoardTable:
    """The table of a board by the runs of a range of months, see `periods.within`."""
    all_headers = load_run_headers(settings)
    view = RankingView(settings, select_runs_between(all_headers, since, until), board, order)
    target_facts = build_target_facts(view.targets.values(), load_cards(settings), settings)
    released = dict(zip(target_facts.index, target_facts["released"], strict=True))
    recent_identities = find_recent_targets(view.headers, board, released)
    joined = view.frame.join(target_facts, on="identity")
    return BoardTable(
        frame=joined.assign(new=joined["identity"].isin(recent_identities)),
        floors=view.floors,
        leaders=view.find_leaders(every_part(board)),
        months=tuple(list_board_months(all_headers, board)),
        lead=view.lead,
    )
