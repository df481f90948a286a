"""The Runs page over an empty store, a finished, a running, an interrupted and a broken run."""

from __future__ import annotations

import msgspec
import pytest
from filelock import FileLock

from evalcore.errors import UsageError
from evalcore.records import Verdict
from evalcore.results import Progress
from evalcore.runner import client, jobs
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredVerdict
from tests.apptest.conftest import words
from tests.support.boards import Plan, make_run
from tests.support.page_stores import CORRUPT, RUN, SECTIONS, corrupt_run, evidence_run, sample_of
from tests.support.stored_runs import SCORING, plan

MOVING = Progress(
    run_id=RUN,
    state="running",
    phase="running",
    total=300,
    scored=120,
    generated=130,
    rate=12.5,
    eta=75.0,
    outcomes={"passed": 100, "failed": 20},
    errors={"rate_limited": 3},
    in_flight=4,
    limit=8,
    requests=140,
    refused=3,
    input_tokens=4000,
    output_tokens=900,
)


def actions(app) -> list[str]:
    return [
        button.key.split(".")[2]
        for button in app.button
        if button.key and button.key.startswith("runs.do.")
    ]


@pytest.mark.parametrize(
    ("language", "title", "text"), [("en", "Runs", "No run yet"), ("zh", "运行记录", "暂无运行")]
)
def test_an_empty_store_says_what_to_do(open_page, language, title, text):
    app = open_page("runs", language)
    assert app.title[0].value == title
    assert text in words(app)
    assert not app.dataframe


@pytest.mark.parametrize(("language", "done"), [("en", "Done"), ("zh", "已完成")])
def test_a_finished_run(open_page, runs_root, language, done):
    evidence_run(runs_root)
    app = open_page("runs", language)
    table = app.dataframe[0].value
    assert table["run"].tolist() == [RUN]
    assert done in table["state"].iloc[0]
    assert table["score"].iloc[0] == pytest.approx(200 / 3)
    assert "66.7" in words(app)
    assert actions(app) == ["rescore", "delete"]


def test_a_broken_folder_is_shown_with_its_reason_and_the_others_too(open_page, runs_root):
    evidence_run(runs_root)
    corrupt_run(runs_root)
    app = open_page("runs", run=CORRUPT)
    assert app.dataframe[0].value["run"].tolist() == [RUN, CORRUPT]
    assert "spec.json" in app.error[0].value.replace("\\", "")
    assert actions(app) == ["delete"]


def test_a_run_under_way_shows_how_it_gets_on(open_page, runs_root):
    folder = plan(runs_root, RUN)
    folder.write_progress(MOVING)
    with FileLock(folder.lock_path):
        app = open_page("runs")
        text = words(app)
    assert "12.5 cases/s" in text
    assert "1 min 15 s" in text
    assert "Passed 100" in text
    assert "Cost unknown" in text
    assert "4 of 8 requests open, 3 rate-limited" in text
    assert "Rate limited: 3" in text
    assert actions(app) == ["cancel"]


def test_cancel_asks_the_worker_to_stop(open_page, runs_root):
    folder = plan(runs_root, RUN)
    folder.write_progress(MOVING)
    with FileLock(folder.lock_path):
        app = open_page("runs")
        app.button(key=f"runs.do.cancel.{RUN}").click().run()
    assert not app.exception
    assert folder.cancel_path.exists()


def test_an_interrupted_run_asks_for_its_key_before_it_goes_on(open_page, runs_root, monkeypatch):
    resumed = []
    monkeypatch.setattr(
        client, "resume_run", lambda run, keys, settings, **more: resumed.append((run, keys))
    )
    plan(runs_root, RUN).write_progress(MOVING)
    app = open_page("runs")
    assert "Interrupted" in words(app)
    assert app.button(key=f"runs.do.resume.{RUN}").disabled
    app.text_input(key="typed_key.OPENAI_API_KEY").set_value("sk-abc-def-ghi-jkl").run()
    app.button(key=f"runs.do.resume.{RUN}").click().run()
    assert resumed == [(RUN, {"OPENAI_API_KEY": "sk-abc-def-ghi-jkl"})]


def test_a_run_without_a_measurement_says_what_failed_and_what_helps(open_page, runs_root):
    plan = Plan(target="openai:dead", cases=2, failing=8)
    make_run(Settings(data=str(runs_root.parent)), plan, RUN)
    text = words(open_page("runs")).replace("\\", "")
    assert "Check the connection" in text
    assert "Nothing was measured" in text


def test_a_deletion_can_be_taken_back(open_page, runs_root):
    folder = evidence_run(runs_root)
    app = open_page("runs")
    app.button(key=f"runs.do.delete.{RUN}").click().run()
    assert not folder.path.exists()
    assert "was deleted" in words(app)
    app.button(key="runs.do.undo").click().run()
    assert not app.exception
    assert folder.path.exists()
    assert "was deleted" not in words(app)


def test_an_action_that_is_refused_says_why(open_page, runs_root, monkeypatch):
    def refuses(run, settings, *, visitor):
        raise UsageError("the run is *busy*")

    monkeypatch.setattr(client, "rescore_run", refuses)
    evidence_run(runs_root)
    app = open_page("runs")
    app.button(key=f"runs.do.rescore.{RUN}").click().run()
    assert app.error[0].value == r"the run is \*busy\*"


def test_shipped_and_imported_runs_offer_only_what_can_be_done(
    open_page, runs_root, tmp_path, monkeypatch
):
    shipped = evidence_run(tmp_path / "none" / "runs")
    assert actions(open_page("runs")) == []
    spec = msgspec.structs.replace(shipped.read_spec(), run_id="imported", origin="imported")
    imported = plan(runs_root, "imported")
    (imported.path / "spec.json").write_bytes(msgspec.json.encode(spec))
    imported.write_summary(shipped.read_summary())
    assert actions(open_page("runs", run="imported")) == ["delete"]


def test_a_run_that_is_not_there_is_said(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("runs", run=":red[x]")
    assert "There is no run :" in words(app)
    assert ":red[" not in app.warning[0].value


def test_the_run_that_was_meant_is_a_link(open_page, runs_root):
    evidence_run(runs_root)
    app = open_page("runs", run=RUN[:-1] + "z")
    [link] = [link.proto for link in app.get("page_link") if "Did you mean" in link.proto.label]
    assert link.query_string == f"run={RUN}"


def cancelled_run(runs_root):
    """A run of which one case of four was judged before it was stopped."""
    folder = evidence_run(runs_root)
    summary = folder.read_summary()
    score = summary.benchmarks["sql_understanding"]
    outcomes = {"passed": 1, "failed": 0, "not_executed": 0, "missing": 9}
    stopped = msgspec.structs.replace(score, outcomes=outcomes, coverage=0.1, complete=False)
    folder.write_summary(
        msgspec.structs.replace(
            summary, state="cancelled", benchmarks={"sql_understanding": stopped}
        )
    )
    return folder


def test_a_cancelled_run_counts_what_was_judged(open_page, runs_root):
    cancelled_run(runs_root)
    app = open_page("runs")
    assert f"1 of {len(SECTIONS)} cases done" in progress_text(app)
    assert app.dataframe[0].value["progress"].tolist() == [100 // len(SECTIONS)]


def progress_text(app):
    return " ".join(element.proto.text for element in app.get("progress"))


def test_a_run_that_was_taken_up_again_is_no_longer_cancelled(open_page, runs_root, monkeypatch):
    """Its worker takes a while to start; until then the page waits for it and looks again."""
    cancelled_run(runs_root)
    monkeypatch.setattr(jobs, "start_detached", lambda *args: None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc-def-ghi-jkl")
    app = open_page("runs")
    assert "Stopped on request" in words(app)
    app.button(key=f"runs.do.resume.{RUN}").click().run()
    assert not app.exception
    assert "Stopped on request" not in words(app)
    assert "The worker is starting" in words(app)
    assert app.dataframe[0].value["state"].iloc[0] == "○ Planned"


def test_a_run_of_which_nothing_was_measured_has_no_score(open_page, runs_root):
    folder = evidence_run(runs_root)
    summary = folder.read_summary()
    score = summary.benchmarks["sql_understanding"]
    nothing = msgspec.structs.replace(score, score=0.0, coverage=0.0, answered=None, complete=False)
    folder.write_summary(
        msgspec.structs.replace(summary, benchmarks={"sql_understanding": nothing})
    )
    app = open_page("runs")
    assert app.dataframe[0].value["score"].isna().all()


SUITE = ("sql_understanding", "dialect_conversion", "sql_optimization")


def suite_run(runs_root, **unmeasured):
    """A run of the whole suite; of the benchmark `unmeasured`, so many cases ended that way."""
    settings = Settings(data=str(runs_root.parent))
    folder = make_run(settings, Plan(target="openai:whole", cases=2, skill=1))
    spec, summary = folder.read_spec(), folder.read_summary()
    own, score = spec.benchmarks[0], summary.benchmarks["sql_understanding"]
    scores = {key: msgspec.structs.replace(score, benchmark=key, column=key) for key in SUITE}
    for key, outcomes in unmeasured.items():
        torn = {"passed": 8 - sum(outcomes.values()), **outcomes}
        scores[key] = msgspec.structs.replace(
            scores[key], outcomes=torn, coverage=torn["passed"] / 8, complete=False
        )
    declared = [msgspec.structs.replace(own, key=key, dataset=key, column=key) for key in SUITE]
    (folder.path / "spec.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(spec, benchmarks=tuple(declared)))
    )
    folder.write_summary(msgspec.structs.replace(summary, benchmarks=scores))
    record_run(settings, folder)
    return folder


def test_a_run_of_the_whole_suite_says_what_it_came_to_and_how_sure_that_is(open_page, runs_root):
    suite_run(runs_root)
    app = open_page("runs")
    assert "95% interval of the whole suite: " in words(app)
    assert any(metric.value == "100.0" for metric in app.main.metric)
    assert app.dataframe[0].value["score"].tolist() == [pytest.approx(100)]


@pytest.mark.parametrize(
    ("language", "outcomes", "said"),
    [
        ("en", {"not_executed": 1}, "Dialect conversion: 1 of its cases undecided"),
        ("zh", {"not_executed": 1}, "方言转换：1 个用例未判定"),
        ("en", {"target_error": 2}, "Dialect conversion: 2 of its cases without a result"),
        ("zh", {"missing": 2, "not_executed": 1}, "1 个用例未判定、2 个用例没有结果"),
    ],
)
def test_a_suite_without_a_score_says_what_is_missing(
    open_page, runs_root, language, outcomes, said
):
    suite_run(runs_root, dialect_conversion=outcomes)
    app = open_page("runs", language)
    assert said in words(app)
    assert app.dataframe[0].value["score"].isna().all()


@pytest.mark.parametrize(
    ("language", "helps", "state"),
    [("en", "Choose judges", "1 of them could not"), ("zh", "选择评审模型", "其中 1 个未能判定")],
)
def test_undecided_cases_say_what_helps(open_page, runs_root, language, helps, state):
    folder = evidence_run(runs_root)
    sample = sample_of("log")  # the one that is not judged yet
    verdict = Verdict(sample.metric, sample.id, "not_executed", reason="no_panel")
    with Journal(folder.path / "verdicts" / SCORING / "w2.jsonl") as journal:
        journal.append(StoredVerdict(benchmark="sql_understanding", verdict=verdict))
    summary = folder.read_summary()
    score = summary.benchmarks["sql_understanding"]
    outcomes = {"passed": len(SECTIONS) - 1, "not_executed": 1}
    undecided = msgspec.structs.replace(score, outcomes=outcomes, complete=False)
    folder.write_summary(
        msgspec.structs.replace(summary, benchmarks={"sql_understanding": undecided})
    )
    text = words(open_page("runs", language))
    assert helps in text
    assert state in text
