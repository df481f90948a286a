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
from pages.components.language import Translate, note
from pages.components.text import escape

_UNDO = "datasets.removed"


def draw(
    one: DatasetEntry, numbers: DatasetSummary | None, settings: Settings, tr: Translate
) -> None:
    """The head, the way back, the cases."""
    if st.button(
        tr("datasets.back"), key="datasets.back", icon=":material/arrow_back:", type="tertiary"
    ):
        leave()
    words.badges(one, numbers, tr)
    st.header(escape(words.title(one)), anchor=False)
    if one.card is not None and one.card.note:
        st.text(one.card.note)
    if numbers is None or numbers.problem:
        reason = escape(numbers.problem if numbers else "", 400)
        st.error(tr("datasets.unreadable", reason=reason), icon=":material/error:")
        _actions(one, settings, tr, usable=False)
        return
    _facts(one, numbers, tr)
    _actions(one, settings, tr, usable=True)
    datasets_confirm.draw(one, numbers, settings, tr)
    if numbers.gated and not settings.show_gated:
        st.info(tr("note.gated"), icon=":material/lock:")
    datasets_cases.draw(one, settings, tr)
    _spread(one, numbers, tr)
    if about := datasets.read_dataset_card(one):
        with st.expander(tr("datasets.about_set"), icon=":material/description:"):
            st.markdown(about)


def leave() -> None:
    """Back to all data sets."""
    state.change(dict.fromkeys(("set", "case", "metric", "difficulty", "dialect", "q", "p")))
    st.rerun()


def _facts(one: DatasetEntry, numbers: DatasetSummary, tr: Translate) -> None:
    facts = {
        tr("datasets.cases"): f"{numbers.samples}",
        tr("datasets.metrics"): f"{len(numbers.metrics)}",
        tr("datasets.dialects"): f"{len(numbers.dialects)}" if numbers.dialects else "",
    }
    with st.container(horizontal=True, gap="large"):
        for name, value in facts.items():
            if value:
                st.metric(name, value, width="content")
    lines = [
        tr("datasets.card_verified", kinds=words.evidence(one, tr)),
        tr("datasets.card_hash", hash=numbers.hash, licence=escape(one.licence or DASH, 90)),
    ]
    if one.card is not None:
        who = escape(one.card.who or DASH, 80)
        lines.append(tr("datasets.added_by", who=who, date=one.card.added[:10]))
    if one.source:
        lines.append(tr("datasets.source", source=escape(one.source, 200)))
    st.caption("  \n".join(lines))


def _actions(one: DatasetEntry, settings: Settings, tr: Translate, *, usable: bool) -> None:
    who = visitor.current()
    with st.container(horizontal=True):
        if usable and st.button(
            tr("datasets.evaluate"),
            key="datasets.evaluate",
            type="primary",
            icon=":material/rocket_launch:",
        ):
            st.switch_page(state.LAUNCH, query_params=words.launch_query(one))
        if usable:
            datasets_confirm.button(one, settings, tr)
        if one.origin != "own":
            return
        refused = access.explain_denial(settings, who, "upload")
        former = datasets.list_trashed_versions(settings, one.benchmark, one.name)
        if former and st.button(
            tr("datasets.restore_former"),
            key="datasets.restore",
            icon=":material/history:",
            disabled=bool(refused),
            help=note(refused) if refused else tr("datasets.restore_help", count=len(former)),
        ):
            restore(one.benchmark, one.name, former[0], settings, tr)
        if st.button(
            tr("datasets.remove"),
            key="datasets.remove",
            icon=":material/delete:",
            disabled=bool(refused),
            help=note(refused) if refused else None,
        ):
            _remove(one, settings)


def _remove(one: DatasetEntry, settings: Settings) -> None:
    try:
        version = dataset_client.remove_dataset(
            one.benchmark, one.name, visitor.current(), settings
        )
    except EvalboardError as error:
        st.error(escape(error, 400), icon=":material/error:")
        return
    st.session_state[_UNDO] = (one.benchmark, one.name, version)
    leave()


def offer_undo(settings: Settings, tr: Translate) -> None:
    """After a set was removed in this session: say so, and how to get it back."""
    if _UNDO not in st.session_state:
        return
    benchmark, name, version = st.session_state[_UNDO]
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(tr("datasets.removed", name=escape(name)), width="content")
        if st.button(tr("datasets.undo"), key="datasets.undo", icon=":material/undo:"):
            restore(benchmark, name, version, settings, tr)
        if st.button(tr("datasets.dismiss"), key="datasets.dismiss", type="tertiary"):
            del st.session_state[_UNDO]
            st.rerun()


def restore(benchmark: str, name: str, version: str, settings: Settings, tr: Translate) -> None:
    """Bring a former version back and show it."""
    try:
        dataset_client.restore_dataset(benchmark, name, version, visitor.current(), settings)
    except EvalboardError as error:
        st.error(escape(error, 400), icon=":material/error:")
        return
    st.session_state.pop(_UNDO, None)
    st.toast(tr("datasets.restored", name=escape(name)), icon=":material/undo:")
    st.query_params["set"] = f"own:{benchmark}:{name}"
    st.rerun()


def _spread(one: DatasetEntry, numbers: DatasetSummary, tr: Translate) -> None:
    """How the cases of each metric fall into difficulties, where they do."""
    if len(numbers.difficulties) < 2:
        return
    levels = sorted(numbers.difficulties)
    parts = {level: tr("datasets.level", level=level) for level in levels}
    rows = [
        (words.metric_title(one.benchmark, metric), parts[level], count, count / sum(told.values()))
        for metric, told in numbers.levels.items()
        for level, count in told.items()
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
