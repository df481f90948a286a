"""Headers that name the same things hold the same texts, and those that score the same lines."""

from __future__ import annotations

from evalcore.records import from_json, to_json
from evalcore.store.headers import HeaderScore, RunHeader, intern_header_texts


def test_texts_and_lines_are_shared_and_nothing_is_changed():
    score = HeaderScore(
        column="c" * 12,
        score=50.0,
        label="a label",
        dataset="a data set",
        metrics={
            "a": (50.0, None, 62.5, 8),
            "b": (50.0, None, 62.5, 8),
            "c": (50.0, None, 62.5, 9),
        },
    )
    written = RunHeader(
        run_id="r1",
        target_key="api:some model",
        identity="api:some model",
        created_at="2026-11-15T00:00:00",
        state="done",
        benchmarks={"one": score},
    )
    first, second = (intern_header_texts(from_json(RunHeader, to_json(written))) for _ in range(2))
    assert first == second == written
    assert first.identity is second.identity is first.target_key
    item, two = first.benchmarks["one"], second.benchmarks["one"]
    assert item.label is two.label
    assert item.metrics["a"] is two.metrics["a"] is two.metrics["b"]
