"""How tools were asked for is settled once, said aloud, and part of the target's identity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.cli.main import main
from evalcore.store.run_folder import RunFolder
from tests.support.capability_server import serve_capabilities

CASES = 4


def run_words(base_url: str, tmp_path: Path) -> list[str]:
    target = ["--target", "openai:able", "--target-option", f"base_url={base_url}"]
    chosen = ["--benchmarks", "bfcl", "--max-samples", str(CASES)]
    return ["run", *target, *chosen, "--data", str(tmp_path / "data")]


def only_run(tmp_path: Path) -> RunFolder:
    [folder] = (tmp_path / "data" / "runs").iterdir()
    return RunFolder(folder)


def test_a_fall_to_the_prompt_is_said_and_becomes_part_of_the_identity(tmp_path, capsys) -> None:
    with serve_capabilities(tools="refused", text="[f()]") as server:
        assert main(run_words(server.base_url, tmp_path)) == 0
        asked = len(server.bodies)
        assert "does not support tools" in capsys.readouterr().out
        assert sum("tools" in body for body in server.bodies) == 1
    folder = only_run(tmp_path)
    assert folder.read_spec().target.options["asking"] == "prompt"
    assert folder.read_summary().target == folder.read_spec().target
    assert "does not support tools" in folder.read_summary().tool_refusal
    events = [json.loads(line) for line in folder.events_path.read_text().splitlines()]
    [settled] = [event for event in events if event["kind"] == "tool_calls"]
    assert settled["message"].startswith("prompt: ")
    assert asked >= CASES


def test_native_calls_leave_the_target_as_it_was_named(tmp_path) -> None:
    with serve_capabilities() as server:
        assert main(run_words(server.base_url, tmp_path)) == 0
    folder = only_run(tmp_path)
    assert "asking" not in folder.read_spec().target.options
    assert folder.read_summary().tool_refusal == ""
    assert folder.read_tool_calls() == ("native", "")


def test_a_fall_in_the_middle_leaves_the_run_incomplete_with_the_reason(tmp_path, capsys) -> None:
    data = ["--data", str(tmp_path / "data")]
    with serve_capabilities() as server:
        assert main(run_words(server.base_url, tmp_path)) == 0
        folder = only_run(tmp_path)
        for name in ("generations", "calls", "verdicts"):
            for path in (folder.path / name).rglob("*.jsonl"):
                lines = path.read_text().splitlines()
                path.write_text("".join(f"{line}\n" for line in lines[:1]))
        (tmp_path / "data" / "cache.sqlite").unlink()
        folder.summary_path.unlink()
        server.tools = "refused"
        capsys.readouterr()
        assert main(["resume", folder.run_id, *data]) == 3
    summary = folder.read_summary()
    assert summary.state == "incomplete"
    assert "does not support tools" in summary.message
    assert summary.benchmarks["bfcl"].coverage < 1
    assert "asking" not in folder.read_spec().target.options


@pytest.mark.parametrize("asking", ["native", "prompt"])
def test_what_was_chosen_is_never_changed(tmp_path, asking: str) -> None:
    with serve_capabilities(tools="refused", text="[f()]") as server:
        words = [*run_words(server.base_url, tmp_path), "--target-option", f"asking={asking}"]
        assert main(words) == (3 if asking == "native" else 0)
        offered = [body for body in server.bodies if "tools" in body]
    assert bool(offered) == (asking == "native")
    assert only_run(tmp_path).read_spec().target.options["asking"] == asking
