"""What the methodology page shows: the worked example, the floors, the columns of every board."""

from __future__ import annotations

from evalcore.catalog import benchmark_cards, localize_text
from evalcore.exchange.site.board_views import tab_title
from evalcore.exchange.site.facts import Data, Facts, Worked
from evalcore.exchange.site.words import Words
from evalcore.queries.boards import Column
from evalcore.queries.metric_board import LINES
from evalcore.queries.targets import OUTCOMES

EVIDENCE = ("executed", "checked", "parsed", "judged")


def method_view(facts: Facts, worked: list[Worked], w: Words) -> Data:
    return {
        "worked": [_worked(one, w) for one in worked],
        "outcomes": OUTCOMES,
        "evidence": EVIDENCE,
        "controls": [f"control:{name}" for name in LINES],
        "floors": [
            (tab_title(one, w), [one.data["floors"][one.by].get(name) for name in LINES])
            for one in facts.listed
            if one.first
        ],
        "columns": _columns(facts, w),
    }


def _worked(one: Worked, w: Words) -> Data:
    card = benchmark_cards().get(one.benchmark)
    known = {metric.key: metric for metric in card.metrics} if card else {}
    terms = [
        term
        | {
            "title": w.part(f"{one.benchmark}/{term['metric']}"),
            "about": localize_text(known[term["metric"]].about, w.language),
            "evidence": card.evidence(term["metric"], one.mode),
        }
        for term in one.terms
        if card and term["metric"] in known
    ]
    name = w.name({"identity": one.identity, "target_key": one.target_key})
    return {"title": w.part(one.benchmark), "name": name, "terms": terms, "sums": one.sums}


def _columns(facts: Facts, w: Words) -> list[tuple[str, Column]]:
    """Every column of any board, once."""
    found = {
        (column.benchmark, column.key): column
        for one in facts.listed
        for column in one.board.columns.values()
    }
    return [(w.part(benchmark), column) for (benchmark, _), column in found.items()]
