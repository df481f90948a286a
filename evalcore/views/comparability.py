"""Whether the scores of a board stand beside those of the official leaderboards, and why not.

It is worked out from what a column rests on: how its targets were asked, which cases, all of them
or a part, under which options, and who played the user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from evalcore.catalog import OTHER_DATA_OPTION, STAND_IN, BenchmarkCard
from evalcore.i18n import DEFAULT, t
from evalcore.records import Record, RunSpec
from evalcore.results import RunSummary
from evalcore.store.headers import HeaderScore, build_run_header
from evalcore.views.boards import Board, Column, Row, build_column

#: What keeps a score apart, in the order in which it is listed; each has a text `board.apart.CODE`.
REASONS = (
    *("published", "no_board", "protocol", "data", "database", "lacking", "subset", "options"),
    *("stand_in", "user", "incomplete"),
)
_OPTION = re.compile(r", (?=\w+=)")
_REASON_BY_OPTION = {"protocol": "protocol", OTHER_DATA_OPTION: "database"}
_REASON_BY_OPTION |= {"use_llm_user": "user", "user_model": "user"}


class Comparability(Record, frozen=True):
    """`reasons` are codes of `REASONS`; without any the score compares with `official_board`, the
    leaderboard's name."""

    official_board: str
    reasons: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        return not self.reasons


def assess_column(column: Column, score: HeaderScore | None = None) -> Comparability:
    """A column; with a `score` of it also whether that run came to its end."""
    card = column.card
    reasons = set() if column.executed else {"published"}
    reasons |= set() if card.official_board else {"no_board"}
    if card.official_board:
        reasons |= _find_option_reasons(column, card)
        official_folders = {official.folder for official in card.official_datasets}
        official_folders.add(f"{card.key}-official")  # what a fetch from a checkout is named
        reasons |= set() if column.dataset in official_folders else {"data"}
        reasons |= set() if column.full else {"subset"}
        reasons |= {"lacking"} if _lacks_official_cases(column, card) else set()
    reasons |= {"incomplete"} if score is not None and not score.complete else set()
    return Comparability(card.official_board, tuple(code for code in REASONS if code in reasons))


def _split_label(column: Column) -> list[str]:
    return [part for piece in column.label.split(" · ") for part in _OPTION.split(piece)]


def _read_options(parts: Sequence[str]) -> dict[str, str]:
    """The options of a label's parts that have values."""
    return dict(part.partition("=")[::2] for part in parts if re.match(r"\w+=", part))


def _lacks_official_cases(column: Column, card: BenchmarkCard) -> bool:
    """Whether the data had no case of a metric that the official score is made of."""
    empty = set(card.official_metrics) & set(column.empty_metrics)
    chosen = set(card.official_metrics) & set(_read_options(_split_label(column)).values())
    return bool(empty & chosen if chosen else empty)


def _find_option_reasons(column: Column, card: BenchmarkCard) -> set[str]:
    """What the options of a label say against its column: one that the official board wants and
    does not have, or one that it does not know."""
    parts = _split_label(column)
    chosen = _read_options(parts)
    wrong = {
        name
        for name, value in card.official_options.items()
        if value and not chosen.get(name, "").endswith(value)
    }
    wrong |= chosen.keys() - card.official_options.keys()
    if "own prompt" in parts and not card.system_prompt:
        wrong.add("prompt")
    reasons = {_REASON_BY_OPTION.get(name, "options") for name in wrong}
    return reasons | ({"stand_in"} if STAND_IN in chosen.values() else set())


def assess_board(board: Board) -> dict[str, Comparability]:
    """Every column of a board, by benchmark."""
    return {key: assess_column(column) for key, column in board.columns.items()}


def describe_comparability(board: Board, by: str, language: str) -> str:
    """One sentence on what a ranking by a suite or a benchmark counts: yes, with the names of the
    leaderboards, or no, with every reason that any of its columns has; empty for an empty board."""
    counted = [by] if by in board.columns else board.counted_benchmarks
    return describe_assessments([assess_column(board.columns[key]) for key in counted], language)


def describe_assessments(columns: Sequence[Comparability], language: str) -> str:
    """One sentence on some columns or scores together; empty for none."""
    present = {code for column in columns for code in column.reasons}
    if not columns:
        return ""
    if not present:
        names = ", ".join(dict.fromkeys(column.official_board for column in columns))
        return t("board.comparable", language, names=names)
    texts = [t(f"board.apart.{code}", language) for code in REASONS if code in present]
    reasons = t("board.apart.separator", language).join(texts)
    return t("board.not_comparable", language, reasons=reasons)


def describe_reasons(assessed: Comparability, language: str) -> str:
    """Why a score does not compare, in words; empty where it does."""
    texts = [t(f"board.apart.{code}", language) for code in assessed.reasons]
    return t("board.apart.separator", language).join(texts)


def assess_run(spec: RunSpec, summary: RunSummary) -> dict[str, Comparability]:
    """Every benchmark of a run by itself, whatever else stands on its boards."""
    header = build_run_header(spec, summary)
    return {
        key: assess_column(build_column(key, [header]), score)
        for key, score in header.benchmarks.items()
    }


def assess_row(board: Board, row: Row) -> dict[str, Comparability]:
    """The scores of a target on a board, by benchmark."""
    return {
        key: assess_column(board.columns[key], run.benchmarks[key])
        for key, run in row.runs.items()
        if key in board.columns
    }


def assessment_to_dict(assessed: Comparability) -> dict[str, Any]:
    """As plain data for JSON; `because` is in English."""
    return {
        "official_board": assessed.official_board or None,
        "comparable": assessed.comparable,
        "reasons": list(assessed.reasons),
        "because": describe_reasons(assessed, DEFAULT) or None,
    }
