"""A chart with the words that stand for it, and a menu that gives it as PNG, SVG or CSV.

The files are made when somebody asks for one, in the colours of the theme that is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from evalcore import chart_files
from evalcore.chart_files import Theme
from pages.components.csv_file import to_csv_bytes
from pages.components.language import Translate

_BUTTON, _GAP = 56, 16  # pixels: a button with the gap to the next one
_MEDIA = {**chart_files.FORMATS, "csv": "text/csv"}


def draw_chart_frame(
    chart: alt.TopLevelMixin,
    tr: Translate,
    *,
    name: str,
    title: str,
    alt_text: str,
    data: Callable[[], pd.DataFrame] | None = None,
    source: str = "",
    **chart_options: Any,
) -> Any:
    """The chart, and below it the menu; returns what `st.altair_chart` returns.

    `name` tells the charts of a page apart and names the files, `title` and `source` (what board,
    what metric) are drawn into the pictures, `data` makes what the CSV holds; `chart_options` goes
    to `st.altair_chart` (width "stretch" by default).
    """
    event = st.altair_chart(chart, alt=alt_text, **{"width": "stretch", **chart_options})
    source_line = " · ".join(filter(None, ("Evalboard", source)))
    theme: Theme = "dark" if st.context.theme.type == "dark" else "light"
    makers: dict[str, Callable[[], bytes]] = {}
    if chart_files.has_chart_renderer():
        makers |= {
            form: _build_picture_maker(chart, form, title, source_line, theme)
            for form in ("png", "svg")
        }
    if data is not None:
        makers["csv"] = lambda: _build_csv_bytes(data())
    _draw_save_menu(makers, name, tr)
    return event


def _draw_save_menu(makers: dict[str, Callable[[], bytes]], name: str, tr: Translate) -> None:
    if not makers:
        return
    with st.container(horizontal=True, horizontal_alignment="right"):
        menu = st.popover(
            tr("chart.save"),
            icon=":material/download:",
            type="tertiary",
            key=f"chart.{name}.menu",
            on_change="rerun",
        )
    if not menu.open:  # a page has many charts, and a visitor saves one of them at most
        menu.space(_BUTTON * len(makers) - _GAP)  # it opens to where there is room for all of them
        return
    with menu:
        for form, make in makers.items():
            st.download_button(
                tr(f"chart.{form}"),
                make,
                file_name=f"evalboard-{name}.{form}",
                mime=_MEDIA[form],
                key=f"chart.{name}.{form}",
                on_click="ignore",
                type="tertiary",
            )


def _build_picture_maker(
    chart: alt.TopLevelMixin, form: str, title: str, source: str, theme: Theme
) -> Callable[[], bytes]:
    def render_picture() -> bytes:
        return chart_files.render_chart_file(
            chart.to_dict(), form, title=title, source=source, theme=theme
        )

    return render_picture


def _build_csv_bytes(data: pd.DataFrame) -> bytes:
    """With the mark by which spreadsheets know UTF-8, and without formulas of strangers."""
    return b"\xef\xbb\xbf" + to_csv_bytes(data)
