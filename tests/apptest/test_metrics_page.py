"""The Metrics page on stores from empty to broken, in both languages."""

import json

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.benchmarks.sql_understanding.card import CARD
from evalcore.errors import IndexFileError
from evalcore.settings import Settings
from evalcore.target_cards import TargetCard, colour_of, save_card
from evalcore.views import stored_boards
from tests.support.boards import Plan, make_run
from tests.support.pages import APP, chart_rows, drawn_html, open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = {"en": "Metrics", "zh": "指标"}
FIRST, SECOND = (metric.key for metric in CARD.metrics[:2])


def fill(store):
    make_run(store, Plan(target="openai:strong", skill=0.9, price=0.002))
    make_run(store, Plan(target="openai:weak", skill=0.3, price=0.001))
    make_run(store, Plan(target="openai:cut", skill=0.5, failing=4, price=None))
    make_run(store, Plan(target="control:null", skill=0.1, price=None))
    make_run(store, Plan(target="control:reference", skill=1.0, price=None))


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_store_says_so_and_leads_to_launch(store, language):
    app = open_page("metrics", language)
    assert app.title[0].value == LANGUAGES[language]
    assert {"en": "There is no metric", "zh": "还没有可显示的指标"}[language] in words(app)
    assert not app.dataframe
    assert app.get("page_link")


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_run_is_shown_alone(store, language):
    make_run(store, Plan(target="baseline:sqlglot", skill=0.6, price=0.0))
    app = open_page("metrics", language)
    assert list(table(app, "rank")["target"]) == ["baseline:sqlglot"]
    assert {"en": "Only **baseline", "zh": "目前只有 **baseline"}[language] in words(app)
    assert len(app.get("vega_lite_chart")) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_targets_are_ranked_by_the_metric_and_the_others_listed_below(store, language):
    fill(store)
    app = open_page("metrics", language, metric=SECOND)
    ranked = table(app, "rank")
    assert list(ranked["target"]) == ["openai:strong", "openai:weak"]
    assert list(ranked["rank"]) == [1, 2]
    assert {"level/1", "level/2", "level/3"} <= set(ranked.columns)
    assert ranked["passed"].str.fullmatch(r"\d+/20").all()
    assert list(table(app, "status")["target"]) == [
        "openai:cut",
        "control:reference",
        "control:null",
    ]
    title = CARD.metrics[1].title[language]
    assert title in words(app)
    assert CARD.metrics[1].about[language][:6] in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_many_targets_are_drawn_up_to_a_limit_and_the_rest_is_counted(store, language):
    for number in range(45):
        make_run(store, Plan(target=f"openai:m{number:02}", skill=number / 45, cases=3))
    app = open_page("metrics", language)
    assert len(table(app, "rank")) == 45
    assert chart_rows(app, 0)["name"].nunique() == 40
    assert {"en": "5 more", "zh": "另有 5 个"}[language] in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("suite", ["sql", "agentic"])
def test_the_shipped_runs_are_shown(store, monkeypatch, language, suite):
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(APP.parent / Settings().shipped))
    app = open_page("metrics", language, suite=suite, source="here")
    assert len(table(app, "rank"))
    assert len(app.get("vega_lite_chart")) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_corrupt_run_folder_does_not_hide_the_others(store, language):
    fill(store)
    broken = make_run(store, Plan(target="openai:broken", skill=0.99))
    (broken.path / "samples.jsonl").write_text("{torn", encoding="utf-8")
    (broken.path / "spec.json").write_text("nonsense", encoding="utf-8")
    app = open_page("metrics", language)
    assert list(table(app, "rank")["target"]) == ["openai:strong", "openai:weak"]
    assert "openai:broken" not in list(table(app, "status")["target"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_index_that_cannot_be_read_is_said_to_be_so(store, monkeypatch, language):
    def broken(settings):
        raise IndexFileError("![x](http://evil.example) is torn")

    app = open_page("metrics", language)
    monkeypatch.setattr(stored_boards, "load_run_headers", broken)
    app.run()
    assert {"en": "cannot be read", "zh": "无法读取"}[language] in app.error[0].value
    assert "![x](" not in words(app)
    assert not app.dataframe


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_metric_without_cases_says_so_and_still_tells_what_it_measures(store, language):
    make_run(store, Plan(target="openai:a", cases=0))
    app = open_page("metrics", language)
    assert {"en": "No cases of this metric", "zh": "这里没有该指标的用例"}[language] in words(app)
    assert CARD.metrics[0].about[language][:6] in words(app)
    assert not app.dataframe


def test_controls_alone_leave_a_metric_without_ranks(store):
    make_run(store, Plan(target="control:null", skill=0.0))
    app = open_page("metrics")
    assert "No target is ranked" in words(app)
    assert list(table(app, "status")["target"]) == ["control:null"]
    assert not app.get("vega_lite_chart")


def test_floor_and_ceiling_are_lines_and_a_target_has_its_colour(store):
    fill(store)
    rows = chart_rows(open_page("metrics"), 0)
    assert {label.rsplit(" ", 1)[0] for label in rows["label"].dropna()} == {
        "floor: empty answer",
        "ceiling: reference",
    }
    colours = dict(zip(rows["name"], rows["colour"], strict=True))
    assert colours["openai:weak"] == colour_of("openai:weak")


def test_the_reasons_of_failures_are_parts_of_all_answers(store):
    fill(store)
    app = open_page("metrics")
    rows = chart_rows(app, 1)
    assert set(rows["name"]) == {"openai:strong", "openai:weak"}
    ranked = table(app, "rank").set_index("target")
    failed = {name: 20 - int(ranked["passed"][name].split("/")[0]) for name in ranked.index}
    assert rows.groupby("name")["count"].sum().to_dict() == failed
    spec = json.loads(app.get("vega_lite_chart")[1].proto.spec)
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 100]


def test_without_a_failure_that_is_said(store):
    make_run(store, Plan(target="openai:a", skill=1.0))
    assert "No answer of the ranked targets failed" in words(open_page("metrics"))


def test_the_url_names_the_metric_and_unknown_values_fall_back(store):
    fill(store)
    app = open_page("metrics", metric=SECOND)
    assert app.selectbox(key="metrics.metric").value == SECOND
    app.selectbox(key="metrics.metric").set_value(FIRST).run()
    assert "metric" not in app.query_params
    app = open_page("metrics", metric="![x](http://evil.example)", board="gone", suite="none")
    assert app.selectbox(key="metrics.metric").value == FIRST
    assert not app.exception
    assert "![x](" not in words(app)


def test_the_search_filters_without_moving_the_ranks(store):
    fill(store)
    app = open_page("metrics", q="WEAK")
    assert list(table(app, "rank")["rank"]) == [2]
    app.text_input(key="metrics.q").set_value("nobody").run()
    assert "No target matches" in words(app)


def test_a_target_goes_by_its_card_and_is_found_by_name_and_maker(store):
    fill(store)
    name = "Hare ![x](http://evil.invalid)"
    save_card(store, OPERATOR, "openai:weak", TargetCard(name=name, organization="Burrow"))
    for text in ("hare", "BURROW", "openai:weak"):
        app = open_page("metrics", q=text)
        assert list(table(app, "rank")["target"]) == [name]
    assert "![x](" not in words(app)
    assert set(chart_rows(app, 0)["name"]) >= {name}


@pytest.mark.parametrize("column", ["target", "cases"])
def test_a_row_leads_to_the_target_or_to_its_cases_of_the_metric(store, column):
    fill(store)
    app = open_page("metrics", metric=SECOND)
    app.session_state[f"metrics.ranked.{column}"] = {"row": 1, "column": column}
    app.run()
    assert app.title[0].value == "openai\\:weak"
    chosen = app.multiselect(key="target.metric").value
    assert chosen == ([SECOND] if column == "cases" else [])


def test_hostile_names_stay_text(store):
    name = "openai:![x](http://evil.example/p.png)<b>:red[a]`$1$"
    make_run(store, Plan(target=name, skill=0.5))
    make_run(store, Plan(target="openai:b", skill=0.5))
    app = open_page("metrics")
    assert name in list(table(app, "rank")["target"])
    assert "![x](" not in words(app)
    on_paper = "".join(drawn_html(app))
    assert "p.png)&lt;b&gt;:red" in on_paper
    assert "<b>" not in on_paper
