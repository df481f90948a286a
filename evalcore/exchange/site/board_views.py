"""What the page of a ranking and the list of boards show, ready for their templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from evalcore.catalog import FLOOR_CONTROLS
from evalcore.charts import select_pareto_rows
from evalcore.exchange.site import drawings
from evalcore.exchange.site.facts import Data, Facts, Listed
from evalcore.exchange.site.paths import board_page, data_file, target_page
from evalcore.exchange.site.words import Words
from evalcore.plain_text import to_single_line
from evalcore.queries import board_words
from evalcore.queries.ranking import SUITE
from evalcore.queries.ranking_views import list_board_parts, tie_groups

_LONGEST = 60  # characters of a name in a table


def board_view(facts: Facts, listed: Listed, w: Words, home: str, top: str) -> Data:
    """The page of one ranking; `home` leads to the pages of the language, `top` to the data."""
    shown = list_board_parts(listed.board)
    floors = {
        name: score
        for name, score in listed.data["floors"][listed.by].items()
        if name in FLOOR_CONTROLS
    }
    rows = [_row(row, shown, floors, w, home) for row in listed.rows]
    ranked = [row for row in rows if row["status"] == "ranked"]
    names = {row["identity"]: row["name"] for row in rows}
    priced = [row for row in ranked if (row["cost"] or 0) > 0]
    groups = [[names[one] for one in group] for group in tie_groups(listed.frame)]
    return {
        "title": title(listed, w),
        "columns": w.ranked(listed.board, listed.by),
        "about": w.about(listed.board, listed.by),
        "newest": newest(listed),
        "published": listed.board.published,
        "boards": _tabs(facts, listed, w, home),
        "orders": _orders(facts, listed, w, home),
        "decision": board_words.describe_ranking(groups, w.language),
        "kinds": sorted({(row["kind"], w.kind(row["kind"])) for row in rows}),
        "parts": [{"key": part, "title": w.part(part)} for part in shown],
        "ranked": ranked,
        "others": [row for row in rows if row["status"] != "ranked"],
        "floors": floors,
        "scatter": scatter(priced, w) if priced else "",
        "unpriced": len(ranked) - len(priced),
        "leaders": [
            (w.part(one.part), names[one.identity], home + target_page(one.identity), one.score)
            for one in listed.leaders
        ],
        "files": [(w.t(f"site.{kind}"), top + data_file(listed.stem, end)) for kind, end in FILES]
        + ([(w.t("site.cost_chart"), top + data_file(listed.stem, COST))] if priced else []),
    }


FILES = (("csv", "csv"), ("json", "json"), ("chart", "vl.json"))
COST = "cost.vl.json"


def title(listed: Listed, w: Words) -> str:
    """The suite and, unless the whole of it is ranked, by what."""
    suite = w.suite(listed.board.suite)
    return suite if listed.by == SUITE else f"{suite} · {w.order(listed.by)}"


def newest(listed: Listed) -> str:
    """The day of the newest run on a board."""
    return max((column.newest for column in listed.board.columns.values()), default="")[:10]


def _row(
    row: Data, shown: Sequence[str], floors: dict[str, float], w: Words, home: str
) -> dict[str, Any]:
    values = [row["metrics"][part] if "/" in part else row["scores"][part] for part in shown]
    return {
        **row,
        "name": (name := w.name(row)),
        "short": to_single_line(name, _LONGEST),
        "named": w.named(row),
        "href": home + target_page(row["identity"]),
        "parts": values,
        "total": row["measured"] + row["errors"],
        "bar": drawings.bar(row, floors),
    }


def scatter(priced: Sequence[Data], w: Words) -> str:
    frame = pd.DataFrame(priced)
    best = list(select_pareto_rows(frame)["identity"])
    return drawings.scatter(priced, best, w.t("site.cost_alt", count=len(priced)))


def _tabs(facts: Facts, listed: Listed, w: Words, home: str) -> list[Data]:
    """Every board by its default order; a suite's default board goes by the suite's name."""
    return [
        {
            "title": tab_title(one, w),
            "href": home + board_page(one.stem),
            "current": one.board == listed.board,
        }
        for one in facts.listed
        if one.first
    ]


def tab_title(one: Listed, w: Words) -> str:
    suite = w.suite(one.board.suite)
    if one.board.key == "default":
        return suite
    column = one.board.columns.get(_own_column(one), None)
    told = w.board(one.board) if column is None else w.column(one.board, column.benchmark)
    return f"{suite} · {to_single_line(told, 60)}"


def _own_column(one: Listed) -> str:
    """The benchmark whose column makes a board differ from the default one."""
    columns = one.board.columns.values()
    return next((column.benchmark for column in columns if column.key == one.board.key), "")


def _orders(facts: Facts, listed: Listed, w: Words, home: str) -> list[Data]:
    return [
        {
            "title": w.order(one.by),
            "href": home + board_page(one.stem),
            "current": one.by == listed.by,
        }
        for one in facts.listed
        if one.board == listed.board
    ]


def boards_view(facts: Facts, w: Words, home: str) -> list[tuple[str, list[Data]]]:
    """Every board by suite, with who leads it."""
    found: dict[str, list[Data]] = {}
    for one in facts.listed:
        if not one.first:
            continue
        ranked = [row for row in one.rows if row["status"] == "ranked"]
        leader = ""
        if ranked:
            said = {"name": w.name(ranked[0]), "score": w.score(ranked[0]["score"])}
            leader = w.t("site.leader_of", **said)
        card = {
            "title": w.board(one.board),
            "href": home + board_page(one.stem),
            "targets": len(ranked),
            "newest": newest(one),
            "leader": leader,
        }
        found.setdefault(w.suite(one.board.suite), []).append(card)
    return list(found.items())
