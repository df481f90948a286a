"""What the page of a target shows, ready for its template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalcore.exchange.site import drawings
from evalcore.exchange.site.board_views import tab_title
from evalcore.exchange.site.facts import Data, Facts, Measure
from evalcore.exchange.site.paths import board_page
from evalcore.exchange.site.words import Words
from evalcore.plain_text import to_single_line
from evalcore.queries.boards import Row
from evalcore.queries.metrics import FLOORS, metric_line
from evalcore.records import BenchmarkSpec, RunSpec, to_json
from evalcore.store.headers import RunHeader
from evalcore.target_cards import NO_CARD, TargetCard

_LOGO, _SECURE = "data:image/png;base64,", "https://"
_WIDE = 40  # characters that take a line of their own
_MOST_RUNS = 200  # in the list of a target's history


def target_view(facts: Facts, identity: str, w: Words, home: str) -> Data:
    """The page of one target; `home` leads to the pages of the language."""
    runs = facts.runs[identity]
    key = runs[0].target_key
    card = facts.cards.get(runs[0].target_key, NO_CARD)
    standing = [one for one in facts.measures if identity in one.rows]
    return {
        "name": w.name({"identity": identity, "target_key": key}),
        "logo": card.logo if card.logo.startswith(_LOGO) else "",
        "card": list(_card(card, identity, key.partition(":")[0], w)),
        "standings": [_standing(one, identity, w, home) for one in standing],
        "tables": [
            table for one in standing for table in _tables(one, identity, w, len(standing) > 1)
        ],
        "history": [row for run in runs[:_MOST_RUNS] for row in _history(run, standing, w)],
        "trend": _trend(runs, standing[0], w) if standing else "",
        "runs": [_run(facts.specs[run], w) for run in _standing_runs(facts, standing, identity)],
    }


def _card(card: TargetCard, identity: str, kind: str, w: Words) -> list[tuple[str, str, str]]:
    """What is known of the target: title, text, address."""
    weights = {True: "site.weights_open", False: "site.weights_closed"}
    size = "" if card.parameters is None else w.number(card.parameters)
    open_weights = "" if card.open_weights is None else w.t(weights[card.open_weights])
    site = card.site if card.site.startswith(_SECURE) else ""
    lines = [
        ("site.key", to_single_line(identity), ""),
        ("site.kind", w.kind(kind), ""),
        ("site.organization", card.organization, ""),
        ("site.parameters", w.t("site.parameters_value", count=size) if size else "", ""),
        ("site.weights", open_weights, ""),
        ("site.released", card.released, ""),
        ("site.licence", card.licence, ""),
        ("site.page", site.removeprefix(_SECURE), site),
    ]
    return [(w.t(title), said, href) for title, said, href in lines if said]


def standing_row(measure: Measure, identity: str) -> tuple[Data, int]:
    """The target's row in a ranking, and how many are ranked there."""
    rows = measure.listed.rows
    row = next(row for row in rows if row["identity"] == identity)
    return row, sum(one["status"] == "ranked" for one in rows)


def _standing(measure: Measure, identity: str, w: Words, home: str) -> Data:
    row, total = standing_row(measure, identity)
    reason = "" if row["status"] == "ranked" else w.t(f"ranking.status.{row['status']}")
    return {
        "stem": measure.listed.stem,
        "title": w.board(measure.listed.board),
        "href": home + board_page(measure.listed.stem),
        "said": w.standing(row, total),
        "score": row["score"],
        "reason": reason,
    }


def _tables(measure: Measure, identity: str, w: Words, several: bool) -> list[Data]:
    """A table per benchmark the target was run in: the benchmark as a whole, then its metrics."""
    row, listed = measure.rows[identity], measure.listed
    found = []
    for benchmark in row.runs:
        lines = [_whole(measure, row, benchmark, identity, w)]
        score = row.score(benchmark)
        for metric in listed.board.columns[benchmark].card.metrics:
            value, low, high, samples = metric_line(score, metric.key)
            key = f"{benchmark}/{metric.key}"
            best, floor = measure.best.get(key), measure.floor.get(key)
            said = {"title": w.part(key), "weight": metric.weight, "key": key, "whole": False}
            lines.append(said | _line(identity, value, low, high, samples, best, floor))
        told_board = f" · {tab_title(listed, w)}" if several else ""
        found.append({"title": f"{w.column(listed.board, benchmark)}{told_board}", "lines": lines})
    return found


def _whole(measure: Measure, row: Row, benchmark: str, identity: str, w: Words) -> Data:
    score = row.runs[benchmark].benchmarks[benchmark]
    every = [one["scores"][benchmark] for one in measure.listed.rows if one["status"] == "ranked"]
    floors = [
        one["scores"][benchmark] for one in measure.listed.rows if one["target_key"] in FLOORS
    ]
    best, floor = (
        max((v for v in group if v is not None), default=None) for group in (every, floors)
    )
    line_ = _line(identity, score.score, score.low, score.high, score.samples, best, floor)
    return {"title": w.part(benchmark), "weight": None, "key": benchmark, "whole": True} | line_


def _line(
    identity: str,
    score: float | None,
    low: float | None,
    high: float | None,
    samples: int,
    best: float | None,
    floor: float | None,
) -> Data:
    row = {"identity": identity, "score": score, "low": low, "high": high}
    marks = {kind: value for kind, value in (("best", best), ("floor", floor)) if value is not None}
    bar = drawings.bar(row, marks)
    return {**row, "samples": samples, "best": best, "floor": floor, "bar": bar}


def _history(run: RunHeader, standing: Sequence[Measure], w: Words) -> list[Data]:
    columns = {
        (benchmark, column.key)
        for one in standing
        for benchmark, column in one.listed.board.columns.items()
    }
    return [
        {
            "date": run.created_at,
            "benchmark": w.part(benchmark),
            "label": to_single_line(score.label, 80),
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
    ]


def _trend(runs: Sequence[RunHeader], measure: Measure, w: Words) -> str:
    """The complete runs on the first of its boards over time, if any benchmark has two."""
    lines: dict[str, list[Data]] = {}
    for run in reversed(runs):
        for benchmark, column in measure.listed.board.columns.items():
            score = run.benchmarks.get(benchmark)
            if score is not None and score.complete and score.column == column.key:
                told_run = {"date": run.created_at, "score": score.score}
                lines.setdefault(w.part(benchmark), []).append(told_run)
    shown = {name: points for name, points in lines.items() if len(points) > 1}
    if not shown:
        return ""
    most = max(map(len, shown.values()))
    return drawings.trend(shown, w.t("target.trend_alt", count=most))


def _standing_runs(facts: Facts, standing: Sequence[Measure], identity: str) -> list[str]:
    """The runs that stand for the target on any board, newest first."""
    held = {run.run_id for one in standing for run in one.rows[identity].runs.values()}
    return [run.run_id for run in facts.runs[identity] if run.run_id in held & set(facts.specs)]


def _run(spec: RunSpec, w: Words) -> Data:
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
    facts += [(w.part(one.key), _benchmark(one, w)) for one in spec.benchmarks]
    facts.append((w.t("site.versions"), ", ".join(f"{k} {v}" for k, v in spec.versions.items())))
    shown = [
        (title, to_single_line(said), len(str(said)) > _WIDE) for title, said in facts if said != ""
    ]
    return {"run_id": spec.run_id, "facts": shown, "command": spec.command}


def _benchmark(one: BenchmarkSpec, w: Words) -> str:
    """Data set, sizes, hashes and versions of a benchmark of a run."""
    options = {name: value for name, value in one.options.items() if name != "prompt"}
    parts = [
        f"{w.t('site.dataset')} {one.dataset}",
        w.t("ranking.cases" if one.full else "ranking.subset", count=one.samples),
        f"{w.t('site.hash')} {one.dataset_hash}",
        f"{w.t('site.scorer')} {one.prompt_version} / {one.scorer_version}",
        f"{w.t('site.column')} {one.column}",
    ]
    parts += [f"{w.t('site.options')} {to_json(options).decode()}"] if options else []
    return " · ".join(parts)
