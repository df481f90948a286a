"""A large run comes to what a small one of the same cases does, and is not read again in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure
from evalcore.records import Completion, Failure, GenerationRequest, Usage
from evalcore.results import RunSummary
from evalcore.runner import execute, run_index
from evalcore.runner.plan import create_benchmark, create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.store import case_index, case_parts, case_tables
from evalcore.store.case_index import CaseIndex, locate_index
from evalcore.store.run_folder import RunFolder, StoredVerdict
from evalcore.store.stored_cases import StoredSamples, StoredVerdicts
from evalcore.targets import registry
from evalcore.targets.base import TargetInfo
from tests.support.cases import syntax_cases

KEY = "sql_understanding"
CASES = 12


class Target:
    """Answers by the number of the request; some fail at first, and a price and a time belong to
    each."""

    def __init__(self, failing: frozenset[int] = frozenset()) -> None:
        self.key = "openai:fake"
        self.info = TargetInfo(kind="endpoint", title="fake", cacheable=False)
        self.failing, self.asked = failing, 0

    async def open(self, progress: Any) -> None:
        progress("open")

    async def generate(self, request: GenerationRequest) -> Completion:
        self.asked += 1
        if self.asked in self.failing:
            raise TargetFailure(Failure("permanent", "no"))
        answer = "yes" if self.asked % 3 else "no"
        return Completion(
            text=f'{{"has_syntax_error": "{answer}"}}',
            usage=Usage(input_tokens=self.asked, output_tokens=7),
            latency=self.asked / 8,
        )

    async def close(self) -> None:
        return


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_index, "LARGE", 4)
    monkeypatch.setattr(case_parts, "_ROWS", 4)
    monkeypatch.setattr(case_parts, "_SMALLEST", 2)


@pytest.fixture
def settings(tmp_path: Path) -> configuration.Settings:
    return configuration.Settings(data=str(tmp_path / "data"), retry_base=0.001, max_attempts=1)


def plan(tmp_path: Path, settings: configuration.Settings, epochs: int = 1) -> RunFolder:
    cases = syntax_cases(tmp_path / "cases", CASES)
    request = RunRequest(*("openai:fake", (KEY,)), dataset=str(cases), concurrency=1, epochs=epochs)
    return create_folder(plan_run(request, settings), settings)


def work(
    folder: RunFolder,
    settings: configuration.Settings,
    monkeypatch: pytest.MonkeyPatch,
    target: Target,
    **more: Any,
) -> RunSummary:
    monkeypatch.setattr(registry, "create_target", lambda *_: target)
    return work_on_run(folder, settings, Secrets(), **more)


def without_times(summary: RunSummary) -> RunSummary:
    totals = msgspec.structs.replace(summary.totals, wall=0.0)
    return msgspec.structs.replace(summary, run_id="", created_at="", finished_at="", totals=totals)


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_large_run_comes_to_what_a_small_one_does(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any, epochs: int
) -> None:
    failing = frozenset({2, 5, 13})
    folder = plan(tmp_path, settings, epochs)
    large = work(folder, settings, monkeypatch, Target(failing))
    assert locate_index(folder, large.scoring).exists()
    monkeypatch.setattr(case_index, "LARGE", 10**9)
    other = plan(tmp_path, settings, epochs)
    small = work(other, settings, monkeypatch, Target(failing))
    assert not locate_index(other, small.scoring).exists()
    assert without_times(large) == without_times(small)
    assert large.state == "incomplete"
    assert large.errors == {"permanent": 3 if epochs > 1 else 2}


def test_scores_that_are_read_case_by_case_are_those_of_lists(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any
) -> None:
    folder = plan(tmp_path, settings, 2)
    summary = work(folder, settings, monkeypatch, Target(frozenset({3, 4})))
    spec = folder.read_spec()
    (declared,) = spec.benchmarks
    benchmark = create_benchmark(KEY, declared.options)
    with CaseIndex.load(folder, summary.scoring, spec.epochs) as index:
        samples = StoredSamples(index, declared)
        verdicts = StoredVerdicts(samples)
        assert len(verdicts) == 2 * CASES
        assert len(samples[1:4]) == 3
        assert verdicts[0] in list(verdicts)
        read = benchmark.aggregate(samples, verdicts, declared.weights, epochs=2)
        listed = benchmark.aggregate(list(samples), list(verdicts), declared.weights, epochs=2)
    assert read == listed
    assert read.outcomes == summary.benchmarks[KEY].outcomes


def test_a_finished_run_is_not_read_again(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any
) -> None:
    folder = plan(tmp_path, settings)
    before = work(folder, settings, monkeypatch, Target())
    table = folder.parquet_path.stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr(execute.GenerationPlan, "list_units", None)
        patch.setattr(execute.summaries, "summarise_run", None)
        target = Target()
        again = work(folder, settings, patch, target)
        assert work(folder, settings, patch, target).state == "done"
    assert target.asked == 0
    assert msgspec.structs.replace(again, finished_at="") == msgspec.structs.replace(
        before, finished_at=""
    )
    assert folder.current_state() == "done"
    progress = folder.read_progress()
    assert progress is not None
    assert (progress.scored, progress.generated, progress.state) == (CASES, CASES, "done")
    assert folder.parquet_path.stat().st_mtime_ns == table
    assert case_tables.list_samples_tables(folder) == [folder.parquet_path]


def test_a_line_behind_the_result_is_summed_up(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any
) -> None:
    folder = plan(tmp_path, settings)
    before = work(folder, settings, monkeypatch, Target())
    verdict = next(iter(folder.read_verdicts(before.scoring))).verdict
    other = "failed" if verdict.outcome == "passed" else "passed"
    changed = msgspec.structs.replace(verdict, outcome=other, score=float(other == "passed"))
    with folder.open_journal("verdicts", before.scoring, "main.jsonl") as journal:
        journal.append(StoredVerdict(KEY, changed))
    again = work(folder, settings, monkeypatch, Target())
    assert again.benchmarks[KEY].outcomes != before.benchmarks[KEY].outcomes
    outcomes = case_tables.query_case_page(folder)[0]["outcome"]
    assert dict(outcomes.value_counts()) == again.benchmarks[KEY].outcomes


def test_another_version_and_a_rescore_sum_up_anew(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any
) -> None:
    folder = plan(tmp_path, settings)
    before = work(folder, settings, monkeypatch, Target())
    seen = []
    summarise = execute.summaries.summarise_run

    def count(*arguments: Any, **named: Any) -> RunSummary:
        seen.append(arguments)
        return summarise(*arguments, **named)

    monkeypatch.setattr(execute.summaries, "summarise_run", count)
    work(folder, settings, monkeypatch, Target(), generate=False)
    assert len(seen) == 1
    monkeypatch.setattr(run_index, "find_installed_version", lambda name: "another")
    monkeypatch.setattr(run_index, "summarise_run", count)
    again = work(folder, settings, monkeypatch, Target())
    assert len(seen) == 2
    assert without_times(again) == without_times(before)


def test_an_incomplete_run_goes_on_where_it_stopped(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: Any
) -> None:
    folder = plan(tmp_path, settings)
    first = work(folder, settings, monkeypatch, Target(frozenset({2, 7})))
    assert first.state == "incomplete"
    parts = case_tables.list_samples_tables(folder)
    assert len(parts) == CASES // 4
    target = Target()
    second = work(folder, settings, monkeypatch, target)
    assert (second.state, target.asked) == ("done", 2)
    frame, count = case_tables.query_case_page(folder)
    assert count == CASES
    assert not set(frame["outcome"]) & {"target_error", "missing"}
    assert not any(map(Path.exists, parts))
