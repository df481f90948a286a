"""What was found in a file: every error with what to do about it, or the cases as read."""

from __future__ import annotations

import re

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.runner.dataset_client import Validation
from pages.components import datasets_words as words
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown, to_plain_line

#: What to do about a problem, by what its English sentence holds; the first that fits.
_HINTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), key)
    for pattern, key in (
        (
            r"engine gives|parser gives|engine ended|not pass\b|not fail\b|with the label",
            "datasets.hint.gold",
        ),
        (r"UTF-8|UTF-16|NUL", "datasets.hint.encoding"),
        (r"MB; at most|cases; at most|longer than", "datasets.hint.size"),
        (r"one JSON object a line|is not a JSON object", "datasets.hint.object"),
        (r"not JSON|nested too deep|twice$|which is not JSON", "datasets.hint.json"),
        (r"CSV|cells, the header|columns", "datasets.hint.csv"),
        (r"which is none of", "datasets.hint.column"),
        (r"already$|stands here twice|is there twice", "datasets.hint.twice"),
        (r"holds no case", "datasets.hint.empty"),
        (r"is missing", "datasets.hint.missing"),
        (r"is none of|unknown|must be \"1\"|is not 1, 2 or 3", "datasets.hint.choice"),
    )
)


def draw_validation(benchmark: str, validation: Validation, tr: Translate) -> None:
    """The errors, or the numbers and the first cases."""
    if validation.ok:
        _draw_valid_cases(benchmark, validation, tr)
    else:
        _draw_validation_errors(validation, tr)


def _draw_validation_errors(validation: Validation, tr: Translate) -> None:
    text_key = "datasets.errors_more" if validation.more else "datasets.errors"
    st.error(tr(text_key, count=len(validation.errors)), icon=":material/error:")
    rows = [
        (
            error.line or None,
            to_plain_line(error.field, 60) or None,
            to_plain_line(localize_note(error.problem), 300),
            tr(find_error_hint(error.problem)),
        )
        for error in validation.errors
    ]
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["line", "field", "problem", "hint"]).astype({"line": "Int64"}),
        hide_index=True,
        height=38 + 35 * min(len(rows), 12),
        placeholder=DASH,
        column_config={
            "line": column_config.NumberColumn(tr("datasets.line"), width=56),
            "field": column_config.TextColumn(tr("datasets.field"), width=130),
            "problem": column_config.TextColumn(tr("datasets.problem"), width=420),
            "hint": column_config.TextColumn(tr("datasets.what_to_do"), width=380),
        },
        alt=tr("datasets.errors_alt"),
        key="datasets.errors",
    )
    st.caption(tr("datasets.errors_about"))


def find_error_hint(problem: str) -> str:
    """The key of what to do about a problem."""
    return next((key for pattern, key in _HINTS if pattern.search(problem)), "datasets.hint.other")


def _draw_valid_cases(benchmark: str, validation: Validation, tr: Translate) -> None:
    summary = validation.summary
    st.success(
        tr("datasets.valid", count=summary.samples, hash=summary.hash), icon=":material/check:"
    )
    if validation.unconfirmed:
        reason = escape_markdown(localize_note(validation.reason), 300)
        st.warning(
            tr("datasets.unconfirmed", count=validation.unconfirmed, reason=reason),
            icon=":material/rule:",
        )
    counts_by_title = {words.metric_title(benchmark, m): n for m, n in summary.metrics.items()}
    lines = [
        words.format_value_counts(counts_by_title, tr),
        words.format_difficulty_counts(summary, tr),
    ]
    lines.append(words.format_value_counts(summary.dialects, tr))
    st.caption("  \n".join(filter(None, lines)))
    rows = [
        (
            to_plain_line(preview.id, 60),
            words.metric_title(benchmark, preview.metric),
            preview.difficulty,
            to_plain_line(preview.dialect, 60) or None,
            to_plain_line(preview.text, 160),
        )
        for preview in validation.preview
    ]
    column_config = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["id", "metric", "difficulty", "dialect", "text"]),
        hide_index=True,
        height=38 + 35 * min(len(rows), 8),
        placeholder=DASH,
        column_config={
            "id": column_config.TextColumn(tr("common.case"), width=120),
            "metric": column_config.TextColumn(tr("common.metric"), width=150),
            "difficulty": column_config.NumberColumn(tr("common.difficulty"), width=80),
            "dialect": column_config.TextColumn(tr("datasets.filter.dialect"), width=110),
            "text": column_config.TextColumn(tr("datasets.asked"), width=420),
        },
        alt=tr("datasets.preview_alt"),
        key="datasets.preview",
    )
    if len(validation.preview) < summary.samples:
        st.caption(
            tr("datasets.preview_more", shown=len(validation.preview), count=summary.samples)
        )
