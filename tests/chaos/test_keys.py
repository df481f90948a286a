"""A key is never written: every file, log, message and URL is searched after runs that fail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.policy import OPERATOR
from evalcore.errors import EvalboardError
from evalcore.runner import client
from evalcore.runner.run_request import RunRequest
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import ECHO_ANSWER, Options, serve

#: Shaped like nothing that a pattern would know, so that only knowing it can remove it.
PLAIN = "correct.horse.battery"
LIKELY = "sk-proj-0123456789abcdefXYZ"
FAULTS = ("", "400", "reset", ECHO_ANSWER)
MORE_FAULTS = [pytest.param(fault, marks=pytest.mark.full) for fault in ("500", "html", "429")]


def finished(folder: RunFolder) -> None:
    until = time.monotonic() + 180
    while folder.current_state() in ("planned", "running", "interrupted"):
        assert time.monotonic() < until, folder.current_state()
        time.sleep(0.05)


def everything_written(*places: Path) -> bytes:
    return b"".join(
        path.name.encode() + path.read_bytes()
        for folder in places
        for path in folder.rglob("*")
        if path.is_file()
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", [PLAIN, pytest.param(LIKELY, marks=pytest.mark.full)])
@pytest.mark.parametrize("fault", [*FAULTS, *MORE_FAULTS])
def test_no_file_of_a_run_holds_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, key: str
) -> None:
    monkeypatch.setenv("EVALBOARD_RETRY_BASE", "0.01")
    monkeypatch.setenv("EVALBOARD_RETRY_CAP", "0.02")
    monkeypatch.setenv("EVALBOARD_MAX_ATTEMPTS", "2")
    settings = configuration.load_settings(tmp_path / "data")
    cases = syntax_cases(tmp_path / "cases", 8)
    with serve(Options(fault=fault, share=0.5 if fault else 0.0)) as server:
        request = RunRequest(
            target="openai:test",
            target_options={"base_url": server.base_url},
            benchmarks=("sql_understanding",),
            dataset=str(cases),
        )
        run_id = client.launch_run(request, {"OPENAI_API_KEY": key}, settings, visitor=OPERATOR)
        folder = RunFolder(settings.runs_dir / run_id)
        finished(folder)
        client.resume_run(run_id, {"OPENAI_API_KEY": key}, settings, visitor=OPERATOR)
        finished(folder)
        assert any(line.endswith(f"Bearer {key}") for line in server.get("/last")["head"])
    assert key.encode() not in everything_written(tmp_path)


def test_messages_of_failing_commands_hold_no_key(tmp_path: Path) -> None:
    """The server is gone and the key is in the environment: what the command says is searched."""
    cases = syntax_cases(tmp_path / "cases", 2)
    environment = {
        "PATH": "/usr/bin:/bin",
        "OPENAI_API_KEY": LIKELY,
        "EVALBOARD_RETRY_BASE": "0.01",
        "EVALBOARD_MAX_ATTEMPTS": "2",
    }
    for target in ("openai:test", "openai:"):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "evalcore", "run", "--json", "--target", target),
                *("--target-option", "base_url=http://127.0.0.1:9/v1"),
                *("--benchmarks", "sql_understanding", "--dataset", str(cases)),
                *("--data", str(tmp_path / "data")),
            ],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert done.returncode in (2, 3)
        assert LIKELY.encode() not in done.stdout + done.stderr
    assert LIKELY.encode() not in everything_written(tmp_path)


def test_exceptions_and_reprs_hold_no_key(tmp_path: Path) -> None:
    from evalcore.access.secrets import Secrets
    from evalcore.records import TargetSpec
    from evalcore.targets import registry

    settings = configuration.load_settings(tmp_path)
    secrets = Secrets({"OPENAI_API_KEY": LIKELY})
    target = registry.create_target(TargetSpec(key="openai:test"), settings, secrets)
    shown = [repr(secrets), str(secrets), repr(target), json.dumps(target.info.card)]
    for options in ({"api_key_env": LIKELY}, {"base_url": f"http://u:{LIKELY}@h/v1"}):
        with pytest.raises(EvalboardError) as caught:
            registry.create_target(
                TargetSpec(key="openai:test", options=options), settings, secrets
            )
        shown.append(str(caught.value))
    assert all(LIKELY not in text for text in shown)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "options",
    [
        {"extra_body": {"api_key": LIKELY}},
        {"extra_body": json.dumps({"headers": {"Authorization": f"Bearer {LIKELY}"}})},
        {"extra_body": {"user": PLAIN}},
        {"stop": PLAIN},
        {"base_url": f"http://127.0.0.1:9/{PLAIN}/v1"},
        {"base_url": f"https://h/v1?auth={PLAIN}"},
        {"base_url": f"https://h/{LIKELY}/v1"},
        {"base_url": f"https://h/v1#{LIKELY}"},
        {"api_key": LIKELY},
    ],
)
def test_a_key_in_an_option_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, object]
) -> None:
    settings = configuration.load_settings(tmp_path / "data")
    request = RunRequest(
        target="openai:test",
        target_options=options,
        benchmarks=("sql_understanding",),
        dataset=str(syntax_cases(tmp_path / "cases", 1)),
    )
    with pytest.raises(EvalboardError) as caught:
        client.launch_run(request, {"OPENAI_API_KEY": PLAIN}, settings, visitor=OPERATOR)
    assert PLAIN not in str(caught.value)
    assert LIKELY not in str(caught.value)
    assert PLAIN.encode() not in everything_written(tmp_path)
    assert LIKELY.encode() not in everything_written(tmp_path)
