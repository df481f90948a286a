"""Months as nobody has published them yet: each is imported and ranked, or refused by name."""

from __future__ import annotations

import json

import pytest

from evalcore.errors import DatasetError
from evalcore.exchange.board_export import FORMATS, BoardSelection, render_board_listing
from evalcore.exchange.site.publish import build_site_files
from evalcore.store.run_folder import find_run
from evalcore.views import boards, stored_boards
from evalcore.views.ranking import list_board_orders
from tests.support.scale_imports import MONTH, import_single_model, kinds, settings, taken, tree
from tests.support.scale_tree import CAPABILITY, claim, indicator, model, report, row

__all__ = ["settings", "tree"]  # fixtures


def empty_indicator(name):
    return indicator(name, [row(1)]) | {"case_datas": [], "case_pass_count": 0}


def ranked(settings):
    """The ranking of the month, which every format and the site can show."""
    [board] = boards.list_boards(stored_boards.load_run_headers(settings), "sql")
    for by in list_board_orders(board):
        for format in ("csv", *FORMATS):
            text = render_board_listing(settings, BoardSelection(by=by), format)
            assert "nan" not in text.lower()
    for path, content in build_site_files(settings, "Evalboard", ""):
        if path.endswith(".json"):
            json.loads(content, parse_constant=pytest.fail)
    return stored_boards.board_ranking(settings, board).set_index("identity")


def two_models(tree, first, second):
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(1.0)}) for name in ("a", "b")))
    tree.report(MONTH, "a", first)
    tree.report(MONTH, "b", second)


def score_of(settings, name):
    return (
        find_run(f"scale-{MONTH}-{name}", settings.run_roots).read_summary().benchmarks[CAPABILITY]
    )


def test_a_month_of_one_model(tree, settings):
    import_single_model(tree, report())
    taken(tree, settings)
    assert list(ranked(settings)["status"]) == ["ranked"]


def test_a_metric_without_cases_takes_nothing_from_the_others(tree, settings):
    content = [*report()[:2], empty_indicator("syntax_error_detection")]
    two_models(tree, content, content)
    taken(tree, settings)
    frame = ranked(settings)
    assert list(frame["rank"]) == [1, 1]
    assert score_of(settings, "a").metrics["syntax_error_detection"].score is None
    assert score_of(settings, "a").score == 40.0


def test_reports_without_any_case_have_no_rank(tree, settings):
    two_models(tree, [empty_indicator("explain_detection")], [])
    taken(tree, settings)
    assert "ranked" not in set(ranked(settings)["status"])


def test_models_that_share_no_metric_have_no_score(tree, settings):
    two_models(tree, report()[:1], report()[1:2])
    taken(tree, settings)
    frame = ranked(settings)
    assert list(frame["status"]) == ["incomplete"] * 2
    assert frame["score"].isna().all()
    assert ("uncommon_indicator", "explain_detection") in kinds(settings, f"scale-{MONTH}-b")


@pytest.mark.parametrize("weight", [0, 3])
def test_cases_or_indicators_that_all_weigh_nothing(tree, settings, weight):
    rows = [row(1, True, weight), row(2, False, weight)]
    content = [indicator("explain_detection", rows, 0 if weight else 2)]
    two_models(tree, content, content)
    taken(tree, settings)
    frame = ranked(settings)
    assert len(frame) == 2
    assert weight or frame["score"].isna().all()


def test_a_case_that_stands_twice_counts_once(tree, settings):
    twice = [indicator("explain_detection", [row(1), row(1, False), row(2, False)])]
    two_models(tree, twice, [indicator("explain_detection", [row(1), row(2)])])
    taken(tree, settings)
    assert list(ranked(settings)["status"]) == ["ranked", "ranked"]
    assert (score_of(settings, "a").samples, score_of(settings, "a").score) == (2, 50.0)


def test_a_model_that_stands_twice_keeps_its_first_row(tree, settings):
    rows = (model("a", {CAPABILITY: claim(40.0)}), model("a", {CAPABILITY: claim(99.0)}))
    tree.board(MONTH, *rows)
    tree.report(MONTH, "a", report())
    done = taken(tree, settings)
    assert (len(done.created), len(done.skipped)) == (1, 1)
    assert "twice" in done.skipped[0]
    assert score_of(settings, "a").views == {"claimed": 40.0}
    ranked(settings)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("word", ["Error", "", "Skipped", "None", "通过"])
def test_a_verdict_never_seen_is_no_wrong_answer(tree, settings, word):
    odd = [indicator("explain_detection", [row(1), row(2, case_eval_result=word)])]
    two_models(tree, odd, [indicator("explain_detection", [row(1), row(2)])])
    taken(tree, settings)
    frame = ranked(settings)
    assert dict(frame["status"]) == {"scale:b": "ranked", "scale:a": "incomplete"}
    assert score_of(settings, "a").outcomes == {"passed": 1, "not_executed": 1}
    assert score_of(settings, "a").answered == 100.0
    flags = kinds(settings, f"scale-{MONTH}-a")
    assert flags["unknown_verdict", "explain_detection"] == "1: 2"


@pytest.mark.parametrize(("word", "score"), [("pass", 100.0), ("FAIL ", 50.0)])
def test_the_letters_of_a_verdict_may_be_of_any_case(tree, settings, word, score):
    import_single_model(
        tree, [indicator("explain_detection", [row(1), row(2, case_eval_result=word)])]
    )
    taken(tree, settings)
    assert score_of(settings, "a").score == score


def test_a_score_as_text_is_a_number_or_refused(tree, settings):
    tree.board(MONTH, model("a", {CAPABILITY: claim("40.0")}))
    tree.report(MONTH, "a", report())
    taken(tree, settings)
    assert score_of(settings, "a").views == {"claimed": 40.0}
    for text in ("n/a", "NaN", "1e999", "-3"):
        tree.board(MONTH, model("a", {CAPABILITY: claim(text)}))
        with pytest.raises(DatasetError, match="ability_score"):
            taken(tree, settings)


def test_a_case_that_one_report_alone_has_makes_nobody_incomplete(tree, settings):
    tree.board(MONTH, *(model(name, {CAPABILITY: claim(1.0)}) for name in "abc"))
    usual = [indicator("explain_detection", [row(1), row(2)])]
    for name in "ab":
        tree.report(MONTH, name, usual)
    tree.report(MONTH, "c", [indicator("explain_detection", [row(1), row(2), row(9, False)])])
    taken(tree, settings)
    assert list(ranked(settings)["status"]) == ["ranked"] * 3
    assert score_of(settings, "c").score == 100.0
    assert kinds(settings, f"scale-{MONTH}-c")["extra_case", "explain_detection"] == "1: 9"
