"""One data set: its numbers, what it rests on, its cases, and what can be done with it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from evalcore import access
from evalcore.errors import EvalboardError
from evalcore.plain_text import DASH
from evalcore.queries import datasets
from evalcore.queries.datasets import DatasetEntry, DatasetSummary
from evalcore.runner import dataset_client
from evalcore.settings import Settings
from evalcore.stacked import build_stacked_bars
from pages.components import datasets_cases, datasets_confirm, state, visitor
from pages.components import datasets_words as words
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

_UNDO = "datasets.removed"


def draw_dataset(
    entry: DatasetEntry, summary: DatasetSummary | None, settings: Settings, tr: Translate
) -> None:
    """The head, the way back, the cases."""
    if st.button(
        tr("datasets.back"), key="datasets.back", icon=":material/arrow_back:", type="tertiary"
    ):
        leave_dataset()
    words.draw_dataset_badges(entry, summary, tr)
    st.header(escape_markdown(words.dataset_title(entry)), anchor=False)
    if entry.card is not None and entry.card.note:
        st.text(entry.card.note)
    if summary is None or summary.problem:
        reason = escape_markdown(summary.problem if summary else "", 400)
        st.error(tr("datasets.unreadable", reason=reason), icon=":material/error:")
        _draw_dataset_actions(entry, settings, tr, usable=False)
        return
    _draw_dataset_facts(entry, summary, tr)
    _draw_dataset_actions(entry, settings, tr, usable=True)
    datasets_confirm.draw_confirmation(entry, summary, settings, tr)
    if summary.gated and not settings.show_gated:
        st.info(tr("note.gated"), icon=":material/lock:")
    datasets_cases.draw_dataset_cases(entry, settings, tr)
    _draw_difficulty_spread(entry, summary, tr)
    if about := datasets.read_dataset_card(entry):
        with st.expander(tr("datasets.about_set"), icon=":material/description:"):
            st.markdown(about)


def leave_dataset() -> None:
    """Back to all data sets."""
    state.set_query_params(
        dict.fromkeys(("set", "case", "metric", "difficulty", "dialect", "q", "p"))
    )
    st.rerun()


def _draw_dataset_facts(entry: DatasetEntry, summary: DatasetSummary, tr: Translate) -> None:
    facts = {
        tr("datasets.cases"): f"{summary.samples}",
        tr("datasets.metrics"): f"{len(summary.metrics)}",
        tr("datasets.dialects"): f"{len(summary.dialects)}" if summary.dialects else "",
    }
    with st.container(horizontal=True, gap="large"):
        for name, value in facts.items():
            if value:
                st.metric(name, value, width="content")
    lines = [
        tr("datasets.card_verified", kinds=words.format_evidence_kinds(entry, tr)),
        tr(
            "datasets.card_hash",
            hash=summary.hash,
            licence=escape_markdown(entry.licence or DASH, 90),
        ),
    ]
    if entry.card is not None:
        author = escape_markdown(entry.card.who or DASH, 80)
        lines.append(tr("datasets.added_by", who=author, date=entry.card.added[:10]))
    if entry.source:
        lines.append(tr("datasets.source", source=escape_markdown(entry.source, 200)))
    st.caption("  \n".join(lines))


def _draw_dataset_actions(
    entry: DatasetEntry, settings: Settings, tr: Translate, *, usable: bool
) -> None:
    acting_visitor = visitor.current_visitor()
    with st.container(horizontal=True):
        if usable and st.button(
            tr("datasets.evaluate"),
            key="datasets.evaluate",
            type="primary",
            icon=":material/rocket_launch:",
        ):
            st.switch_page(state.LAUNCH, query_params=words.build_launch_query(entry))
        if usable:
            datasets_confirm.draw_confirm_button(entry, settings, tr)
        if entry.origin != "own":
            return
        denial = access.explain_denial(settings, acting_visitor, "upload")
        former_versions = datasets.list_trashed_versions(settings, entry.benchmark, entry.name)
        if former_versions and st.button(
            tr("datasets.restore_former"),
            key="datasets.restore",
            icon=":material/history:",
            disabled=bool(denial),
            help=localize_note(denial)
            if denial
            else tr("datasets.restore_help", count=len(former_versions)),
        ):
            restore_former_version(entry.benchmark, entry.name, former_versions[0], settings, tr)
        if st.button(
            tr("datasets.remove"),
            key="datasets.remove",
            icon=":material/delete:",
            disabled=bool(denial),
            help=localize_note(denial) if denial else None,
        ):
            _remove_and_leave(entry, settings)


def _remove_and_leave(entry: DatasetEntry, settings: Settings) -> None:
    try:
        version = dataset_client.remove_dataset(
            entry.benchmark, entry.name, visitor.current_visitor(), settings
        )
    except EvalboardError as error:
        st.error(escape_markdown(error, 400), icon=":material/error:")
        return
    st.session_state[_UNDO] = (entry.benchmark, entry.name, version)
    leave_dataset()


def offer_dataset_undo(settings: Settings, tr: Translate) -> None:
    """After a set was removed in this session: say so, and how to get it back."""
    if _UNDO not in st.session_state:
        return
    benchmark, name, version = st.session_state[_UNDO]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(tr("datasets.removed", name=escape_markdown(name)), width="content")
        if st.button(tr("datasets.undo"), key="datasets.undo", icon=":material/undo:"):
            restore_former_version(benchmark, name, version, settings, tr)
        if st.button(tr("datasets.dismiss"), key="datasets.dismiss", type="tertiary"):
            del st.session_state[_UNDO]
            st.rerun()


def restore_former_version(
    benchmark: str, name: str, version: str, settings: Settings, tr: Translate
) -> None:
    """Bring a former version back and show it."""
    try:
        dataset_client.restore_dataset(
            benchmark, name, version, visitor.current_visitor(), settings
        )
    except EvalboardError as error:
        st.error(escape_markdown(error, 400), icon=":material/error:")
        return
    st.session_state.pop(_UNDO, None)
    st.toast(tr("datasets.restored", name=escape_markdown(name)), icon=":material/undo:")
    st.query_params["set"] = f"own:{benchmark}:{name}"
    st.rerun()


def _draw_difficulty_spread(entry: DatasetEntry, summary: DatasetSummary, tr: Translate) -> None:
    """How the cases of each metric fall into difficulties, where they do."""
    if len(summary.difficulties) < 2:
        return
    levels = sorted(summary.difficulties)
    parts = {level: tr("datasets.level", level=level) for level in levels}
    rows = [
        (
            words.metric_title(entry.benchmark, metric),
            parts[level],
            count,
            count / sum(counts.values()),
        )
        for metric, counts in summary.levels.items()
        for level, count in counts.items()
    ]
    frame = pd.DataFrame(rows, columns=["name", "part", "count", "share"])
    labels = {
        "name": tr("common.metric"),
        "part": tr("common.difficulty"),
        "count": tr("datasets.cases"),
        "share": tr("datasets.share"),
    }
    with st.expander(tr("datasets.spread"), icon=":material/stacked_bar_chart:"):
        st.altair_chart(
            build_stacked_bars(frame, list(parts.values()), labels),
            width="stretch",
            alt=tr("datasets.spread_alt"),
        )
