"""Case: one case of a run, from the question to the verdict and what the verdict rests on."""

from __future__ import annotations

import streamlit as st

from evalcore.errors import EvalboardError
from evalcore.views.cases import CaseView, case_view
from evalcore.views.runs import redact_case
from pages.parts.case import answers
from pages.shared import case_sections, display_names, page_links, run_facts, visitor, widgets
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.page_links import CaseLink
from pages.shared.wording import escape_markdown, tr


def draw_case_page() -> None:
    """Find the case that the URL names, or say clearly that it is not there."""
    link = page_links.read_case_link()
    if not (link.run and link.metric and link.id):
        _draw_missing_case(tr("case.no_case"))
        return
    current = visitor.load_visitor_settings()
    try:
        view = case_view(
            current.run_roots,
            link.run,
            link.metric,
            link.id,
            benchmark=link.benchmark,
            epoch=link.epoch,
            where=link.case_filter,
            show_gated=current.show_gated,
        )
    except EvalboardError as error:
        _draw_missing_case(tr("case.not_found", reason=escape_markdown(error, 400)))
        return
    _draw_case(view if visitor.is_action_allowed("launch") else redact_case(view), link)


def _draw_case(view: CaseView, link: CaseLink) -> None:
    _draw_case_header(view, link)
    if view.spec.origin == "imported":
        published = "case.published" if view.taken_over else "case.published_again"
        st.info(tr(published), icon=":material/publish:")
    answers.draw_case_navigation(view, link)
    with st.container(border=True):
        case_sections.draw_case_verdict(view)
        case_sections.draw_case_measures(view)
    if view.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    else:
        _draw_case_texts(view)
    case_sections.draw_case_facts(view)
    part = {"benchmark": view.benchmark, "metric": view.sample.metric}
    run_facts.draw_reproduction(view.spec.run_id, visitor.load_visitor_settings(), **part)


def _draw_case_texts(view: CaseView) -> None:
    """What was asked, said and found, in the words of the data set and of the target."""
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("case.question"), anchor=False)
        case_sections.draw_sample_input(view.sample.input)
        if view.episode and answers.is_chat(view.episode):
            answers.draw_agent_briefing(view.episode)
    with right:
        st.subheader(tr("case.answer"), anchor=False)
        answers.draw_case_answer(view)
        answers.draw_case_reference(view)
    case_sections.draw_evidence_sections(view)
    if view.episode and answers.is_chat(view.episode):
        answers.draw_conversation(view.episode)
    elif view.episode and answers.is_agent_work(view.episode):
        answers.draw_agent_work(view.episode)
    case_sections.draw_case_transcript(view.episode)


def _draw_case_header(view: CaseView, link: CaseLink) -> None:
    target = view.spec.target
    target_name = display_names.resolve_target_name(target.identity, target.key)
    query = page_links.build_cases_query(target.identity, link._replace(benchmark=view.benchmark))
    label = tr("case.back", name=escape_markdown(target_name, 60))
    widgets.draw_link(page_links.TARGET, label, "arrow_back", **query)
    metric = metric_title(view.benchmark, view.sample.metric)
    st.title(escape_markdown(f"{metric} · {view.sample.id}", 120), anchor=False)
    parts = [escape_markdown(benchmark_title(view.benchmark)), escape_markdown(view.spec.run_id)]
    if view.spec.epochs > 1:
        epoch = view.verdict.epoch if view.verdict else 0
        parts.append(tr("case.epoch", number=epoch + 1, total=view.spec.epochs))
    st.caption(" · ".join(parts))


def _draw_missing_case(text: str) -> None:
    st.title(tr("case.title"))
    st.warning(text, icon=":material/search_off:")
    widgets.draw_link(page_links.RANKING, tr("case.to_ranking"), "leaderboard")
    widgets.draw_link(page_links.RUNS, tr("case.to_runs"), "monitoring")


draw_case_page()
