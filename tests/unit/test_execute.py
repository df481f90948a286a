"""Running a folder: resuming, epochs, faults of ours, and what a target may see."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.errors import EnvironmentFailure, RunBusy, RunFolderError, TargetFailure, UsageError
from evalcore.records import Completion, Failure, GenerationRequest, TargetSpec, Usage
from evalcore.results import RunSummary
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.store.run_folder import RunFolder
from evalcore.store.stored_cases import read_case_points
from evalcore.targets import registry
from evalcore.targets.base import TargetInfo
from tests.support.cases import syntax_cases

KEY = "sql_understanding"
NO = '{"has_syntax_error": "no"}'


class Fake:
    """A target that answers by a function of the number of the request."""

    def __init__(self, answer: Callable[[int], Completion], cacheable: bool = False) -> None:
        self.key = "openai:fake"
        self.info = TargetInfo(kind="endpoint", title="fake", cacheable=cacheable)
        self.answer = answer
        self.requests: list[GenerationRequest] = []
        self.closed = 0

    async def open(self, progress: Callable[[str], None]) -> None:
        progress("open")

    async def generate(self, request: GenerationRequest) -> Completion:
        self.requests.append(request)
        return self.answer(len(self.requests))

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def settings(tmp_path: Path) -> configuration.Settings:
    return configuration.Settings(
        data=str(tmp_path / "data"), retry_base=0.001, retry_cap=0.002, max_attempts=2
    )


@pytest.fixture
def run(
    tmp_path: Path, settings: configuration.Settings, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[RunFolder, Callable[[Fake], RunSummary]]]:
    def start(**changes: Any) -> tuple[RunFolder, Callable[[Fake], RunSummary]]:
        cases = syntax_cases(tmp_path / "cases", changes.pop("count", 6))
        values = {"target": "openai:fake", "benchmarks": (KEY,), "dataset": str(cases), **changes}
        folder = create_folder(plan_run(RunRequest(**values), settings), settings)

        def go(target: Fake) -> RunSummary:
            monkeypatch.setattr(registry, "create_target", lambda *_: target)
            return work_on_run(folder, settings, Secrets())

        return folder, go

    return start


def fails(kind: str) -> Completion:
    raise TargetFailure(Failure(kind=kind, message=f"{kind}!"))  # type: ignore[arg-type]


def test_a_run_is_scored_and_indexed(run: Callable, settings: configuration.Settings) -> None:
    from evalcore.store.index import load_headers

    folder, go = run()
    target = Fake(lambda n: Completion(text=NO, usage=Usage(input_tokens=10, output_tokens=2)))
    summary = go(target)
    assert (summary.state, summary.benchmarks[KEY].score) == ("done", 100.0)
    assert (summary.totals.input_tokens, summary.totals.output_tokens) == (60, 12)
    assert target.closed == 1
    assert folder.current_state() == "done"
    assert folder.run_id in {header.run_id for header in load_headers(settings)}


def test_a_finished_run_asks_nothing_when_resumed(run: Callable) -> None:
    _, go = run()
    first = go(Fake(lambda n: Completion(text=NO)))
    again = Fake(lambda n: fails("permanent"))
    assert go(again).benchmarks == first.benchmarks
    assert again.requests == []


def test_failures_leave_the_run_incomplete_and_are_asked_again(run: Callable) -> None:
    _, go = run()
    summary = go(Fake(lambda n: fails("permanent") if n <= 2 else Completion(text=NO)))
    score = summary.benchmarks[KEY]
    assert (summary.state, score.outcomes) == ("incomplete", {"passed": 4, "target_error": 2})
    assert score.samples == 6
    assert score.score < 100 == score.answered
    second = Fake(lambda n: Completion(text=NO))
    assert go(second).state == "done"
    assert len(second.requests) == 2


def test_a_fault_of_ours_is_no_wrong_answer(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: object, sample: object, episode: object, context: object = None) -> None:
        raise EnvironmentFailure("the engine did not start")

    monkeypatch.setattr(SqlUnderstanding, "evaluate_sample", broken)
    _, go = run()
    score = go(Fake(lambda n: Completion(text=NO))).benchmarks[KEY]
    assert score.outcomes == {"environment_error": 6}
    assert not score.complete


def test_a_scorer_that_breaks_leaves_one_sample_unmeasured(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = SqlUnderstanding.evaluate_sample

    async def broken(self: Any, sample: Any, episode: Any, context: Any = None) -> Any:
        return await sound(self, sample, episode, 1 / 0 if sample.id == "c2" else None)

    monkeypatch.setattr(SqlUnderstanding, "evaluate_sample", broken)
    _, go = run()
    score = go(Fake(lambda n: Completion(text=NO))).benchmarks[KEY]
    assert score.outcomes == {"passed": 5, "environment_error": 1}


@pytest.mark.parametrize("lost", ["all", "one", "file"])
def test_a_run_whose_samples_are_lost_keeps_its_result(run: Callable, lost: str) -> None:
    folder, go = run()
    before = go(Fake(lambda n: Completion(text=NO)))
    path = folder.path / "samples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"" if lost == "all" else b"".join(lines[1:]))
    if lost == "file":
        path.unlink()
    with pytest.raises(RunFolderError, match=r"samples\.jsonl contains . samples .* declared 6"):
        go(Fake(lambda n: Completion(text=NO)))
    assert folder.read_summary() == before
    assert "declared 6" in folder.read_progress().message


def test_an_answer_that_no_file_can_hold_is_scored_and_journaled(run: Callable) -> None:
    answer = '{"has_syntax_error": "\\ud800", "why": [NaN, 1e999]}'
    folder, go = run(count=1)
    summary = go(Fake(lambda n: Completion(text=answer)))
    assert summary.benchmarks[KEY].outcomes == {"failed": 1}
    assert len(list(folder.read_verdicts(summary.scoring))) == 1


def test_who_waits_for_a_slow_limit_is_not_out_of_time_before_it_starts(run: Callable) -> None:
    _, go = run(count=6)
    target = Fake(lambda n: Completion(text=NO))
    target.info = msgspec.structs.replace(
        target.info, card={"requests_per_minute": 300.0}, max_in_flight=6
    )
    assert go(target).state == "done"


def test_a_broken_cache_says_what_to_do(run: Callable, settings: configuration.Settings) -> None:
    _, go = run()
    (settings.data_dir / "cache.sqlite").write_bytes(b"no database " * 100)
    with pytest.raises(UsageError, match=r"cache\.sqlite: .*delete the file"):
        go(Fake(lambda n: Completion(text=NO), cacheable=True))


def test_an_unexpected_fault_ends_one_sample_and_is_told(run: Callable) -> None:
    folder, go = run()
    summary = go(Fake(lambda n: 1 / 0 if n == 3 else Completion(text=NO)))  # type: ignore[arg-type]
    assert summary.benchmarks[KEY].outcomes == {"passed": 5, "environment_error": 1}
    assert "ZeroDivisionError" in folder.events_path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (Completion(text=""), "empty"),
        (Completion(text="no idea"), "format"),
        (Completion(text='{"has_syn', finish_reason="length"), "token_limit"),
        (Completion(text="", finish_reason="content_filter"), "content_filter"),
    ],
)
def test_an_answer_of_no_use_is_the_models_own(
    run: Callable, completion: Completion, reason: str
) -> None:
    folder, go = run(count=2)
    summary = go(Fake(lambda n: completion))
    assert summary.is_complete
    assert summary.benchmarks[KEY].outcomes == {"failed": 2}
    verdicts = [line.verdict for line in folder.read_verdicts(summary.scoring)]
    assert {(v.reason, v.details["extraction"]) for v in verdicts} == {(reason, "none")}


def test_epochs_repeat_every_sample_and_are_averaged(run: Callable) -> None:
    folder, go = run(epochs=2, count=3)
    target = Fake(lambda n: Completion(text=NO if n <= 3 else ""))
    score = go(target).benchmarks[KEY]
    assert len(target.requests) == 6
    assert score.score == 50.0
    assert score.outcomes == {"passed": 3, "failed": 3}
    points = read_case_points(folder)
    assert points is not None
    assert [row[3] for row in points[KEY]] == [0.5] * 3


def test_the_cache_answers_a_second_run_but_not_another_seed(run: Callable) -> None:
    asked = []
    for seed in (0, 0, 1):
        _, go = run(seed=seed)
        target = Fake(lambda n: Completion(text=NO), cacheable=True)
        summary = go(target)
        asked.append((len(target.requests), summary.totals.cached))
    assert asked == [(6, 0), (0, 6), (6, 0)]


def test_requests_hold_no_reference(run: Callable) -> None:
    _, go = run()
    target = Fake(lambda n: Completion(text=NO))
    go(target)
    for request in target.requests:
        assert set(request.input) == {"benchmark", "metric", "dialect", "schema", "data", "sql"}
        assert "expected" not in json.dumps(request.input)


def test_a_run_that_is_worked_on_is_busy(run: Callable, settings: configuration.Settings) -> None:
    from filelock import FileLock

    folder, _ = run()
    with FileLock(folder.lock_path), pytest.raises(RunBusy):
        work_on_run(folder, settings, Secrets())


def test_identity_tells_options_apart() -> None:
    plain = TargetSpec(key="openai:a")
    warm = TargetSpec(key="openai:a", options={"temperature": 1})
    assert plain.identity == "openai:a"
    assert warm.identity.startswith("openai:a#")
