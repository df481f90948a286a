"""The parts of the Case page: verdict, question, evidence, transcript, facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import streamlit as st

from evalcore.i18n import lookup_text
from evalcore.plain_text import DASH
from evalcore.queries.cases import CaseView
from evalcore.queries.dialect_titles import DIALECT_TITLES
from evalcore.records import MEASURED, Episode
from pages.components import case_badges, case_question, case_shield, evidence, numbers
from pages.components.language import Translate, current_language, localize_note
from pages.components.run_detail import OUTCOME_COLOURS
from pages.components.text import escape_markdown

#: Fields of a sample's input that hold SQL, whatever the benchmark.
_SQL = frozenset({"sql", "schema", "source_schema", "data", "query", "ddl"})
#: Fields that are read as prose, however short they are.
_PROSE = frozenset({"question", "problem_statement", "text"})
#: Fields over which no title is needed: the heading of the column says the same.
_UNTITLED = frozenset({"question"})
#: What comes first in a question: where it runs, what there is, what is asked.
_FIRST = (
    *("source_dialect", "target_dialect", "dialect", "engine", "description"),
    *("level", "file_name", "repo", "base_commit", "version", "question", "problem_statement"),
)
_ORDER = {
    name: number for number, name in enumerate((*_FIRST, "source_schema", "schema", "data", "sql"))
}


def draw_case_verdict(view: CaseView, tr: Translate) -> None:
    """Outcome and evidence kind as badges in words, then the reason and the note."""
    judged = view.verdict
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(
            tr(f"common.outcome.{view.outcome}"),
            color=OUTCOME_COLOURS[view.outcome],  # type: ignore[arg-type]
        )
        if judged is None:
            return
        if judged.outcome in MEASURED:  # else nothing was found out by any means
            kind = "published" if view.taken_over else judged.evidence_kind
            st.badge(
                tr(f"common.evidence.{kind}"),
                color="violet",
                icon=":material/verified:",
                help=tr(f"common.evidence.{kind}.about"),
            )
        if view.engine:
            st.badge(escape_markdown(view.engine), color="gray", icon=":material/database:")
        if judged.reason:
            reason = (
                lookup_text(f"common.reason.{judged.reason}", current_language()) or judged.reason
            )
            st.markdown(escape_markdown(reason, 120), width="content")
        case_badges.draw_verdict_badges(judged.details, tr)
        case_shield.draw_shield_badge(judged.details, tr)
    if judged.note:
        st.text(localize_note(judged.note))
    case_shield.draw_shield_details(judged, tr)
    case_badges.draw_task_flag(judged.details)


def draw_case_measures(view: CaseView, tr: Translate) -> None:
    """Score and difficulty, then time, tokens and cost once there is an answer."""
    score = view.verdict.score if view.verdict else None
    cells = [
        ("common.score", DASH if score is None else f"{100 * score:.0f} / 100"),
        ("common.difficulty", str(view.sample.difficulty)),
    ]
    declared = next((spec for spec in view.spec.benchmarks if spec.key == view.benchmark), None)
    weight = declared.case_weight(view.sample) if declared else None
    if weight is not None and weight != view.sample.difficulty:
        cells.append(("common.case_weight", f"{weight:g}"))
    episode = view.episode
    if episode is not None:
        cells += [
            ("common.latency", numbers.format_duration(episode.latency or None, tr)),
            *numbers.build_usage_cells(
                episode.usage.input_tokens, episode.usage.output_tokens, episode.cost, tr
            ),
        ]
    with st.container(horizontal=True, gap="medium"):
        for key, value in cells:
            st.metric(tr(key), value, width="content")
    if episode is not None and (source := numbers.format_cost_sources(episode.cost_sources, tr)):
        st.caption(source)
    if episode is not None and episode.cached:
        st.caption(tr("case.cached"))


def draw_case_question(view: CaseView, tr: Translate) -> None:
    """The structured input of the sample of a case."""
    draw_sample_input(view.sample.input, tr)


def draw_sample_input(sample_input: Mapping[str, Any], tr: Translate) -> None:
    """The structured input of a sample: statements as SQL, the rest by its kind."""
    for name in sorted(sample_input, key=lambda name: _ORDER.get(name, len(_ORDER))):
        value = sample_input[name]
        if value in ("", [], None):
            continue
        if case_question.is_turns(value):
            case_question.draw_question_turns(value, tr)
            continue
        if name == "functions":
            case_question.draw_offered_functions(value, tr)
            continue
        title = escape_markdown(lookup_text(f"case.input.{name}", current_language()) or name)
        if name not in _SQL | _PROSE and _is_short(value):
            display_value = DIALECT_TITLES.get(str(value), value) if name == "dialect" else value
            st.caption(f"{title}: {escape_markdown(display_value, 100)}")
            continue
        if name not in _UNTITLED:
            st.caption(title)
        if name in _SQL:
            lines = value if isinstance(value, list) else [value]
            evidence.draw_verbatim("\n".join(str(line).rstrip() for line in lines), "sql")
        else:
            evidence.draw_raw_value(value)


def _is_short(value: Any) -> bool:
    return isinstance(value, int) or (
        isinstance(value, str) and "\n" not in value and len(value) < 100
    )


def draw_evidence_sections(view: CaseView, tr: Translate) -> None:
    """Every section of evidence of the verdict, but for one that only repeats the answer."""
    answered = view.episode.answer if view.episode else None
    sections_to_show = [
        section
        for section in (view.verdict.evidence if view.verdict else ())
        if section.body not in ("", answered)
    ]
    if sections_to_show:
        st.subheader(tr("case.evidence"), anchor=False)
    for section in sections_to_show:
        evidence.draw_evidence_section(section, tr)


def draw_case_transcript(episode: Episode | None, tr: Translate) -> None:
    """The conversation as it went over the wire, folded."""
    if episode is None or not episode.messages:
        return
    with st.expander(tr("case.transcript", count=len(episode.messages)), icon=":material/forum:"):
        evidence.draw_messages(msgspec.to_builtins(episode.messages), tr)


def draw_case_facts(view: CaseView, tr: Translate) -> None:
    """What machines read: details and views of the verdict, and the sample's origin."""
    judged = view.verdict
    shown = {
        "details": judged.details if judged else {},
        "views": judged.views if judged else {},
        "meta": view.sample.meta,
    }
    with st.expander(tr("case.facts"), icon=":material/data_object:"):
        st.json(shown, expanded=2)
