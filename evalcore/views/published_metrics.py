"""One metric of a published board across its models, in the shape of every other metric."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evalcore.settings import Settings
from evalcore.single_flight import SingleFlightCache
from evalcore.views.boards import PUBLICATION_PREFIX, Board
from evalcore.views.metric_board import MetricCases, MetricView, metric_view
from evalcore.views.published_boards import (
    PublishedBoard,
    list_verdicts,
    load_published_board,
    load_publishers,
    make_reference,
)
from evalcore.views.published_ranking import rank_claims

_views: SingleFlightCache[MetricView] = SingleFlightCache(32)


def find_board_source(settings: Settings, board: Board) -> PublishedBoard | None:
    """The published board that a board is the face of; None where it is of runs, or its file is
    gone."""
    if not board.is_publication:
        return None
    name = board.key.removeprefix(PUBLICATION_PREFIX)
    for publisher in load_publishers(settings, board.suite):
        if name.startswith(f"{publisher.key}-"):
            rest = name.removeprefix(f"{publisher.key}-")
            month, setup = rest[: len("2026-11")], rest[len("2026-11-") :]
            return load_published_board(settings, publisher.key, month, setup)
    return None


def load_published_metric(source: PublishedBoard, benchmark: str, metric: str) -> MetricView:
    """Who stands where in a metric; by the claims where no verdict is published."""
    key = (source.publication.signature, source.board.key, benchmark, metric)
    view = _views.get(key, lambda: _build_metric_view(source, benchmark, metric))
    return view._replace(standing=view.standing.copy(deep=False))


def _build_metric_view(source: PublishedBoard, benchmark: str, metric: str) -> MetricView:
    cases = MetricCases(
        _build_case_frame(source, benchmark, metric),
        pd.DataFrame(columns=["run", "cause", "count"]),
    )
    view = metric_view(source.headers, source.board, benchmark, metric, cases)
    if source.has_verdicts:
        return view
    return view._replace(standing=rank_claims(view.standing))


def _build_case_frame(source: PublishedBoard, benchmark: str, metric: str) -> pd.DataFrame:
    """The declared cases of a metric by run; a case without a verdict is left out."""
    rule = source.rules.get(benchmark)
    points = rule.points.get(metric, {}) if rule else {}
    weight = rule.weights.get(metric) if rule else None
    records: list[dict[str, Any]] = []
    for entry in source.entries.values():
        verdicts = list_verdicts(source.publication, entry, benchmark)
        run = make_reference(source.publisher.key, entry)
        records += [
            {
                "run": run,
                "id": case,
                "difficulty": worth,
                "weight": weight,
                "case_weight": worth,
                "tries": 1,
                "score": verdicts[metric, case],
                "passed": verdicts[metric, case],
                "unusable": False,
                "evidence": None,
                "cost": None,
                "unpriced": True,
                "latency": None,
            }
            for case, worth in points.items()
            if (metric, case) in verdicts
        ]
    names = ("run", "id", "difficulty", "weight", "case_weight", "tries", "score", "passed")
    columns = [*names, "unusable", "evidence", "cost", "unpriced", "latency"]
    frame = pd.DataFrame(records, columns=columns)
    return frame.astype({"cost": float, "latency": float, "weight": float})
