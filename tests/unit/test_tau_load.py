"""Domains and tasks come from any of three layouts, and what is wrong in one is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from evalcore.benchmarks.tau_bench.environment import list_splits, load_domain, load_tasks, loaders
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS
from evalcore.benchmarks.tau_bench.environment.reward import OTHER_START, TAU2_OFFLINE, TRUTH_ERRS
from evalcore.errors import DatasetError, UsageError
from tests.support.tau import airline, retail

CANCEL = {"order_id": "#W1", "reason": "no longer needed"}
ROW = {
    "annotator": "0",
    "user_id": "user_1",
    "instruction": "Cancel it, and say 'how much'.",
    "actions": [{"name": "cancel_pending_order", "kwargs": CANCEL}],
    "outputs": ["13.6"],
}
PYTHON = """from tau_bench.types import Action, Task

raise SystemExit("this file must never run")
TASKS_TEST = [
    Task(
        annotator="0",
        user_id="user_1",
        instruction="Cancel it, "
        "and say 'how much'.",
        actions=[
            Action(
                name="cancel_pending_order",
                kwargs={"order_id": "#W1", "reason": "no longer needed"},
            )
        ],
        outputs=["13.6"],
    ),
    Task(user_id="user_1", instruction="Nothing.", actions=[], outputs=[]),
]
"""


def tables(domain):
    return {name: dict(domain.database.rows(name)) for name in DOMAINS[domain.name][0]}


def write_json(folder: Path, domain, rows=(ROW,), packed: bool = False) -> Path:
    path = folder / domain.name
    path.mkdir(parents=True, exist_ok=True)
    contents = {f"{name}.json": json.dumps(table) for name, table in tables(domain).items()}
    contents["tasks_test.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    for name, content in contents.items():
        if packed:
            (path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
        else:
            (path / name).write_text(content)
    (path / "policy.md").write_text("Be kind.")
    return folder


def write_checkout(folder: Path, source: str = PYTHON) -> Path:
    path = folder / "tau_bench" / "envs" / "retail"
    (path / "data").mkdir(parents=True)
    for name, table in tables(retail()).items():
        (path / "data" / f"{name}.json").write_text(json.dumps(table))
    (path / "wiki.md").write_text("Be kind.")
    (path / "tasks_test.py").write_text(source)
    return folder


def write_tau2(folder: Path, **changes) -> Path:
    path = folder / "data" / "tau2" / "domains" / "retail"
    path.mkdir(parents=True)
    instructions = {
        "domain": "retail",
        "reason_for_call": "Cancel it.",
        "known_info": "You are user_1.",
        "unknown_info": None,
        "task_instructions": "Be brief.",
    }
    call = {"action_id": "0", "name": "cancel_pending_order", "arguments": CANCEL}
    theirs = {"action_id": "1", "name": "x", "arguments": {}, "requestor": "user"}
    task = {
        "id": "7",
        "user_scenario": {"persona": None, "instructions": instructions},
        "initial_state": None,
        "evaluation_criteria": {"actions": [call, theirs], "communicate_info": ["13.6"]},
        **changes,
    }
    (path / "db.json").write_text(json.dumps(tables(retail())))
    (path / "policy.md").write_text("Be kind.")
    (path / "tasks.json").write_text(json.dumps([task, {**task, "id": "8"}]))
    (path / "split_tasks.json").write_text(json.dumps({"test": ["7"], "base": ["7", "8"]}))
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("domain", [retail(), airline()], ids=lambda domain: domain.name)
def test_the_json_layout(tmp_path, domain, packed):
    folder = write_json(tmp_path, domain, packed=packed)
    loaded = load_domain(folder, domain.name)
    assert loaded.database.hash() == domain.database.hash()
    assert (loaded.policy, loaded.label) == ("Be kind.", "")
    assert list_splits(folder, domain.name) == ("test",)
    (task,) = load_tasks(folder, loaded, "test")
    assert (task.id, task.domain, task.user_id) == (f"{domain.name}/test/0", domain.name, "user_1")
    assert task.actions[0].kwargs == CANCEL
    assert (task.outputs, task.slots, task.flags) == (("13.6",), None, ())


def test_slots_and_flags_of_a_file_are_kept(tmp_path):
    row = {**ROW, "slots": {"reason": "x"}, "flags": ["own"], "actions": ROW["actions"] * 2}
    folder = write_json(tmp_path, retail(), [row])
    (task,) = load_tasks(folder, load_domain(folder, "retail"), "test")
    assert (task.slots, task.flags) == ({"reason": "x"}, ("own", TRUTH_ERRS))


def test_a_checkout_is_read_and_never_run(tmp_path):
    folder = write_checkout(tmp_path)
    domain = load_domain(folder, "retail")
    first, second = load_tasks(folder, domain, "test")
    in_json = write_json(tmp_path / "json", retail())
    (same,) = load_tasks(in_json, load_domain(in_json, "retail"), "test")
    assert same.source == "retail/tasks_test.jsonl:1"
    assert first.source == "tau_bench/envs/retail/tasks_test.py:5"
    assert replace(first, source="") == replace(same, source="")
    assert second.id == "retail/test/1"
    assert domain.database.hash() == retail().database.hash()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("TASKS = [Task(user_id=open('x'))]", "is not a file of tasks"),
        ("TASKS = [Task('x')]", "line 1 is no Task"),
        ("TASKS = [Other(user_id='x')]", "line 1 is no Task"),
        ("TASKS = [Task(**{})]", "line 1"),
        ("TASKS = [Task(actions=[print('x')])]", "line 1 is no Action"),
        ("TASKS = [__import__('os').system('x')]", "line 1 is no Task"),
        ("TASKS = load()", "assigns no list of tasks"),
        ("TASKS = [", "is not a file of tasks"),
        ("TASKS = [" + "(" * 500 + "]", "is not a file of tasks"),
        ("TASKS = [Task(user_id=" + "-" * 5000 + "1)]", "is not a file of tasks"),
        ("TASKS = [Task(user_id={[]: 1})]", "is not a file of tasks"),
        ("x = 1\0", "is not a file of tasks"),
    ],
)
def test_a_checkout_with_anything_but_literals_is_refused(tmp_path, source, problem):
    folder = write_checkout(tmp_path, source)
    with pytest.raises(DatasetError, match=problem):
        load_tasks(folder, load_domain(folder, "retail"), "test")


def test_tau2_is_labelled_and_its_users_calls_are_left_out(tmp_path):
    folder = write_tau2(tmp_path)
    domain = load_domain(folder, "retail")
    assert domain.label == TAU2_OFFLINE
    assert list_splits(folder, "retail") == ("base", "test")
    assert [task.id for task in load_tasks(folder, domain, "base")] == [
        "retail/base/7",
        "retail/base/8",
    ]
    (task,) = load_tasks(folder, domain, "test")
    assert task.instruction == "Cancel it.\n\nYou are user_1.\n\nBe brief."
    assert [action.name for action in task.actions] == ["cancel_pending_order"]
    assert (task.outputs, task.flags) == (("13.6",), (TAU2_OFFLINE,))


def test_tau2_tasks_that_start_elsewhere_are_flagged(tmp_path):
    folder = write_tau2(tmp_path, initial_state={"initialization_actions": [{}]})
    (task,) = load_tasks(folder, load_domain(folder, "retail"), "test")
    assert task.flags == (TAU2_OFFLINE, OTHER_START)


@pytest.mark.parametrize(
    "change",
    [
        {"user_scenario": "x"},
        {"evaluation_criteria": {"actions": ["x"]}},
        {"evaluation_criteria": {"actions": [{"name": "x"}]}},
        {"evaluation_criteria": {"actions": [{"name": "x", "arguments": 5}]}},
        {"evaluation_criteria": {"communicate_info": 5}},
        {"id": "9"},
    ],
)
def test_tau2_tasks_in_another_layout_are_refused(tmp_path, change):
    folder = write_tau2(tmp_path, **change)
    with pytest.raises(DatasetError, match=r"tasks.json|no task has the id"):
        load_tasks(folder, load_domain(folder, "retail"), "test")


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(UsageError, match="unknown domain 'telecom'; one of retail, airline"):
        load_domain(tmp_path, "telecom")
    with pytest.raises(DatasetError, match="holds no domain retail"):
        load_domain(tmp_path, "retail")
    folder = write_json(tmp_path, retail())
    domain = load_domain(folder, "retail")
    with pytest.raises(UsageError, match="has no split 'train'"):
        load_tasks(folder, domain, "train")
    (folder / "retail" / "users.json").unlink()
    with pytest.raises(DatasetError, match=r"has no file users.json or users.json.gz"):
        load_domain(folder, "retail")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[]", "must hold objects by their ids"),
        (b'{"a": 1}', "must hold objects by their ids"),
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"a": {"b": NaN}}', "not finite"),
        (b'{"a": ' + b'{"b": ' * 20 + b"1" + b"}" * 21, "nested too deep"),
        (b"\xff", "cannot be read as UTF-8"),
    ],
)
def test_a_broken_table_is_named(tmp_path, content, problem):
    folder = write_json(tmp_path, retail())
    (folder / "retail" / "users.json").write_bytes(content)
    with pytest.raises(DatasetError, match=problem) as raised:
        load_domain(folder, "retail")
    assert raised.value.path.endswith("users.json")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("[]", "line 2: is not a JSON object"),
        ("{", "line 2: is not JSON"),
        ("{}", "line 2: is not a task"),
        (json.dumps({**ROW, "actions": [{"kwargs": {}}]}), r"actions\[0\]"),
        (json.dumps({**ROW, "actions": [{"name": "x", "kwargs": []}]}), r"kwargs"),
        (json.dumps({**ROW, "outputs": [1]}), "outputs"),
    ],
)
def test_a_broken_task_is_named_with_its_line(tmp_path, row, problem):
    folder = write_json(tmp_path, retail())
    with (folder / "retail" / "tasks_test.jsonl").open("a") as file:
        file.write(row)
    domain = load_domain(folder, "retail")
    with pytest.raises(DatasetError, match=problem):
        load_tasks(folder, domain, "test")


def test_a_file_that_grows_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(loaders, "LARGEST_FILE", 10_000)
    path = tmp_path / "users.json.gz"
    path.write_bytes(gzip.compress(b" " * 1_000_000))
    with pytest.raises(DatasetError, match="is larger than 10000 bytes"):
        loaders.read_data_text(path)
    path.write_bytes(gzip.compress(b"{}")[:-9])
    with pytest.raises(DatasetError, match="cannot be read"):
        loaders.read_data_text(path)
