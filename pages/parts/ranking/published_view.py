"""The ranking of what others published: a board per publisher with its months, never mixed with
what was measured here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from markupsafe import Markup

from evalcore.results import CLAIMED_VIEW
from evalcore.settings import Settings
from evalcore.views import board_titles
from evalcore.views.board_table import shown_parts
from evalcore.views.boards import list_board_rows
from evalcore.views.published_boards import PUBLISHED, describe_setup
from evalcore.views.published_ranking import PublishedRanking, build_published_trend
from evalcore.views.ranking import list_board_orders
from pages.parts.ranking import answer, ranking_charts, ranking_table
from pages.shared import (
    drawn_html,
    exports,
    page_links,
    published_source,
    ranking_rows,
    tables,
    url_state,
    widgets,
)
from pages.shared.drawn_columns import build_score_axis
from pages.shared.wording import current_language, to_plain_line, tr

_ROW = "row"


def draw_published_ranking(settings: Settings, suite: str, place: Any, controls: Any) -> None:
    """Answer, table and charts of one publisher's board; the answer is drawn in `place`, and the
    pickers go on in the row `controls`."""
    with controls:
        ranking = _choose_ranking(settings, suite)
        text = url_state.draw_search(
            tr("ranking.search"),
            "ranking.q",
            label_visibility="collapsed",
            placeholder=tr("ranking.search"),
            width=170,
        )
        frame, board = ranking.table.frame, ranking.board
        board_filter = ranking_rows.read_board_filter(
            {"organization": ranking_rows.list_filter_options(frame, board)["organization"]}, text
        )
        parts = shown_parts(board, board_filter.evidence)
        shown = ranking_table.draw_view_menu(board, parts, frame)
    rows = ranking_rows.select_ranking_rows(frame, board, board_filter, shown.sort)
    chosen = st.query_params.get(_ROW, "")
    source, publisher = ranking.source, ranking.source.publisher
    remark = tr("published.remark", publisher=publisher.title, date=publisher.date)
    setup = published_source.format_setup(describe_setup(source.publication, source.setup))
    with place:
        answer.draw_answer(
            ranking.table,
            rows,
            board,
            ranking.order,
            partial(_link_row, ranking),
            f"{remark} {setup[:1].upper()}{setup[1:]}".strip(),
        )
        look = {"vertical_alignment": "center", "gap": "medium"}
        with st.container(horizontal=True, key="ranking-next", **look):
            answer.draw_decide_step(published_source.build_board_query(source))
            _draw_compare_link(ranking)
            answer.draw_launch_step()
            exports.draw_share_menu("")
        if chosen in ranking.targets:
            _draw_row_details(ranking, chosen)
    axis, omitted = build_score_axis(rows.everyone, {}), {"cost", "latency", "date", "kind"}
    if not source.has_verdicts:
        omitted |= {"interval", "range", "group"}
    columns = [name for name in shown.columns if name not in omitted]
    address = partial(published_source.build_row_address, source)
    ranking_table.draw_ranked_table(rows.ranked, columns, axis, chosen, address)
    st.caption(tr("ranking.matches", shown=len(rows.ranked), total=len(rows.everyone)))
    st.caption(ranking.describe_source(current_language()))
    if len(rows.others):
        st.subheader(tr("ranking.unranked"), anchor=False)
        ranking_table.draw_unranked_table(rows.others, columns, axis, chosen, address)
    ranking_charts.draw_ranking_charts(rows, {}, partial(_load_trend, ranking))


def _choose_ranking(settings: Settings, suite: str) -> PublishedRanking:
    """The board, and the order where there is a choice."""
    source = published_source.select_published_board(settings, "ranking", suite)
    ranking, language = published_source.load_source_ranking(source), current_language()
    order = url_state.draw_select(
        tr("ranking.order"),
        list_board_orders(ranking.board),
        "ranking.by",
        lambda code: board_titles.order_title(code, language),
        width=180,
        label_visibility="collapsed",
        drawn_alone=False,
    )
    return published_source.load_source_ranking(source, order)


def _link_row(ranking: PublishedRanking, name: str, identity: str) -> Markup:
    address = published_source.build_row_address(ranking.source, identity)
    return Markup('<a href="{}" data-page>{}</a>').format(address, to_plain_line(name, 60))


def _draw_compare_link(ranking: PublishedRanking) -> None:
    """To the comparison of the first two of the board, where others can be chosen."""
    runs = [row["run_id"] for row in ranking.ranked[:2]]
    if len(runs) == 2:
        query = published_source.build_board_query(ranking.source) | {"runs": ",".join(runs)}
        label = tr("published.compare_rows")
        widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **query)


def _draw_row_details(ranking: PublishedRanking, identity: str) -> None:
    """What is published of one row, beside what is worked out here of it."""
    entry = ranking.source.entries[identity]
    row = next(
        row for row in list_board_rows(ranking.headers, ranking.board) if row.identity == identity
    )
    lines = []
    for benchmark in ranking.board.columns:
        score = row.score(benchmark)
        if score is None:
            continue
        low_high = (score.low, score.high)
        interval = "" if None in low_high else tables.format_number_range(*low_high, "{:.1f}")
        claimed = score.views.get(CLAIMED_VIEW)
        lines.append(
            {
                "title": board_titles.part_title(benchmark, current_language()),
                "computed": "–" if score.score is None else f"{score.score:.1f}",
                "interval": interval,
                "claimed": "–" if claimed is None else f"{claimed:.1f}",
            }
        )
    drawn_html.draw_template(
        "published_row",
        name=to_plain_line(ranking.names[identity], 80),
        about=" · ".join(
            to_plain_line(text, 80) for text in (entry.organization, entry.released) if text
        ),
        lines=lines,
        verdicts=ranking.source.has_verdicts,
        open=published_source.build_row_address(ranking.source, identity),
        close=drawn_html.build_address(
            page_links.RANKING, {"suite": ranking.board.suite, "source": PUBLISHED}
        ),
    )


def _load_trend(ranking: PublishedRanking, names: Mapping[str, str]) -> pd.DataFrame:
    scores = build_published_trend(ranking, tuple(names))
    return scores.assign(series=scores["identity"].map(dict(names)))
