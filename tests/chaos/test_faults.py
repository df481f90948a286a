"""Every kind of fault of a server, passing and lasting, on a few samples and on all.

The run never aborts, the denominator never changes, and what a provider did is never a wrong
answer: a passing fault leaves no trace, a lasting one leaves the run incomplete. Only what the
model itself wrote (nothing, or what its server could not digest) counts as failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.benchmarks.sql_understanding.benchmark import SqlUnderstanding
from evalcore.records import FailureKind, Verdict
from evalcore.results import RunSummary
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import ECHO, Options, Server, faulty, serve
from tests.support.replies import FAULTS, prompt_hash

KEY = "sql_understanding"
SAMPLES = 40
CANARY = "canary-Zq7x-0123456789-KEY"
#: Each fault as a failure of the target; it ends a sample only where it lasts.
FAILURES: dict[str, FailureKind] = {
    "429": "rate_limited",
    "429-retry-after": "rate_limited",
    "500": "retryable",
    "503": "retryable",
    "malformed": "malformed",
    "html": "malformed",
    "error-body": "malformed",
    "no-choices": "malformed",
    "cut": "malformed",
    "reset": "retryable",
    "close": "retryable",
    "stall": "retryable",
}
#: Faults that are the model's answer, however often it is asked.
ANSWERS = ("empty", "null")
SHARES = {"some": 0.05, "all": 1.0}
#: On all samples these take their time: to the client they are a server with hardly any capacity.
SLOW = {"429": 12, "429-retry-after": 12, "stall": 8}


def size(fault: str, share: str) -> int:
    """How many samples a run of the matrix has."""
    return SLOW.get(fault, SAMPLES) if share == "all" else SAMPLES


def settings_for(tmp_path: Path) -> configuration.Settings:
    return configuration.Settings(
        data=str(tmp_path / "data"), retry_base=0.002, retry_cap=0.01, max_attempts=2
    )


def new_run(tmp_path: Path, server: Server, fault: str, samples: int = SAMPLES) -> RunFolder:
    request = RunRequest(
        target="openai:test",
        target_options={
            "base_url": server.base_url,
            "timeout": 1.0 if fault == "stall" else 10.0,
        },
        benchmarks=(KEY,),
        dataset=str(syntax_cases(tmp_path / "cases", samples)),
        use_cache=False,
    )
    settings = settings_for(tmp_path)
    return create_folder(plan_run(request, settings), settings)


def prompts(folder: RunFolder) -> dict[str, str]:
    """The server's name of each sample's prompt."""
    benchmark = SqlUnderstanding({"mode": "verified"})
    return {
        line.sample.id: prompt_hash(benchmark.build_prompt(line.sample)[-1].content)
        for line in folder.read_samples()
    }


def run_against(
    tmp_path: Path, fault: str, share: str, attempts: int
) -> tuple[RunSummary, list[Verdict], set[str]]:
    """The summary, all verdicts, and the ids of the samples that the fault hit."""
    options = Options(fault=fault, share=SHARES[share], attempts=attempts)
    samples = size(fault, share)
    with serve(options) as server:
        folder = new_run(tmp_path, server, fault, samples)
        summary = work_on_run(folder, settings_for(tmp_path), Secrets())
        assert server.stats()["faulted"] > 0
    hit = {key for key, name in prompts(folder).items() if faulty(name, SHARES[share])}
    verdicts = [line.verdict for line in folder.read_verdicts(summary.scoring)]
    score = summary.benchmarks[KEY]
    assert score.samples == samples
    assert sum(score.outcomes.values()) == samples
    assert sorted(verdict.id for verdict in verdicts) == sorted(prompts(folder))
    return summary, verdicts, hit


@pytest.mark.sampled(5)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("fault", [*FAILURES, "unparsable"])
def test_a_passing_fault_leaves_no_trace_in_the_score(
    tmp_path: Path, fault: str, share: str
) -> None:
    samples = size(fault, share)
    summary, _, _ = run_against(tmp_path, fault, share, attempts=1)
    score = summary.benchmarks[KEY]
    assert summary.is_complete
    assert summary.state == "done"
    assert score.outcomes == {"passed": samples}
    assert (score.score, score.coverage) == (100.0, 1.0)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("fault", [*FAILURES, "400"])
def test_a_lasting_fault_of_the_server_leaves_the_run_incomplete(
    tmp_path: Path, fault: str, share: str
) -> None:
    summary, verdicts, hit = run_against(tmp_path, fault, share, attempts=0)
    check_target_errors(summary, verdicts, hit, FAILURES.get(fault, "permanent"))


@pytest.mark.parametrize("share", SHARES)
def test_a_refused_request_is_not_asked_again(tmp_path: Path, share: str) -> None:
    summary, verdicts, hit = run_against(tmp_path, "400", share, attempts=1)
    check_target_errors(summary, verdicts, hit, "permanent")
    assert summary.errors == {"permanent": len(hit)}


def check_target_errors(
    summary: RunSummary, verdicts: list[Verdict], hit: set[str], kind: FailureKind
) -> None:
    """Exactly the samples that were hit are target errors, and count as missing, not as wrong."""
    score = summary.benchmarks[KEY]
    errors = [verdict for verdict in verdicts if verdict.outcome == "target_error"]
    assert {verdict.id for verdict in errors} == hit
    assert {verdict.reason for verdict in errors} == {kind}
    assert all(verdict.note and verdict.score is None for verdict in errors)
    assert not summary.is_complete
    assert summary.state == "incomplete"
    assert score.coverage == pytest.approx(1 - len(hit) / score.samples)
    assert score.answered == (None if len(hit) == score.samples else 100.0)
    assert score.score is None or score.score < 100.0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("attempts", [0, 1], ids=["lasting", "passing"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("fault", ANSWERS)
def test_an_empty_answer_is_a_failed_sample_of_a_complete_run(
    tmp_path: Path, fault: str, share: str, attempts: int
) -> None:
    summary, verdicts, hit = run_against(tmp_path, fault, share, attempts)
    check_failed(summary, verdicts, hit)


@pytest.mark.parametrize("share", SHARES)
def test_what_the_server_can_never_digest_is_the_models_failure(tmp_path: Path, share: str) -> None:
    summary, verdicts, hit = run_against(tmp_path, "unparsable", share, attempts=0)
    check_failed(summary, verdicts, hit)


def check_failed(summary: RunSummary, verdicts: list[Verdict], hit: set[str]) -> None:
    failed = [verdict for verdict in verdicts if verdict.outcome == "failed"]
    assert {verdict.id for verdict in failed} == hit
    assert all(verdict.reason and verdict.score == 0 for verdict in failed)
    assert summary.is_complete
    assert summary.benchmarks[KEY].coverage == 1.0


def test_every_fault_the_server_knows_is_tested() -> None:
    assert {*FAILURES, *ANSWERS, "400", "unparsable"} == FAULTS.keys()


def test_resume_asks_again_only_what_failed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with serve(Options(fault="500", share=SHARES["some"], attempts=2)) as server:
        folder = new_run(tmp_path, server, "500")
        assert not work_on_run(folder, settings, Secrets()).is_complete
        again = work_on_run(folder, settings, Secrets())
        asked = server.stats()["prompts"]
    names = prompts(folder).values()
    assert again.is_complete
    assert again.benchmarks[KEY].score == 100.0
    assert {name: asked[name] for name in names} == {
        name: 3 if faulty(name, SHARES["some"]) else 1 for name in names
    }


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    dataset = syntax_cases(tmp_path / "cases", SAMPLES)
    words = [sys.executable, "-m", "evalcore", "run", "--target", "openai:test", "--json"]
    words += ["--benchmarks", KEY, "--dataset", str(dataset), "--data", str(tmp_path / "data")]
    return words


def run_command(
    command: list[str], server: Server, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, "--target-option", f"base_url={server.base_url}"],
        env={**os.environ, "EVALBOARD_RETRY_BASE": "0.002", "EVALBOARD_MAX_ATTEMPTS": "2"}
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("fault", "attempts", "status"),
    [("500", 1, 0), ("500", 0, 3), ("400", 0, 3), ("html", 0, 3), ("empty", 0, 0)],
)
def test_the_exit_status_tells_an_incomplete_run(
    command: list[str], fault: str, attempts: int, status: int
) -> None:
    with serve(Options(fault=fault, share=0.1, attempts=attempts)) as server:
        assert run_command(command, server).returncode == status


def test_a_key_that_the_server_repeats_is_nowhere_afterwards(
    tmp_path: Path, command: list[str]
) -> None:
    with serve(Options(fault=ECHO)) as server:
        done = run_command(command, server, OPENAI_API_KEY=CANARY)
        sent = " ".join(server.get("/last")["head"])
    assert CANARY in sent
    assert done.returncode == 3
    assert CANARY not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}
    assert any(name.endswith("spec.json") for name in written)
    assert b"[key removed]" in b"".join(written.values())
    assert [name for name, content in written.items() if CANARY.encode() in content] == []
