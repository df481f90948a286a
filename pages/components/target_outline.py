"""What the Target page shows at a glance: the outline of the target beside its metrics."""

from __future__ import annotations

import streamlit as st

from evalcore.queries import targets
from evalcore.queries.boards import Board, Row
from evalcore.queries.stored_boards import Headers
from evalcore.settings import Settings
from pages.components import target_charts, target_readings
from pages.components.language import Translate

_CHART = 400  # pixels, of a chart that can be read


def draw_target_outline(
    headers: Headers, board: Board, row: Row, name: str, settings: Settings, tr: Translate
) -> bool:
    """The outline of the target and its metrics side by side, the charts of several benchmarks two
    to a line; whether there is an outline."""
    profile = target_charts.load_target_profile(headers, board, row.identity)
    axes = targets.list_radar_axes(board, row)
    profiled = target_charts.has_profile(profile, axes)
    if profiled and len(row.runs) > 1:
        with st.grid(min_column_width=_CHART):
            with st.container():
                target_charts.draw_target_profile(profile, axes, name, tr)
            target_charts.draw_metric_bars(headers, board, row.identity, tr)
        target_charts.draw_metric_bars_about(tr)
        target_readings.draw_repeated_tries(row, settings, tr)
        return True
    left, right = st.columns([5, 7], gap="large")
    with left:
        if profiled:
            target_charts.draw_target_profile(profile, axes, name, tr)
        else:
            target_readings.draw_alternate_scores(row, settings, tr)
            target_readings.draw_repeated_tries(row, settings, tr)
    with right:
        target_charts.draw_metric_bars(headers, board, row.identity, tr)
        target_charts.draw_metric_bars_about(tr)
        if profiled:
            target_readings.draw_repeated_tries(row, settings, tr)
    return profiled
