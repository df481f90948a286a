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
from pages.components.language import Translate, current, translator
from pages.components.state import CaseLink
from pages.components.text import escape


def draw_case_page() -> None:
    """Find the case that the URL names, or say clearly that it is not there."""
    tr, link = translator(), state.case_link_of_url()
    if not (link.run and link.metric and link.id):
        _draw_missing_case(tr("case.no_case"), tr)
        return
    current_settings = visitor.seen()
    try:
        view = case_view(
            current_settings.run_roots,
            link.run,
            link.metric,
            link.id,
            benchmark=link.benchmark,
            epoch=link.epoch,
            where=link.where,
            show_gated=current_settings.show_gated,
        )
    except EvalboardError as error:
        _draw_missing_case(tr("case.not_found", reason=escape(error, 400)), tr)
        return
    _draw_case(view if visitor.may("launch") else redact_case(view), link, tr)


def _draw_case(view: CaseView, link: CaseLink, tr: Translate) -> None:
    _draw_case_header(view, link, tr)
    if view.spec.origin == "imported":
        published = "case.published" if view.taken_over else "case.published_again"
        st.info(tr(published), icon=":material/publish:")
    case_steps.draw(view, link, tr)
    with st.container(border=True):
        case_parts.verdict(view, tr)
        case_parts.measures(view, tr)
    if view.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    else:
        _draw_case_texts(view, tr)
    case_parts.facts(view, tr)
    reproduce.draw(
        view.spec.run_id,
        visitor.seen(),
        tr,
        benchmark=view.benchmark,
        metric=view.sample.metric,
    )


def _draw_case_texts(view: CaseView, tr: Translate) -> None:
    """What was asked, said and found, in the words of the data set and of the target."""
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("case.question"), anchor=False)
        case_parts.question(view, tr)
        if view.episode and case_chat.is_chat(view.episode):
            case_chat.briefing(view.episode, tr)
    with right:
        st.subheader(tr("case.answer"), anchor=False)
        case_answer.answer(view, tr)
        case_answer.reference(view, tr)
    if view.episode and case_chat.is_chat(view.episode):
        case_chat.draw(view.episode, tr)
    elif view.episode and case_work.is_work(view.episode):
        case_work.draw(view.episode, tr)
    case_parts.sections(view, tr)
    case_parts.prompt_and_transcript(view.episode, tr)


def _draw_case_header(view: CaseView, link: CaseLink, tr: Translate) -> None:
    card = benchmark_cards().get(view.benchmark)
    titles = (
        {metric.key: localize_text(metric.title, current()) for metric in card.metrics}
        if card
        else {}
    )
    name = localize_text(card.title, current()) if card else view.benchmark
    metric = titles.get(view.sample.metric) or view.sample.metric
    target = view.spec.target
    st.page_link(
        state.TARGET,
        label=tr("case.back", name=escape(names.of(target.identity, target.key), 60)),
        icon=":material/arrow_back:",
        query_params=state.cases_link(target.identity, link._replace(benchmark=view.benchmark)),
    )
    st.title(escape(f"{metric} · {view.sample.id}", 120), anchor=False)
    parts = [escape(name), escape(view.spec.run_id)]
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
