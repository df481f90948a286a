"""What a check has found: the verdict of a pair with its proof, or a table of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import streamlit as st

from evalcore.catalog import engine_cards
from evalcore.records import to_json
from evalcore.runner.jobs import Job, pair_checks
from evalcore.runner.jobs.pair_checks import PairResult
from evalcore.settings import Settings
from pages.parts.equivalent.check_form import CHECK
from pages.shared import evidence, tables, url_state, visitor, widgets
from pages.shared.wording import escape_markdown, localize_note, to_plain_line, tr

_EVERY = timedelta(seconds=0.5)
#: Status -> colour and icon.
_LOOKS: dict[str, tuple[Any, str]] = {
    "equivalent": ("green", "check_circle"),
    "different": ("red", "difference"),
    "invalid": ("orange", "error"),
    "undecided": ("gray", "help"),
}


def draw_check(settings: Settings) -> None:
    """The check that the URL names, live while it is under way."""
    name = st.query_params.get(CHECK, "")
    if not name:
        return
    check = pair_checks.find_check(name, settings)
    if check is None:
        st.warning(tr("equivalent.not_found"), icon=":material/search_off:")
    elif check.state == "running":
        st.fragment(_draw_progress, run_every=_EVERY)(name, settings)
    elif check.state == "failed":
        reason = escape_markdown(localize_note(check.error), 600)
        st.error(tr("equivalent.failed", reason=reason), icon=":material/error:")
    elif check.state != "done":
        st.warning(tr(f"equivalent.{check.state}"), icon=":material/stop_circle:")
    else:
        _draw_results(check)


def _draw_progress(name: str, settings: Settings) -> None:
    """Drawn anew twice a second; the whole page once it has ended."""
    check = pair_checks.find_check(name, settings)
    if check is None or check.state != "running":
        st.rerun()
    with st.container(border=True):
        many = tr("equivalent.checking_many", done=check.done, total=check.total)
        widgets.draw_job_bar(check, many if check.total > 1 else tr("equivalent.checking"))
        if st.button(tr("equivalent.cancel"), key="equivalent.cancel", icon=":material/stop:"):
            with widgets.show_errors():
                pair_checks.cancel_check(name, visitor.current_visitor(), settings)


def _draw_results(check: Job) -> None:
    results = pair_checks.read_results(check)
    if len(results) == 1:
        _draw_result(results[0])
        return
    counts = Counter(result.status for result in results)
    present = [status for status in _LOOKS if counts[status]]  # type: ignore[index]
    chosen = url_state.draw_pills(
        tr("equivalent.status"),
        present,
        key="equivalent.status",
        title=lambda code: f"{tr(f'equivalent.is.{code}')} ({counts[code]})",  # type: ignore[index]
    )
    shown = [result for result in results if not chosen or result.status in chosen]
    _draw_result_table(shown)
    lines = b"\n".join(to_json(result, ordered=False) for result in results) + b"\n"
    widgets.draw_download(
        tr("equivalent.download"),
        lambda: lines,
        f"equivalent-{check.name}.jsonl",
        mime="application/jsonl",
    )
    names = [f"{number}. {result.pair.id}" for number, result in enumerate(shown, 1)]
    number = st.selectbox(
        tr("equivalent.pair"),
        range(len(shown)),
        format_func=lambda number: to_plain_line(names[number], 80),
    )
    if number is not None:
        pair = shown[number].pair
        left, right = st.columns(2)
        for column, side in ((left, "reference"), (right, "answer")):
            with column:
                st.caption(tr(f"equivalent.{side}"))
                evidence.draw_verbatim(getattr(pair, side), "sql")
        _draw_result(shown[number])


def _draw_result_table(results: Sequence[PairResult]) -> None:
    columns = {
        "id": [to_plain_line(result.pair.id, 80) for result in results],
        "status": [tr(f"equivalent.is.{result.status}") for result in results],
        "level": [_format_level(result) for result in results],
        "engine": [engine_title(result.pair.engine) for result in results],
        "message": [to_plain_line(localize_note(result.message), 300) for result in results],
    }
    config = {
        "id": tables.text_column("equivalent.id", 140),
        "status": tables.text_column("equivalent.status", 110),
        "level": tables.text_column("equivalent.level", 170),
        "engine": tables.text_column("equivalent.engine", 110),
        "message": tables.text_column("equivalent.message", "large"),
    }
    tables.draw_grid(columns, config, tr("equivalent.table_alt"), tallest=10)


def _draw_result(result: PairResult) -> None:
    """The verdict, what it rests on, and the database on which the statements differ."""
    colour, icon = _LOOKS[result.status]
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            word = tr(f"equivalent.is.{result.status}")
            st.badge(word, color=colour, icon=f":material/{icon}:")
            if level := _format_level(result):
                st.badge(level, color="blue", icon=":material/verified:")
            st.badge(escape_markdown(engine_title(result.pair.engine)), color="gray")
        st.markdown(escape_markdown(localize_note(result.message), 1_000))
        for section in result.evidence:
            evidence.draw_evidence_section(section)


def engine_title(name: str) -> str:
    """What people call an engine; its name where it is installed no longer."""
    card = engine_cards().get(name)
    return card.title if card else name


def _format_level(result: PairResult) -> str:
    if result.status != "equivalent":
        return ""
    facts = {"proof_rows": result.proof_rows, "databases": result.databases}
    return evidence.format_level(result.level, facts)
