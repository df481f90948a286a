"""What can be read off a ranking: ties, the parts of its scores, the rows that fit a filter."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from evalcore.privacy import mask_target
from evalcore.queries.boards import Board


def tie_groups(frame: pd.DataFrame) -> list[list[str]]:
    """The ranked identities by group of ties, the best group first."""
    ranked = frame[frame["status"] == "ranked"]
    groups: dict[Any, list[str]] = {}
    for group, identity in ranked[["group", "identity"]].dropna().itertuples(index=False):
        groups.setdefault(group, []).append(identity)
    return [groups[group] for group in sorted(groups)]


def list_board_parts(board: Board) -> list[str]:
    """What a score is made of: the benchmarks, or the metrics ("benchmark/metric") of only one."""
    if len(board.columns) > 1:
        return list(board.columns)
    return board.metrics


def match_target_text(frame: pd.DataFrame, text: str) -> pd.Series[bool]:
    """Which rows hold `text` (letter case aside) in the identity or, where the frame has such
    columns, in the name or the maker's."""
    text = mask_target(text)
    fits = pd.Series(False, index=frame.index)
    for name in frame.columns.intersection(["identity", "name", "organization"]):
        fits |= frame[name].str.contains(text, case=False, regex=False)
    return fits


def filter_ranking(frame: pd.DataFrame, text: str, kinds: Collection[str] = ()) -> pd.DataFrame:
    """The rows of which `text` is said and whose kind is one of `kinds` (none: any). Ranks stay
    what they are among all."""
    fits = match_target_text(frame, text)
    if kinds:
        fits &= frame["kind"].isin(list(kinds))
    return frame[fits].reset_index(drop=True)
