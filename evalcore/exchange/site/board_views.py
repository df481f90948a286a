"""What the pages of rankings, of the list of boards and of the method show, ready for templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from evalcore.catalog import CONTROL_KIND, FLOOR_CONTROLS, benchmark_cards, localize_text
from evalcore.charts.plots import select_pareto_rows
from evalcore.exchange.site import rendering
from evalcore.exchange.site.facts import (
    Data,
    SiteFacts,
    WorkedExample,
    board_page,
    data_file,
    list_publisher_boards,
    make_ranking_stem,
    target_page,
)
from evalcore.exchange.site.rendering import Words
from evalcore.plain_text import to_single_line
from evalcore.views import board_titles
from evalcore.views.board_table import RankingView
from evalcore.views.boards import Column
from evalcore.views.metric_board import CONTROL_LINES
from evalcore.views.published_boards import PUBLISHED, describe_setup
from evalcore.views.published_ranking import PublishedRanking, list_month_leaders
from evalcore.views.ranking import SUITE, list_board_parts, tie_groups
from evalcore.views.targets import OUTCOMES

_LONGEST = 60  # characters of a name in a table


def build_board_view(facts: SiteFacts, ranking: RankingView, w: Words, home: str, top: str) -> Data:
    """The page of one ranking; `home` leads to the pages of the language, `top` to the data."""
    shown = list_board_parts(ranking.board)
    floors = {name: score for name, score in ranking.floors.items() if name in FLOOR_CONTROLS}
    rows = [
        _build_site_row(row, shown, floors, ranking.names[row["identity"]], w, home)
        for row in ranking.rows
    ]
    ranked = [row for row in rows if row["status"] == "ranked"]
    names = {row["identity"]: row["name"] for row in rows}
    links = {row["identity"]: row["href"] for row in rows}
    priced = [row for row in ranked if (row["cost"] or 0) > 0]
    groups = [[names[item] for item in group] for group in tie_groups(ranking.frame)]
    published = isinstance(ranking, PublishedRanking)
    return {
        "title": format_ranking_title(ranking, w),
        "columns": w.ranking_title(ranking.board, ranking.order),
        "about": _describe_board(ranking, w),
        "source": ranking.source.publisher.source if isinstance(ranking, PublishedRanking) else "",
        "months": list_month_leaders(ranking) if isinstance(ranking, PublishedRanking) else [],
        "periods": _build_period_links(facts, ranking, w, home),
        "compare": _link_comparison(ranking, home) if len(rows) > 1 else "",
        "live": build_live_address("", _build_board_query(ranking)),
        "newest": "" if published else find_newest_day(ranking),
        "published": ranking.board.published,
        "boards": _build_board_tabs(facts, ranking, w, home),
        "orders": _build_order_links(facts, ranking, w, home),
        "decision": ranking.describe(w.language)
        if isinstance(ranking, PublishedRanking)
        else board_titles.describe_ranking(groups, w.language),
        "kinds": sorted({(row["kind"], w.kind_title(row["kind"])) for row in rows}),
        "parts": [{"key": part, "title": w.part_title(part)} for part in shown],
        "ranked": ranked,
        "makers": {name: entry.organization for name, entry in ranking.source.entries.items()}
        if isinstance(ranking, PublishedRanking)
        else {},
        "others": [row for row in rows if row["status"] != "ranked"],
        "floors": floors,
        "scatter": draw_priced_scatter(priced, w) if priced else "",
        "unpriced": len(ranked) - len(priced),
        "leaders": [
            (w.part_title(item.part), names[item.identity], links[item.identity], item.score)
            for item in ranking.find_leaders(shown)
        ],
        "files": [
            (w.t(f"site.{kind}"), top + data_file(make_ranking_stem(ranking), end))
            for kind, end in (FILES[:1] if ranking in facts.months else FILES)
            if priced or end != COST_CHART_FILE
        ],
    }


def _describe_board(ranking: RankingView, w: Words) -> str:
    if isinstance(ranking, PublishedRanking):
        return ranking.describe_source(w.language)
    return w.ranking_about(ranking.board, ranking.order)


COST_CHART_FILE = "cost.vl.json"
FILES = (("csv", "csv"), ("json", "json"), ("chart", "vl.json"), ("cost_chart", COST_CHART_FILE))


def format_ranking_title(ranking: RankingView, w: Words) -> str:
    """The suite and, unless the whole of it is ranked, by what."""
    suite = w.suite_title(ranking.board.suite)
    return suite if ranking.order == SUITE else f"{suite} · {w.order_title(ranking.order)}"


def find_newest_day(ranking: RankingView) -> str:
    """The day of the newest run on a board."""
    return max((column.newest for column in ranking.board.columns.values()), default="")[:10]


def _build_site_row(
    row: Data, shown: Sequence[str], floors: dict[str, float], name: str, w: Words, home: str
) -> dict[str, Any]:
    values = [row["metrics"][part] if "/" in part else row["scores"][part] for part in shown]
    return {
        **row,
        "name": w.target_name(name),
        "short": w.target_name(name, _LONGEST),
        "named": name != row["identity"],
        "href": home + target_page(row["identity"]),
        "parts": values,
        "total": row["measured"] + row["errors"],
        "bar": rendering.draw_score_bar(row, floors),
    }


def draw_priced_scatter(priced: Sequence[Data], w: Words) -> str:
    frame = pd.DataFrame(priced)
    best = list(select_pareto_rows(frame)["identity"])
    return rendering.draw_cost_scatter(priced, best, w.t("site.cost_alt", count=len(priced)))


def _build_board_tabs(facts: SiteFacts, ranking: RankingView, w: Words, home: str) -> list[Data]:
    """Every board by its default order; a suite's default board goes by the suite's name."""
    return [
        {
            "title": format_tab_title(other, w),
            "href": home + board_page(make_ranking_stem(other)),
            "current": _is_same_tab(other, ranking),
        }
        for other in facts.default_rankings
    ]


def _is_same_tab(first: RankingView, second: RankingView) -> bool:
    """Whether two boards have one tab: the months of a publisher share theirs."""
    if isinstance(first, PublishedRanking) and isinstance(second, PublishedRanking):
        return first.source.publisher.key == second.source.publisher.key
    return first.board == second.board


def _build_period_links(
    facts: SiteFacts, ranking: RankingView, w: Words, home: str
) -> list[tuple[str, list[Data]]]:
    """The setups of a publisher, and the months of the setup of a board, each where there is a
    choice."""
    if not isinstance(ranking, PublishedRanking):
        return []
    boards = list_publisher_boards(facts, ranking)
    own = ranking.source
    newest: dict[str, PublishedRanking] = {}
    for other in boards:
        newest.setdefault(other.source.setup, other)
    setups = [
        {
            "title": _format_setup(other),
            "href": home + board_page(make_ranking_stem(other)),
            "current": setup == own.setup,
        }
        for setup, other in newest.items()
    ]
    months = [
        {
            "title": other.source.month,
            "href": home + board_page(make_ranking_stem(other)),
            "current": other.source.month == own.month,
        }
        for other in boards
        if other.source.setup == own.setup
    ]
    periods = [(w.t("published.setup"), setups), (w.t("published.month"), months)]
    return [(title, links) for title, links in periods if len(links) > 1]


def _format_setup(ranking: PublishedRanking) -> str:
    setup = describe_setup(ranking.source.publication, ranking.source.setup)
    return to_single_line(" · ".join(value for value in setup.values() if value), 60)


def _link_comparison(ranking: RankingView, home: str) -> str:
    """The comparison of the first two of a board."""
    rows = [ranking.targets[row["identity"]].runs for row in ranking.rows[:2]]
    runs = ",".join(next(iter(own.values())).run_id for own in rows if own)
    query = urlencode({"board": make_ranking_stem(ranking), "runs": runs})
    return f"{home}compare.html?{query}"


def _build_board_query(ranking: RankingView) -> dict[str, str]:
    """The parameters of the app's page of a board."""
    query = {"suite": ranking.board.suite}
    if isinstance(ranking, PublishedRanking):
        source = ranking.source
        query |= {"source": PUBLISHED, "publisher": source.publisher.key}
        query |= {"month": source.month, "setup": source.setup}
    else:
        query["board"] = ranking.board.key
    return query | ({} if ranking.is_default else {"by": ranking.order})


def build_live_address(page: str, query: Mapping[str, str]) -> str:
    """A page of the app, below its address."""
    text = urlencode({name: value for name, value in query.items() if value})
    return f"{page}?{text}" if text else page


def format_tab_title(ranking: RankingView, w: Words) -> str:
    suite = w.suite_title(ranking.board.suite)
    if ranking.board.key == "default":
        return suite
    columns = ranking.board.columns.values()  # one makes a board differ from the default one
    column = next((column for column in columns if column.key == ranking.board.key), None)
    board = ranking.board
    label = w.column_title(board, column.benchmark) if column else w.board_title(board)
    return f"{suite} · {to_single_line(label, 60)}"


def _build_order_links(facts: SiteFacts, ranking: RankingView, w: Words, home: str) -> list[Data]:
    return [
        {
            "title": w.order_title(other.order),
            "href": home + board_page(make_ranking_stem(other)),
            "current": other.order == ranking.order,
        }
        for other in facts.rankings
        if other.board == ranking.board
    ]


def build_boards_view(facts: SiteFacts, w: Words, home: str) -> list[tuple[str, list[Data]]]:
    """List every board by suite, with its leader."""
    cards_by_suite: dict[str, list[Data]] = {}
    for ranking in facts.default_rankings:
        leader, ranked = "", ranking.ranked
        if ranked:
            name = w.target_name(ranking.names[ranked[0]["identity"]])
            leader = w.t("site.leader_of", name=name, score=w.score(ranked[0]["score"]))
        card = {
            "title": w.board_title(ranking.board),
            "href": home + board_page(make_ranking_stem(ranking)),
            "targets": len(ranked),
            "newest": find_newest_day(ranking),
            "leader": leader,
        }
        cards_by_suite.setdefault(w.suite_title(ranking.board.suite), []).append(card)
    return list(cards_by_suite.items())


# What the methodology page shows: the worked example, the floors, the columns of every board.

EVIDENCE = ("executed", "checked", "parsed", "judged")


def build_method_view(facts: SiteFacts, examples: list[WorkedExample], w: Words) -> Data:
    return {
        "worked": [_build_example_view(item, w) for item in examples],
        "outcomes": OUTCOMES,
        "evidence": EVIDENCE,
        "controls": [f"{CONTROL_KIND}:{name}" for name in CONTROL_LINES],
        "floors": [
            (format_tab_title(item, w), [item.floors.get(name) for name in CONTROL_LINES])
            for item in facts.default_rankings
        ],
        "columns": _collect_columns(facts, w),
    }


def _build_example_view(example: WorkedExample, w: Words) -> Data:
    card = benchmark_cards().get(example.benchmark)
    metric_cards = {metric.key: metric for metric in card.metrics} if card else {}
    terms = [
        term
        | {
            "title": w.part_title(f"{example.benchmark}/{term['metric']}"),
            "about": localize_text(metric_cards[term["metric"]].about, w.language),
            "evidence": card.evidence(term["metric"], example.mode),
        }
        for term in example.terms
        if card and term["metric"] in metric_cards
    ]
    return {
        "title": w.part_title(example.benchmark),
        "name": w.target_name(example.name),
        "terms": terms,
        "sums": example.sums,
    }


def _collect_columns(facts: SiteFacts, w: Words) -> list[tuple[str, Column]]:
    columns = {
        (column.benchmark, column.key): column
        for ranking in facts.rankings
        for column in ranking.board.columns.values()
    }
    return [(w.part_title(benchmark), column) for (benchmark, _), column in columns.items()]
