"""What a metric measures, its weight, how many cases it has and what its verdicts rest on."""

from __future__ import annotations

import streamlit as st

from evalcore.queries import board_words
from evalcore.queries.metric_board import MetricView
from pages.components import numbers
from pages.components.board import benchmark_title, metric_title
from pages.components.language import Translate, current_language
from pages.components.metrics_data import BoardMetric
from pages.components.text import escape_markdown


def draw_metric_card(part: BoardMetric, view: MetricView, tr: Translate) -> None:
    """Title, description and badges."""
    column = part.board.columns[part.benchmark]
    card, evidence = column.card.find_metric(part.metric), column.evidence(part.metric)
    with st.container(border=True, gap="small"):
        name = escape_markdown(metric_title(part.benchmark, part.metric))
        st.markdown(f"**{name}** · {escape_markdown(benchmark_title(part.benchmark))}")
        about = board_words.metric_about(
            part.board, part.benchmark, part.metric, current_language()
        )
        if about:
            st.markdown(escape_markdown(about, 1000))
        with st.container(horizontal=True, gap="small"):
            weight = view.weight if view.cases else card.weight
            st.badge(_format_metric_weight(weight, tr), color="gray", icon=":material/balance:")
            st.badge(
                tr("ranking.cases", count=view.cases),
                color="gray",
                icon=":material/checklist:",
            )
            # In a mode that decides otherwise, runs of an older version name the metric's own kind.
            counted = view.evidence if evidence == card.evidence else {}
            kinds = counted or {evidence: 1.0}
            for kind, share in ({"published": 1.0} if part.board.taken_over else kinds).items():
                word = tr(f"common.evidence.{kind}")
                st.badge(
                    word if share == 1 else f"{word} {share:.0%}",
                    color="violet",
                    icon=":material/verified:",
                    help=tr(f"common.evidence.{kind}.about"),
                )


def _format_metric_weight(weight: float | None, tr: Translate) -> str:
    if weight is None:
        return tr("metrics.unscored")
    return tr("metrics.weight", weight=numbers.format_weight(weight))
