"""Whose results a page shows, those measured here or those of a publisher, and of which month."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from evalcore.settings import Settings
from evalcore.views import boards
from evalcore.views.boards import Board
from evalcore.views.published_boards import (
    HERE,
    PUBLISHED,
    PublishedBoard,
    choose_default_source,
    describe_setup,
    list_setups,
    load_published_board,
    load_publishers,
    require_publication,
)
from evalcore.views.published_claims import ClaimFinding
from evalcore.views.published_metrics import find_board_source
from evalcore.views.published_payloads import describe_finding
from evalcore.views.published_ranking import PublishedRanking, load_published_ranking
from evalcore.views.stored_boards import Headers
from pages.shared import board_view, drawn_html, page_links, tables, url_state
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.wording import current_language, escape_markdown, format_fact, to_plain_line, tr

_SETUP, _MONTHS = 300, 230  # pixels of a picker and a slider


def list_result_suites(settings: Settings, headers: Headers) -> list[str]:
    """The suites with a score here or with anything published."""
    published = (publisher.suite for publisher in load_publishers(settings))
    return list(dict.fromkeys([*boards.list_suites(headers), *sorted(published)]))


def open_controls(page: str) -> Any:
    """The row of pickers of a page: one line where there is room, without labels of their own."""
    return st.container(key=f"{page}-controls", horizontal=True, vertical_alignment="bottom")


def select_source(settings: Settings, headers: Headers, page: str) -> str:
    """HERE or PUBLISHED, by a control where there is a choice. A link that names a board, a target
    or runs of this installation means those; without any it is the default of the suite."""
    suites = list_result_suites(settings, headers)
    if not suites:
        return HERE
    suite = url_state.read_selected_code(suites, f"{page}.suite")
    options = [HERE] if suite in boards.list_suites(headers) else []
    options += [PUBLISHED] if load_publishers(settings, suite) else []
    options.sort(key=_find_default(settings, headers, page, suite).__ne__)
    return url_state.draw_segments(
        tr("published.source"),
        options or [HERE],
        f"{page}.source",
        lambda code: tr(f"published.source.{code}"),
        explicit=True,
        drawn_alone=False,
    )


def _find_default(settings: Settings, headers: Headers, page: str, suite: str) -> str:
    query = st.query_params
    if board := query.get("board", ""):
        return PUBLISHED if board.startswith(boards.PUBLICATION_PREFIX) else HERE
    if runs := query.get("runs", "") or query.get("run", ""):
        return PUBLISHED if "/" in runs else HERE
    if (key := query.get("key", "")) and page == "target":
        return HERE if any(header.identity == key for header in headers) else PUBLISHED
    return choose_default_source(settings, headers, suite)


def select_published_board(settings: Settings, page: str, suite: str = "") -> PublishedBoard:
    """The board of a publisher that the URL names, with pickers of suite (unless one is named),
    publisher, test setup and month where there is a choice, in the row that they are drawn in."""
    publishers = load_publishers(settings)
    look: dict[str, Any] = {"drawn_alone": False, "label_visibility": "collapsed"}
    suite = suite or url_state.draw_select(
        tr("ranking.suite"),
        list(dict.fromkeys(publisher.suite for publisher in publishers)),
        f"{page}.suite",
        board_view.suite_title,
        width=120,
        **look,
    )
    titles = {each.key: each.title for each in publishers if each.suite == suite}
    publisher = url_state.draw_select(
        tr("published.publisher"),
        list(titles),
        f"{page}.publisher",
        lambda key: to_plain_line(titles[key]),
        width=130,
        **look,
    )
    publication = require_publication(settings, publisher)
    setup = url_state.draw_select(
        tr("published.setup"),
        list_setups(publication),
        f"{page}.setup",
        lambda code: format_setup(describe_setup(publication, code)),
        width=_SETUP,
        **look,
    )
    present = {entry.month for entry in publication.entries if entry.setup_key == setup}
    month = url_state.draw_select(
        tr("published.month"),
        [month for month in publication.months if month in present],
        f"{page}.month",
        str,
        widget=draw_month_slider,
        width=_MONTHS,
        **look,
    )
    return load_published_board(settings, publisher, month, setup)


def draw_month_slider(label: str, options: list[str], index: int, **look: Any) -> None:
    """From the oldest to the newest, whichever is the default."""
    st.select_slider(label, list(reversed(options)), options[index], **look)


def format_setup(setup: dict[str, str]) -> str:
    """What the entries of a test setup have in common, on a line."""
    parts = (format_fact(tr(f"published.setup.{name}"), value) for name, value in setup.items())
    return to_plain_line(" · ".join(parts), 120)


def draw_source_note(source: PublishedBoard) -> None:
    """Whose figures these are, of when, and where they come from."""
    ranking = load_source_ranking(source)
    publisher = source.publisher
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge = tr("published.badge", publisher=escape_markdown(publisher.title))
        st.badge(badge, color="violet", icon=":material/publish:")
        label = tr("published.source_link")
        st.link_button(label, publisher.source, type="tertiary", icon=":material/open_in_new:")
    st.caption(escape_markdown(ranking.describe_source(current_language()), 600))


def load_source_ranking(source: PublishedBoard, order: str = "") -> PublishedRanking:
    """The ranking of a published board by an order, by default its first."""
    from evalcore import settings

    return load_published_ranking(
        settings.load_settings(), source.publisher.key, source.month, order, source.setup
    )


def build_board_query(source: PublishedBoard) -> dict[str, str]:
    """The query parameters of a published board."""
    newest = source.month == source.publication.months[0]
    query = {
        "source": PUBLISHED,
        "suite": source.board.suite,
        "publisher": source.publisher.key,
        "month": "" if newest else source.month,
        "setup": "" if source.setup == list_setups(source.publication)[0] else source.setup,
    }
    return {name: value for name, value in query.items() if value}


def build_row_query(board: Board, identity: str) -> dict[str, str]:
    """The query parameters of the Target page of a published model."""
    from evalcore import settings

    source = find_board_source(settings.load_settings(), board)
    query = build_board_query(source) if source else {"source": PUBLISHED}
    return {**query, "key": identity}


def build_row_address(source: PublishedBoard, identity: str) -> str:
    """The relative address of the Target page of a published model."""
    return drawn_html.build_address(
        page_links.TARGET, {**build_board_query(source), "key": identity}
    )


def draw_findings(findings: Sequence[ClaimFinding], *, with_names: bool) -> None:
    """The figures that do not follow from the verdicts, and other oddities."""
    st.subheader(tr("published.findings"), anchor=False)
    if not findings:
        st.caption(tr("published.findings_none"))
        return
    st.caption(tr("published.findings_about"))
    columns = {
        "name": [to_plain_line(finding.name, 60) for finding in findings],
        "benchmark": [benchmark_title(finding.benchmark) for finding in findings],
        "metric": [
            metric_title(finding.benchmark, finding.metric) if finding.metric else tr("common.all")
            for finding in findings
        ],
        "finding": [describe_finding(finding, current_language()) for finding in findings],
    }
    titles = {
        "name": tr("common.target"),
        "benchmark": tr("common.benchmark"),
        "metric": tr("common.metric"),
        "finding": tr("published.finding"),
    }
    shown = [name for name in titles if with_names or name != "name"]
    rows = zip(*(columns[name] for name in shown), strict=True)
    tables.draw_word_table([titles[name] for name in shown], rows, tr("published.findings"))
