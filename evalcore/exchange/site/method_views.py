"""What the methodology page shows: the worked example, the floors, the columns of every board."""

from __future__ import annotations

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.exchange.site.board_views import format_tab_title
from evalcore.exchange.site.facts import Data, SiteFacts, WorkedExample
from evalcore.exchange.site.words import Words
from evalcore.queries.boards import Column
from evalcore.queries.metric_board import CONTROL_LINES
from evalcore.queries.targets import OUTCOMES

EVIDENCE = ("executed", "checked", "parsed", "judged")


def build_method_view(facts: SiteFacts, examples: list[WorkedExample], w: Words) -> Data:
    return {
        "worked": [_build_example_view(item, w) for item in examples],
        "outcomes": OUTCOMES,
        "evidence": EVIDENCE,
        "controls": [f"control:{name}" for name in CONTROL_LINES],
        "floors": [
            (
                format_tab_title(item, w),
                [item.data["floors"][item.by].get(name) for name in CONTROL_LINES],
            )
            for item in facts.rankings
            if item.first
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
    name = w.target_name({"identity": example.identity, "target_key": example.target_key})
    return {
        "title": w.part_title(example.benchmark),
        "name": name,
        "terms": terms,
        "sums": example.sums,
    }


def _collect_columns(facts: SiteFacts, w: Words) -> list[tuple[str, Column]]:
    """Every column of any board, once."""
    columns = {
        (column.benchmark, column.key): column
        for ranking in facts.rankings
        for column in ranking.board.columns.values()
    }
    return [(w.part_title(benchmark), column) for (benchmark, _), column in columns.items()]
