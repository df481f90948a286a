"""The Compare page over none, one, two and eight runs, incomparable ones and a corrupt folder."""

from __future__ import annotations

import pytest

from evalcore import settings as configuration
from evalcore.store.index import record_run
from tests.apptest.conftest import words
from tests.support.boards import Plan, make_run
from tests.support.page_stores import CANARY, CORRUPT, corrupt_run
from tests.support.pair_runs import FIRST, SECOND, pair_of_runs
from tests.support.user_runs import MODEL, RULES, make_user_run

pytestmark = pytest.mark.slow


@pytest.fixture
def compared(open_page):
    """`compared(runs, language, ...)`: the page with the runs in its link."""

    def opened(runs, language="en", **query):
        return open_page("compare", language, runs=",".join(runs), **query)

    return opened


def two(runs_root, **more):
    """Two runs of three cases in the index."""
    folders = pair_of_runs(runs_root, **more)
    for folder in folders:
        record_run(configuration.load_settings(), folder)
    return [FIRST, SECOND]


def many(count, **more):
    """Runs of as many targets, from the weakest to the strongest."""
    return [
        make_run(
            configuration.load_settings(), Plan(f"openai:m{n}", skill=n / count, **more)
        ).run_id
        for n in range(count)
    ]


@pytest.mark.parametrize(("language", "text"), [("en", "Nothing to compare"), ("zh", "暂无可对比")])
def test_an_empty_store_says_what_to_do(open_page, language, text):
    app = open_page("compare", language)
    assert text in words(app)
    assert not app.dataframe


@pytest.mark.parametrize(
    ("language", "text"), [("en", "Choose two to eight runs"), ("zh", "至少两次")]
)
def test_without_runs_a_button_fills_in_recent_ones(open_page, runs_root, language, text):
    runs = many(3)
    app = open_page("compare", language)
    assert text in words(app)
    app.main.button[0].click().run()
    assert not app.exception
    assert set(app.query_params["runs"].split(",")) == set(runs)
    assert len(app.dataframe[0].value) == 3


@pytest.mark.parametrize(
    ("language", "text"), [("en", "Choose at least one more run"), ("zh", "至少再选择一次")]
)
def test_one_run_asks_for_another_and_keeps_it(compared, runs_root, language, text):
    runs = many(3)
    app = compared(runs[:1], language)
    assert text in words(app)
    app.main.button[0].click().run()
    assert app.query_params["runs"].split(",")[0] == runs[0]
    assert len(app.dataframe[0].value) == 3


def test_the_only_run_leads_to_another(compared, runs_root):
    app = compared(many(1))
    assert "Choose at least one more run" in words(app)
    assert not app.main.button


@pytest.mark.parametrize(
    ("language", "verdict", "heading"),
    [
        ("en", "Not significant", "Understanding SQL vs. A"),
        ("zh", "差异不显著", "与 A 比较"),
    ],
)
def test_two_runs(compared, runs_root, language, verdict, heading):
    runs = two(runs_root, first=(True, False, False), second=(False, True, True))
    app = compared(runs, language)
    table, pairs, cases = (dataframe.value for dataframe in app.dataframe)
    assert table["letter"].tolist() == ["A", "B"]
    assert heading.split()[-1] in app.subheader[0].value
    assert pairs["verdict"].tolist() == [verdict]
    assert pairs[["wins", "losses", "ties"]].values.tolist() == [[2, 1, 0]]
    assert cases["case"].tolist() == ["3", "2", "1"]
    assert cases["A"].tolist() == ["✕ 0", "✕ 0", "✓ 1"]
    assert cases["B"].tolist() == ["✓ 1", "✓ 1", "✕ 0"]
    assert f"evalcore compare {FIRST} {SECOND} --base {FIRST}" in words(app)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_eight_runs(compared, runs_root, language):
    runs = many(8)
    app = compared(runs, language)
    table, pairs, cases = (dataframe.value for dataframe in app.dataframe)
    [column] = [name for name in table if name.isalnum() and table[name].str.contains("★").any()]
    assert table[column].str.contains("★").tolist() == [False] * 7 + [True]
    assert len(pairs) == 7
    assert "0.007" in words(app)
    assert set("ABCDEFGH") <= set(cases.columns)
    assert len(app.get("vega_lite_chart")) == 3  # outlines, metrics, cases


def test_nine_runs_are_cut_to_eight_and_the_link_says_so(compared, runs_root):
    runs = many(9)
    app = compared(runs)
    assert "9 runs" in words(app)
    assert app.query_params["runs"] == ",".join(runs[:8])


def test_base_benchmark_and_metric_live_in_the_link(compared, runs_root):
    runs = many(3)
    app = compared(runs, base=runs[2], metric="sql_identification")
    pairs = app.dataframe[1].value
    assert [name[0] for name in pairs["run"]] == ["A", "B"]
    assert set(app.dataframe[2].value["metric"]) == {"SQL identification"}
    assert app.selectbox(key="compare.base").value == runs[2]
    app.selectbox(key="compare.metric").set_value("").run()
    assert app.query_params.get("metric") is None
    assert app.query_params["base"] == runs[2]
    app.selectbox(key="compare.base").set_value(runs[0]).run()
    assert "base" not in app.query_params


def test_unknown_values_in_a_link_fall_back(compared, runs_root):
    runs = many(2)
    app = compared([*runs, runs[0]], base="gone", benchmark="<b>", metric="![x](y)")
    assert len(app.dataframe[0].value) == 2
    assert not app.exception
    assert app.query_params["runs"] == ",".join(runs)


@pytest.mark.parametrize(
    ("language", "nothing", "rule"),
    [("en", "No other run shares cases", "dataset: A"), ("zh", "没有按相同规则", "数据集: A")],
)
def test_runs_by_other_rules_are_told_apart(compared, runs_root, language, nothing, rule):
    current = configuration.load_settings()
    runs = [
        make_run(current, Plan("openai:a")).run_id,
        make_run(current, Plan("openai:b", dataset="other")).run_id,
    ]
    app = compared(runs, language)
    assert nothing in words(app)
    table = app.dataframe[0].value
    columns = [name for name in table if len(name) == 12]
    assert len(columns) == 2
    assert [(table[name] == "–").sum() for name in columns] == [1, 1]
    assert not any(table[name].str.contains("★").any() for name in columns)
    why = app.table[0].value.iloc[0].iloc[-1].replace("\\", "")
    assert rule in why
    assert len(app.dataframe) == 1


@pytest.mark.parametrize(
    ("language", "text"), [("en", "cannot be read and was left out"), ("zh", "无法读取")]
)
def test_a_corrupt_folder_and_an_unknown_run_are_left_out(compared, runs_root, language, text):
    runs = many(2)
    corrupt_run(runs_root)
    app = compared([CORRUPT, runs[0], "nowhere", runs[1]], language)
    assert text in words(app)
    assert "nowhere" in words(app)
    assert app.dataframe[0].value["letter"].tolist() == ["A", "B"]
    assert app.query_params["runs"] == ",".join([CORRUPT, runs[0], "nowhere", runs[1]])


def test_a_corrupt_journal_leaves_its_run_out(compared, runs_root):
    runs = many(3)
    [journal] = (runs_root / runs[1]).glob("generations/*.jsonl")
    journal.write_bytes(b"{torn}\n" + journal.read_bytes())
    app = compared(runs)
    assert "was left out" in words(app)
    assert len(app.dataframe[0].value) == 2


def test_equal_runs_list_no_case(compared, runs_root):
    app = compared(two(runs_root, first=(True,) * 3, second=(True,) * 3))
    assert "scored the same" in app.info[0].value
    assert app.dataframe[1].value["verdict"].tolist() == ["Same on every case"]


def test_an_incomplete_run_is_a_lower_bound_and_never_the_best(compared, runs_root):
    current = configuration.load_settings()
    runs = [
        make_run(current, Plan("openai:a", skill=0.2)).run_id,
        make_run(current, Plan("openai:b", skill=0.1)).run_id,
        make_run(current, Plan("openai:c", skill=0.99, failing=2)).run_id,
    ]
    table = compared(runs).dataframe[0].value
    [column] = [name for name in table if len(name) == 12]
    assert table[column].iloc[2].startswith("≥")
    assert table[column].str.contains("★").tolist() == [True, False, False]


def test_a_click_on_a_score_opens_the_case_and_one_on_a_target_the_target(compared, runs_root):
    runs = two(runs_root, first=(True, False, False), second=(False, True, True))
    app = compared(runs)
    app.session_state["compare.open.B"] = {"row": 0}
    app.run()
    assert not app.exception
    assert (app.query_params["run"], app.query_params["id"]) == (SECOND, "3")
    app = compared(runs)
    app.session_state["compare.open_target"] = {"row": 0}
    app.run()
    assert app.query_params["key"] == "hf:lab/base"


def test_hostile_names_stay_text(compared, runs_root):
    current = configuration.load_settings()
    runs = [make_run(current, Plan(name)).run_id for name in (f"openai:{CANARY}", "openai:b")]
    app = compared(runs)
    shown = [*app.main.markdown, *app.main.caption, *app.main.subheader, *app.main.warning]
    assert not any("![x]" in item.value or ":red[" in item.value for item in shown)


def test_the_runs_page_leads_here(open_page, runs_root):
    two(runs_root)
    app = open_page("runs", run=FIRST)
    links = [link.proto for link in app.get("page_link")]
    assert any(FIRST in str(link) and SECOND in str(link) for link in links)


@pytest.mark.parametrize(
    ("language", "heading", "rules", "agree"),
    [
        ("en", "These runs differ in the simulated user", "Rules", "Same outcome"),
        ("zh", "这两次运行的模拟用户不同", "规则", "结果一致"),
    ],
)
def test_runs_with_another_simulated_user_are_held_against_each_other(
    compared, runs_root, language, heading, rules, agree
):
    current = configuration.load_settings()
    passed, failed = ("passed",), ("failed",)
    make_user_run(current, "rules", RULES, {"a": passed, "b": failed, "c": passed})
    make_user_run(current, "model", MODEL, {"a": passed, "b": passed, "c": failed, "d": failed})
    app = compared(["rules", "model"], language)
    shown = words(app).replace("\\", "")
    assert not app.warning
    assert heading in shown
    assert agree in shown
    answer = (
        "1 of 3 tasks end the same: **33.3%**" if language == "en" else "3 个任务中有 1 个结果相同"
    )
    assert answer in shown
    assert not app.expander, "runs that are compared here are not listed as not compared"
    users, figures, cells, paired = (table.value for table in app.table[-4:])
    assert users.iloc[0].tolist()[1] == rules
    assert "openai:user" in users.iloc[1].tolist()[1].replace("\\", "")
    assert "33.3%" in str(figures.values).replace("\\", "")
    assert [row[1:] for row in cells.values.tolist()] == [["1", "1"], ["1", "0"]]
    assert [row[1] for row in paired.values.tolist()[2:5]] == ["1", "1", "1"]
    tasks = app.dataframe[-1].value
    assert tasks["case"].tolist() == ["b", "c", "a"]
    assert tasks[""].tolist() == ["≠", "≠", ""]
    assert (tasks["A"] == tasks["B"]).tolist() == [False, False, True]
    app.session_state["compare.calibrated.0B"] = {"row": 1}
    app.run()
    assert not app.exception
    assert (app.query_params["run"], app.query_params["id"]) == ("model", "c")


def test_the_run_that_was_meant_takes_its_place(compared, runs_root):
    first, second = two(runs_root)
    app = compared([first, second[:-1] + "z"])
    [link] = [link.proto for link in app.get("page_link") if "Did you mean" in link.proto.label]
    assert link.query_string == f"runs={first}%2C{second}"
