"""The command line as people expect it: what a flag, a file and the environment say, progress,
languages, examples, and how a stopped run goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from evalcore.cli.main import build_parser, main
from evalcore.cli.run import build_run_request, fill_from_config
from evalcore.exchange import progress_bar
from evalcore.runner.run_request import COMMAND_FIELDS, RunConfig
from tests.support.cases import syntax_cases
from tests.support.commands import ROOT, RUN, call, find_parser, read_runs
from tests.support.commands import cases as cases
from tests.support.commands import data as data
from tests.support.loopback_server import Options, serve
from tests.support.rows import each_row
from tests.support.worker_runs import count_verdicts, wait_until

#: Flags of `run` whose field of a file has another name.
FIELD_NAMES = {
    "option": "benchmark_overrides",
    "judge": "judges",
    "target_option": "target_options",
}


# Flags beat the file, which beats the environment.


def test_a_file_may_hold_every_flag_of_run():
    flags = {
        action.dest
        for action in find_parser("run")._actions
        if action.dest not in ("help", "config")
    }
    fields = {field.name for field in msgspec.structs.fields(RunConfig)}
    assert {FIELD_NAMES.get(flag, flag) for flag in flags} - fields == set()


def test_every_field_of_a_file_reaches_the_run(capsys, cases, data, tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text(
        f"target: control:reference\nbenchmarks: [sql_understanding]\ndataset: {cases}\n"
        f"metrics: [syntax_error_detection]\nmax_samples: 3\nseed: 5\nepochs: 2\nconcurrency: 1\n"
        f"budget: 1.5\nexecutor: process\ndata: {data}\njson: true\n",
        "utf-8",
    )
    status, out, err = call(capsys, "run", "--config", str(config))
    assert (status, err) == (0, "")
    assert json.loads(out)["complete"]
    [folder] = read_runs(data)
    spec = folder.read_spec()
    assert (spec.seed, spec.epochs, spec.concurrency, spec.budget) == (5, 2, 1, 1.5)
    assert len(list(folder.read_samples())) == 3


def test_flags_beat_the_file_and_the_file_beats_the_environment(
    capsys, cases, data, tmp_path, monkeypatch
):
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("EVALBOARD_LANG", "zh")
    config = tmp_path / "run.yaml"
    config.write_text(f"seed: 5\nepochs: 2\nlang: en\ndata: {tmp_path}/file\n", "utf-8")
    words = (*RUN, "--dataset", cases, "--max-samples", "2", "--config", str(config))
    status, out, err = call(capsys, *words, "--seed", "7")
    assert (status, "6 samples" in out or "2 samples" in out) == (0, True)
    assert f"evalcore: {config}: --seed 7 overrides seed: 5" in err.splitlines()
    config.write_text(config.read_text("utf-8") + "verbose: true\n", "utf-8")
    assert call(capsys, *words, "--quiet", "--seed", "5")[2] == ""
    # Ids of runs of the same second do not tell which was first.
    specs = [folder.read_spec() for folder in read_runs(f"{tmp_path}/file")]
    assert sorted((spec.seed, spec.epochs) for spec in specs) == [(5, 2), (7, 2)]

    status, out, _ = call(capsys, *words, "--data", data, "--lang", "zh")
    assert (status, "个样本" in out) == (0, True)
    assert len(read_runs(data)) == 1
    assert len(read_runs(f"{tmp_path}/file")) == 2
    assert not (tmp_path / "environment").exists()


#: By field of a file: the words of its flag, its value in the file, and what the flag makes of it.
PRECEDENCE = {
    "target": (["--target", "control:null"], "control:noop", "control:null"),
    "benchmarks": (["--benchmarks", "gaia"], ["bfcl"], ("gaia",)),
    "metrics": (["--metrics", "level1"], ["level2"], ("level1",)),
    "dataset": (["--dataset", "one"], "two", "one"),
    "max_samples": (["--max-samples", "1"], 2, 1),
    "seed": (["--seed", "1"], 2, 1),
    "epochs": (["--epochs", "1"], 2, 1),
    "concurrency": (["--concurrency", "1"], 2, 1),
    "budget": (["--budget", "1"], 2.0, 1.0),
    "judges": (["--judge", "openai:a"], ["openai:b"], ("openai:a",)),
    "target_options": (["--target-option", "a=1"], {"a": "2"}, {"a": "1"}),
    "executor": (["--executor", "ray"], "process", "ray"),
}
#: Those that say how the command works.
COMMAND_PRECEDENCE = {
    "data": (["--data", "one"], "two", "one"),
    "ray_address": (["--ray-address", "one:1"], "two:2", "one:1"),
    "ray_workers": (["--ray-workers", "1"], 2, 1),
    "node_concurrency": (["--node-concurrency", "1"], 2, 1),
    "node_requests_per_minute": (["--node-requests-per-minute", "1"], 2.0, 1.0),
    "lang": (["--lang", "en"], "zh", "en"),
    "json": (["--json"], False, True),
    "quiet": (["--quiet"], False, True),
    "verbose": (["--verbose"], False, True),
    "estimate": (["--estimate"], False, True),
}


@each_row(("field", "row"), [*(PRECEDENCE | COMMAND_PRECEDENCE).items()])
def test_every_flag_beats_its_field_of_a_file(tmp_path, field, row):
    words, in_file, expected = row
    config = tmp_path / "run.yaml"
    usual = {"target": "control:noop", "benchmarks": ["bfcl"]}
    config.write_text(json.dumps(usual | {field: in_file}), "utf-8")  # which is YAML too
    for typed in ([], words):
        args = build_parser().parse_args(["run", "--config", str(config), *typed])
        fill_from_config(args)
        request = build_run_request(args)[0]
        value = getattr(request if field in PRECEDENCE else args, field)
        if not typed:
            in_file = tuple(in_file) if isinstance(in_file, list) else in_file
            assert value == ("" if field == "executor" else in_file)
        else:
            assert value == expected


def test_no_flag_of_run_is_missing_from_the_table():
    flags = {FIELD_NAMES.get(action.dest, action.dest) for action in find_parser("run")._actions}
    others = {"help", "config", "benchmark_overrides", "batch_size"}  # see test_config
    assert flags - others == PRECEDENCE.keys() | COMMAND_PRECEDENCE.keys()


def test_the_cluster_of_a_flag_beats_that_of_the_file(cases, data, tmp_path, monkeypatch):
    from evalcore.cli.run import fill_from_config, load_operator_settings

    monkeypatch.setenv("EVALBOARD_RAY_ADDRESS", "environment:1")
    config = tmp_path / "run.yaml"
    config.write_text("ray_address: file:2\nray_workers: 3\nnode_concurrency: 4\n", "utf-8")
    words = [*RUN, "--data", data, "--config", str(config), "--ray-workers", "9"]
    args = build_parser().parse_args(words)
    fill_from_config(args)
    settings = load_operator_settings(args)
    assert (settings.ray_address, settings.ray_workers) == ("file:2", 9)
    assert settings.ray_node_concurrency == 4


def test_fields_of_commands_are_fields_of_a_file():
    assert set(COMMAND_FIELDS) <= {field.name for field in msgspec.structs.fields(RunConfig)}


@pytest.mark.parametrize("text", ["lang: xx", "executor: cloud", "epochs: many", "quiet: often"])
def test_a_field_that_makes_no_sense_is_named(capsys, data, tmp_path, text):
    config = tmp_path / "run.yaml"
    config.write_text(text, "utf-8")
    status, _, err = call(capsys, *RUN, "--data", data, "--config", str(config))
    assert (status, text.partition(":")[0] in err) == (2, True)
    assert not Path(data).exists()


# Progress, and how much is said.


def test_lines_say_that_a_run_began_where_stderr_is_no_terminal(capsys, cases, data):
    status, out, err = call(capsys, *RUN, "--dataset", cases, "--data", data)
    [folder] = read_runs(data)
    assert (status, err) == (0, f"evalcore: run {folder.run_id} began\n")
    assert out.startswith(f"run {folder.run_id}  control:reference  done\n")


def track(scored: int, total: int, rate: float, **errors: int) -> SimpleNamespace:
    return SimpleNamespace(
        total=total,
        outcomes=Counter(passed=scored),
        errors=Counter(errors),
        cost=0.5,
        rate=rate,
    )


def test_a_line_says_how_far_a_run_is(monkeypatch):
    lines: list[str] = []
    moments = iter([0.0, 1.0, 11.0, 11.0, 12.0])
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: next(moments))
    with progress_bar.print_run_progress("r1", lines.append) as watch:
        watch(track(10, 200, 4.0))  # too early for a line
        watch(track(50, 200, 2.5, timeout=3, rate_limited=1))
        watch(track(51, 200, 2.5))
    assert lines == [
        "run r1 began",
        "r1: 50 of 200 cases, 25%, 1:00 left, 50 passed, 2.5/s, $0.50, "
        "failed requests: timeout 3, rate limited 1",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (3599.6, "1:00:00"), (90061, "25:01:01")]
)
def test_time_left_is_read_at_a_glance(seconds, text):
    assert progress_bar.format_time_left(seconds) == text


def test_quiet_prints_the_result_alone(capsys, cases, data, tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text("seed: 5\n", "utf-8")
    words = (*RUN, "--dataset", cases, "--data", data, "--config", str(config), "--seed", "6")
    status, out, err = call(capsys, *words, "--quiet")
    assert (status, err) == (0, "")
    assert "sql_understanding" in out
    status, _, err = call(capsys, "show", "nothing", "--data", data, "-q")
    assert (status, "no run 'nothing'" in err) == (2, True)


def test_verbose_prints_what_happens_on_the_way(capsys, cases, data):
    with serve(Options(fault="500", share=1.0, attempts=1)) as server:
        target = ("--target", "openai:test", "--target-option", f"base_url={server.base_url}")
        words = (*RUN[:1], *target, *RUN[3:], "--dataset", cases, "--data", data, "--json")
        status, out, err = call(capsys, *words, "-v")
    assert status == 0
    assert json.loads(out)["complete"]
    assert "request_failed: retryable 500" in err
    assert call(capsys, "show", "nothing", "--data", data, "-v")[2].startswith("Traceback")


def test_quiet_and_verbose_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as end:
        main([*RUN, "-q", "-v"])
    assert end.value.code == 2


# Stopped runs.


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error():
    words = [shlex.quote(sys.executable), "-m", "evalcore", "list", "benchmarks"]
    script = f"set -o pipefail; {' '.join(words)} | head -n 0"
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "handler"),
    [
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_IGN),  # as a shell begins a job in the background
    ],
)
def test_a_signal_prints_the_command_that_goes_on(data, tmp_path, sent, handler):
    program = [sys.executable, "-m", "evalcore"]
    environ = os.environ | {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    many = str(syntax_cases(tmp_path / "many", 60))
    with serve(Options(latency=0.1)) as server:
        words = [
            *("run", "--target", "openai:test", "--benchmarks", "sql_understanding"),
            *("--target-option", f"base_url={server.base_url}", "--dataset", many),
            *("--concurrency", "2", "--data", data),
        ]
        process = subprocess.Popen(
            [*program, *words],
            env=environ,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
        )
        try:
            runs = Path(data) / "runs"
            wait_until(lambda: runs.is_dir() and len(list(runs.iterdir())) == 1)
            [folder] = read_runs(data)
            wait_until(lambda: count_verdicts(folder) > 2)
            process.send_signal(sent)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
        command = f"evalcore resume {folder.run_id} --data {data}"
        assert process.returncode == 128 + sent, err
        assert err.splitlines()[-1] == f"evalcore: interrupted; continue the run with: {command}"
        assert folder.read_summary() is None or not folder.read_summary().is_complete
        assert folder.current_state() == "cancelled"  # so that no server takes it up by itself
        done = subprocess.run(
            [*program, *shlex.split(command)[1:], "--json"],
            env=environ,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        asked = server.stats()["prompts"]
    assert json.loads(done.stdout)["complete"]
    assert all(count <= 2 for count in asked.values())  # what was in flight is asked again


def test_an_incomplete_run_says_how_it_goes_on(capsys, cases, data, monkeypatch):
    monkeypatch.setenv("EVALBOARD_MAX_ATTEMPTS", "1")
    with serve(Options(fault="500", share=1.0, attempts=0)) as server:
        target = ("--target", "openai:test", "--target-option", f"base_url={server.base_url}")
        words = (*RUN[:1], *target, *RUN[3:], "--dataset", cases, "--data", data)
        status, _, err = call(capsys, *words)
    [folder] = read_runs(data)
    assert status == 3
    command = f"evalcore resume {folder.run_id} --data {data}"
    assert err.splitlines()[-1] == f"evalcore: the run is incomplete; continue it with: {command}"


def test_a_folder_with_blanks_can_be_copied_from_the_command(cases, tmp_path):
    from evalcore.cli.run import format_resume_command

    args = SimpleNamespace(data=f"{tmp_path}/my data")
    command = format_resume_command(args, "r1", generate=False)
    assert shlex.split(command) == ["evalcore", "rescore", "r1", "--data", f"{tmp_path}/my data"]
