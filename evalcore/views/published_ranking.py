"""The ranking of a published board, in the shape in which every ranking is shown, and how scores
went from month to month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from evalcore.i18n import t
from evalcore.plain_text import to_single_line
from evalcore.results import CLAIMED_VIEW
from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.store.published import PublishedEntry
from evalcore.views.board_table import FACT_COLUMNS, BoardTable, RankingView, every_part
from evalcore.views.board_titles import describe_ranking
from evalcore.views.boards import Row, list_board_rows
from evalcore.views.payloads import Data
from evalcore.views.published_boards import PublishedBoard, load_published_board
from evalcore.views.ranking import (
    SUITE,
    Lead,
    build_ranking_frame,
    compute_lead,
    compute_row_score,
    list_board_orders,
    tie_groups,
)
from evalcore.views.stored_boards import TREND_COLUMNS
from evalcore.views.targets import Leader, find_leaders

#: Columns that only a published ranking has, beside those of every other: what the publisher
#: states for the score that rows stand by (None for a mean, which is ours), who submitted it, and
#: the day of the submission.
CLAIM_COLUMNS = ("claimed", "submitter", "submitted")
_SETTLED = ("ranked", "not_run", "claimed")  # statuses of rows that can lead in a part
_tables: SingleFlightCache[BoardTable] = SingleFlightCache(64)
_frames: SingleFlightCache[pd.DataFrame] = SingleFlightCache(64)


@dataclass(frozen=True, eq=False)
class PublishedRanking(RankingView):
    """A published board by one of its orders. Where no verdict is published rows stand by the
    claims alone: they have a rank, and neither an interval nor a tie group."""

    source: PublishedBoard

    @cached_property
    def frame(self) -> pd.DataFrame:
        return _frames.get(
            (self.source.publication.signature, self.board.key, self.order), self._build_frame
        ).copy(deep=False)

    def _build_frame(self) -> pd.DataFrame:
        rows = list_board_rows(self.headers, self.board)
        frame = build_ranking_frame(rows, self.board, self.source.points, self.order)
        return frame if self.source.has_verdicts else rank_claims(frame)

    @cached_property
    def names(self) -> dict[str, str]:
        return name_entries(self.source)

    def find_leaders(self, parts: Sequence[str]) -> tuple[Leader, ...]:
        """The best of all in each of these parts, whatever the order ranks; who lacks a case is
        out of it."""
        settled = self.frame[self.frame["status"].isin(_SETTLED)]
        named = settled.assign(name=settled["identity"].map(self.names))
        rows = [self.targets[identity] for identity in settled["identity"]]
        return find_leaders(rows, named, parts)

    @cached_property
    def lead(self) -> Lead | None:
        """How far the first is ahead of the second; untested where no verdict is published."""
        if self.source.has_verdicts:
            rows = list(self.targets.values())
            return compute_lead(self.frame, rows, self.board, self.order, self.source.points)
        first = self.frame[self.frame["status"] == "ranked"].head(2)
        names, scores = first["identity"].tolist(), first["score"].astype(float).tolist()
        if len(names) < 2:
            return Lead(names[0], "", 0.0, 0.0, 0.0, False, 0, tested=False) if names else None
        gap = scores[0] - scores[1]
        return Lead(names[0], names[1], gap, gap, gap, False, 0, tested=False)

    @cached_property
    def table(self) -> BoardTable:
        """What the Ranking page shows: `frame` has the columns of CLAIM_COLUMNS too, `months` are
        those that the publisher has."""
        key = (self.source.publication.signature, self.board.key, self.order)
        return _tables.get(key, self._build_table)

    def _build_table(self) -> BoardTable:
        facts = pd.DataFrame(
            [self._build_facts(identity) for identity in self.frame["identity"]],
            columns=[*FACT_COLUMNS, "new", *CLAIM_COLUMNS],
            index=self.frame.index,
        ).astype({"parameters": float, "price": float, "claimed": float, "new": bool})
        return BoardTable(
            frame=pd.concat([self.frame, facts], axis=1),
            floors={},
            leaders=self.find_leaders(every_part(self.board)),
            months=tuple(self.source.publication.months),
            lead=self.lead,
        )

    def _build_facts(self, identity: str) -> Data:
        entry = self.source.entries[identity]
        score = self.targets[identity].score(self.order) if self.order != SUITE else None
        facts: Data = dict.fromkeys(FACT_COLUMNS, "")
        return facts | {
            "name": self.names[identity],
            "organization": entry.organization,
            "type": entry.type,
            "parameters": None,
            "released": entry.released,
            "price": None,
            "new": is_new_entry(self.source, entry),
            "claimed": score.views.get(CLAIMED_VIEW) if score else None,
            "submitter": entry.submitter,
            "submitted": entry.date,
        }

    def describe_source(self, language: str) -> str:
        """Whose figures these are, of when, and what is worked out here: plain text."""
        publisher = self.source.publisher
        key = "about_verdicts" if self.source.has_verdicts else "about_claims"
        return t(f"published.{key}", language, publisher=publisher.title, date=publisher.date)

    def describe(self, language: str) -> str:
        """What the ranking decides, in a sentence or two of plain text."""
        if self.source.has_verdicts:
            groups = tie_groups(self.frame)
            return describe_ranking(
                [[self.names[identity] for identity in group] for group in groups], language
            )
        ranked = self.frame[self.frame["status"] == "ranked"]
        first, others = ranked[ranked["rank"] == 1], ranked[ranked["rank"] > 1]
        if first.empty:
            return ""
        values: Data = {
            "first": ", ".join(self.names[identity] for identity in first["identity"]),
            "score": f"{first['score'].iloc[0]:.1f}",
        }
        if others.empty:
            return t("published.words.single", language, **values)
        values["second"] = self.names[others["identity"].iloc[0]]
        values["lead"] = f"{first['score'].iloc[0] - others['score'].iloc[0]:.1f}"
        return t("published.words.leader", language, **values)


def load_published_ranking(
    settings: Settings, publisher: str, month: str = "", order: str = "", setup: str = ""
) -> PublishedRanking:
    """The ranking of a publisher's board by an order, by default the first. Raises UsageError for
    what is not there."""
    source = load_published_board(settings, publisher, month, setup)
    orders = list_board_orders(source.board)
    by = order if order in orders else orders[0]
    return PublishedRanking(settings, source.headers, source.board, by, source)


def rank_claims(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows by their claims: equal ones share a rank; nothing says how sure it is."""
    claimed = (frame["status"] == "claimed") & frame["score"].notna()
    scores = frame.loc[claimed, "score"].round(9)
    ranks = scores.rank(ascending=False, method="min").astype("Int64")
    ranked = frame.assign(status=frame["status"].mask(claimed, "ranked"), rank=ranks)
    ranked["rank"] = ranked["rank"].astype("Int64")
    order = ranked["rank"].fillna(len(frame) + 1)
    position = order.argsort(kind="stable")
    return ranked.iloc[position].reset_index(drop=True)


def name_entries(source: PublishedBoard) -> dict[str, str]:
    """What the models of a board are called, by identity: hostile text. Those of one name go with
    their effort, or with their id where that tells nothing apart."""
    entries = source.entries
    plain = Counter(entry.name.casefold() for entry in entries.values())
    names = {
        identity: entry.name if plain[entry.name.casefold()] == 1 else _add_effort(entry)
        for identity, entry in entries.items()
    }
    longer = Counter(name.casefold() for name in names.values())
    return {
        identity: name
        if longer[name.casefold()] == 1
        else f"{name} ({to_single_line(entries[identity].id)})"
        for identity, name in names.items()
    }


def _add_effort(entry: PublishedEntry) -> str:
    return f"{entry.name} ({entry.effort})" if entry.effort else entry.name


def is_new_entry(source: PublishedBoard, entry: PublishedEntry) -> bool:
    """Whether a model came with the month of the board, and that is not the publisher's first."""
    if entry.month != source.month or source.month == source.publication.months[-1]:
        return False
    return not any(
        other.identity == entry.identity and other.month < source.month
        for other in source.publication.entries
    )


# How scores went from month to month.


def build_published_trend(
    ranking: PublishedRanking, identities: Collection[str] = ()
) -> pd.DataFrame:
    """One row per month in which one of the targets (none: all) has a score by this order, oldest
    first, up to the month of the ranking: TREND_COLUMNS. A month without a model has no row."""
    records: list[tuple[Any, ...]] = []
    for board in _list_earlier_boards(ranking):
        for row in list_board_rows(board.headers, board.board):
            newest = max(header.created_at for header in row.runs.values())
            is_own = not board.publisher.cumulative or newest[:7] == board.month
            if is_own and (not identities or row.identity in identities):
                records += _build_trend_record(row, board, ranking.order)
    frame = pd.DataFrame(records, columns=list(TREND_COLUMNS))
    frame["date"] = pd.to_datetime(frame["date"], utc=True, format="ISO8601")
    return frame.sort_values(["date", "identity"], ignore_index=True)


def _list_earlier_boards(ranking: PublishedRanking) -> list[PublishedBoard]:
    """The boards up to the month of a ranking, oldest first, of its own setup."""
    source = ranking.source
    months = [month for month in reversed(source.publication.months) if month <= source.month]
    present = {
        entry.month for entry in source.publication.entries if entry.setup_key == source.setup
    }
    return [
        load_published_board(ranking.settings, source.publisher.key, month, source.setup)
        for month in months
        if month in present
    ]


def _build_trend_record(row: Row, board: PublishedBoard, order: str) -> list[tuple[Any, ...]]:
    if order != SUITE and order not in row.runs:
        return []
    if order == SUITE and not board.board.members:
        return []
    score, low, high = compute_row_score(row, board.board, order)
    run = next(iter(row.runs.values()))
    line = (row.identity, run.created_at, score, low, high, run.run_id)
    return [] if score is None else [line]


def list_month_leaders(ranking: PublishedRanking) -> list[Data]:
    """Who led in each month by this order, oldest first: month, identity, name, score, low, high,
    tied (how many others cannot be told from the leader; None where no verdict is published)."""
    leaders = []
    for board in _list_earlier_boards(ranking):
        if ranking.order not in list_board_orders(board.board):
            continue
        then = PublishedRanking(ranking.settings, board.headers, board.board, ranking.order, board)
        first = then.frame[then.frame["rank"] == 1]
        for row in first.head(1).to_dict("records"):
            tied = (then.frame["group"] == 1).sum() - 1 if board.has_verdicts else None
            score = {name: None if pd.isna(row[name]) else row[name] for name in _SCORES}
            name = then.names[row["identity"]]
            names = {"month": board.month, "identity": row["identity"], "name": name}
            leaders.append(names | score | {"tied": None if tied is None else int(tied)})
    return leaders


def list_month_ranks(ranking: PublishedRanking, identity: str) -> list[Data]:
    """Where a target stood in each month by this order, up to the month of the ranking and the
    newest first: month, rank, rank_low, rank_high, score, low, high (None where there is none) and
    total, how many were ranked."""
    months = []
    for board in reversed(_list_earlier_boards(ranking)):
        if ranking.order not in list_board_orders(board.board) or identity not in board.entries:
            continue
        then = PublishedRanking(ranking.settings, board.headers, board.board, ranking.order, board)
        row = then.find_row(identity) or {}
        months.append(
            {"month": board.month, "total": len(then.ranked)}
            | {name: row.get(name) for name in ("rank", "rank_low", "rank_high", *_SCORES)}
        )
    return months


_SCORES = ("score", "low", "high")
