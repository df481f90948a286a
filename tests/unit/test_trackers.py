"""Runs out to Every Eval Ever, OpenTelemetry, W&B and MLflow, all without a network."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import msgspec
import pytest

from evalcore.access.redaction import Redactor
from evalcore.cli.main import main
from evalcore.errors import MissingDependency, UsageError
from evalcore.exchange.logs.importer import import_logs
from evalcore.exchange.trackers import cases, experiments, otel
from evalcore.exchange.trackers.cases import read_shared_run
from evalcore.exchange.trackers.every_eval_ever import RecordSource, write_records
from evalcore.records import Episode, Message, ToolCall
from evalcore.store.run_folder import StoredSample, find_run
from tests.support.boards import Plan, make_run, settings_in
from tests.support.eee_schema import check_aggregate, check_row
from tests.support.log_fixtures import FIXTURES
from tests.support.shared_data import shared_data


def require(module: str, extra: str):
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{module} absent: pip install 'evalboard[{extra}]'")
    return pytest.importorskip(module, reason=f"{module} absent: pip install 'evalboard[{extra}]'")


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


@pytest.fixture
def run(store):
    return make_run(store, Plan(target="openai:org/strong", skill=0.9, cases=6), "run")


def read_records(out: Path):
    (aggregate,) = (json.loads(file.read_text()) for file in out.rglob("*.json"))
    rows = [json.loads(line) for file in out.rglob("*.jsonl") for line in file.open()]
    return aggregate, rows


def test_records_say_the_scores_with_their_intervals(store, run, tmp_path):
    out = tmp_path / "out"
    files = write_records(read_shared_run(run, store), out, RecordSource("Some Lab"))
    paths = [file.relative_to(out).as_posix() for file in files]
    assert re.fullmatch(r"data/sql_understanding/org/strong/[0-9a-f-]{36}\.json", paths[0])
    assert paths[1] == paths[0].replace(".json", "_samples.jsonl")
    aggregate, rows = read_records(out)
    check_aggregate(aggregate)
    for row in rows:
        check_row(row)
    score = run.read_summary().benchmarks["sql_understanding"]
    overall = aggregate["evaluation_results"][0]["score_details"]
    assert overall["score"] == score.score / 100
    bounds = overall["uncertainty"]["confidence_interval"]
    assert (bounds["lower"], bounds["upper"]) == (
        score.interval.low / 100,
        score.interval.high / 100,
    )
    assert len(rows) == aggregate["detailed_evaluation_results"]["total_rows"] == score.samples
    assert aggregate["source_metadata"]["source_organization_name"] == "Some Lab"
    names = {result["evaluation_result_id"] for result in aggregate["evaluation_results"]}
    assert {row["evaluation_result_id"] for row in rows} <= names
    passed = sum(row["evaluation"]["is_correct"] for row in rows)
    assert passed == score.outcomes["passed"]


@pytest.mark.parametrize("source", ["run", "inspect"])
def test_records_pass_the_published_schema(store, run, tmp_path, source):
    jsonschema = require("jsonschema", "dev")
    schemas = shared_data("every_eval_ever")
    if source == "inspect":
        done = import_logs(FIXTURES / "inspect" / "small.eval", store, "", str)
        run = find_run(done.created[0], store.run_roots)
    write_records(read_shared_run(run, store), tmp_path / "out", RecordSource())
    aggregate, rows = read_records(tmp_path / "out")
    jsonschema.validate(aggregate, json.loads((schemas / "eval.schema.json").read_text()))
    of_rows = json.loads((schemas / "instance_level_eval.schema.json").read_text())
    for row in rows:
        jsonschema.validate(row, of_rows)


def test_records_are_imported_with_the_same_scores(store, run, tmp_path):
    write_records(read_shared_run(run, store), tmp_path / "out", RecordSource())
    done = import_logs(tmp_path / "out", store, "", str)
    folders = [find_run(imported, store.run_roots) for imported in done.created]
    scores = {key: s for f in folders for key, s in f.read_summary().benchmarks.items()}
    own = run.read_summary().benchmarks["sql_understanding"]
    overall = scores["every-eval-ever-sql_understanding"]
    assert (overall.level, overall.score) == (0, pytest.approx(own.score))
    assert overall.interval.low == pytest.approx(own.interval.low)
    for name, metric in own.metrics.items():
        part = scores[f"every-eval-ever-sql_understanding-{name}"]
        assert (part.level, part.samples) == (1, metric.samples)
        assert part.outcomes.get("passed", 0) == metric.passed


def test_what_is_no_result_is_refused(store, tmp_path):
    control = make_run(store, Plan(target="control:null", cases=3), "control")
    with pytest.raises(UsageError, match="a control, not of a model"):
        write_records(read_shared_run(control, store), tmp_path, RecordSource())
    partial = make_run(store, Plan(target="openai:weak", cases=3, failing=2), "partial")
    with pytest.raises(UsageError, match="only a complete score"):
        write_records(read_shared_run(partial, store), tmp_path, RecordSource())


def test_gated_texts_stay_here(store, run, tmp_path):
    path = run.path / "samples.jsonl"
    lines = [msgspec.json.decode(line, type=StoredSample) for line in path.open("rb")]
    lines[0].sample.meta["gated"] = True
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    shared = read_shared_run(run, store)
    hidden = [case for case in shared.cases if case.gated]
    assert [case.sample.id for case in hidden] == [lines[0].sample.id]
    assert hidden[0].sample.input == {}
    assert hidden[0].episode.answer == ""
    write_records(shared, tmp_path / "out", RecordSource())
    assert list((tmp_path / "out").rglob("*.jsonl")) == []


def test_keys_in_arguments_of_tools_stay_here():
    key = "secret-of-a-server"
    call = ToolCall("1", "login", json.dumps({"key": key, "user": "me"}))
    episode = Episode("a/1", 0, "", messages=(Message("assistant", key, tool_calls=(call,)),))
    shared = cases._redact_episode(episode, Redactor((key,), ()))
    assert key not in msgspec.json.encode(shared).decode()
    assert json.loads(shared.messages[0].tool_calls[0].arguments)["user"] == "me"


def test_spans_follow_the_conventions(store, run):
    memory = require("opentelemetry.sdk.trace.export.in_memory_span_exporter", "otel")
    exporter = memory.InMemorySpanExporter()
    shared = read_shared_run(run, store)
    assert otel.export_spans(shared, exporter) == len(list(shared.cases)) + 1
    spans = exporter.get_finished_spans()
    root = next(span for span in spans if span.parent is None)
    assert root.attributes["evalboard.sql_understanding/score"] > 0
    chats = [span for span in spans if span.parent is not None]
    assert {span.parent.span_id for span in chats} == {root.context.span_id}
    attributes = dict(chats[0].attributes)
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == "org/strong"
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert "gen_ai.input.messages" not in attributes
    (event,) = chats[0].events
    assert event.name == "gen_ai.evaluation.result"
    assert event.attributes["gen_ai.evaluation.score.label"] in ("passed", "failed")
    again = memory.InMemorySpanExporter()
    otel.export_spans(shared, again, texts=True)
    ids = [[span.context.span_id for span in each] for each in (spans, again.get_finished_spans())]
    assert ids[0] == ids[1]
    texts = dict(again.get_finished_spans()[0].attributes)
    assert json.loads(texts["gen_ai.input.messages"])[0]["role"] == "user"


def test_spans_go_to_a_file_and_a_lost_batch_is_an_error(store, run, tmp_path, capsys):
    export = require("opentelemetry.sdk.trace.export", "otel")
    words = ["--format", "otel", "--out", str(tmp_path / "spans.jsonl"), "--data", store.data]
    assert main(["export", "run", *words]) == 0
    lines = (tmp_path / "spans.jsonl").read_text().splitlines()
    assert f"{len(lines)} spans" in capsys.readouterr().out
    assert {len(json.loads(line)["events"]) for line in lines} == {0, 1}

    class Broken:
        def export(self, spans):
            return export.SpanExportResult.FAILURE

        def shutdown(self):
            pass

    with pytest.raises(UsageError, match="not all spans"):
        otel.export_spans(read_shared_run(run, store), Broken())


def test_wandb_writes_an_offline_run(store, run, tmp_path, monkeypatch):
    """Its tables hold some rows only; then a file has all."""
    monkeypatch.setattr(require("wandb", "wandb").Table, "MAX_ROWS", 2)
    folder = experiments.log_wandb_run(read_shared_run(run, store), tmp_path / "out", "project")
    assert folder.name.startswith("offline-run-")
    assert list(folder.glob("run-*.wandb"))
    rows = [*map(json.loads, (folder / "files/cases.jsonl").read_text().splitlines())]
    assert len(rows) == run.read_summary().benchmarks["sql_understanding"].samples
    (table,) = folder.rglob("cases_*.table.json")
    content = json.loads(table.read_text())
    assert content["columns"] == list(rows[0]) == list(cases.CASE_COLUMNS)
    assert content["data"] == [[*row.values()] for row in rows[:2]]


def test_mlflow_writes_a_run_once(store, run, tmp_path):
    tracking = require("mlflow.tracking", "mlflow")
    shared, folder = read_shared_run(run, store), tmp_path / "out"
    experiments.log_mlflow_run(shared, folder, "board")
    identity = experiments.log_mlflow_run(shared, folder, "board")
    client = tracking.MlflowClient(tracking_uri=folder.as_uri())
    experiment = client.get_experiment_by_name("board").experiment_id
    (logged,) = client.search_runs([experiment])
    assert logged.info.run_id == identity
    score = run.read_summary().benchmarks["sql_understanding"]
    assert logged.data.metrics["sql_understanding/score"] == pytest.approx(score.score)
    assert logged.data.params["target"] == "openai:org/strong"
    (artifact,) = client.list_artifacts(identity)
    lines = Path(client.download_artifacts(identity, artifact.path)).read_text().splitlines()
    assert len(lines) == score.samples


def test_the_password_of_a_tracking_server_is_not_printed(store, run, capsys, monkeypatch):
    monkeypatch.setattr(experiments, "log_mlflow_run", lambda run, store, experiment: "id-1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:hunter22222@tracking.example/base")
    words = ["export", run.run_id, "--format", "mlflow", "--data", store.data]
    assert main(words) == 0
    assert capsys.readouterr().out == "https://tracking.example/base: MLflow run id-1\n"


@pytest.mark.parametrize(
    ("form", "module"),
    [("otel", "opentelemetry.sdk"), ("wandb", "wandb"), ("mlflow", "mlflow")],
)
def test_an_absent_library_names_the_command(
    store, run, tmp_path, monkeypatch, capsys, form, module
):
    def refuse(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(MissingDependency, match=rf"pip install 'evalboard\[{form}\]'"):
        cases.import_sdk(module, form)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--format", "every_eval_ever"], "--out is missing"),
        (
            ["--format", "otel"],
            "--out is missing: the file that --format otel writes or --endpoint",
        ),
        (["--format", "json", "--texts"], "--texts is for --format otel only"),
        (["--format", "otel", "--project", "p"], "--project is for --format wandb and mlflow only"),
        (["--format", "json", "--source", "https://a.example"], "--source is for --format"),
    ],
)
def test_flags_of_other_forms_are_refused(store, run, capsys, words, problem):
    assert main(["export", "run", *words, "--data", store.data]) == 2
    assert problem in capsys.readouterr().err
