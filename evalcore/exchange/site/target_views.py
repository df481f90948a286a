"""What the page of a target shows, ready for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from evalcore.exchange.site import rendering
from evalcore.exchange.site.board_views import build_live_address, format_tab_title
from evalcore.exchange.site.case_data import SiteColumn
from evalcore.exchange.site.facts import (
    Data,
    SiteFacts,
    board_page,
    list_publisher_boards,
    make_ranking_stem,
)
from evalcore.exchange.site.rendering import Words
from evalcore.plain_text import to_single_line
from evalcore.records import BenchmarkSpec, RunSpec, to_json
from evalcore.store.headers import RunHeader
from evalcore.target_cards import NO_CARD, TargetCard
from evalcore.views.board_table import RankingView
from evalcore.views.board_titles import describe_score
from evalcore.views.published_boards import PUBLISHED
from evalcore.views.published_ranking import PublishedRanking
from evalcore.views.targets import ScoreLine, TargetView

_LOGO, _SECURE = "data:image/png;base64,", "https://"
_WIDE = 40  # characters that take a line of their own
_MOST_RUNS = 200  # in the list of a target's history


def build_target_view(
    facts: SiteFacts,
    identity: str,
    w: Words,
    home: str,
    columns: Mapping[tuple[str, str], SiteColumn],
) -> Data:
    """The page of one target; `home` leads to the pages of the language. A target of a publisher
    that is on no board of today is shown on the newest that has it."""
    runs = facts.runs[identity]
    key = runs[0].target_key
    card = facts.cards.get(runs[0].target_key, NO_CARD)
    rankings = [ranking for ranking in facts.default_rankings if identity in ranking.targets]
    if not rankings:
        rankings += [ranking for ranking in facts.months if identity in ranking.targets][:1]
    published = next((each for each in rankings if isinstance(each, PublishedRanking)), None)
    kind = "" if published else key.partition(":")[0]  # who publishes is no kind of target
    query = {"key": identity} | ({"source": PUBLISHED} if published else {})
    return {
        "live": build_live_address("target", query),
        "publisher": published.source.publisher if published else None,
        "months": _list_month_ranks(facts, published, identity, home) if published else [],
        "name": w.target_name(facts.names[identity]),
        "logo": card.logo if card.logo.startswith(_LOGO) else "",
        "card": _build_card_lines(card, identity, kind, w),
        "standings": [_build_standing(ranking, identity, w, home) for ranking in rankings],
        "tables": _build_all_tables(rankings, identity, w, home, columns),
        "parts": [w.part_title(key) for key in published.board.columns] if published else [],
        "history": [
            row
            for run in runs[:_MOST_RUNS]
            if run.origin != "published"
            for row in _build_history_rows(run, rankings, w)
        ],
        "trend": _draw_target_trend(runs, rankings[0], w) if rankings else "",
        "runs": [
            _build_run_view(facts.specs[run], w)
            for run in _list_standing_runs(facts, rankings, identity)
        ],
    }


def _build_card_lines(
    card: TargetCard, identity: str, kind: str, w: Words
) -> list[tuple[str, str, str]]:
    """What is known of the target: title, text, address."""
    weights = "site.weights_open" if card.open_weights else "site.weights_closed"
    size = "" if card.parameters is None else w.number(card.parameters)
    open_weights = "" if card.open_weights is None else w.t(weights)
    site = card.site if card.site.startswith(_SECURE) else ""
    lines = [
        ("site.key", to_single_line(identity), ""),
        ("site.kind", w.kind_title(kind), ""),
        ("site.organization", card.organization, ""),
        ("site.parameters", w.t("site.parameters_value", count=size) if size else "", ""),
        ("site.weights", open_weights, ""),
        ("site.released", card.released, ""),
        ("site.licence", card.licence, ""),
        ("site.page", site.removeprefix(_SECURE), site),
    ]
    return [(w.t(title), text, href) for title, text, href in lines if text]


def _build_standing(ranking: RankingView, identity: str, w: Words, home: str) -> Data:
    row, stem = ranking.find_row(identity) or {}, make_ranking_stem(ranking)
    reason = "" if row["status"] == "ranked" else w.t(f"ranking.status.{row['status']}")
    return {
        "stem": stem,
        "title": w.board_title(ranking.board),
        "href": home + board_page(stem),
        "sentence": w.describe_standing(row, len(ranking.ranked)),
        "score": row["score"],
        "reason": reason,
    }


def _build_all_tables(
    rankings: Sequence[RankingView],
    identity: str,
    w: Words,
    home: str,
    columns: Mapping[tuple[str, str], SiteColumn],
) -> list[Data]:
    """A table per column that the target was run in: the benchmark as a whole, then its metrics.
    Boards may share a column."""
    tables: dict[tuple[str, str], Data] = {}
    for ranking in rankings:
        view = TargetView(ranking.headers, ranking.board, identity)
        suffix = f" · {format_tab_title(ranking, w)}" if len(rankings) > 1 else ""
        for benchmark, run in ranking.targets[identity].runs.items():
            key = (benchmark, ranking.board.columns[benchmark].key)
            if key in tables:
                continue
            query = urlencode({"run": run.run_id, "benchmark": benchmark})
            tables[key] = {
                "title": f"{w.column_title(ranking.board, benchmark)}{suffix}",
                "lines": [
                    _build_score_line(identity, line, w) for line in view.list_scores(benchmark)
                ],
                "cases": f"{home}cases.html?{query}" if key in columns else "",
                "count": ranking.board.columns[benchmark].samples,
            }
    return list(tables.values())


def _list_month_ranks(
    facts: SiteFacts, ranking: PublishedRanking, identity: str, home: str
) -> list[Data]:
    """Where a published model stood in each month of its setup, the newest first."""
    rows = []
    for board in list_publisher_boards(facts, ranking):
        row = board.find_row(identity) if board.source.setup == ranking.source.setup else None
        if row is not None:
            names = ("rank", "rank_low", "rank_high", "score", "low", "high")
            standing = {"month": board.source.month, "total": len(board.ranked)}
            standing["href"] = home + board_page(make_ranking_stem(board))
            standing["parts"] = [row["scores"].get(key) for key in ranking.board.columns]
            rows.append(standing | {name: row[name] for name in names})
    return rows


def _build_score_line(identity: str, line: ScoreLine, w: Words) -> Data:
    key = f"{line.benchmark}/{line.metric}" if line.metric else line.benchmark
    row = {"identity": identity, "score": line.score, "low": line.low, "high": line.high}
    best_and_floor = {"best": line.best, "floor": line.floor}
    marks = {kind: value for kind, value in best_and_floor.items() if value is not None}
    titles = {"title": w.part_title(key), "key": key, "weight": line.weight}
    return {
        **titles,
        **row,
        **best_and_floor,
        "whole": not line.metric,
        "samples": line.samples,
        "bar": rendering.draw_score_bar(row, marks),
    }


def _build_history_rows(run: RunHeader, rankings: Sequence[RankingView], w: Words) -> list[Data]:
    columns = {
        (benchmark, column.key)
        for ranking in rankings
        for benchmark, column in ranking.board.columns.items()
    }
    return [
        {
            "date": run.created_at,
            "benchmark": w.part_title(benchmark),
            "label": describe_score(own | {"benchmark": benchmark}, w.language),
            "score": score.score,
            "low": score.low,
            "high": score.high,
            "coverage": score.coverage,
            "cost": run.totals.cost,
            "state": run.state,
            "here": (benchmark, score.column) in columns,
            "run_id": run.run_id,
        }
        for benchmark, score in run.benchmarks.items()
        for own in (msgspec.structs.asdict(score),)
    ]


def _draw_target_trend(runs: Sequence[RunHeader], ranking: RankingView, w: Words) -> str:
    """The complete runs on the first of its boards over time, if any benchmark has two."""
    lines: dict[str, list[Data]] = {}
    for run in reversed(runs):
        for benchmark, column in ranking.board.columns.items():
            score = run.benchmarks.get(benchmark)
            if score is not None and score.complete and score.column == column.key:
                point = {"date": run.created_at, "score": score.score}
                lines.setdefault(w.part_title(benchmark), []).append(point)
    shown = {name: points for name, points in lines.items() if len(points) > 1}
    if not shown:
        return ""
    run_count = max(map(len, shown.values()))
    return rendering.draw_score_trend(shown, w.t("target.trend_alt", count=run_count))


def _list_standing_runs(
    facts: SiteFacts, rankings: Sequence[RankingView], identity: str
) -> list[str]:
    """The runs that stand for the target on any board, newest first."""
    held = {run.run_id for ranking in rankings for run in ranking.targets[identity].runs.values()}
    return [run.run_id for run in facts.runs[identity] if run.run_id in held & set(facts.specs)]


def _build_run_view(spec: RunSpec, w: Words) -> Data:
    facts: list[tuple[str, Any]] = [
        (w.t("ranking.date"), f"{spec.created_at[:16].replace('T', ' ')} UTC"),
        (w.t("site.origin"), w.t(f"site.origin.{spec.origin}")),
        (w.t("site.seed"), spec.seed),
        (w.t("site.epochs"), spec.epochs),
        (w.t("site.commit"), spec.git_commit),
        (w.t("site.judges"), ", ".join(spec.judges)),
        (
            w.t("target.options"),
            to_json(spec.target.options).decode() if spec.target.options else "",
        ),
    ]
    facts += [(w.part_title(own.key), _describe_benchmark(own, w)) for own in spec.benchmarks]
    facts.append((w.t("site.versions"), ", ".join(f"{k} {v}" for k, v in spec.versions.items())))
    shown = [
        (title, to_single_line(value), len(str(value)) > _WIDE)
        for title, value in facts
        if value != ""
    ]
    return {"run_id": spec.run_id, "facts": shown, "command": spec.command}


def _describe_benchmark(own: BenchmarkSpec, w: Words) -> str:
    options = {name: value for name, value in own.options.items() if name != "prompt"}
    parts = [
        f"{w.t('site.dataset')} {own.dataset}",
        w.t("ranking.cases" if own.full else "ranking.subset", count=own.samples),
        f"{w.t('site.hash')} {own.dataset_hash}",
        f"{w.t('site.scorer')} {own.prompt_version} / {own.scorer_version}",
        f"{w.t('site.column')} {own.column}",
    ]
    parts += [f"{w.t('site.options')} {to_json(options).decode()}"] if options else []
    return " · ".join(parts)
