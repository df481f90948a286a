"""What a run came to: its row on the board with those next to it, and the failures that tell most.

A run that has ended leads here: `?run=` names it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from evalcore.single_flight import SingleFlightCache
from evalcore.views import board_titles, stored_boards
from evalcore.views.run_standing import RunStanding, TellingFailure, find_run_standing
from pages.shared import drawn_html, page_links, ranking_rows
from pages.shared.drawn_html import format_html, link_target
from pages.shared.page_links import CaseLink
from pages.shared.ranking_rows import RankingView
from pages.shared.wording import current_language, to_plain_line, tr

_RUN = "run"
_CACHED = 32
_standings: SingleFlightCache[RunStanding | None] = SingleFlightCache(_CACHED)


def load_own_standing(view: RankingView) -> RunStanding | None:
    """Where the run stands that the URL names; None where it names none or one that is not here."""
    run = st.query_params.get(_RUN, "")
    if not run:
        return None
    return _standings.get((view.cache_key, run), lambda: _find_standing(view, run))


def _find_standing(view: RankingView, run: str) -> RunStanding | None:
    headers = stored_boards.load_run_headers(view.settings)
    frame = ranking_rows.load_board_table(view).frame
    return find_run_standing(view.settings, headers, view.board, frame, run)


def draw_own_run(standing: RunStanding, frame: pd.DataFrame, share: str) -> None:
    """The row of the run and its neighbors in words, three failures as links, and the address of
    this view; `frame` is that of the whole ranking."""
    own = frame[frame["identity"] == standing.identity].iloc[0]
    beside = [frame.iloc[place] for place in standing.neighbors]
    drawn_html.draw_template(
        "own_run",
        sentence=_describe_own_row(own, int((frame["status"] == "ranked").sum())),
        neighbors=[_build_neighbor(row, str(own["identity"])) for row in beside],
        failures=[_build_failure(failure) for failure in standing.failures],
    )
    if share:
        st.caption(tr("share.direct"))
        st.code(share, language=None, wrap_lines=True)


def _describe_own_row(own: pd.Series[Any], total: int) -> Any:
    name = link_target(str(own["name"]), str(own["identity"]))
    score = "" if pd.isna(own["score"]) else f"{own['score']:.1f}"
    if (status := own["status"]) != "ranked":
        reason = tr(f"ranking.status.{status}")
        return format_html("ranking.own.unranked", name=name, reason=reason)
    ends = f"{own['rank_low']}–{own['rank_high']}"
    is_certain = own["rank_low"] == own["rank_high"]
    key = "ranking.own.ranked" if is_certain else "ranking.own.ranked_range"
    return format_html(key, name=name, score=score, rank=own["rank"], range=ends, total=total)


def _build_neighbor(row: pd.Series[Any], own: str) -> dict[str, Any]:
    return {
        "rank": row["rank"],
        "link": link_target(str(row["name"]), str(row["identity"])),
        "score": f"{row['score']:.1f}",
        "own": row["identity"] == own,
    }


def _build_failure(failure: TellingFailure) -> dict[str, str]:
    link = CaseLink(failure.run, failure.benchmark, failure.metric, failure.id, outcome="failed")
    part = board_titles.part_title(f"{failure.benchmark}/{failure.metric}", current_language())
    key = "ranking.own.solved" if failure.others else "ranking.own.failed"
    return {
        "href": drawn_html.build_address(page_links.CASE, link.query_params),
        "name": f"{part} · {to_plain_line(failure.id, 40)}",
        "solved": tr(key, solved=failure.solved, others=failure.others),
    }
