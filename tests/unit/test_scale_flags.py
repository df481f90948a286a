"""Which flags are raised on what SCALE published."""

from __future__ import annotations

import json

import pytest

from evalcore.views import stored_boards
from tests.support.scale_imports import (
    MONTH,
    import_single_model,
    kinds,
    settings,
    taken,
    tree,
)
from tests.support.scale_tree import CAPABILITY, claim, indicator, model, report, row

__all__ = ["settings", "tree"]  # fixtures


def test_what_was_carried_over_says_since_when(tree, settings):
    import_single_model(tree, report(), month="2026-04")
    changed = [*report()[:2], indicator("syntax_error_detection", [row(1), row(2)])]
    import_single_model(tree, report(), month=MONTH)
    tree.board("2026-06", model("A", {CAPABILITY: claim(50.0)}))
    tree.report("2026-06", "a", changed)
    taken(tree, settings)
    assert kinds(settings, f"scale-{MONTH}-a") == {("carried_over", ""): "since 2026-04"}
    [latest] = [r.run_id for r in stored_boards.load_run_headers(settings) if "2026-06" in r.run_id]
    assert kinds(settings, latest)["part_carried_over", "execution_accuracy"] == "since 2026-04"
    assert ("part_carried_over", "syntax_error_detection") not in kinds(settings, latest)


ERROR = {"status": "error", "message": "timed out"}


@pytest.mark.parametrize(
    ("content", "flag", "detail"),
    [
        (
            [*report(), indicator("syntax_error_detection", [row(1)])],
            ("duplicate_indicator", "syntax_error_detection"),
            "2 times",
        ),
        (
            [*report(), indicator("big_sql_conversion", [row(1)])],
            ("foreign_indicator", "big_sql_conversion"),
            "",
        ),
        (
            [*report()[:2], indicator("syntax_error_detection", [row(1), row(2)], 3)],
            ("weight_differs", "syntax_error_detection"),
            "stated 3, configured 1",
        ),
        (
            [indicator("explain_detection", [row(1)], case_pass_count=0, case_wrong_count=1)],
            ("counts_differ", "explain_detection"),
            "stated 0 of 1 passed, counted 1 of 1",
        ),
        (
            [indicator("explain_detection", [row(1), row(1)])],
            ("duplicate_case", "explain_detection"),
            "1: 1",
        ),
        (
            [indicator("explain_detection", [row(1, model_answers=[{"model_answer": ERROR}])])],
            ("error_passed", "explain_detection"),
            "1: 1",
        ),
        (
            [indicator("explain_detection", [row(2, False, model_answers=[{"model_answer": ""}])])],
            ("empty_answer", "explain_detection"),
            "1: 2",
        ),
        (
            [
                indicator(
                    "explain_detection", [row(1, model_answers=[{"model_answer": "ERROR: x"}])]
                )
            ],
            ("service_error", "explain_detection"),
            "1: 1",
        ),
        (report(wins=2), ("score_differs", ""), "published 55.5, by the report 100"),
        (
            report(wins=2),
            ("indicator_score", "explain_detection"),
            "published 40, cases give 100",
        ),
        ([*report()[:2]], ("no_cases", "syntax_error_detection"), "published 40"),
    ],
)
def test_what_is_peculiar_is_flagged(tree, settings, content, flag, detail):
    import_single_model(tree, content, 55.5)
    taken(tree, settings)
    assert kinds(settings, f"scale-{MONTH}-a")[flag] == detail


def test_dropped_cases_are_named_with_the_score_they_would_leave(tree, settings):
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(1.0)}) for name in ("a", "b")))
    tree.report(MONTH, "a", [indicator("explain_detection", [row(1), row(2, True, 3)])])
    tree.report(MONTH, "b", [indicator("explain_detection", [row(1)])])
    taken(tree, settings)
    flags = kinds(settings, f"scale-{MONTH}-b")
    assert flags["dropped_cases", "explain_detection"] == "1: 2; 25 if counted as failed"
    assert ("dropped_cases", "explain_detection") not in kinds(settings, f"scale-{MONTH}-a")


def test_a_report_from_when_there_were_fewer_cases_dropped_none(tree, settings):
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(1.0)}) for name in ("a", "b")))
    tree.report(MONTH, "a", [indicator("explain_detection", [row(n) for n in range(1, 6)])])
    tree.report(MONTH, "b", [indicator("explain_detection", [row(1), row(2)])])
    taken(tree, settings)
    flags = kinds(settings, f"scale-{MONTH}-b")
    assert flags["fewer_cases", "explain_detection"] == "2 of 5"
    assert ("dropped_cases", "explain_detection") not in flags


def test_earlier_prompts_and_other_labels_are_found(tree, settings):
    asked = [row(1, mode_question="the old wording"), row(2)]
    import_single_model(tree, [indicator("explain_detection", asked)], month="2026-04")
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(1.0)}) for name in ("a", "b")))
    tree.report(MONTH, "a", [indicator("explain_detection", [*asked, row(3)])])
    tree.report(MONTH, "b", [indicator("explain_detection", [row(1), row(2), row(3)])])
    cases = tree.root.parent / "datasets" / CAPABILITY
    cases.mkdir(parents=True)
    lines = [json.loads(row(number)["case_content"]) for number in (1, 2, 3)]
    lines[1]["expected"] = {"has_syntax_error": "yes"}
    (cases / "explain_detection.jsonl").write_text("\n".join(map(json.dumps, lines)))
    taken(tree, settings)
    flags = kinds(settings, f"scale-{MONTH}-a")
    assert flags["outdated_prompt", "explain_detection"] == "1: 1"
    assert flags["outdated_case", "explain_detection"] == "1: 2"
    assert ("outdated_prompt", "explain_detection") not in kinds(settings, f"scale-{MONTH}-b")
