"""To the Hub: data sets with `eval.yaml`, conversations as session traces, scores as pull requests;
all to a server on the loopback."""

from __future__ import annotations

import json

import pytest
import yaml
from huggingface_hub._eval_results import parse_eval_result_entries

from evalcore.cli.main import main
from evalcore.exchange import hub_publish
from evalcore.exchange.logs.importer import import_logs
from evalcore.exchange.trackers.cases import read_shared_run
from evalcore.store import datasets
from evalcore.store.run_folder import find_run
from tests.support import hub_repository
from tests.support.boards import Plan, make_run, settings_in
from tests.support.log_fixtures import FIXTURES

TASK = "sql_understanding=org/sql-cases:default"
MODEL = "org/strong"


@pytest.fixture
def store(tmp_path):
    return settings_in(tmp_path / "store")


@pytest.fixture
def hub(monkeypatch):
    with hub_repository.serving(hub_repository.Store()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", hub_repository.TOKEN)
        yield server


def call(capsys, store, *words):
    status = main(["hub", *words, "--data", store.data])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_bundled_dataset_is_a_benchmark_repository(capsys, store, hub, tmp_path):
    out = tmp_path / "out"
    words = ("dataset", "dialect_conversion", "--out", str(out), "--push", hub_repository.REPO)
    status, shown, err = call(capsys, store, *words)
    assert (status, err) == (0, "")
    assert shown.strip().endswith("6 files")
    names = {path.name for path in out.iterdir()}
    assert set(hub.files) == names >= {"README.md", "eval.yaml", "logical_equivalence.jsonl"}
    assert all(hub.files[path.name] == path.read_bytes() for path in out.iterdir())
    described = yaml.safe_load(hub.files["eval.yaml"])
    assert set(described) == {"name", "description", "evaluation_framework", "tasks"}
    assert described["evaluation_framework"] == hub_publish.FRAMEWORK
    assert described["tasks"][0] == {"id": "dialect_conversion"}
    card = hub.files["README.md"].decode()
    head = yaml.safe_load(card.split("---\n")[1])
    files = {each["config_name"]: each["data_files"][0]["path"] for each in head["configs"]}
    assert {task["config"]: f"{task['config']}.jsonl" for task in described["tasks"][1:]} == files
    assert hub.private


def test_files_in_folders_have_configurations(store, tmp_path):
    hub_publish.write_dataset_repository("tau_bench", store, tmp_path / "out")
    described = yaml.safe_load((tmp_path / "out" / "eval.yaml").read_text())
    assert [task.get("config") for task in described["tasks"]] == [
        None,
        "airline--tasks_bundled",
        "retail--tasks_bundled",
    ]
    assert (tmp_path / "out" / "retail" / "users.json").is_file()


@pytest.mark.parametrize(
    ("name", "problem"), [("absent", "no bundled or own dataset absent"), ("", "--out DIR")]
)
def test_what_cannot_be_written_is_said(capsys, store, tmp_path, name, problem):
    words = ("dataset", name, "--out", str(tmp_path / "o")) if name else ("dataset", "gaia")
    status, _, err = call(capsys, store, *words)
    assert status == 2
    assert problem in err


def test_gated_cases_links_and_used_folders_are_left_alone(capsys, store, tmp_path):
    folder = datasets.own_folder(store, "sql_understanding", "mine")
    source = tmp_path / "mine.jsonl"
    status = main(
        ["datasets", "template", "sql_understanding", "--out", str(source), "--data", store.data]
    )
    assert status == 0
    words = ["--benchmark", "sql_understanding", "--name", "mine", "--data", store.data]
    assert main(["datasets", "add", str(source), *words]) == 0
    (folder / "notes.txt").symlink_to(source)
    out = tmp_path / "out"
    assert call(capsys, store, "dataset", "mine", "--out", str(out))[0] == 0
    assert not (out / "notes.txt").exists()
    status, _, err = call(capsys, store, "dataset", "mine", "--out", str(out))
    assert (status, "is not empty" in err) == (2, True)
    file = next(folder.rglob("*.jsonl"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["gated"] = True
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = call(capsys, store, "dataset", "mine", "--out", str(tmp_path / "other"))
    assert (status, "gated case" in err) == (2, True)
    assert not (tmp_path / "other").exists()


def read_trace(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_conversations_are_session_traces(capsys, store, hub, tmp_path):
    done = import_logs(FIXTURES / "tau2_results" / "simulations" / "small", store, "", str)
    out = tmp_path / "out"
    out.mkdir()
    (out / "secret.env").write_text("of somebody")
    words = ("traces", done.created[0], "--out", str(out), "--push", hub_repository.REPO)
    assert call(capsys, store, *words)[0] == 0
    files = sorted(out.rglob("*.jsonl"))
    assert len(files) == 8
    assert set(hub.files) == {path.relative_to(out).as_posix() for path in files} | {"README.md"}
    traces = [read_trace(path) for path in files]
    assert len({trace[0]["id"] for trace in traces}) == 8
    for header, *messages in traces:
        assert (header["type"], header["harness"]) == ("session", hub_publish.FRAMEWORK)
        assert {line["type"] for line in messages} == {"message"}
        calls = [c["id"] for m in messages for c in m["message"].get("toolCalls", ())]
        answers = [m["message"]["toolCallId"] for m in messages if m["message"]["role"] == "tool"]
        assert calls == answers
        assert all(isinstance(line["message"]["content"], str) for line in messages)
    assert {trace[0]["outcome"] for trace in traces} == {"passed", "failed"}


def test_a_question_and_an_answer_are_a_trace_too(store, tmp_path):
    run = make_run(store, Plan(target="openai:org/strong", skill=0.9, cases=3), "run")
    files = hub_publish.write_traces(read_shared_run(run, store), tmp_path / "out")
    trace = read_trace(files[1])
    assert [line["message"]["role"] for line in trace[1:]] == ["user", "assistant"]


def test_names_of_cases_lead_nowhere(store, tmp_path):
    log = json.loads((FIXTURES / "inspect" / "small.json").read_text())
    log["samples"][0]["id"] = "../../../<b>x</b>\n"
    (tmp_path / "log.json").write_text(json.dumps(log))
    (run,) = import_logs(tmp_path / "log.json", store, "", str).created
    out = tmp_path / "out"
    shared = read_shared_run(find_run(run, store.run_roots), store)
    files = hub_publish.write_traces(shared, out)
    assert all(path.resolve().is_relative_to(out.resolve()) for path in files)
    assert {path.parent.name for path in files[1:]} == {"match"}


def test_scores_are_a_pull_request_to_a_model(capsys, store, hub):
    run = make_run(store, Plan(target="openai:org/strong", skill=0.9, cases=8), "run")
    hub.repo, hub.kind, hub.exists = MODEL, "models", True
    hub.files["README.md"] = b"card"
    words = ("results", "run", "--model", MODEL, "--hub", TASK, "--source", "https://a.example/r")
    status, out, err = call(capsys, store, *words, "--organization", "lab")
    assert (status, err) == (0, "")
    assert out.strip() == f"{hub.address}/{MODEL}/discussions/1"
    ((summary, files),) = hub.proposals
    assert summary == "Add evaluation results: org/sql-cases (default)"
    score = run.read_summary().benchmarks["sql_understanding"]
    ((name, content),) = files.items()
    assert name == f".eval_results/evalboard-sql_understanding-{score.column[:8]}.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(content))
    assert (entry.dataset_id, entry.value) == ("org/sql-cases", round(score.score, 4))
    assert (entry.source_url, entry.source_org) == ("https://a.example/r", "lab")
    assert list(hub.files) == ["README.md"]


@pytest.mark.parametrize(
    ("status", "problem"),
    [(401, "HF_TOKEN is not valid"), (403, "may not do that"), (404, "cannot see such a model")],
)
def test_a_pull_request_is_tried_once(capsys, store, hub, status, problem):
    make_run(store, Plan(target="openai:org/strong", skill=0.9, cases=8), "run")
    hub.repo, hub.kind, hub.exists = MODEL, "models", True
    hub.refusals = [(f"POST /api/models/{MODEL}/preupload", status)] * 2
    code, _, err = call(capsys, store, "results", "run", "--model", MODEL, "--hub", TASK)
    assert code == 2
    assert problem in err
    assert hub_repository.TOKEN not in err
    assert (hub.proposals, hub.count("POST", "preupload")) == ([], 1)


def test_what_is_no_result_opens_none(capsys, store, hub):
    make_run(store, Plan(target="control:reference", cases=4, skill=1), "run")
    hub.repo, hub.kind, hub.exists = MODEL, "models", True
    status, _, err = call(capsys, store, "results", "run", "--model", MODEL, "--hub", TASK)
    assert (status, "a control, not of a model" in err) == (2, True)
    status, _, err = call(capsys, store, "results", "run", "--model", MODEL)
    assert (status, "--hub BENCHMARK=" in err or "a control" in err) == (2, True)
    assert hub.asked == []
