"""What was found in a file: every error with what to do about it, or the cases as read."""

from __future__ import annotations

import re

import pandas as pd
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.runner.dataset_client import Validation
from pages.components import datasets_words as words
from pages.components.language import Translate, note
from pages.components.text import escape, plain

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


def draw(benchmark: str, found: Validation, tr: Translate) -> None:
    """The errors, or the numbers and the first cases."""
    if found.ok:
        _cases(benchmark, found, tr)
    else:
        _errors(found, tr)


def _errors(found: Validation, tr: Translate) -> None:
    many = "datasets.errors_more" if found.more else "datasets.errors"
    st.error(tr(many, count=len(found.errors)), icon=":material/error:")
    rows = [
        (
            error.line or None,
            plain(error.field, 60) or None,
            plain(note(error.problem), 300),
            tr(hint(error.problem)),
        )
        for error in found.errors
    ]
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["line", "field", "problem", "hint"]).astype({"line": "Int64"}),
        hide_index=True,
        height=38 + 35 * min(len(rows), 12),
        placeholder=DASH,
        column_config={
            "line": kinds.NumberColumn(tr("datasets.line"), width=56),
            "field": kinds.TextColumn(tr("datasets.field"), width=130),
            "problem": kinds.TextColumn(tr("datasets.problem"), width=420),
            "hint": kinds.TextColumn(tr("datasets.what_to_do"), width=380),
        },
        alt=tr("datasets.errors_alt"),
        key="datasets.errors",
    )
    st.caption(tr("datasets.errors_about"))


def hint(problem: str) -> str:
    """The key of what to do about a problem."""
    return next((key for form, key in _HINTS if form.search(problem)), "datasets.hint.other")


def _cases(benchmark: str, found: Validation, tr: Translate) -> None:
    numbers = found.summary
    st.success(
        tr("datasets.valid", count=numbers.samples, hash=numbers.hash), icon=":material/check:"
    )
    if found.unconfirmed:
        reason = escape(note(found.reason), 300)
        st.warning(
            tr("datasets.unconfirmed", count=found.unconfirmed, reason=reason),
            icon=":material/rule:",
        )
    titled = {words.metric_title(benchmark, m): n for m, n in numbers.metrics.items()}
    lines = [words.split(titled, tr), words.difficulties(numbers, tr)]
    lines.append(words.split(numbers.dialects, tr))
    st.caption("  \n".join(filter(None, lines)))
    rows = [
        (
            plain(one.id, 60),
            words.metric_title(benchmark, one.metric),
            one.difficulty,
            plain(one.dialect, 60) or None,
            plain(one.text, 160),
        )
        for one in found.preview
    ]
    kinds = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["id", "metric", "difficulty", "dialect", "text"]),
        hide_index=True,
        height=38 + 35 * min(len(rows), 8),
        placeholder=DASH,
        column_config={
            "id": kinds.TextColumn(tr("common.case"), width=120),
            "metric": kinds.TextColumn(tr("common.metric"), width=150),
            "difficulty": kinds.NumberColumn(tr("common.difficulty"), width=80),
            "dialect": kinds.TextColumn(tr("datasets.filter.dialect"), width=110),
            "text": kinds.TextColumn(tr("datasets.asked"), width=420),
        },
        alt=tr("datasets.preview_alt"),
        key="datasets.preview",
    )
    if len(found.preview) < numbers.samples:
        st.caption(tr("datasets.preview_more", shown=len(found.preview), count=numbers.samples))
