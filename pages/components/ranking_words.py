"""What a ranking says in words: who leads, what cannot be told apart, who leads in each part."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from evalcore.queries.boards import Board
from evalcore.queries.ranking_views import leaders, tie_groups
from pages.components import numbers
from pages.components.board import benchmark_title, bold, metric_title
from pages.components.language import Translate
from pages.components.text import plain

_NAMED = 3  # of a tie; the others are counted
_CARD = 200  # pixels, at least
_MOST_CARDS = 12


def decision(frame: pd.DataFrame, tr: Translate) -> str:
    """One or two sentences, as Markdown with the names escaped; empty where nobody is ranked."""
    groups = tie_groups(frame)
    names = [name for group in groups for name in group]
    if not names:
        return ""
    if len(names) == 1:
        return tr("ranking.words.single", first=bold(names[0]))
    if len(groups[0]) > 1:
        first = tr("ranking.words.tie", names=_listed(groups[0], tr))
    else:
        first = tr("ranking.words.leader", first=bold(names[0]), second=bold(names[1]))
    if len(groups) == 1:
        second = "" if len(names) <= _NAMED else tr("ranking.words.one_group", targets=len(names))
    else:
        second = tr("ranking.words.groups", targets=len(names), groups=len(groups))
    return tr("ranking.words.two", first=first, second=second)


def _listed(names: Sequence[str], tr: Translate) -> str:
    shown = [bold(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        return tr("ranking.words.and_more", names=", ".join(shown), count=len(names) - _NAMED)
    return tr("ranking.words.and", names=", ".join(shown[:-1]), last=shown[-1])


def draw_leaders(frame: pd.DataFrame, board: Board, tr: Translate) -> None:
    """The best ranked target of each benchmark, or of each metric where there is one benchmark."""
    found = leaders(frame, board)
    if len(found) > _MOST_CARDS:
        _leader_table(found, tr)
        return
    with st.grid(min_column_width=_CARD):
        for part, identity, score in found:
            title = _part_title(part)
            with st.container(border=True, gap=None):
                st.caption(title)
                st.markdown(f"##### {numbers.score(score, tr)}", width="content")
                st.text(plain(identity, 40), wrap=False)


def _part_title(part: str) -> str:
    benchmark, _, metric = part.partition("/")
    return metric_title(benchmark, metric) if metric else benchmark_title(benchmark)


def _leader_table(found: Sequence[tuple[str, str, float]], tr: Translate) -> None:
    """A row per part, where cards would fill a screen."""
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(
            {
                "part": [_part_title(part) for part, _, _ in found],
                "target": [plain(identity, 60) for _, identity, _ in found],
                "score": [score for _, _, score in found],
            }
        ),
        hide_index=True,
        width="content",
        height=38 + 35 * len(found),
        alt=tr("ranking.leaders"),
        column_config={
            "part": kinds.TextColumn(tr("common.metric"), width=190),
            "target": kinds.TextColumn(tr("common.target"), width="medium"),
            "score": kinds.NumberColumn(tr("common.score"), format="%.1f", width=64),
        },
    )
