"""The two forms of a check: a pair of statements typed in, and a file of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from evalcore.catalog import engine_cards
from evalcore.runner.jobs import pair_checks
from evalcore.runner.jobs.pair_checks import Pair
from evalcore.settings import Settings
from pages.shared import page_links, visitor, widgets
from pages.shared.wording import tr

#: The query parameter that names a check.
CHECK = "check"
_FILLED = "equivalent.filled"
_ORDERS = {"reference": None, "ordered": True, "any": False}
_HEIGHT = 122  # pixels of a field for SQL


class _Example(NamedTuple):
    """A pair that shows what the check finds, on any engine."""

    schema: str
    reference: str
    answer: str


_CUSTOMERS = """CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, total INTEGER);"""
_STAFF = """CREATE TABLE staff (
  id INTEGER PRIMARY KEY, team TEXT NOT NULL, salary INTEGER NOT NULL
);"""
EXAMPLES = {
    "null": _Example(
        _CUSTOMERS,
        "SELECT name FROM customers\nWHERE id NOT IN (SELECT customer_id FROM orders)",
        "SELECT name FROM customers c\nWHERE NOT EXISTS (\n"
        "  SELECT 1 FROM orders o WHERE o.customer_id = c.id\n)",
    ),
    "join": _Example(
        _CUSTOMERS,
        "SELECT c.name FROM customers c\n"
        "LEFT JOIN orders o ON o.customer_id = c.id\nWHERE o.total > 100",
        "SELECT c.name FROM customers c\nJOIN orders o ON o.customer_id = c.id AND o.total > 100",
    ),
    "rank": _Example(
        _STAFF,
        "SELECT s.team, s.id FROM staff s\n"
        "WHERE s.salary = (SELECT MAX(t.salary) FROM staff t WHERE t.team = s.team)",
        "SELECT team, id FROM (\n  SELECT team, id,\n"
        "    ROW_NUMBER() OVER (PARTITION BY team ORDER BY salary DESC) AS rn\n"
        "  FROM staff\n) AS ranked\nWHERE rn = 1",
    ),
}


def draw_pair_form(settings: Settings) -> None:
    """Engine, schema and two statements; a link to a check fills them with its pair."""
    _fill_from_link(settings)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(tr("equivalent.examples"), width="content")
        for name, example in EXAMPLES.items():
            st.button(
                tr(f"equivalent.example.{name}"),
                key=f"equivalent.example.{name}",
                type="tertiary",
                on_click=_fill_fields,
                args=(example,),
            )
    with st.form("equivalent.form"):
        left, right = st.columns(2)
        engine = left.selectbox(
            tr("equivalent.engine"),
            list(engine_cards()),
            format_func=lambda name: engine_cards()[name].title,
            key="equivalent.engine",
        )
        order = right.selectbox(
            tr("equivalent.order"),
            list(_ORDERS),
            format_func=lambda code: tr(f"equivalent.order.{code}"),
            key="equivalent.order",
            help=tr("equivalent.order_help"),
        )
        schema = _draw_sql_field("schema")
        left, right = st.columns(2)
        with left:
            reference = _draw_sql_field("reference")
        with right:
            answer = _draw_sql_field("answer")
        if _draw_submit_button():
            pair = Pair("", engine, schema, reference, answer, ordered=_ORDERS[order])
            _start_check([pair], settings)


def draw_file_form(settings: Settings) -> None:
    """A JSON Lines file of pairs."""
    st.markdown(tr("equivalent.file_about", limit=pair_checks.MAX_PAIRS))
    example = '{"id": "q1", "engine": "postgres", "schema": "CREATE TABLE …", '
    st.code(example + '"reference": "SELECT …", "answer": "SELECT …"}', language="json")
    if visitor.explain_refusal("launch"):
        return
    uploaded = visitor.draw_uploader(
        tr("equivalent.file"),
        types=["jsonl"],
        megabytes=pair_checks.MAX_FILE_BYTES >> 20,
        key="equivalent.file",
        explanation=tr("equivalent.file_help"),
    )
    with st.form("equivalent.file_form", border=False):
        if _draw_submit_button() and uploaded is not None:
            with widgets.show_errors(limit=600):
                _start_check(pair_checks.read_pairs(uploaded.getvalue().splitlines()), settings)


def _draw_sql_field(name: str) -> str:
    text = st.text_area(
        tr(f"equivalent.{name}"),
        key=f"equivalent.{name}",
        height=_HEIGHT,
        placeholder=tr(f"equivalent.{name}_hint"),
    )
    return str(text or "")


def _draw_submit_button() -> bool:
    denial = visitor.explain_refusal("launch")
    return st.form_submit_button(
        tr("equivalent.check"), type="primary", icon=":material/rule:", disabled=bool(denial)
    )


def _start_check(pairs: Sequence[Pair], settings: Settings) -> None:
    with widgets.show_errors():
        name = pair_checks.start_check(pairs, visitor.current_visitor(), settings)
        st.session_state[_FILLED] = name
        page_links.set_query_param(CHECK, name)


def _fill_from_link(settings: Settings) -> None:
    """The fields of a check that a link names, once; what a person types stays."""
    name = st.query_params.get(CHECK, "")
    if not name or st.session_state.get(_FILLED) == name:
        return
    check = pair_checks.find_check(name, settings)
    results = pair_checks.read_results(check) if check and check.state == "done" else []
    if len(results) == 1:
        pair = results[0].pair
        _fill_fields(_Example(";\n".join(pair.schema_scripts), pair.reference, pair.answer))
        orders = {ordered: code for code, ordered in _ORDERS.items()}
        st.session_state.update(
            {
                _FILLED: name,
                "equivalent.engine": pair.engine,
                "equivalent.order": orders[pair.ordered],
            }
        )


def _fill_fields(example: _Example) -> None:
    for field, text in example._asdict().items():
        st.session_state[f"equivalent.{field}"] = text
