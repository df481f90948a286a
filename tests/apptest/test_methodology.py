"""The Methodology page: the formula worked, the rules said, the prompts shown."""

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.target_cards import TargetCard, save_card
from tests.support.boards import Plan, make_run
from tests.support.judged_runs import make_judged_run
from tests.support.pages import open_page, store, table, words

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")


def fill(store):
    make_run(store, Plan(target="openai:a", skill=1.0))
    make_run(store, Plan(target="openai:b", skill=0.4))
    make_run(store, Plan(target="control:null", skill=0.1))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_store_says_so(store, language):
    app = open_page("methodology", language)
    assert {"en": "There is no board yet", "zh": "还没有榜单"}[language] in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_formula_is_worked_with_the_numbers_of_the_leader(store, language):
    fill(store)
    app = open_page("methodology", language)
    formulas = [element.value for element in app.latex]
    assert "\\sum_m w_m" in formulas[0]
    assert "{{" not in formulas[0]
    assert "4 \\cdot 39 + 3 \\cdot 39 + 2 \\cdot 39 + 1 \\cdot 39" in formulas[1]
    assert "= 100.0" in formulas[1]
    terms = table(app, "weighted_points")
    assert list(terms["weighted_points"]) == [156, 117, 78, 39]
    assert terms["share"].sum() == pytest.approx(100)


def test_another_target_can_be_worked(store):
    fill(store)
    app = open_page("methodology", key="openai:b")
    assert "**openai\\:b**" in words(app)
    assert "= 100.0" not in app.latex[1].value


def test_targets_go_by_their_cards(store):
    fill(store)
    save_card(store, OPERATOR, "openai:a", TargetCard(name="Hare"))
    app = open_page("methodology")
    assert "**Hare**" in words(app)
    assert "openai\\:a" not in words(app)
    assert "Hare" in app.selectbox(key="methodology.key").options


@pytest.mark.parametrize("language", LANGUAGES)
def test_outcomes_evidence_floors_and_versions_are_tables(store, language):
    fill(store)
    app = open_page("methodology", language)
    texts = {str(cell) for element in app.table for cell in element.value.to_numpy().ravel()}
    for word in {
        "en": ("Target error", "missing\\: the run is incomplete", "Executed", "control\\:null"),
        "zh": ("评测对象出错", "视为缺失：运行未完成", "实际执行", "control\\:null"),
    }[language]:
        assert word in texts


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_mode_in_which_nothing_is_executed_does_not_claim_it(store, language):
    make_run(store, Plan(target="openai:a", mode="scale"))
    app = open_page("methodology", language)
    texts = [str(cell) for element in app.table for cell in element.value.to_numpy().ravel()]
    assert {"en": "Executed", "zh": "实际执行"}[language] not in texts
    assert texts.count({"en": "Checked exactly", "zh": "规则精确核对"}[language]) == 4
    for page in ("metrics", "ranking"):
        drawn = open_page(page, language)
        assert {"en": "Executed", "zh": "实际执行"}[language] not in words(drawn)


def test_without_a_control_the_page_says_how_to_get_a_floor(store):
    make_run(store, Plan(target="openai:a"))
    assert "No control has run" in words(open_page("methodology"))


def test_the_prompt_of_the_chosen_metric_is_shown_as_code(store):
    fill(store)
    app = open_page("methodology", prompt="sql_understanding/explain_detection")
    prompts = [code.value for code in app.code if code.value.startswith("What")]
    assert prompts == ["What does SELECT 0 return?"]


def test_a_corrupt_run_folder_leaves_the_rules_standing(store):
    fill(store)
    folder = make_run(store, Plan(target="openai:broken", skill=0.9))
    (folder.path / "samples.jsonl").write_text("{torn\n", encoding="utf-8")
    app = open_page("methodology", key="openai:broken")
    assert "cannot be read" in words(app)
    assert len(app.table) >= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_panel_of_a_board_is_shown_with_its_figures(store, language):
    make_judged_run(store, "judged")
    app = open_page("methodology", language)
    heading = {"en": "When a panel votes", "zh": "评审团何时投票"}[language]
    assert any(heading in element.value for element in app.subheader)
    profiles, pairs, calibration = (element.value for element in app.dataframe[-3:])
    assert list(profiles.iloc[:, 0]) == ["openai:mild", "openai:shy", "openai:stern"]
    assert list(profiles.iloc[:, 2]) == ["75%", "50%", "25%"]
    assert list(pairs["κ"])[1] == "0.20"
    assert list(calibration.iloc[:, 1]) == ["3", "2", "3"]


def test_a_board_where_nothing_was_judged_has_rules_but_no_figures(store):
    make_run(store, Plan(target="openai:a"))
    app = open_page("methodology")
    assert all("panel" not in element.value for element in app.subheader)
