"""A run on several workers: what it journals, what it asks again, and what it keeps to. The workers
are in this process; `tests/chaos/test_ray_cluster.py` has them on the nodes of a Ray cluster."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.records import content_hash
from evalcore.results import RunSummary
from evalcore.runner import cluster, node, ray_workers
from evalcore.runner.limits import Share
from evalcore.runner.node import Report, build_node_settings, select_node_settings
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.settings import Price, Settings
from evalcore.store.journal import name_next_journal, name_worker_journal
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.fake_cluster import build_pool
from tests.support.loopback_server import Options, Server, serve

SAMPLES = 60


@pytest.fixture(autouse=True)
def node_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALBOARD_NODE_DATA", str(tmp_path / "node"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def plan(
    tmp_path: Path, server: Server, settings: Settings | None = None, **changes: Any
) -> tuple[RunFolder, Settings]:
    settings = settings or Settings()
    settings = msgspec.structs.replace(
        settings, data=str(tmp_path / "data"), shipped=str(tmp_path / "none"), ray_address="fake"
    )
    request = RunRequest(
        target="openai:test",
        target_options={"base_url": server.base_url},
        benchmarks=("sql_understanding",),
        dataset=str(syntax_cases(tmp_path / "cases", SAMPLES)),
        concurrency=6,
        use_cache=False,
        executor="ray",
    )
    request = msgspec.structs.replace(request, **changes)
    return create_folder(plan_run(request, settings), settings), settings


def measured(summary: RunSummary) -> tuple[Any, ...]:
    """All of a summary that must not depend on where the run was worked on."""
    score = summary.benchmarks["sql_understanding"]
    return summary.state, score.score, score.interval, score.outcomes, score.metrics, score.column


def verdicts(folder: RunFolder, summary: RunSummary) -> dict[str, str]:
    lines = list(folder.read_verdicts(summary.scoring))
    assert len({line.verdict.id for line in lines}) == len(lines)
    return {line.verdict.id: content_hash(line.verdict) for line in lines}


def test_workers_measure_what_a_single_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    with serve(Options(latency=0.1)) as server:
        folder, settings = plan(tmp_path / "a", server)
        spread = work_on_run(folder, settings, Secrets())
        stats = server.stats()
        assert stats["requests"] == SAMPLES
        assert stats["max_in_flight"] <= 6, "the workers together ask more at once than the run may"
        single_folder, settings = plan(tmp_path / "b", server, executor="")
        single = work_on_run(single_folder, settings, Secrets())
    assert measured(spread) == measured(single)
    assert verdicts(folder, spread) == verdicts(single_folder, single)
    names = sorted(path.name for path in (folder.path / "generations").iterdir())
    assert {"w0001-0000.jsonl", "w0001-0001.jsonl"} <= set(names)
    assert all(name.startswith("w0001-") for name in names)
    assert os.environ.get("EVALBOARD_DATA") != str(tmp_path / "node")


def test_a_lost_worker_repeats_only_what_it_had_not_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[Report] = []

    def is_lost(number: int, report: Report) -> bool:
        if number == 2 and report.finished and not lost:
            lost.append(report)
            return True
        return False

    monkeypatch.setattr(ray_workers, "RayPool", build_pool(is_lost))
    with serve(Options(latency=0.03)) as server:
        folder, settings = plan(tmp_path, server)
        summary = work_on_run(folder, settings, Secrets())
        stats = server.stats()
    assert summary.state == "done"
    [report] = lost
    asked = sum(part.lines.count(b"\n") for part in report.parts if "calls" in part.path)
    again = [name for name, count in stats["prompts"].items() if count > 1]
    assert len(again) <= asked + report.in_flight + 2  # 2: of its share, begun after that report
    assert max(stats["prompts"].values()) <= 2
    assert len(verdicts(folder, summary)) == SAMPLES
    calls = Counter(call.key for call in folder.read_calls())
    assert set(calls.values()) == {1}
    assert "node2" in folder.find_event("worker_lost")


def test_a_sample_that_takes_its_worker_along_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it takes all the memory of a node: the others are measured."""
    monkeypatch.setattr(cluster, "_AHEAD", 0)
    with serve(Options(latency=0.0)) as server:
        folder, settings = plan(tmp_path, server, concurrency=1, max_samples=6)
        victim = next(iter(folder.read_samples())).sample.id

        def is_lost(number: int, report: Report) -> bool:
            return any(key[1].endswith(victim) for key in report.finished) and number <= 3

        monkeypatch.setattr(ray_workers, "RayPool", build_pool(is_lost, workers=1))
        summary = work_on_run(folder, settings, Secrets())
    score = summary.benchmarks["sql_understanding"]
    assert summary.state == "incomplete"
    assert score.outcomes["environment_error"] == 1
    assert sum(score.outcomes.values()) == 6
    failed = [line.episode for line in folder.read_episodes() if line.episode.failure]
    assert "lost" in failed[0].failure.message


def test_workers_that_are_lost_at_once_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool(lambda number, report: True))
    with serve(Options()) as server:
        folder, settings = plan(tmp_path, server)
        with pytest.raises(EnvironmentFailure, match="again and again"):
            work_on_run(folder, settings, Secrets())
    progress = folder.read_progress()
    assert progress is not None
    assert "again and again" in progress.message


def test_a_run_goes_on_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun by one process, taken up by workers, ended by one process: nothing is asked twice, and
    every journal is read after those of earlier attempts."""
    with serve(Options(latency=0.15)) as server:
        folder, settings = plan(tmp_path, server, executor="")
        first = work_on_run(
            folder, settings, Secrets(), on_tick=lambda _: folder.cancel_path.touch()
        )
        assert first.state in ("cancelled", "done")
        monkeypatch.setattr(ray_workers, "RayPool", build_pool())
        assert work_on_run(folder, settings, Secrets(), executor="ray").state == "done"
        assert server.stats()["requests"] <= SAMPLES + 6
        assert name_next_journal(folder.path) == "w0002-0000.jsonl"
        again = work_on_run(folder, settings, Secrets(), executor="process")
    assert again.state == "done"
    assert (folder.path / "calls" / "w0002-0000.jsonl").exists() is False


def test_the_budget_holds_for_all_workers_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    settings = Settings(prices={"test": Price(input=20.0, output=20.0)})
    with serve(Options(latency=0.0)) as server:
        folder, settings = plan(tmp_path, server, settings, budget=0.03)
        summary = work_on_run(folder, settings, Secrets())
        assert 0 < server.stats()["requests"] < SAMPLES
    assert summary.state == "incomplete"
    assert "budget" in summary.message
    assert 0 < (summary.totals.cost or 0) <= 0.03


def test_a_node_of_other_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    monkeypatch.setattr(cluster, "hash_code", lambda: "of another version")
    with serve(Options()) as server:
        folder, settings = plan(tmp_path, server)
        with pytest.raises(UsageError, match="another version of Evalboard"):
            work_on_run(folder, settings, Secrets())
        assert server.stats()["requests"] == 0


def test_keys_come_from_either_side_and_stay_out_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOUSE_KEY", raising=False)
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    key = "sk-typed-for-this-run-0123456789"
    with serve(Options()) as server:
        options = {"base_url": server.base_url, "api_key_env": "HOUSE_KEY"}
        folder, settings = plan(tmp_path, server, target_options=options)
        with pytest.raises(UsageError, match=r"keys are missing here and on node.*HOUSE_KEY"):
            work_on_run(folder, settings, Secrets())
        typed = Secrets({"HOUSE_KEY": key})
        assert work_on_run(folder, settings, typed).state == "done"
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_the_hash_of_the_code_covers_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "formats.toml").write_text("a = 1")
    monkeypatch.setattr(node.evalcore, "__file__", str(tmp_path / "__init__.py"))
    before = node.hash_code.__wrapped__()
    assert node.hash_code.__wrapped__() == before
    (tmp_path / "formats.toml").write_text("a = 2")
    assert node.hash_code.__wrapped__() != before


def test_a_node_gets_no_address_of_the_index(tmp_path: Path) -> None:
    settings = Settings(index="postgresql://u:secret@host/boards", sample_timeout=7.0)
    sent = select_node_settings(settings)
    assert "secret" not in str(sent)
    assert build_node_settings(sent).sample_timeout == 7.0
    assert build_node_settings(sent).index == ""


def test_cancel_keeps_what_was_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    with serve(Options(latency=0.2)) as server:
        folder, settings = plan(tmp_path, server)

        def cancel(tracker: Any) -> None:
            if tracker.generated:
                folder.cancel_path.touch()

        first = work_on_run(folder, settings, Secrets(), on_tick=cancel)
        assert first.state == "cancelled"
        answered = {call.key for call in folder.read_calls()}
        before = server.stats()["requests"]
        assert before - len(answered) <= 6, "more than what was in flight was lost"
        assert work_on_run(folder, settings, Secrets()).state == "done"
        assert server.stats()["requests"] == before + SAMPLES - len(answered)


def test_rescoring_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "RayPool", build_pool())
    with serve(Options()) as server:
        folder, settings = plan(tmp_path, server)
        first = work_on_run(folder, settings, Secrets())
        for path in folder.verdicts_dir(first.scoring).iterdir():
            path.unlink()
        monkeypatch.delenv("OPENAI_API_KEY")  # no target is opened
        second = work_on_run(folder, settings, Secrets(), generate=False)
        assert server.stats()["requests"] == SAMPLES
    assert measured(second) == measured(first)


@pytest.mark.parametrize(("total", "workers"), [(64, 3), (7, 7), (1, 1), (10, 4)])
def test_shares_add_up_to_the_whole(total: int, workers: int) -> None:
    parts = [Share(n, workers).split_width(total) for n in range(workers)]
    assert sum(parts) == total
    rates = [Share(n, workers).split_rate(300.0) or 0 for n in range(workers)]
    assert sum(rates) == pytest.approx(300)


def test_a_node_keeps_to_its_own_limits() -> None:
    share = Share(0, 2, width=4, requests_per_minute=30)
    assert share.split_width(64) == 4
    assert share.split_rate(None) == 30
    assert share.split_rate(40) == 20
    assert Share().split_rate(None) is None


def test_journals_are_named_in_the_order_of_attempts(tmp_path: Path) -> None:
    assert name_next_journal(tmp_path) == "main.jsonl"
    leading = name_next_journal(tmp_path, numbered=True)
    assert (leading, name_worker_journal(leading, 12)) == ("w0001-0000.jsonl", "w0001-0012.jsonl")
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "w0001-0012.jsonl.gz").touch()
    assert name_next_journal(tmp_path) == "w0002-0000.jsonl"
    assert "main.jsonl" < leading < "w0002-0000.jsonl"
