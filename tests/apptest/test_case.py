"""The Case page: every form of evidence, both languages, hostile text, and what is not there."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from evalcore.settings import Settings
from tests.apptest.conftest import words
from tests.support.boards import Plan, make_run
from tests.support.page_stores import CANARY, METRIC, RUN, SECTIONS, corrupt_run, evidence_run
from tests.support.rows import each_row

#: Elements whose text Streamlit reads as Markdown.
MARKDOWN = ("title", "header", "subheader", "markdown", "caption", "error", "warning", "info")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("language", "passed"), [("en", "Passed"), ("zh", "通过")])
@pytest.mark.parametrize("case", list(SECTIONS))
def test_every_form_of_evidence_is_drawn(open_page, runs_root, case, language, passed):
    evidence_run(runs_root)
    app = open_page("case", language, run=RUN, metric=METRIC, id=case)
    text = words(app)
    assert case in app.title[0].value.replace("\\", "")
    if case != "log" and not case.endswith("_diff"):
        assert passed in text


@pytest.mark.parametrize("case", list(SECTIONS))
def test_hostile_text_never_reaches_a_place_that_reads_markdown(open_page, runs_root, case):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id=case)
    for kind in MARKDOWN:
        for element in app.main.get(kind):
            text = str(element.value)
            assert not re.search(r"(?<!\\)!\[|(?<!\\):red\[|(?<!\\)\]\(", text), (kind, text)
    for metric in app.main.metric:
        assert "evil" not in metric.label + metric.value
    for expander in app.main.expander:
        assert "evil" not in expander.label


def test_a_difference_of_tables_is_marked_in_words(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="table_diff")
    expected, answered = (frame.value for frame in app.dataframe[1:3])
    assert expected.iloc[:, 0].tolist() == ["", "", "− missing"]
    assert answered.iloc[:, 0].tolist() == ["", "", "+ extra"]
    text = words(app)
    assert "Missing rows: 1" in text
    assert "∅ stands for NULL" in text


@each_row(
    ("case", "language", "texts"),
    [
        ("columns", "en", ["Columns expected: 2, answered: 1."]),
        ("true_calls", "en", [f'cancel(order_id="{CANARY}")', "reboot()  # by the user"]),
        ("fields", "en", ["What makes it hard", "Reason: why", "Syntax error: yes", "Plan steps"]),
        ("fields", "zh", ["难点", "理由：因为", "语法错误：是", "计划步骤"]),
    ],
)
def test_what_is_stored_as_json_is_read_in_words(open_page, runs_root, case, language, texts):
    if not (runs_root / RUN).exists():
        evidence_run(runs_root)
    app = open_page("case", language, run=RUN, metric=METRIC, id=case)
    shown = "\n".join([words(app).replace("\\", ""), *(block.value for block in app.code)])
    assert [text for text in texts if text not in shown] == []
    assert "The expected and the actual answer agree." not in shown


def test_the_work_of_a_rewrite_is_a_table_in_words(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="works")
    shown = " ".join(table.value.to_string() for table in app.table)
    for word in ("original", "this rewrite", "reference", "Pages read", "Rows visited"):
        assert word in shown


def test_a_section_of_a_wrong_form_is_shown_raw_and_said_to_be(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="malformed")
    assert "not in the expected form" in words(app)
    assert any('"none"' in block.value for block in app.json)


def test_the_verdict_says_outcome_reason_and_what_it_rests_on(open_page, runs_root):
    evidence_run(runs_root)
    message = words(open_page("case", run=RUN, metric=METRIC, id="table_diff"))
    for text in ("Failed", "Executed", "Wrong answer", "sqlite 3.40.1", "Score 0 / 100"):
        assert text in message
    assert "Latency 250 ms" in message
    assert CANARY in message


def test_a_failure_of_the_target_is_told(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="text")
    assert app.error[0].value == "Request refused"
    assert "no such model" in words(app)


@pytest.mark.parametrize(
    ("language", "remedy"),
    [("en", "continue the run on the page Runs"), ("zh", "页继续运行")],
)
def test_a_failure_names_what_to_do_by_the_pages_and_not_by_commands(
    open_page, runs_root, language, remedy
):
    settings = Settings(data=str(runs_root.parent))
    folder = make_run(settings, Plan(target="openai:a", cases=2, failing=1))
    first = next(folder.read_samples()).sample
    app = open_page("case", language, run=folder.run_id, metric=first.metric, id=first.id)
    text = words(app).replace("\\", "")
    assert remedy in text
    assert "evalcore resume" not in text
    assert "{runs}" not in text


def test_next_and_previous_keep_to_the_filter(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="table_diff", outcome="failed")
    assert app.button(key="case.previous").disabled
    app.button(key="case.next").click().run()
    assert app.query_params["id"] == "tree_diff"
    assert app.query_params["outcome"] == "failed"
    assert "Case 2 of 2" in words(app)
    assert app.button(key="case.next").disabled


def test_the_filter_goes_into_the_url(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="table_diff")
    app.selectbox(key="case.outcome").set_value("passed").run()
    assert app.query_params["outcome"] == "passed"
    assert "this case is not among them" in words(app)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"run": RUN},
        {"run": RUN, "metric": METRIC, "id": "nosuch"},
        {"run": "../../etc", "metric": METRIC, "id": "chat"},
        {"run": RUN, "metric": METRIC, "id": "chat", "epoch": "99"},
    ],
)
def test_what_is_not_there_is_said_clearly(open_page, runs_root, query):
    evidence_run(runs_root)
    app = open_page("case", **query)
    assert app.title[0].value == "Case"
    assert len(app.warning) == 1


def test_a_senseless_epoch_is_the_first(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("case", run=RUN, metric=METRIC, id="chat", epoch="-1e9")
    assert "chat" in app.title[0].value


def test_a_broken_run_is_said_to_be_broken(open_page, runs_root):
    folder = corrupt_run(runs_root)
    app = open_page("case", run=folder.name, metric=METRIC, id="chat")
    assert "spec.json" in app.warning[0].value.replace("\\", "")


def test_an_empty_store_has_no_case(open_page):
    assert "cannot be shown" in words(open_page("case", run=RUN, metric=METRIC, id="chat"))


def test_a_step_keeps_the_filter_that_the_address_has_by_then():
    """A filter may be chosen after the button was drawn that steps on."""

    def script():
        import streamlit as st

        from pages.shared import page_links

        if st.button("next", on_click=page_links.step_to_case, args=("m", "b", 0)):
            st.text(str(dict(st.query_params)))

    app = AppTest.from_function(script)
    app.run()
    for name, value in {"run": "r", "metric": "m", "id": "a", "epoch": "2"}.items():
        app.query_params[name] = value
    app.query_params["outcome"] = "passed"
    app.button[0].click().run()
    asked = {"run": "r", "metric": "m", "id": "b", "outcome": "passed"}
    assert app.text[0].value == str(asked)


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Cost according to: the provider"), ("zh", "费用依据：服务商给出的金额")],
)
def test_who_says_what_a_case_cost(open_page, runs_root, language, text):
    settings = Settings(data=str(runs_root.parent), shipped=str(runs_root.parent / "none"))
    shown = []
    for price in (0.001, None):
        run = make_run(settings, Plan(target="openai:a", cases=1, price=price)).run_id
        where = {"run": run, "metric": "execution_accuracy", "id": "0"}
        shown.append(words(open_page("case", language, **where)).replace("\\", ""))
    assert [text in item for item in shown] == [True, False]
