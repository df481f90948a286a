"""The command line as people expect it: what a flag, a file and the environment say, progress,
languages, examples, and how a stopped run goes on."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from evalcore import catalog
from evalcore.cli.exchange import insert_import_origin
from evalcore.cli.main import build_parser, main
from evalcore.cli.parser import list_texts, load_examples, load_help_texts, walk_parsers
from evalcore.cli.run import build_run_request, fill_from_config
from evalcore.cli.terminal import say_always, use_language
from evalcore.errors import UsageError
from evalcore.exchange import progress_bar
from evalcore.i18n import Note, load_catalogue, t_count
from evalcore.runner.run_request import COMMAND_FIELDS, RunConfig
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases
from tests.support.loopback_server import Options, serve
from tests.support.rows import each_row
from tests.support.worker_runs import count_verdicts, wait_until

ROOT = Path(__file__).parents[2]
RUN = ("run", "--target", "control:reference", "--benchmarks", "sql_understanding")
#: Flags of `run` whose field of a file has another name.
FIELD_NAMES = {
    "option": "benchmark_overrides",
    "judge": "judges",
    "target_option": "target_options",
}


@pytest.fixture
def cases(tmp_path):
    return str(syntax_cases(tmp_path / "cases", 6))


@pytest.fixture
def data(tmp_path):
    return str(tmp_path / "data")


def call(capsys, *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def read_runs(data: str) -> list[RunFolder]:
    return [RunFolder(path) for path in sorted((Path(data) / "runs").iterdir())]


def find_parser(*verbs: str) -> argparse.ArgumentParser:
    name = " ".join(("evalcore", *verbs))
    return next(each for each in walk_parsers(build_parser()) if each.prog == name)


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


# Help: examples and languages.

LEAVES = [
    each.prog.partition(" ")[2]
    for each in walk_parsers(build_parser())
    if not any(isinstance(action, argparse._SubParsersAction) for action in each._actions)
]


@pytest.mark.parametrize(
    "words",
    [
        ["--benchmarks", "a,b", "--metrics", "m", "n"],
        ["--benchmarks", "a", "b", "--metrics", "m,", "n"],
        ["--benchmarks", "a", "--metrics=m", "--benchmarks", "b", "--metrics", "n"],
        ["--benchmarks=a, b", "--metrics", "m", ",n"],
    ],
)
@pytest.mark.parametrize("verb", ["run", "sweep", "parity"])
def test_a_flag_for_several_values_takes_spaces_and_commas_and_repeats(verb, words, parser):
    flags = {"run": [], "sweep": [], "parity": ["hf:x", "hf:y"]}[verb]
    args = parser.parse_args([verb, *flags, *words])
    assert (args.benchmarks, args.metrics) == (["a", "b"], ["m", "n"])


def test_the_ways_of_a_sweep_may_be_apart_by_commas(parser, capsys):
    args = parser.parse_args(
        ["sweep", "--asking", "native,prompt", "--dtypes", "int8", "--dtypes", "int4,auto"]
    )
    assert (args.asking, args.dtypes) == (["native", "prompt"], ["int8", "int4", "auto"])
    assert parser.parse_args(["sweep"]).dtypes == []
    with pytest.raises(SystemExit):
        parser.parse_args(["sweep", "--asking", "native,odd"])
    assert "native,odd" in capsys.readouterr().err


def test_every_verb_has_examples_and_no_example_lacks_its_verb():
    verbs = {each.prog.partition(" ")[2] for each in walk_parsers(build_parser())}
    assert set(LEAVES) - load_examples().keys() == set()
    assert load_examples().keys() - verbs == set()


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    return build_parser()


@each_row("line", sorted({line for each in load_examples().values() for line in each}))
def test_every_example_is_understood(parser, line):
    words = shlex.split(re.split(r" [|>] ", line)[0])
    args = parser.parse_args(insert_import_origin(words))
    assert args.verb
    keys = getattr(args, "benchmarks", None) or [getattr(args, "benchmark", None)]
    assert {key for key in keys if key} <= catalog.benchmark_cards().keys()


def test_every_flag_says_what_it_does():
    silent = [
        f"{each.prog} {action.dest}"
        for each in walk_parsers(build_parser())
        for action in each._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


def test_every_text_of_the_help_has_a_translation_and_no_translation_is_stale():
    texts = {text for each in walk_parsers(build_parser()) for text in list_texts(each)}
    translations = load_help_texts("zh")
    assert texts - translations.keys() == set()
    assert translations.keys() - texts == set()
    for text, translation in translations.items():
        assert re.search("[\u4e00-\u9fff]", translation) or translation == text
        flags = re.findall(r"--[a-z][\w-]*|\b[A-Z]+_[A-Z_]+\b|`[^`]+`", text)
        assert [flag for flag in flags if flag not in translation] == []


@pytest.mark.parametrize("words", [("--lang", "zh", "run", "--help"), ("run", "--lang=zh", "-h")])
def test_help_speaks_the_language_that_is_asked_for(capsys, words):
    with pytest.raises(SystemExit):
        main(words)
    text = capsys.readouterr().out
    assert text.startswith("用法：evalcore run ")
    for part in ("选项:", "示例：\n  evalcore run --target", "每个用例询问 K 次"):
        assert part in text
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert "ask every case K times" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "EVALBOARD_LANG": "zh"}, "zh"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_a_terminal_has_its_language(capsys, monkeypatch, data, variables, language):
    for name in ("EVALBOARD_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    _, _, err = call(capsys, "gate", "RUN", "--max-drop", "1", "--data", data)
    assert "evalcore: " in err
    with pytest.raises(SystemExit):
        main(["gate"])
    assert ("缺少：RUN" in capsys.readouterr().err) == (language == "zh")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--epochs", "x"), "--epochs：'x' 不是有效的 int"),
        (("list", "cats"), "未知的值 'cats'"),
        (("rum",), "（是否想写 run？）"),
        (("show",), "缺少：RUN"),
        (("list", "runs", "--nothing"), "未知参数：--nothing"),
        (("run", "--seed"), "--seed：缺少值"),
    ],
)
def test_errors_of_the_command_line_are_translated(capsys, words, message):
    with pytest.raises(SystemExit) as end:
        main(["--lang", "zh", *words])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("language", "way"), [("en", "install it with: "), ("zh", "请运行：")])
def test_a_terminal_is_told_commands_and_not_the_way_of_the_pages(capsys, language, way):
    with use_language(language):
        say_always(UsageError(Note("located", location="x", problem=Note("cluster_missing"))))
    assert f"{way}pip install 'evalboard[ray]'" in capsys.readouterr().err


def test_a_traceback_moves_no_cursor(capsys, data):
    status, _, err = call(capsys, "show", "\x1b[2Jrun", "--verbose", "--data", data)
    assert status == 2
    assert "Traceback" in err
    assert "\x1b" not in err


def test_a_unknown_language_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--lang", "xx", "list", "runs"])
    assert "unknown value 'xx'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("show nothing", "没有运行 'nothing'；`evalcore list runs` 列出已有的运行"),
        ("board --month 2026-01", "--month 和 --setup 只能与 --published PUBLISHER 一起使用"),
        ("gate shipped-baseline-sqlite", "没有可检查的内容"),
        ("run --target baseline:sqlite --benchmarks bfcl", "无法回答 bfcl"),
        ("list runs", "评测对象"),
        ("resume shipped-baseline-sqlite", "随软件附带，只读"),
        ("rescore shipped-baseline-sqlite", "随软件附带，只读"),
        ("compare shipped-baseline-sqlite shipped-baseline-sqlglot", "共有 688 个用例"),
        ("diff shipped-baseline-sqlite shipped-baseline-sqlglot", "统计不显著"),
        ("show shipped-baseline-sqlite", "否，因为这些评测项没有官方榜单"),
        (
            "show shipped-baseline-sqlite dialect_conversion/logical_equivalence/le-001",
            "== 判定 ==",
        ),
        ("card openai:any", "发布日期"),
        ("doctor", "数据文件夹"),
        ("academic list", "小学数学、科学问答与合理续写"),
        ("academic list math", "应用题与需要计算的科学题"),
        ("run --config DATA/none.yaml", "没有该文件或文件夹"),
        ("board --suite sq", "（是否想写 sql？）"),
        ("board", "名次区间"),
        ("gate shipped-baseline-sqlite --min-score 0", "门禁：通过"),
        ("seal verify shipped-baseline-sqlite", "未签名；其记录的散列链完整"),
        ("bucket pull DATA/none", "已传输 0 次运行"),
        ("hub dataset sql_understanding --out DATA/hub", "个文件"),
        ("index rebuild", "索引中有 0 次运行"),
        ("export shipped-baseline-sqlite --format bundle", "要写入的文件"),
        ("export shipped-baseline-sqlite --format scale --out DATA/scale", "16 个文件"),
        ("datasets template bfcl --out DATA.jsonl", "已写入"),
    ],
)
def test_results_and_errors_are_translated(capsys, data, words, message):
    words = words.replace("DATA", str(data)).split()
    _, out, err = call(capsys, *words, "--data", data, "--lang", "zh")
    assert message in out + err


def test_the_summary_of_a_run_is_translated(capsys, cases, data):
    status, out, err = call(capsys, *RUN, "--dataset", cases, "--data", data, "--lang", "zh")
    assert (status, "已开始" in err) == (0, True)
    assert "已完成" in out
    assert "6 个样本" in out
    assert "通过 6" in out


@pytest.mark.parametrize("form", ["ascii", None])
def test_an_output_that_lacks_characters_or_is_closed_breaks_nothing(monkeypatch, form):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=form) if form else None
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["board", "--published", "tau2", "--lang", "zh"]) == 0
    if stream is not None:
        stream.flush()
        assert b"\\u" in stream.buffer.getvalue()


def test_what_is_counted_agrees_with_its_number():
    singular = {key.removesuffix(".one") for key in load_catalogue("en") if key.endswith(".one")}
    assert singular
    assert {f"{key}.other" for key in singular} <= load_catalogue("en").keys()
    assert t_count("cli.summary.samples", "en", 1) == "1 sample"
    assert t_count("cli.summary.samples", "en", 0) == "0 samples"
    assert t_count("cli.summary.samples", "zh", 1) == "1 个样本"


def test_completion_knows_the_flags_of_every_verb():
    script = subprocess.run(
        [sys.executable, "-m", "evalcore", "completion", "bash"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    asked = "COMP_WORDS=(evalcore run --max); COMP_CWORD=2; _shtab_evalcore; echo ${COMPREPLY[@]}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["--max-samples"]
