"""From a target to its neighbours, a comparison and its cases; from case to case in a filter."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.records import to_json
from evalcore.store.run_folder import RunFolder
from evalcore.views import targets
from tests.support.boards import Plan, make_run
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

METRIC = "execution_accuracy"


@pytest.fixture(autouse=True)
def runs(store):
    make_run(store, Plan(target="openai:a", skill=0.5), "run-a")
    make_run(store, Plan(target="openai:b", skill=0.9), "run-b")
    make_run(store, Plan(target="openai:c", skill=0.7, failing=6), "run-c")


def links(app) -> dict[str, str]:
    return {element.proto.icon: element.proto for element in app.main.get("page_link")}


def test_previous_and_next_follow_the_ranking(store):
    app = open_page("target", key="openai:a")
    assert app.button(key="target.previous").label == "openai\\:b"
    assert app.button(key="target.next").label == "openai\\:c"
    app.button(key="target.previous").click().run()
    assert app.title[0].value == "openai\\:b"
    assert app.query_params["key"] in ("openai:b", ["openai:b"])
    assert app.button(key="target.previous").disabled


@pytest.mark.parametrize(
    ("key", "asked"), [("openai:a", "run-a,run-b"), ("openai:b", "run-b,run-a")]
)
def test_the_comparison_is_with_the_best_other_target(store, key, asked):
    result = links(open_page("target", key=key))
    compare = result[":material/compare_arrows:"]
    assert compare.query_string.replace("%2C", ",") == f"runs={asked}"
    run = result[":material/monitoring:"]
    assert run.query_string == f"run={asked.partition(',')[0]}"


def test_errors_have_reasons_to_filter_by(store):
    app = open_page("target", key="openai:c", cause="server")
    shown = table(app, "outcome")
    assert len(shown) == 6
    assert set(shown["outcome"]) == {"· Target error"}


def test_equivalences_are_filtered_by_what_they_rest_on(store):
    folder = RunFolder(store.runs_dir / "run-a")
    stored = next(iter(folder.read_verdicts(folder.read_summary().scoring)))
    details = {"equivalence_level": "proved", "proof_rows": 3}
    verdict = msgspec.structs.replace(stored.verdict, details=details)
    journal = (
        folder.path / "verdicts" / folder.read_summary().scoring / "zz.jsonl"
    )  # the last journal counts
    journal.write_bytes(to_json(msgspec.structs.replace(stored, verdict=verdict)) + b"\n")
    app = open_page("target", key="openai:a", benchmark=stored.benchmark, level="proved")
    assert list(table(app, "case")["case"]) == [verdict.id]
    case = {"metric": verdict.metric, "id": verdict.id, "level": "proved"}
    app = open_page("case", run="run-a", benchmark=stored.benchmark, **case)
    assert "Proved up to 3 rows per table" in words(app)


def test_a_page_of_cases_is_in_the_url_and_starts_anew_with_another_filter(store):
    app = open_page("target", key="openai:a", p="3")
    assert "showing 51 to 75" in words(app)
    app.text_input(key="target.q").set_value("answer to").run()
    assert "showing 1 to 25" in words(app)
    assert "p" not in app.query_params
    assert "showing 76 to 80" in words(open_page("target", key="openai:a", p="999"))
    assert "showing 1 to 25" in words(open_page("target", key="openai:a", p="-1"))


def test_a_search_finds_the_words_of_an_answer(store):
    app = open_page("target", key="openai:a", q="ANSWER TO explain_detection/7")
    assert list(table(app, "outcome")["case"]) == ["7"]


def test_a_case_keeps_the_whole_filter_to_the_end_and_back(store):
    query = {"metrics": f"{METRIC},explain_detection", "difficulty": "2,3", "q": "select 1"}
    app = open_page("case", run="run-a", metric=METRIC, id="19", **query)
    text = words(app)
    assert "Within: Execution accuracy · Plan reading · difficulty 2" in text.replace("\\", "")
    match = next(caption.value for caption in app.caption if "in this selection" in caption.value)
    number, total = (int(word) for word in match.split() if word.isdigit())
    assert 1 < number < total
    app.button(key="case.next").click().run()
    assert app.query_params["metric"] in ("explain_detection", ["explain_detection"])
    for name, value in query.items():
        assert app.query_params[name] in (value, [value])
    back = links(app)[":material/arrow_back:"].query_string
    assert "difficulty=2%2C3" in back
    assert "metric=execution_accuracy%2Cexplain_detection" in back
    app.button(key="case.within_all").click().run()
    assert "q" not in app.query_params
    assert "of 80 in this selection" in words(app)


def test_several_outcomes_stay_chosen_and_one_can_be_taken(store):
    app = open_page("case", run="run-c", metric=METRIC, id="1", outcome="failed,target_error")
    box = app.selectbox[-1]
    assert box.options[box.index].startswith("Failed, Target error (")
    box.set_value("passed").run()
    assert app.query_params["outcome"] in ("passed", ["passed"])


def test_an_outcome_that_is_none_finds_nothing(store):
    app = open_page("case", run="run-a", metric=METRIC, id="1", outcome="![x](http://e)")
    assert "0 cases in this selection" in words(app)
    assert "![x](" not in words(app)


def test_the_keys_of_previous_and_next(store):
    app = open_page("case", run="run-a", metric=METRIC, id="1")
    keys = {button.key: button.proto.shortcut for button in app.button}
    assert keys["case.previous"] == "alt+p"
    assert keys["case.next"] == "alt+n"


def test_a_target_that_ran_little_has_a_profile_of_its_metrics(store):
    app = open_page("target", key="openai:a")
    assert "Profile" in [subheader.value for subheader in app.subheader]


def test_what_is_too_little_for_a_shape_leaves_no_empty_heading(store, monkeypatch):
    monkeypatch.setattr(
        targets,
        "build_target_radar",
        lambda *_: targets.pd.DataFrame({"axis": [], "series": [], "score": []}),
    )
    app = open_page("target", key="openai:a")
    assert "Profile" not in [subheader.value for subheader in app.subheader]
