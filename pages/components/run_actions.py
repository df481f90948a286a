"""What can be done with a run, by its state, and taking back a deletion."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.queries import runs
from evalcore.queries.runs import RunRow
from evalcore.runner import client
from evalcore.settings import Settings
from pages.components import keys, run_detail, state, visitor
from pages.components.language import Translate, localize_note
from pages.components.text import escape_markdown

_DELETED, _MESSAGE = "runs.deleted", "runs.said"
#: The actions offered in each state, in the order of their buttons.
ACTIONS_BY_STATE: dict[str, tuple[str, ...]] = {
    "planned": ("cancel", "resume", "delete"),
    "running": ("cancel",),
    "done": ("rescore", "delete"),
    "incomplete": ("resume", "rescore", "delete"),
    "cancelled": ("resume", "rescore", "delete"),
    "interrupted": ("resume", "delete"),
    "broken": ("delete",),
}
_ICONS = {
    "cancel": ":material/stop_circle:",
    "resume": ":material/play_arrow:",
    "rescore": ":material/rule:",
    "delete": ":material/delete:",
}


def list_run_actions(row: RunRow) -> tuple[str, ...]:
    """The actions for a run: none on one that comes with the project, no rescoring of imports."""
    if not row.own:
        return ()
    names = ACTIONS_BY_STATE[row.state]
    return names if row.origin == "executed" else tuple(n for n in names if n == "delete")


def draw_run_actions(row: RunRow, settings: Settings, tr: Translate) -> None:
    """The buttons; resuming asks first for the keys that nobody has set."""
    denial = visitor.explain_refusal("steer") or visitor.explain_refusal("launch")
    names = () if denial else list_run_actions(row)
    missing = _ask_for_missing_keys(row, settings, tr) if "resume" in names else []
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        run_detail.draw_run_links(row, settings, tr)
        for name in names:
            if st.button(
                tr(f"runs.do.{name}"),
                key=f"runs.do.{name}.{row.run_id}",  # a late click never hits another run
                icon=_ICONS[name],
                type="primary" if name == "resume" else "secondary",
                disabled=name == "resume" and bool(missing),
            ):
                _perform_run_action(name, row, settings, tr)
    if not row.own:
        st.caption(tr("runs.read_only"))
    elif denial and visitor.is_launcher_listed():
        st.caption(f":material/lock: {escape_markdown(denial, 300)}")


def _ask_for_missing_keys(row: RunRow, settings: Settings, tr: Translate) -> list[str]:
    try:
        target = runs.load_run_target(settings.run_roots, row.run_id)
        names = client.missing_keys(target.key, target.options, settings)
    except EvalboardError as error:
        st.warning(escape_markdown(error, 400), icon=":material/key_off:")
        return []
    keys.ask_for_keys(names, tr)
    return keys.list_missing_keys(names)


def _perform_run_action(name: str, row: RunRow, settings: Settings, tr: Translate) -> None:
    acting_visitor = visitor.current_visitor()
    calls: dict[str, Callable[[], object]] = {
        "cancel": lambda: client.cancel_run(row.run_id, settings, visitor=acting_visitor),
        "resume": lambda: client.resume_run(
            row.run_id, keys.collect_typed_keys(), settings, visitor=acting_visitor
        ),
        "rescore": lambda: client.rescore_run(row.run_id, settings, visitor=acting_visitor),
        "delete": lambda: client.delete_run(row.run_id, settings, visitor=acting_visitor),
    }
    try:
        with st.spinner(tr(f"runs.busy.{name}")):
            calls[name]()
            runs.clear_run_cache()
    except EvalboardError as error:
        st.error(escape_markdown(localize_note(str(error)), 600), icon=":material/error:")
        return
    st.session_state[_MESSAGE] = tr(f"runs.did.{name}")
    if name == "delete":
        st.session_state[_DELETED] = row.run_id
        state.set_query_param("run", None)
    st.rerun()


def draw_action_message(settings: Settings, tr: Translate) -> None:
    """Say once what was done; a deletion stays to be taken back until the page is left."""
    message = st.session_state.pop(_MESSAGE, None)
    if message:
        st.toast(message, icon=":material/check:")
    deleted = st.session_state.get(_DELETED)
    if not deleted:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(tr("runs.deleted", run=escape_markdown(deleted)))
        if st.button(tr("runs.undo"), icon=":material/undo:", key="runs.do.undo"):
            _undo_delete(deleted, settings, tr)
        if st.button(tr("runs.dismiss"), key="runs.do.dismiss", type="tertiary"):
            st.session_state.pop(_DELETED)
            st.rerun()


def _undo_delete(run: str, settings: Settings, tr: Translate) -> None:
    try:
        client.restore_run(run, settings, visitor=visitor.current_visitor())
        runs.clear_run_cache()
    except EvalboardError as error:
        st.error(escape_markdown(error, 600), icon=":material/error:")
        return
    st.session_state.pop(_DELETED)
    st.session_state[_MESSAGE] = tr("runs.did.restore")
    state.set_query_param("run", run)
    st.rerun()
