"""Function calling on the pages: a case with its calls, why answers failed, groups, the form."""

from __future__ import annotations

import json
import re

import pytest

from evalcore.runner import client
from tests.support import bfcl_runs
from tests.support.bfcl_runs import NATIVE, RUN, TURNS, make_run
from tests.support.pages import chart_rows, open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")
METRICS = {name: entry.category for name, (entry, _) in bfcl_runs.ANSWERS.items()}
METRICS |= {NATIVE: "simple_python", TURNS: "multi_turn_base"}


def open_case(store, name, language="en"):
    make_run(store)
    return open_page("case", language, run=RUN, benchmark="bfcl", metric=METRICS[name], id=name)


def badges(app):
    return " ".join(str(element.value) for element in app.main.markdown)


def marks(app):
    """Argument -> finding, of the first table of calls."""
    shown = table(app, "mark")
    return dict(zip(shown["argument"], shown["mark"], strict=True))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(METRICS))
def test_every_case_is_drawn_and_hostile_text_stays_text(store, name, language):
    app = open_case(store, name, language)
    assert name in app.title[0].value.replace("\\", "")
    assert not re.search(r"(?<!\\)!\[|(?<!\\):red\[|(?<!\\)\]\(", words(app))


@pytest.mark.parametrize(
    ("name", "argument", "text"),
    [
        ("value", "city", "✕ first mismatch"),
        ("missing", "city", "− missing"),
        ("extra", "sky", "+ not expected"),
        ("right", "units", "○ omitted, allowed"),
        ("right", "city", "✓ accepted"),
    ],
)
def test_arguments_are_marked_with_a_sign_and_a_word(store, name, argument, text):
    assert marks(open_case(store, name))[argument] == text


def test_the_mismatch_is_coloured_as_well(store):
    app = open_case(store, "value")
    shown = next(frame for frame in app.dataframe if "mark" in frame.value.columns)
    assert "background-color" in shown.proto.arrow_data.styler.styles


def test_alternatives_stand_beside_the_value_as_json(store):
    shown = table(open_case(store, "value"), "mark").set_index("argument")
    assert shown.loc["city", "answered"] == '"Rome"'
    assert shown.loc["city", "accepted"] == '"Oslo"  or  "Oslo, Norway"'
    assert shown.loc["units", "accepted"] == '"metric"  or  may be omitted'
    assert shown.loc["days", "answered"] == "3"


def test_a_call_that_is_missing_and_another_function_are_said(store):
    app = open_case(store, "one_of_two")
    assert "Calls answered: 1, expected: 2." in words(app)
    assert "− missing call" in badges(app)
    assert "✕ wrong function; expected" in badges(open_case_again("name"))


def open_case_again(name):
    return open_page("case", run=RUN, benchmark="bfcl", metric=METRICS[name], id=name)


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "No call could be parsed from the answer"), ("zh", "无法从回答中解析出任何调用")],
)
def test_an_answer_without_a_call_is_said_to_be_one(store, language, text):
    app = open_case(store, "prose", language)
    assert text in words(app)
    assert list(table(app, "accepted").columns) == ["argument", "accepted"]


def test_badges_tell_group_format_mode_and_flag(store):
    message = badges(open_case(store, "fenced"))
    for text in ("No call could be parsed", "Lost to format", "Asked in the prompt"):
        assert text in message
    assert "Flagged official entry" not in message
    app = open_case_again("value")
    assert "Flagged official entry" in badges(app)
    assert "ArrayList" in app.info[0].value.replace("\\", "")
    assert "Abstained" in badges(open_case_again("abstained"))
    assert "Asked with native tools" in badges(open_case_again(NATIVE))


def test_a_native_answer_shows_its_calls_as_the_answer(store):
    app = open_case(store, NATIVE)
    assert any('weather_now({"city"' in block.value for block in app.code)
    assert "gave an empty answer" not in words(app)


def test_functions_are_a_table_of_their_parameters(store):
    shown = table(open_case(store, "right"), "required")
    assert shown.to_dict("list")["name"] == ["city", "days", "units"]
    assert shown.to_dict("list")["required"] == ["yes", "no", "no"]
    assert shown["type"][1] == "integer"


def test_many_functions_are_folded_and_chosen_from_a_menu(store):
    app = open_case(store, TURNS)
    [folded] = [expander for expander in app.expander if expander.label == "Available functions: 5"]
    menu = folded.selectbox[0]
    assert menu.options == [f"tool_{number}" for number in range(5)]
    assert not folded.proto.expanded


@pytest.mark.parametrize(
    ("language", "titles", "sides"),
    [
        ("en", ["Service state", "Missing expected results", "turn by turn"], "reference"),
        ("zh", ["服务状态", "缺少的应有结果", "逐轮的调用与结果"], "参考"),
    ],
)
def test_a_conversation_shows_turns_state_and_results(store, language, titles, sides):
    app = open_case(store, TURNS, language)
    text = words(app)
    for title in titles:
        assert title in text
    assert {"en": "Turn 2 of 2", "zh": "第 2 轮，共 2 轮"}[language] in text
    rows = [frame.value for frame in app.dataframe if len(frame.value.columns) == 4]
    assert any(sides in frame.to_numpy() for frame in rows)
    assert any('"water(litres=6)"' in block.value for block in app.json), "JSON text is parsed"


@pytest.mark.parametrize(
    ("language", "reasons"),
    [
        ("en", {"No call could be parsed", "Wrong function", "Service state differs"}),
        ("zh", {"无法解析出调用", "函数错误", "服务状态不符"}),
    ],
)
def test_why_answers_failed_is_a_chart_with_its_cases(store, language, reasons):
    make_run(store)
    app = open_page("target", language, key=bfcl_runs.TARGET, view="failures")
    assert reasons <= set(chart_rows(app, 1)["name"].dropna())
    assert len(table(app, "outcome")) == 9
    assert len(chart_rows(app, 2)) == 2, "abstained and called"


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "from another format: 1; lost to format: 0"), ("zh", "从其他格式读出 1")],
)
def test_a_target_says_how_its_calls_were_read(store, language, text):
    make_run(store)
    app = open_page("target", language, key=bfcl_runs.TARGET, view="failures")
    assert text in words(app).replace("\\", "")


def test_a_case_names_the_format_of_its_calls(store):
    assert "Calls in the format fenced" in badges(open_case(store, "fenced")).replace("\\", "")


def test_a_reason_leads_to_its_cases(store):
    make_run(store)
    app = open_page("target", key=bfcl_runs.TARGET, view="failures", cause="decode")
    assert set(table(app, "outcome")["case"]) == {"prose", "fenced"}
    app.multiselect(key="target.cause").set_value(["name"]).run()
    assert set(table(app, "outcome")["case"]) == {"name"}


@pytest.mark.parametrize(
    ("language", "text"), [("en", "No answer of this run failed"), ("zh", "没有未通过的回答")]
)
def test_without_a_failure_it_is_said(store, language, text):
    make_run(store, failing=False)
    app = open_page("target", language, key=bfcl_runs.TARGET, view="failures")
    assert text in words(app)
    assert "outcome" not in {name for frame in app.dataframe for name in frame.value.columns}


@pytest.mark.parametrize(
    ("language", "group", "missing"),
    [
        ("en", "Single turn (ours)", "missing: Web search, Memory"),
        ("zh", "单轮合成（自定义）", "缺少："),
    ],
)
def test_groups_say_what_is_missing_and_never_zero(store, language, group, missing):
    make_run(store)
    app = open_page("target", language, key=bfcl_runs.TARGET)
    cells = {tuple(row) for element in app.table for row in element.value.to_numpy()}
    plain = {tuple(str(cell).replace("\\", "") for cell in row) for row in cells}
    assert any(row[0] == group and row[1] == "–" for row in plain)
    assert any(missing in row[2] for row in plain if len(row) == 3)


def test_readings_and_the_price_of_the_format(store):
    make_run(store)
    text = words(open_page("target", key=bfcl_runs.TARGET)).replace("\\", "")
    assert "Other readings" in text
    assert re.search(r"Lost to format: \d+\.\d points", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_board_of_the_suite_ranks_and_its_title_has_no_defaults(store, language):
    make_run(store)
    app = open_page("ranking", language, suite="agentic")
    shown = table(app, "rank")
    assert "bfcl/multi_turn_long_context" in shown.columns
    assert "exclude_flagged" not in words(app).replace("\\", "")


def test_many_leaders_are_a_table(store, monkeypatch):
    make_run(store)
    monkeypatch.setattr("pages.parts.ranking.board_notes._MAX_CARDS", 3)
    leaders = table(open_page("ranking", suite="agentic"), "part")
    assert list(leaders["part"])[:2] == ["Simple, Python", "Parallel calls"]
    assert set(leaders["target"]) == {bfcl_runs.TARGET}


def test_the_methodology_adds_up_and_shows_what_is_asked(store):
    make_run(store)
    app = open_page("methodology", suite="agentic")
    text = words(app).replace("\\", "")
    sums = re.search(r"The sum gives ([\d.]+); the board shows ([\d.]+)\.", text)
    assert sums is not None
    assert sums[1] == sums[2]
    shown = table(app, "weighted_points")
    assert all(len(weight) < 10 for weight in shown["weight"])
    assert "Asked by native tools" in text or "Asked in the prompt" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_form_stays_short_with_many_metrics(store, monkeypatch, language):
    asked = []
    monkeypatch.setattr(client, "launch_run", lambda *args, visitor: asked.append(args) or "run")
    app = open_page("launch", language)
    app.multiselect(key="launch.benchmarks").set_value(["bfcl"]).run()
    menu = app.multiselect(key="launch.metrics.bfcl")
    assert menu.value == []
    assert menu.options[0].endswith("×0.83")
    app.button(key="launch.do.start").click().run()
    assert asked[0][0].metrics == ()


def test_metrics_and_options_of_the_form_reach_the_request(store, monkeypatch):
    asked = []
    monkeypatch.setattr(client, "launch_run", lambda *args, visitor: asked.append(args) or "run")
    app = open_page("launch")
    app.multiselect(key="launch.benchmarks").set_value(["bfcl"]).run()
    app.multiselect(key="launch.metrics.bfcl").set_value(["parallel", "irrelevance"])
    app.text_input(key="launch.option.bfcl.categories").set_value("parallel, irrelevance")
    strict = app.selectbox(key="launch.option.bfcl.strict")
    assert strict.options == ["true", "false"]
    strict.set_value("true")
    app.toggle(key="launch.option.bfcl.exclude_flagged").set_value(True).run()
    app.button(key="launch.do.start").click().run()
    request = asked[0][0]
    assert request.metrics == ("parallel", "irrelevance")
    assert request.options["bfcl"] == {
        "categories": ["parallel", "irrelevance"],
        "strict": "true",
        "exclude_flagged": True,
    }


def test_how_an_endpoint_is_asked_for_calls_can_be_chosen(store):
    app = open_page("launch")
    app.button_group(key="launch.kind").set_value("openai").run()
    assert "native" in app.selectbox(key="launch.option.openai.asking").options


def test_case_ids_of_failures_are_buttons(store):
    make_run(store)
    app = open_page("target", key=bfcl_runs.TARGET, view="failures")
    grid = next(dataframe for dataframe in app.dataframe if "case" in dataframe.value.columns)
    assert json.loads(grid.proto.columns)["case"]["type_config"]["type"] == "button"
