"""Headers: what they keep of a run, what they leave out, and that they stay small."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.errors import IndexFileError
from evalcore.records import TargetSpec, from_json, to_json
from evalcore.results import Interval
from evalcore.store.headers import LIMIT, RunHeader, build_run_header
from tests.support import stored_runs
from tests.support.stored_runs import BENCHMARK

replace = msgspec.structs.replace
SPEC = stored_runs.spec_of("run-1", epochs=2, note="first try")
SUMMARY = stored_runs.summary_of(SPEC)

#: Metrics of the largest run there is: every benchmark of both suites at once.
METRICS_PER_BENCHMARK = {
    "sql_understanding": 4,
    "dialect_conversion": 4,
    "sql_optimization": 4,
    "bfcl": 22,
    "tau_bench": 4,
    "gaia": 3,
    "swe_bench": 1,
}


def test_a_header_says_who_was_evaluated_when_and_how_it_ended():
    header = build_run_header(SPEC, SUMMARY)
    assert header.run_id == "run-1"
    assert header.target_key == "openai:small"
    assert header.target_options == {"temperature": 0.5}
    assert header.identity == SPEC.target.identity
    assert header.created_at == "2026-11-01T10:00:00.000+00:00"
    assert header.finished_at == "2026-11-01T10:00:09.000+00:00"
    assert (header.state, header.origin, header.epochs) == ("done", "executed", 2)
    assert header.note == "first try"
    assert header.totals == SUMMARY.totals
    assert header.shipped is False


def test_a_header_holds_the_scores_of_each_benchmark():
    score = build_run_header(SPEC, SUMMARY).benchmarks[BENCHMARK]
    assert score.score == 200 / 3, "ranks need the exact value"
    assert (score.low, score.high) == (12.3457, 98.7654)
    assert score.answered == 66.6667
    assert (score.column, score.dataset) == ("c1", "bundled")
    assert (score.samples, score.coverage, score.complete, score.full) == (3, 1.0, True, True)
    assert score.outcomes == {"passed": 2, "failed": 1}
    assert score.views == {"strict": 33.3333}
    assert score.metrics == {
        "execution_accuracy": (66.67, 1.23, 99.0, 2),
        "syntax_error_detection": (0.0, None, None, 2),
    }


def test_a_score_without_an_interval_has_no_bounds():
    bare = replace(SUMMARY.benchmarks[BENCHMARK], interval=None, answered=None)
    score = build_run_header(SPEC, replace(SUMMARY, benchmarks={BENCHMARK: bare})).benchmarks[
        BENCHMARK
    ]
    assert (score.low, score.high, score.answered) == (None, None, None)


def test_a_header_survives_json():
    header = build_run_header(SPEC, SUMMARY)
    assert from_json(RunHeader, to_json(header)) == header


def test_a_run_of_every_benchmark_fits():
    benchmarks = {}
    for key, count in METRICS_PER_BENCHMARK.items():
        names = [f"live_parallel_multi_{number:02}" for number in range(count)]
        interval = Interval(55.512345678, 77.712345678)
        metrics = {n: stored_runs.metric_score(n, 66.61234567, interval) for n in names}
        benchmarks[key] = stored_runs.score_of(metrics)
    header = build_run_header(SPEC, replace(SUMMARY, benchmarks=benchmarks))
    assert len(to_json(header)) <= LIMIT
    assert sum(len(score.metrics) for score in header.benchmarks.values()) == 42


def test_long_texts_are_cut_and_long_options_named_by_their_hash():
    target = TargetSpec("openai:small", {"system": "x" * 5000, "extra": {"y": ["z" * 5000]}})
    header = build_run_header(replace(SPEC, note="n" * 5000, target=target), SUMMARY)
    assert header.note == "n" * 199 + "…"
    assert header.target_options["system"].startswith("(long, hash ")
    assert header.target_options["extra"] != header.target_options["system"]
    assert header.identity == target.identity, "still told apart by all of the options"


def test_a_header_that_is_too_large_is_refused_with_what_takes_the_room():
    metrics = {f"metric_{n}": stored_runs.metric_score(f"metric_{n}", 50.0) for n in range(200)}
    summary = replace(SUMMARY, benchmarks={BENCHMARK: stored_runs.score_of(metrics)})
    with pytest.raises(IndexFileError, match=r"run-1: .* limit is 4096; `benchmarks` alone"):
        build_run_header(SPEC, summary)
