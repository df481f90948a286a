"""Case: one case of a run, from the question to the verdict and what the verdict rests on."""

from __future__ import annotations

import streamlit as st

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.errors import EvalboardError
from evalcore.queries.cases import CaseView, case_view
from evalcore.queries.path_redaction import redact_case
from pages.components import (
    case_answer,
    case_chat,
    case_parts,
    case_steps,
    case_work,
    names,
    reproduce,
    state,
    visitor,
)
from pages.components.language import Translate, build_translator, current_language
from pages.components.state import CaseLink
from pages.components.text import escape_markdown


def draw_case_page() -> None:
    """Find the case that the URL names, or say clearly that it is not there."""
    tr, link = build_translator(), state.read_case_link()
    if not (link.run and link.metric and link.id):
        _draw_missing_case(tr("case.no_case"), tr)
        return
    current_settings = visitor.load_visitor_settings()
    try:
        view = case_view(
            current_settings.run_roots,
            link.run,
            link.metric,
            link.id,
            benchmark=link.benchmark,
            epoch=link.epoch,
            where=link.case_filter,
            show_gated=current_settings.show_gated,
        )
    except EvalboardError as error:
        _draw_missing_case(tr("case.not_found", reason=escape_markdown(error, 400)), tr)
        return
    _draw_case(view if visitor.is_action_allowed("launch") else redact_case(view), link, tr)


def _draw_case(view: CaseView, link: CaseLink, tr: Translate) -> None:
    _draw_case_header(view, link, tr)
    if view.spec.origin == "imported":
        published = "case.published" if view.taken_over else "case.published_again"
        st.info(tr(published), icon=":material/publish:")
    case_steps.draw_case_navigation(view, link, tr)
    with st.container(border=True):
        case_parts.draw_case_verdict(view, tr)
        case_parts.draw_case_measures(view, tr)
    if view.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    else:
        _draw_case_texts(view, tr)
    case_parts.draw_case_facts(view, tr)
    reproduce.draw_reproduction(
        view.spec.run_id,
        visitor.load_visitor_settings(),
        tr,
        benchmark=view.benchmark,
        metric=view.sample.metric,
    )


def _draw_case_texts(view: CaseView, tr: Translate) -> None:
    """What was asked, said and found, in the words of the data set and of the target."""
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("case.question"), anchor=False)
        case_parts.draw_case_question(view, tr)
        if view.episode and case_chat.is_chat(view.episode):
            case_chat.draw_agent_briefing(view.episode, tr)
    with right:
        st.subheader(tr("case.answer"), anchor=False)
        case_answer.draw_case_answer(view, tr)
        case_answer.draw_case_reference(view, tr)
    if view.episode and case_chat.is_chat(view.episode):
        case_chat.draw_conversation(view.episode, tr)
    elif view.episode and case_work.is_agent_work(view.episode):
        case_work.draw_agent_work(view.episode, tr)
    case_parts.draw_evidence_sections(view, tr)
    case_parts.draw_case_transcript(view.episode, tr)


def _draw_case_header(view: CaseView, link: CaseLink, tr: Translate) -> None:
    card = benchmark_cards().get(view.benchmark)
    titles = (
        {metric.key: localize_text(metric.title, current_language()) for metric in card.metrics}
        if card
        else {}
    )
    name = localize_text(card.title, current_language()) if card else view.benchmark
    metric = titles.get(view.sample.metric) or view.sample.metric
    target = view.spec.target
    st.page_link(
        state.TARGET,
        label=tr(
            "case.back",
            name=escape_markdown(names.resolve_target_name(target.identity, target.key), 60),
        ),
        icon=":material/arrow_back:",
        query_params=state.build_cases_query(
            target.identity, link._replace(benchmark=view.benchmark)
        ),
    )
    st.title(escape_markdown(f"{metric} · {view.sample.id}", 120), anchor=False)
    parts = [escape_markdown(name), escape_markdown(view.spec.run_id)]
    if view.spec.epochs > 1:
        epoch = view.verdict.epoch if view.verdict else 0
        parts.append(tr("case.epoch", number=epoch + 1, total=view.spec.epochs))
    st.caption(" · ".join(parts))


def _draw_missing_case(text: str, tr: Translate) -> None:
    st.title(tr("case.title"))
    st.warning(text, icon=":material/search_off:")
    st.page_link(state.RANKING, label=tr("case.to_ranking"), icon=":material/leaderboard:")
    st.page_link(state.RUNS, label=tr("case.to_runs"), icon=":material/monitoring:")


draw_case_page()
