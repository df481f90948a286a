"""Time to the first token and tokens a second: in an episode, a run's totals, and its report."""

from __future__ import annotations

from evalcore.cli.main import main
from evalcore.records import Completion, Episode, Usage, from_json
from evalcore.runner.summary import compute_totals
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, serve


def episode(latency: float, tokens: int | None, first: float | None, **more: object) -> Episode:
    usage = Usage(output_tokens=tokens)
    return Episode("k", 0, latency=latency, usage=usage, time_to_first_token=first, **more)


def test_totals_are_medians_of_what_was_measured() -> None:
    episodes = [
        episode(2.0, 100, 0.5, queue_time=1.0),
        episode(1.0, 100, 0.25, queue_time=3.0),
        episode(4.0, 100, 1.0, queue_time=2.0),
        episode(9.0, 1, 8.0, cached=True),  # measured in another run
        episode(1.0, None, None),
    ]
    totals = compute_totals(episodes, [], 1.0)
    assert totals.first_token_p50 == 0.5
    assert totals.tokens_per_second == 50.0
    assert totals.queue_p50 == 2.0


def test_what_nobody_measured_is_unknown() -> None:
    totals = compute_totals([episode(0.0, 5, None)], [], 1.0)
    assert (totals.first_token_p50, totals.tokens_per_second, totals.queue_p50) == (None,) * 3
    old = from_json(Completion, b'{"text": "a", "latency": 1.0}')
    assert (old.time_to_first_token, old.queue_time) == (None, None)


def test_a_streamed_run_says_how_fast_it_was(tmp_path, capsys) -> None:
    cases, data = str(syntax_cases(tmp_path / "cases", 3)), str(tmp_path / "data")
    with serve(Options(latency=0.05, reply='{"has_syntax_error": "no"}')) as server:
        words = ["run", "--target", "openai:m", "--benchmarks", "sql_understanding"]
        words += ["--target-option", f"base_url={server.base_url}", "--dataset", cases]
        assert main([*words, "--data", data]) == 0
    assert "first token after" in capsys.readouterr().out
    [path] = (tmp_path / "data" / "runs").iterdir()
    totals = RunFolder(path).read_summary().totals
    assert totals.first_token_p50 is not None
    assert totals.latency_p50 is not None
    assert 0.05 <= totals.first_token_p50 <= totals.latency_p50
    assert totals.tokens_per_second is not None
