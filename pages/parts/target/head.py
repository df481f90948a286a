"""The head of the Target page: card, figures on the board, published scores, and the links that
lead on."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import pandas as pd
import streamlit as st

from evalcore.catalog import find_benchmark_text, list_command_cards
from evalcore.plain_text import DASH
from evalcore.records import to_json
from evalcore.settings import Settings
from evalcore.target_cards import NO_CARD, TargetCard, load_cards
from evalcore.views import comparability, target_scores, targets
from evalcore.views.boards import Board, Row
from evalcore.views.seals import load_seal_status
from evalcore.views.stored_boards import Headers
from pages.parts.target import card_editor
from pages.shared import page_links, tables, widgets, wording
from pages.shared.board_view import benchmark_title, kind_title, metric_title
from pages.shared.tables import format_number_range
from pages.shared.wording import (
    current_language,
    escape_markdown,
    format_fact,
    localize_note,
    to_plain_line,
    tr,
)

_LOGO = 56  # pixels


def draw_card_title(name: str, card: TargetCard) -> None:
    """The name, beside the logo where there is one."""
    if not card.logo:
        st.title(escape_markdown(name, 90), anchor=False)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.image(card.logo, width=_LOGO, alt=to_plain_line(name))
        st.title(escape_markdown(name, 90), anchor=False, width="content")


def draw_card_facts(identity: str, name: str, card: TargetCard) -> None:
    """One line of what is known, the identity where the name is another, and the site."""
    count = wording.format_compact_count((card.parameters or 0) * 1e9).replace(".0", "")
    weights = "open" if card.open_weights else "closed"
    parts = [
        card.organization,
        tr("card.parameters_of", count=count) if card.parameters else "",
        "" if card.open_weights is None else tr(f"card.weights.{weights}"),
        card.licence,
        tr("card.released_in", date=card.released) if card.released else "",
    ]
    summary = " · ".join(escape_markdown(text) for text in parts if text)
    if not (summary or card.site or name != identity):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if summary:
            st.caption(summary, width="content")
        if name != identity:
            st.caption(f":material/tag: {escape_markdown(identity, 120)}", width="content")
        if card.site:
            st.link_button(
                escape_markdown(urlsplit(card.site).hostname or card.site, 60),
                card.site,
                type="tertiary",
                icon=":material/open_in_new:",
            )


# What a publisher claims of a target beside what its cases give, with all that is peculiar.

_COLOURS = {0: "orange", 1: "green", 2: "blue"}  # by level
#: Publishers whose scores come about otherwise than by taking over verdicts.
_ABOUT = {"bundle": ".bundle"}


def draw_published_badges(row: Row) -> None:
    """A badge per level of evidence behind the published scores of a row, and their month."""
    levels = {run.benchmarks[key].level for key, run in row.runs.items()}
    for level in sorted(level for level in levels if level is not None):
        st.badge(tr(f"target.level.{level}"), color=_COLOURS.get(level, "gray"))
    newest = max(run.created_at for run in row.runs.values())
    st.caption(tr("target.published_for", month=newest[:7]))


def _published_about(publisher: str) -> str:
    """What is said of a publisher's scores; the benchmark that imports them may say more."""
    for key, command in list_command_cards("importer").items():
        if command.publisher == publisher:
            text = find_benchmark_text(key, "published_about", current_language())
            if text is not None:
                return text
    return tr("target.published_about" + _ABOUT.get(publisher, ""))


def draw_published_scores(row: Row, settings: Settings) -> None:
    """Claims and recomputed scores side by side, then the flags; nothing for a run of ours."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    if newest.origin != "imported":
        return
    report = None
    with widgets.show_errors():
        report = target_scores.load_published(settings.run_roots, newest.run_id)
    if report is None:
        return
    st.subheader(tr("target.published"), anchor=False)
    publisher = escape_markdown(report.publisher)
    about = _published_about(report.publisher).format(publisher=publisher, month=report.month)
    st.caption(about)
    _draw_claim_table(target_scores.build_published_scores(report))
    if any(score.level for score in report.scores.values()):
        _draw_claim_flags(target_scores.build_published_flags(report))


def _draw_claim_table(table: pd.DataFrame) -> None:
    """The table, and in words what is behind every score that does not simply recompute."""
    shown = table.assign(
        benchmark=[benchmark_title(name) for name in table["benchmark"]],
        level=[tr(f"target.evidence.{level}") for level in table["level"]],
        reading=[tr(f"target.how.{name}") if name else None for name in table["reading"]],
        judges=[to_plain_line(names) for names in table["judges"]],
    )
    config = {
        "benchmark": tables.text_column("common.benchmark"),
        "claimed": tables.number_column("target.claimed", "%.1f", None),
        "recomputed": tables.number_column("target.recomputed", "%.1f", None),
        "own": tables.number_column("target.own_weights", "%.1f", None),
        "reading": tables.text_column("target.reading"),
        "level": tables.text_column("target.level"),
        "judges": tables.text_column("target.judges"),
        "graded_at": tables.text_column("target.graded_at"),
    }
    visible = [name for name in config if table[name].notna().any() and any(table[name] != "")]
    alt = tr("target.published_alt")
    tables.draw_grid(shown[visible], config, alt, key="target.published.scores")
    for reading in dict.fromkeys(table["reading"]):
        if reading not in ("", "exact"):
            st.caption(format_fact(tr(f"target.how.{reading}"), tr(f"target.reading.{reading}")))


def _draw_claim_flags(table: pd.DataFrame) -> None:
    if table.empty:
        st.caption(tr("target.no_flags"))
        return
    st.caption(tr("target.flags_about"))
    columns = {
        "flag": [tr(f"target.flag.{kind}") for kind in table["kind"]],
        "detail": [to_plain_line(localize_note(detail)) for detail in table["detail"]],
        "metric": [
            metric_title(benchmark, metric) if metric else None
            for benchmark, metric in zip(table["benchmark"], table["metric"], strict=True)
        ],
        "benchmark": [benchmark_title(name) for name in table["benchmark"]],
    }
    config = {
        "flag": tables.text_column("target.flag"),
        "detail": tables.text_column("target.detail", "large"),
        "metric": tables.text_column("common.metric"),
        "benchmark": tables.text_column("common.benchmark"),
    }
    tables.draw_grid(columns, config, tr("target.flags_alt"), key="target.published.flags")


_CARD = 150  # pixels, at least


def draw_target_title(row: Row, name: str, settings: Settings) -> None:
    """The card and the kind, and the options that belong to the target's identity."""
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    card = NO_CARD
    with widgets.show_errors("card.broken", draw=st.warning):
        card = load_cards(settings).get(row.target_key, NO_CARD)
    draw_card_title(name, card)
    draw_card_facts(row.identity, name, card)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(escape_markdown(kind_title(row.kind)), color="gray")
        if card.type and card.type != row.kind:
            st.badge(tr(f"card.type.{card.type}"), color="gray")
        if any(run.benchmarks[key].self_judged for key, run in row.runs.items()):
            st.badge(tr("ranking.self_judged"), color="orange", icon=":material/gavel:")
        for name, value in newest.target_options.items():
            text = value if isinstance(value, str) else to_json(value, ordered=False).decode()
            st.badge(f"{escape_markdown(name, 30)} = {escape_markdown(text, 50)}", color="blue")
        if newest.origin == "imported":
            draw_published_badges(row)
        else:
            st.caption(format_fact(tr("target.date"), wording.format_timestamp(newest.created_at)))
    _draw_seals(row, settings)


def _draw_seals(row: Row, settings: Settings) -> None:
    """Whether the runs of a row are sealed and unchanged; nothing for one without a seal."""
    for run_id in dict.fromkeys(run.run_id for run in row.runs.values()):
        seal = load_seal_status(settings.run_roots, run_id)
        if seal is None:
            continue
        values = {
            "run": escape_markdown(run_id),
            "signer": escape_markdown(seal.signer),
            "date": wording.format_timestamp(seal.sealed_at) if seal.sealed_at else DASH,
        }
        text = tr(f"target.seal.{seal.state}", **values)
        if seal.state == "broken":
            lines = [f"- {escape_markdown(localize_note(line), 300)}" for line in seal.problems]
            st.error("\n".join([text, "", *lines]), icon=":material/gpp_bad:")
        else:
            st.caption(f":material/verified_user: {text}")


def draw_target_figures(frame: pd.DataFrame, identity: str, row: Row) -> None:
    """Rank, score, passed cases, cost, tokens and latency, each with what it is worth."""
    own = frame[frame["identity"] == identity].iloc[0]
    total = int((frame["status"] == "ranked").sum())
    ranked = own["status"] == "ranked"
    cases = int(own["measured"] + own["errors"])
    rank, between = DASH, tr("target.rank_none")
    if ranked:
        rank = tr("target.rank_value", rank=own["rank"], total=total)
        between = format_number_range(own["rank_low"], own["rank_high"], "{:.0f}")
    score = wording.format_score(tables.to_number(own["score"]))
    cards = [
        ("target.rank", rank, between),
        ("target.score", score, _format_certainty(own, row)),
        *_build_passed_card(own, cases),
        *_build_spending_cards(own, cases, row),
    ]
    look = {"delta_color": "off", "delta_arrow": "off", "border": True}
    with st.grid(min_column_width=_CARD):
        for label, value, note in cards:
            st.metric(tr(label), value, delta=note or None, **look)


def draw_comparability(board: Board, row: Row) -> None:
    """Whether the scores stand beside the official leaderboards; by benchmark where they are
    several."""
    assessed = comparability.assess_row(board, row)
    language = current_language()
    st.caption(comparability.describe_assessments(list(assessed.values()), language))
    if len(assessed) < 2:
        return
    with st.expander(tr("target.comparable_by_benchmark"), icon=":material/balance:"):
        for key, each in assessed.items():
            sentence = comparability.describe_assessments([each], language)
            st.markdown(f"**{escape_markdown(benchmark_title(key))}**")
            st.caption(escape_markdown(sentence, 600))


def _format_certainty(own: pd.Series, row: Row) -> str:
    """The interval of a score, or what stands in its way."""
    if own["status"] == "claimed":
        return tr("target.evidence.0")
    if not row.is_complete:
        return tr("target.bound")
    return format_number_range(own["low"], own["high"], "{:.1f}")


def _build_passed_card(own: pd.Series, cases: int) -> list[tuple[str, str, str]]:
    """Passed cases; a claim has none to show."""
    if not cases and own["status"] == "claimed":
        return []
    share = tr("target.passed_share", share=f"{100 * own['passed'] / cases:.0f}") if cases else ""
    return [("target.passed", f"{own['passed']}/{cases}", share)]


def _build_spending_cards(own: pd.Series, cases: int, row: Row) -> list[tuple[str, str, str]]:
    """Cost, tokens and latency; what is unknown is left out, since a card that says so is noise."""
    cards = []
    cost, tokens_in, tokens_out, latency = (
        tables.to_number(own[name]) for name in ("cost", "input_tokens", "output_tokens", "latency")
    )
    if cost is not None:
        total, each = escape_markdown(wording.format_money(cost)), ""
        if cases:
            case_cost = escape_markdown(wording.format_money(cost / cases))
            each = tr("target.cost_case", cost=case_cost)
        cards.append(("target.cost", total, each))
    if tokens_in is not None and tokens_out is not None:
        read, written = map(wording.format_compact_count, (tokens_in, tokens_out))
        split = tr("target.tokens_split", read=read, written=written)
        cards.append(("target.tokens", wording.format_count(tokens_in + tokens_out), split))
    if latency is not None:
        tail = next(iter(row.runs.values())).totals.latency_p95
        note = tr("target.latency_tail", high=wording.format_duration(tail)) if tail else ""
        cards.append(("target.latency", wording.format_duration(latency), note))
    totals = next(iter(row.runs.values())).totals
    if totals.tokens_per_second is not None and totals.first_token_p50 is not None:
        first = wording.format_duration(totals.first_token_p50)
        note = tr("target.first_token", seconds=first)
        rate = tr("target.token_rate", rate=f"{totals.tokens_per_second:,.0f}")
        cards.append(("target.speed", rate, note))
    return cards


# The ways on from a target: its neighbours in the ranking, a comparison, its run, its card.

_NAME = 28  # characters


def draw_target_links(
    headers: Headers,
    board: Board,
    frame: pd.DataFrame,
    row: Row,
    titles: Mapping[str, str],
    settings: Settings,
) -> None:
    """One row of buttons and links; `frame` is the ranking of the board."""
    order = ["", *frame["identity"], ""]
    position = order.index(row.identity)
    newest = max(row.runs.values(), key=lambda run: run.created_at)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _draw_neighbour_button("previous", order[position - 1], titles)
        _draw_neighbour_button("next", order[position + 1], titles)
        _draw_compare_link(headers, board, row, titles)
        label = tr("target.its_run")
        widgets.draw_link(page_links.RUNS, label, "monitoring", run=newest.run_id)
        st.space("stretch")
        card_editor.draw_card_edit_button(settings, row.target_key)


def _draw_neighbour_button(name: str, neighbour: str, titles: Mapping[str, str]) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon = {"previous": ":material/arrow_upward:", "next": ":material/arrow_downward:"}[name]
    st.button(
        escape_markdown(titles.get(neighbour, neighbour), _NAME) if neighbour else DASH,
        key=f"target.{name}",
        icon=icon,
        type="tertiary",
        disabled=not neighbour,
        help=tr(f"target.{name}"),
        on_click=page_links.set_query_param,
        args=("key", neighbour),
    )


def _draw_compare_link(headers: Headers, board: Board, row: Row, titles: Mapping[str, str]) -> None:
    """To Compare, with the best other target that ran the same; alone where there is none."""
    (benchmark, own_run), label = next(iter(row.runs.items())), tr("compare.link")
    runs = [own_run.run_id]
    best = targets.find_best_other(headers, board, row, benchmark)
    if best is not None:
        runs.append(best.runs[benchmark].run_id)
        name = titles.get(best.identity, best.identity)
        label = tr("target.compare", name=escape_markdown(name, _NAME))
    query = page_links.build_compare_query(runs)
    widgets.draw_link(page_links.COMPARE, label, "compare_arrows", **query)
