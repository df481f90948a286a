"""Own cases without a file: paste SQL, confirm its dialect, check what an engine gives, save."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pandas as pd
import streamlit as st

from evalcore.access import policy
from evalcore.catalog import engine_cards
from evalcore.runner.drafts import (
    MAX_PASTED_BYTES,
    MAX_STATEMENTS,
    Draft,
    DraftInput,
    asks_conversion,
    build_upload,
    list_draft_parts,
    make_slug,
)
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import OwnCard
from evalcore.settings import Settings
from evalcore.views.board_titles import DIALECT_TITLES
from evalcore.views.datasets import list_dataset_entries
from pages.parts.datasets import upload
from pages.shared import url_state, visitor, widgets
from pages.shared.board_view import select_benchmark
from pages.shared.tables import draw_grid, number_column, text_column
from pages.shared.wording import escape_markdown, localize_note, to_plain_line, tr

_TEXTS = ("schema", "statements")
_GUESS, _DRAFT = "datasets.paste.guess", "datasets.paste.draft"
_SURE = 0.6  # of a guess that needs no second look
_REWRITE = "rewrite"


def draw_paste(settings: Settings) -> None:
    """The steps one below the other; each begins when the one before is done."""
    denial = policy.explain_denial(settings, visitor.current_visitor(), "upload")
    st.caption(tr("datasets.paste.about"))
    if denial:
        widgets.draw_refusal(localize_note(denial))
        return
    with st.container(border=True):
        asked = _draw_input()
    guessed = _draw_guess(asked, settings)
    if guessed is None:
        return
    with st.container(border=True):
        asked = _draw_dialect(asked, guessed)
        if st.button(tr("datasets.paste.run"), type="primary", icon=":material/play_arrow:"):
            _run_draft(asked, settings)
    stored_input, draft = st.session_state.get(_DRAFT, (None, None))
    if draft is None or stored_input is None or _without_references(stored_input) != asked:
        return
    with st.container(border=True):
        chosen = _draw_preview(stored_input, draft, settings)
    if chosen is not None:
        with st.container(border=True):
            _draw_save(stored_input, chosen, settings)


def _draw_input() -> DraftInput:
    st.subheader(tr("datasets.paste.input"), anchor=False)
    with st.container(horizontal=True):
        benchmark = select_benchmark(list(list_draft_parts()), "datasets.benchmark")
        part = url_state.draw_select(
            tr("datasets.part"),
            list(list_draft_parts()[benchmark]),
            "datasets.part",
            lambda code: upload.case_part_title(benchmark, code),
            drawn_alone=False,
        )
    _take_files()
    schema, statements = (
        st.text_area(
            tr(f"datasets.paste.{name}"),
            key=f"datasets.paste.{name}",
            height=200,
            max_chars=MAX_PASTED_BYTES,
            placeholder=tr(f"datasets.paste.{name}_hint"),
            persist_state="session",
        )
        for name in _TEXTS
    )
    limits = {"size": MAX_PASTED_BYTES >> 10, "count": MAX_STATEMENTS}
    st.caption(tr("datasets.paste.limits", **limits))
    return DraftInput(benchmark, part, schema or "", statements or "")


def _take_files() -> None:
    """Files fill the fields once, so that what is edited afterwards stays."""
    with st.expander(tr("datasets.paste.file"), icon=":material/upload_file:"):
        for name in _TEXTS:
            look = {"types": ["sql", "txt"], "key": f"datasets.paste.file.{name}"}
            label = tr(f"datasets.paste.file_{name}")
            uploaded = visitor.draw_uploader(label, megabytes=1, explanation=label, **look)
            seen = f"datasets.paste.file.{name}.seen"
            if uploaded is None or st.session_state.get(seen) == uploaded.file_id:
                continue
            content = uploaded.getvalue()
            st.session_state[seen] = uploaded.file_id
            st.session_state[f"datasets.paste.{name}"] = content.decode("utf-8-sig", "replace")
            size = f"{len(content) / 1024:.1f}"
            st.caption(
                tr("datasets.paste.file_read", name=escape_markdown(uploaded.name), size=size)
            )


# The dialect: guessed, and confirmed by the person.


def _draw_guess(asked: DraftInput, settings: Settings) -> Draft | None:
    """What was guessed of this text; a problem is drawn."""
    texts = (asked.schema, asked.statements)
    pressed = st.button(
        tr("datasets.paste.detect"), icon=":material/search:", disabled=not asked.statements.strip()
    )
    if pressed:
        with widgets.show_errors(limit=600), st.spinner(tr("datasets.paste.detecting")):
            guess = data_client.draft_cases(asked, visitor.current_visitor(), settings)
            st.session_state[_GUESS] = (texts, guess)
    stored_texts, guess = st.session_state.get(_GUESS, (None, None))
    if guess is None or stored_texts != texts:
        return None
    if guess.problems:
        _draw_problems(guess)
        return None
    return guess


def _draw_dialect(asked: DraftInput, guessed: Draft) -> DraftInput:
    st.subheader(tr("datasets.paste.dialect"), anchor=False)
    shares = {guess.dialect: guess.confidence for guess in guessed.guesses}
    executed = [name for name in shares if name in engine_cards()]
    is_conversion = asks_conversion(asked.benchmark)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        dialect = st.selectbox(
            tr("datasets.paste.source"),
            list(shares) if is_conversion else executed,
            format_func=lambda name: tr(
                "datasets.paste.guess",
                title=DIALECT_TITLES.get(name, name),
                share=f"{100 * shares[name]:.0f}",
            ),
            key=f"datasets.paste.dialect.{is_conversion}.{max(shares, key=shares.__getitem__)}",
        )
        target = ""
        if is_conversion:
            targets = [name for name in engine_cards() if name != dialect]
            target = st.selectbox(
                tr("datasets.paste.target"),
                targets,
                format_func=lambda name: DIALECT_TITLES.get(name, name),
                key="datasets.paste.target",
            )
        difficulty = st.selectbox(
            tr("datasets.paste.difficulty"), [1, 2, 3], key="datasets.paste.difficulty"
        )
    if shares[dialect] < _SURE:
        st.caption(tr("datasets.paste.guess_unsure"))
    return msgspec.structs.replace(
        asked, dialect=dialect, target=target or "", difficulty=difficulty
    )


# The proposals: what an engine gives, or what is wrong by statement and line.


def _run_draft(asked: DraftInput, settings: Settings) -> None:
    with widgets.show_errors(limit=600), st.spinner(tr("datasets.paste.running")):
        draft = data_client.draft_cases(asked, visitor.current_visitor(), settings)
        st.session_state[_DRAFT] = (asked, draft)


def _without_references(asked: DraftInput) -> DraftInput:
    return msgspec.structs.replace(asked, references={})


def _draw_preview(asked: DraftInput, draft: Draft, settings: Settings) -> Draft | None:
    """The cases to be saved, None until they may be."""
    st.subheader(tr("datasets.paste.preview"), anchor=False)
    if draft.problems:
        _draw_problems(draft)
    if not draft.cases:
        return None
    engine = escape_markdown(draft.engine)
    st.success(
        tr("datasets.paste.executed", count=len(draft.cases), engine=engine),
        icon=":material/check:",
    )
    is_confirmed = True
    if asks_conversion(asked.benchmark) or asked.part == _REWRITE:
        references = _edit_references(asked, draft)
        is_changed = references != {
            case.number: str(case.row.get("reference", "")) for case in draft.cases
        }
        if is_changed and st.button(tr("datasets.paste.again"), icon=":material/play_arrow:"):
            own = asked.references | {n: text for n, text in references.items() if text.strip()}
            _run_draft(msgspec.structs.replace(asked, references=own), settings)
            st.rerun()
        if asks_conversion(asked.benchmark):
            is_confirmed = st.checkbox(tr("datasets.paste.confirm_references"))
        is_confirmed = is_confirmed and not is_changed
    else:
        _draw_cases(draft)
    if draft.problems:
        skips = st.checkbox(tr("datasets.paste.skip", count=len(draft.cases)))
        is_confirmed = is_confirmed and skips
    return draft if is_confirmed else None


def _draw_cases(draft: Draft) -> None:
    columns = {
        "number": [case.number for case in draft.cases],
        "line": [case.line for case in draft.cases],
        "sql": [to_plain_line(case.sql, 200) for case in draft.cases],
        "expected": [to_plain_line(case.expected, 200) for case in draft.cases],
    }
    config = {
        "number": number_column("datasets.paste.number", width=80),
        "line": number_column("datasets.paste.line", width=60),
        "sql": text_column("datasets.paste.sql", 420),
        "expected": text_column("datasets.paste.expected", 420),
    }
    draw_grid(columns, config, tr("datasets.paste.preview_alt"), tallest=10)


def _edit_references(asked: DraftInput, draft: Draft) -> dict[int, str]:
    """The reference of every statement, which a person may change."""
    title = "reference" if asks_conversion(asked.benchmark) else "reference_rewrite"
    frame = pd.DataFrame(
        {
            "number": [case.number for case in draft.cases],
            "sql": [to_plain_line(case.sql, 300) for case in draft.cases],
            "expected": [to_plain_line(case.expected, 200) for case in draft.cases],
            "reference": [str(case.row.get("reference", "")) for case in draft.cases],
        }
    )
    shown = ["number", "sql", *(["expected"] if asked.part == _REWRITE else []), "reference"]
    edited = st.data_editor(
        frame[shown],
        hide_index=True,
        disabled=["number", "sql", "expected"],
        column_config={
            "number": number_column("datasets.paste.number", width=80),
            "sql": text_column("datasets.paste.sql", 360),
            "expected": text_column("datasets.paste.expected", 220),
            "reference": text_column(f"datasets.paste.{title}", 420),
        },
    )
    return {
        int(number): str(text or "")
        for number, text in zip(edited["number"], edited["reference"], strict=True)
    }


def _draw_problems(draft: Draft) -> None:
    problems = draft.problems
    st.error(tr("datasets.paste.problems", count=len(problems)), icon=":material/error:")
    columns = {  # the problem first: a phone shows no more than that
        "problem": [to_plain_line(localize_note(problem.problem), 400) for problem in problems],
        "field": [tr(f"datasets.paste.field.{problem.field}") for problem in problems],
        "number": _list_positions([problem.statement for problem in problems]),
        "line": _list_positions([problem.line for problem in problems]),
    }
    config = {
        "problem": text_column("datasets.paste.problem", 640),
        "field": text_column("datasets.paste.field", 110),
        "number": number_column("datasets.paste.number", width=80),
        "line": number_column("datasets.paste.line", width=60),
    }
    draw_grid(columns, config, tr("datasets.paste.problems_alt"), tallest=10)


def _list_positions(numbers: Sequence[int]) -> pd.Series:
    return pd.Series([number or None for number in numbers], dtype="Int64")


# Saving: by the way of every upload, which checks the cases once more.


def _draw_save(asked: DraftInput, draft: Draft, settings: Settings) -> None:
    st.subheader(tr("datasets.paste.save"), anchor=False)
    title = st.text_input(
        tr("datasets.paste.title"),
        max_chars=120,
        placeholder=tr("datasets.paste.title_hint"),
        key="datasets.paste.title",
    ).strip()
    taken = {entry.name for entry in list_dataset_entries(settings)}
    name = make_slug(title, taken)
    if title:
        st.caption(tr("datasets.paste.named", name=escape_markdown(name)))
    if not st.button(
        tr("datasets.keep"), type="primary", icon=":material/save:", disabled=not title
    ):
        return
    card = OwnCard(asked.benchmark, name, visitor.current_visitor().name[:80], "", title)
    named = msgspec.structs.replace(asked, name=name)
    upload.save_dataset(build_upload(named, draft), card, settings, replace=False)
