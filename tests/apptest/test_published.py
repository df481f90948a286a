"""Boards that SCALE published, on every page: shown with their level, and never to be repeated."""

from typing import get_args

import pytest

from evalcore import i18n
from evalcore.exchange.scale.claims import FlagKind
from evalcore.exchange.scale.importer import import_scale_tree
from evalcore.scoring.claims import ScoreReading
from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table, words
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, indicator, model, report, row

__all__ = ["store"]  # a fixture

MONTH, BOARD, RUN = "2026-05", "scale-2026-05", "scale-2026-05-a"
LANGUAGES = ("en", "zh")
HOSTILE = "<script>alert(1)</script> [x](http://evil.example)"


@pytest.fixture
def filled(store, tmp_path):
    tree = TreeBuilder(tmp_path / "public")
    tree.board(
        MONTH,
        model("a", {CAPABILITY: claim(55.5)}, description=HOSTILE),
        model("b", {CAPABILITY: claim(70.5, {"explain_detection": 61.5})}),
    )
    odd = indicator("explain_detection", [row(1), row(2, False, mode_question=HOSTILE)], 3)
    tree.report(MONTH, "a", [*report()[::2], odd])
    import_scale_tree(tree.root, store, progress=lambda line: None)
    make_run(store, Plan(target="openai:ours"))
    return store


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_ranking_shows_the_published_board_with_claims_unranked(filled, language):
    app = open_page("ranking", language, board=BOARD)
    assert "SCALE 2026\\-05" in words(app)
    about = {"en": "verdicts are used as they are", "zh": "判定沿用公布结果"}[language]
    assert about in words(app)
    ranked, claimed = table(app, "rank"), table(app, "status")
    assert list(ranked["target"]) == ["scale:a"]
    assert list(claimed["target"]) == ["scale:b"]
    assert list(claimed["score"]) == [70.5]
    expected = {"en": "Claimed, cases not published", "zh": "仅为声明，未公布用例"}[language]
    assert list(claimed["status"]) == [expected]


def test_our_own_board_comes_first_and_knows_nothing_of_it(filled):
    app = open_page("ranking")
    assert list(table(app, "rank")["target"]) == ["openai:ours"]
    assert "scale:" not in words(app)
    assert "used as published" not in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_target_shows_claim_and_recomputed_score_with_all_flags(filled, language):
    app = open_page("target", language, key="scale:a", board=BOARD)
    level = {"en": "level 1: complete case reports", "zh": "1 级：用例报告完整"}[language]
    assert level in words(app)
    scores = table(app, "recomputed")
    assert scores["claimed"][0] == 55.5
    how = {"en": "Unexplained", "zh": "无法解释"}[language]
    assert scores["reading"][0] == how
    colon = {"en": ": ", "zh": "："}[language]
    assert f"{how}{colon}" in words(app)
    flags = table(app, "flag")
    assert "stated 3, configured 2" in set(flags["detail"])
    assert not any(text.startswith("target.") for text in flags["flag"])
    assert "<script>" not in words(app)


def test_a_bare_claim_has_its_level_and_no_cases(filled):
    app = open_page("target", key="scale:b", board=BOARD)
    assert "level 0: claimed only" in words(app)
    scores = table(app, "claimed")
    assert list(scores["claimed"]) == [70.5]
    assert "recomputed" not in scores.columns
    assert "lower bound" not in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reading_and_every_kind_of_flag_has_a_text(language):
    kinds, readings = get_args(FlagKind), get_args(ScoreReading)
    keys = [f"target.flag.{kind}" for kind in kinds]
    keys += [f"target.{name}.{reading}" for name in ("how", "reading") for reading in readings]
    assert set(keys) <= i18n.load_catalogue(language).keys()


def test_a_case_says_that_it_was_imported(filled):
    app = open_page("case", run=RUN, metric="explain_detection", id="2")
    assert "Imported case" in words(app)


def test_a_target_of_ours_has_no_such_part(filled):
    app = open_page("target", key="openai:ours")
    assert "level" not in words(app)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("case", {"run": RUN, "metric": "explain_detection", "id": "2"}),
        ("runs", {"run": RUN}),
        ("methodology", {"board": BOARD}),
        ("launch", {}),
    ],
)
def test_every_other_page_can_be_opened(filled, page, query, language):
    app = open_page(page, language, **query)
    assert words(app)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ["metrics", "methodology", "case"])
def test_no_page_calls_a_published_verdict_executed_here(filled, language, page):
    params = {"run": RUN, "benchmark": CAPABILITY, "metric": "execution_accuracy", "id": "1"}
    app = open_page(page, language, board=BOARD, **params)
    evidence = {"en": "Published verdict", "zh": "发布方判定"}[language]
    text = words(app) + "\n".join(frame.value.to_string() for frame in app.table)
    text += "\n".join(frame.value.to_string() for frame in app.dataframe)
    text += "\n".join(str(element.value) for element in app.get("badge"))
    assert evidence in text
    engine = {"en": "real engine", "zh": "真实引擎"}[language]
    assert engine not in text
