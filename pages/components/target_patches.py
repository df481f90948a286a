"""Measures of patches that need no test to be run: under a title of their own, since they rank
nothing."""

from __future__ import annotations

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.i18n import lookup_text
from evalcore.queries import alternate_scores, failures
from evalcore.records import BenchmarkScore
from evalcore.settings import Settings
from pages.components import numbers, word_table
from pages.components.board import benchmark_title
from pages.components.language import Translate, current_language
from pages.components.text import escape_markdown, to_plain_line


def draw_patch_measures(
    score: BenchmarkScore, run: str, settings: Settings, tr: Translate, *, show_benchmark: bool
) -> None:
    """The measures of a benchmark that asks for patches, and how many of its tasks were set aside;
    nothing for any other."""
    table = alternate_scores.build_patch_measures(score)
    if table.empty:
        return
    title = tr("target.patch")
    st.subheader(
        f"{title} · {benchmark_title(score.benchmark)}" if show_benchmark else title, anchor=False
    )
    st.caption(tr("target.patch_about"))
    word_table.draw_word_table(
        {
            tr("target.patch_measure"): [_patch_measure_title(name) for name in table["measure"]],
            tr("target.patch_value"): [numbers.format_score(value) for value in table["value"]],
        },
        tr("target.patch_alt"),
    )
    try:
        count = failures.count_unusable_tasks(settings.run_roots, run, score.benchmark)
    except EvalboardError as error:
        st.warning(
            tr("target.cases_broken", reason=escape_markdown(error, 400)), icon=":material/error:"
        )
        return
    if count:
        st.caption(tr("target.patch_unusable", count=count))


def _patch_measure_title(measure: str) -> str:
    return lookup_text(f"target.group.{measure}", current_language()) or to_plain_line(measure)
