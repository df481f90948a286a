"""Wording of the catalogues and the command line: no phrase that readers stumble over returns.

`note` is left out: its English is what old runs store and are matched by, so it cannot be reworded.
"""

from __future__ import annotations

import argparse
from collections import Counter
from types import SimpleNamespace

import pytest

from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.cli import main
from evalcore.exchange.report_data import format_progress
from evalcore.i18n import load_catalogue
from evalcore.plain_text import format_count
from evalcore.views.board_titles import describe_ranking

CLUMSY = {
    "en": [
        "beyond chance where",
        "ahead, beyond chance",
        "chance explains",
        "told apart",
        "yardstick",
        "Within reach",
        "without any thought",
        "Take it away",
        "What a score takes",
        "Hand in",
        "anded in",
        "and it in",
        "taken in",
        "Mend",
        "told of",
        "is told in",
        "was held against",
        "refused for their rate",
        "lies beside",
        "At work",
        "data set",
        "Data set",
        "Licence",
        "licence:",
        "rganisation",
        "95 %",
    ],
    "zh": ["得点", "满点", "等另外", "行的顺序，", "比较基准", "超出偶然", "95 %"],
}


@pytest.mark.parametrize("language", CLUMSY)
def test_no_catalogue_holds_a_clumsy_phrase(language):
    texts = {k: text for k, text in load_catalogue(language).items() if not k.startswith("note.")}
    held = {(k, words) for k, text in texts.items() for words in CLUMSY[language] if words in text}
    assert held == set()


def test_a_chinese_list_uses_the_chinese_comma():
    tied = describe_ranking([["A", "B", "C", "D", "E", "F"]], "zh")
    assert "A、B" in tied
    assert "A, B" in describe_ranking([["A", "B", "C", "D", "E", "F"]], "en")


def test_chinese_databases_are_named_plainly():
    assert "Chinese databases" in {metric.title["en"] for metric in CARD.metrics}


def test_every_flag_of_run_has_help():
    verbs = next(
        action
        for action in main._build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    run = verbs.choices["run"]
    assert [action.dest for action in run._actions if not action.help] == []


def test_a_count_agrees_with_its_noun():
    counts = [format_count(count, "problem") for count in (0, 1, 2)]
    assert counts == ["0 problems", "1 problem", "2 problems"]


def test_progress_is_words_and_not_a_dict():
    line = format_progress(Counter(passed=3, target_error=1), 2.04, 0.127)
    assert line == "3 passed, 1 target error, 2.0/s, $0.13"
    assert format_progress(Counter(), None, None) == ""


def test_a_run_in_a_terminal_draws_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    outcomes = Counter(passed=3, target_error=1)
    with main._draw_run_progress("run-[red]1") as move_bar:
        move_bar(SimpleNamespace(total=10, outcomes=outcomes, cost=None))
    printed = capsys.readouterr()
    assert printed.out == ""
    for text in ("run-[red]1", "4/10", "3 passed, 1 target error"):
        assert text in printed.err


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_verbs_and_flags(capsys, shell):
    assert main.main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "--max-samples" in printed
    assert "rescore" in printed
