"""Help of the command line: its examples, its languages, and what completes its words."""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import subprocess
import sys

import pytest

from evalcore import catalog
from evalcore.cli.exchange import insert_import_origin
from evalcore.cli.main import build_parser, main
from evalcore.cli.parser import list_texts, load_examples, load_help_texts, walk_parsers
from evalcore.cli.terminal import say_always, use_language
from evalcore.errors import UsageError
from evalcore.i18n import Note, load_catalogue, t_count
from tests.support.commands import ROOT, RUN, call
from tests.support.commands import cases as cases
from tests.support.commands import data as data
from tests.support.rows import each_row

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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["board", "--suit", "sql", "--colour"], "unknown arguments: --colour"),
        (["show", "r", "--jsn"], "unknown arguments: --jsn (did you mean --json?)"),
        (["--lang", "zh", "show", "r", "--jsn=1"], "--jsn=1（是否想写 --json？）"),
    ],
)
def test_an_unknown_flag_is_answered_with_the_one_that_was_meant(capsys, words, message):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f"{message}\n")


def test_the_number_of_cases_has_the_name_that_other_frameworks_give_it():
    words = ["run", "--target", "control:null", "--benchmarks", "bfcl", "--limit", "7"]
    assert build_parser().parse_args(words).max_samples == 7


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
