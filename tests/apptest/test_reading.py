"""Reading pages: how to repeat a run, certainty worked, and links that name what is not there."""

from __future__ import annotations

import msgspec
import pytest

from pages.shared import page_links
from tests.support.boards import Plan, make_run
from tests.support.judged_runs import make_judged_run
from tests.support.page_stores import CANARY, METRIC, RUN, corrupt_run, evidence_run
from tests.support.pages import open_page, store, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = ("en", "zh")


def fill(store):
    for name, skill in (("a", 0.95), ("b", 0.5), ("c", 0.2)):
        make_run(store, Plan(f"openai:{name}", skill=skill))
    make_run(store, Plan("control:null", skill=0.05))


def codes(app):
    return "\n".join(str(code.value) for code in app.code)


@pytest.mark.parametrize(
    ("language", "keys", "title"),
    [("en", "Set OPENAI", "Reproduce run"), ("zh", "请先设置 OPENAI", "复现运行")],
)
def test_a_run_tells_its_command_its_file_and_what_it_rests_on(store, language, keys, title):
    folder = make_run(store, Plan("openai:a", options={"temperature": 0.5}))
    app = open_page("runs", language, run=folder.run_id)
    assert any(title in expander.label for expander in app.expander)
    assert "evalcore run --config run.yaml" in codes(app)
    assert "temperature: 0.5" in codes(app)
    assert keys in words(app)
    spec = folder.read_spec().benchmarks[0]
    cells = {
        str(cell) for dataframe in app.dataframe for cell in dataframe.value.to_numpy().ravel()
    }
    assert {spec.column, spec.dataset_hash} <= cells


@pytest.mark.parametrize(
    ("language", "text"), [("en", "asks all 20 cases"), ("zh", "全部 20 个用例")]
)
def test_a_case_tells_the_command_of_its_metric(store, language, text):
    folder = make_run(store, Plan("openai:a"))
    sample = next(folder.read_samples())
    app = open_page(
        "case",
        language,
        run=folder.run_id,
        benchmark=sample.benchmark,
        metric=sample.sample.metric,
        id=sample.sample.id,
    )
    assert f"--metrics {sample.sample.metric}" in codes(app)
    assert text in words(app)


def test_the_history_of_a_target_tells_how_to_repeat_its_runs(store):
    folder = make_run(store, Plan("openai:a"))
    app = open_page("target", key="openai:a", view="history")
    assert any(folder.run_id.replace("-", "\\-") in expander.label for expander in app.expander)


def test_a_run_of_others_says_that_only_they_can_repeat_it(store):
    folder = make_run(store, Plan("openai:a"))
    spec = msgspec.structs.replace(folder.read_spec(), origin="imported")
    (folder.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    app = open_page("runs", run=folder.run_id)
    assert "came from elsewhere" in words(app)
    assert "evalcore run" not in codes(app)


def test_hostile_text_in_a_recipe_stays_text(store):
    evidence_run(store.runs_dir, target=f"openai:{CANARY}")
    app = open_page("runs", run=RUN)
    assert "![x](" not in words(app)
    assert "![x](" in codes(app)
    corrupt_run(store.runs_dir)
    assert METRIC


@pytest.mark.parametrize(
    ("language", "rate", "pair"),
    [
        ("en", "The Wilson interval of that plain rate", "that is a significant difference"),
        ("zh", "这一比率的 Wilson 区间", "这一差异显著"),
    ],
)
def test_certainty_is_worked_with_the_numbers_of_the_board(store, language, rate, pair):
    fill(store)
    app = open_page("methodology", language)
    assert rate in words(app)
    assert pair in words(app)
    assert any("\\pm 1.96" in latex.value for latex in app.latex)
    cells = {str(cell) for table in app.table for cell in table.value.to_numpy().ravel()}
    assert {"en": "Ranked", "zh": "参与排名"}[language] in cells


def test_kappa_is_worked_where_judges_voted(store):
    make_judged_run(store, "judged")
    app = open_page("methodology")
    assert any("\\kappa = " in latex.value for latex in app.latex)
    assert "chance alone would give" in words(app)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("ranking", {"suite": "nosuch"}),
        ("ranking", {"board": "nosuch"}),
        ("metrics", {"board": "nosuch"}),
        ("metrics", {"metric": "nosuch"}),
        ("target", {"board": "nosuch"}),
        ("target", {"key": "nosuch"}),
        ("case", {"run": "nosuch", "metric": "m", "id": "1"}),
        ("compare", {"runs": "nosuch"}),
        ("compare", {"runs": "", "base": "nosuch"}),
        ("methodology", {"key": "nosuch"}),
        ("methodology", {"board": CANARY}),
        ("runs", {"run": "nosuch"}),
    ],
)
def test_what_is_not_there_is_said_and_the_page_stands(store, page, query, language):
    runs = [make_run(store, Plan(f"openai:{n}", skill=0.5)).run_id for n in "ab"]
    make_run(store, Plan("openai:a", dataset="other"))
    if query.get("runs") == "":
        query = query | {"runs": ",".join(runs)}
    app = open_page(page, language, **query)
    text = words(app) + "".join(toast.value for toast in app.toast)
    assert "nosuch" in text or "evil" in text
    assert "![x](" not in text
    assert len(words(app)) > 20


def test_a_choice_that_takes_away_another_is_no_fault_of_a_link(store):
    fill(store)
    app = open_page("metrics", metric="explain_detection")
    assert not app.toast
    app.selectbox(key="metrics.metric").set_value("sql_identification").run()
    assert not app.toast


def test_a_link_to_a_comparison_names_each_run_once_and_no_more_than_fit():
    assert page_links.build_compare_query(["a", "b", "a"]) == {"runs": "a,b"}
    assert page_links.build_compare_query(map(str, range(10)))["runs"].count(",") == 7


def test_the_style_sheet_holds_nothing_from_outside(store):
    make_run(store, Plan(f"openai:{CANARY}"))
    app = open_page("ranking")
    [sheet] = [
        element.proto.body for element in app.get("html") if "@media print" in element.proto.body
    ]
    assert "evil" not in sheet
