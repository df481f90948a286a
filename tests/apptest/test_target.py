"""The Target page: found, not found, incomplete, filtered and paged, in both languages."""

import json

import pytest

from evalcore.records import TargetSpec
from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table, words

__all__ = ["store"]  # a fixture

DAY = "2026-11-{:02d}T00:00:00.000+00:00".format
LANGUAGES = ("en", "zh")


def fill(store):
    make_run(store, Plan(target="openai:a", skill=0.5, created_at=DAY(1)))
    make_run(store, Plan(target="openai:a", skill=0.6, created_at=DAY(2)))
    make_run(store, Plan(target="openai:b", skill=0.9, created_at=DAY(3)))
    make_run(store, Plan(target="control:null", skill=0.1, price=None))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_store_says_so(store, language):
    app = open_page("target", language)
    assert {"en": "There is no target yet", "zh": "还没有评测对象"}[language] in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_unknown_target_is_said_to_be_unknown(store, language):
    fill(store)
    app = open_page("target", language, key="openai:![x](http://evil.example)")
    assert {"en": "No target with this name", "zh": "没有这个评测对象"}[language] in words(app)
    assert "![x](" not in words(app)
    assert not app.dataframe


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_target_shows_its_figures_charts_and_cases(store, language):
    fill(store)
    app = open_page("target", language, key="openai:a")
    assert app.title[0].value == "openai\\:a"
    labels = [metric.label for metric in app.metric]
    assert (
        labels[:2]
        == {
            "en": ["Rank (95%)", "Score (95%)"],
            "zh": ["名次（95%）", "得分（95%）"],
        }[language]
    )
    assert app.metric[0].value.startswith("2 ")
    assert len(app.get("vega_lite_chart")) == 2
    assert len(table(app, "outcome")) == 25


def test_without_a_key_a_target_is_shown_and_the_url_names_it(store):
    fill(store)
    app = open_page("target")
    assert app.selectbox(key="target.key").value == "openai:b", "the best of the board"
    assert app.query_params["key"] in ("openai:b", ["openai:b"])


def test_cases_are_filtered_by_metric_outcome_difficulty_and_text(store):
    fill(store)
    app = open_page(
        "target", key="openai:a", metric="explain_detection", outcome="failed", difficulty="2,3"
    )
    shown = table(app, "outcome")
    assert set(shown["metric"]) == {"Plan reading"}
    assert set(shown["outcome"]) == {"✕ Failed"}
    assert set(shown["difficulty"]) <= {2, 3}
    app.text_input(key="target.q").set_value("no such note").run()
    assert "No case matches" in words(app)


def test_the_pages_of_cases_go_on_where_the_first_ended(store):
    fill(store)
    app = open_page("target", key="openai:a")
    first = list(table(app, "outcome")["case"])
    app.get("pagination")[0].set_value(2).run()
    second = table(app, "outcome")
    assert first == [*map(str, range(20)), *map(str, range(5))]
    assert list(second["case"])[:3] == ["5", "6", "7"]
    assert "80 cases, showing 26 to 50" in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_history_has_every_run_and_a_trend(store, language):
    fill(store)
    make_run(store, Plan(target="openai:a", mode="scale", cases=5, created_at=DAY(9)))
    app = open_page("target", language, key="openai:a", view="history")
    runs = table(app, "run")
    assert len(runs) == 3
    assert runs["date"].is_monotonic_decreasing
    size = {"en": "20 cases", "zh": "20 个用例"}[language]
    assert size in runs["board"].iloc[0]
    assert len(app.get("vega_lite_chart")) == 3


def test_an_incomplete_run_is_a_lower_bound_without_a_rank(store):
    fill(store)
    make_run(store, Plan(target="openai:cut", skill=0.9, failing=8, created_at=DAY(4)))
    app = open_page("target", key="openai:cut", view="outcomes")
    assert app.metric[0].value == "–"
    assert app.metric[1].delta == "lower bound"
    assert "72 of 80 cases were measured" in words(app)
    counts = table(app, "word")
    assert dict(zip(counts["word"], counts["count"], strict=True))["Target error"] == 8


def test_a_target_with_a_score_on_another_board_only_is_shown_there(store):
    fill(store)
    make_run(store, Plan(target="openai:scale", mode="scale"))
    app = open_page("target", key="openai:scale")
    assert app.metric[0].value == "1 of 1"


def test_a_kind_that_is_no_kind_of_ours_stays_text(store):
    make_run(store, Plan(target="![x](http://evil.example):name"))
    assert "![x](" not in words(open_page("target"))


def test_options_are_shown_and_tell_targets_apart(store):
    fill(store)
    options = {"temperature": 0.7, "base_url": "http://![x](y)"}
    identity = TargetSpec(key="openai:a", options=options).identity
    make_run(store, Plan(target="openai:a", options=options))
    app = open_page("target", key=identity)
    assert app.title[0].value == "openai\\:a · temperature\\=0\\.7"
    assert "temperature = 0\\.7" in words(app)
    assert "![x](" not in words(app)


def test_a_corrupt_run_folder_still_shows_the_scores(store):
    folder = make_run(store, Plan(target="openai:a"))
    (folder.path / "samples.jsonl").write_text("{torn\n", encoding="utf-8")
    app = open_page("target", key="openai:a")
    assert "The cases cannot be read" in words(app)
    assert app.metric[1].value != "–"


def test_case_and_run_ids_are_buttons(store):
    """What a click does is walked in a browser: AppTest cannot click in a grid."""
    fill(store)
    cases = open_page("target", key="openai:a")
    runs = open_page("target", key="openai:a", view="history")
    for app, column in ((cases, "case"), (runs, "run")):
        config = json.loads(app.dataframe[0].proto.columns)
        assert config[column]["type_config"]["type"] == "button"
