"""Make the result folders in tests/fixtures/logs anew that official evaluations write, on tasks of
our own.

    python -m tests.support.official_log_fixtures bfcl_eval PYTHON
    python -m tests.support.official_log_fixtures tau2_results PYTHON
    python -m tests.support.official_log_fixtures swebench PYTHON

PYTHON is the interpreter of an environment with `bfcl-eval` (its data and the handlers of vendors
are replaced), with τ²-bench, or with `swebench`. Where a model is asked, a server on the loopback
knows all answers as `large` and half of them as `small`. SWE-bench runs no container here: its own
grading and reporting read test outputs of our own. What the evaluation itself says of the scores is
in `expected.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[1] / "fixtures" / "logs"
BUNDLED = Path(__file__).parents[2] / "datasets" / "bfcl"
PROGRAMS = Path(__file__).with_name("official_log_programs")
MODELS = ("large", "small")
CATEGORIES = {"simple_python": 4, "multiple": 2, "irrelevance": 2}
Answer = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def serve_chat(answer: Answer) -> Iterator[str]:
    """Yield the address of a chat API whose replies hold the messages that `answer` gives."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": None} | answer(request)
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            reply = {
                "id": "reply",
                "object": "chat.completion",
                "created": 1_790_000_000,
                "model": request["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
            }
            content = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def build_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


# BFCL: bundled cases in the place of its data.


def list_bfcl_cases(category: str) -> list[dict[str, Any]]:
    """The first bundled cases of a category, numbered as upstream numbers its own."""
    lines = (BUNDLED / f"{category}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = map(json.loads, lines[: CATEGORIES[category]])
    return [case | {"id": f"{category}_{number}"} for number, case in enumerate(cases)]


def write_bfcl_data(folder: Path) -> None:
    """The cases in the layout of upstream's data folder."""
    (folder / "possible_answer").mkdir(parents=True)
    for category in CATEGORIES:
        cases = list_bfcl_cases(category)
        asked = [{name: case[name] for name in ("id", "question", "function")} for case in cases]
        _write_lines(folder / f"BFCL_v4_{category}.json", asked)
        if category != "irrelevance":
            right = [{name: case[name] for name in ("id", "ground_truth")} for case in cases]
            _write_lines(folder / "possible_answer" / f"BFCL_v4_{category}.json", right)


def _answer_bfcl(request: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(request["messages"])
    number, case = next(
        (number, case)
        for category in CATEGORIES
        for number, case in enumerate(list_bfcl_cases(category))
        if case["question"][0][0]["content"] in text
    )
    knows = request["model"] == "large" or number % 2 == 0
    if case["ground_truth"] is None:
        return {"content": "None of these fits."} if knows else build_call(_first_tool(request), {})
    if not knows:
        return {"content": "I cannot do this."}
    ((name, arguments),) = case["ground_truth"][0].items()
    values = {key: allowed[0] for key, allowed in arguments.items() if allowed[0] != ""}
    return build_call(name.replace(".", "_"), values)


def _first_tool(request: dict[str, Any]) -> str:
    return str(request["tools"][0]["function"]["name"])


def make_bfcl(python: str, scratch: Path) -> None:
    """Generate and evaluate with upstream's own commands."""
    write_bfcl_data(scratch / "data")
    with serve_chat(_answer_bfcl) as url:
        asked = {"models": list(MODELS), "categories": list(CATEGORIES)}
        environment = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url}
        _run_program(python, "run_bfcl.py", asked, scratch, environment)
    for kind in ("result", "score"):
        for file in (scratch / kind).rglob("BFCL_v4_*.json"):
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            for row in rows:  # differs at each making
                row.update({"latency": 0.25} if "latency" in row else {})
            _write_lines(FIXTURES / "bfcl_eval" / file.relative_to(scratch), rows)


# τ²-bench: its domain `mock` with data of our own.

_TASKS = {
    "plant_trees": ("Please note down: plant trees.", "create_task", {"title": "Plant trees"}),
    "close_gate": ("Mark task_1 as done.", "update_task_status", {"status": "completed"}),
    "paint_fence": ("Please note down: paint the fence.", "create_task", {"title": "Paint fence"}),
    "drop_all": ("Delete all of my tasks.", "transfer_to_human_agents", {"summary": "Delete"}),
}
_SHARED_ARGUMENTS = {
    "create_task": {"user_id": "user_1"},
    "update_task_status": {"task_id": "task_1"},
}


def write_tau2_data(folder: Path) -> None:
    """Database, policy, tasks and the words for the user simulator."""
    domain, users = folder / "tau2" / "domains" / "mock", folder / "tau2" / "user_simulator"
    domain.mkdir(parents=True)
    users.mkdir(parents=True)
    task = {"task_id": "task_1", "title": "Gate", "description": "Close it", "status": "pending"}
    user = {"user_id": "user_1", "name": "Someone", "tasks": ["task_1"]}
    _write_json(domain / "db.json", {"tasks": {"task_1": task}, "users": {"user_1": user}})
    _write_json(domain / "user_db.json", {"notifications": {}})
    for name in ("policy.md", "policy_solo.md"):
        (domain / name).write_text("Help with the tasks.")
    for name in ("", "_tools", "_voice", "_voice_tools"):
        (users / f"simulation_guidelines{name}.md").write_text("Ask for one thing, then stop.")
    _write_json(domain / "split_tasks.json", {"base": list(_TASKS)})
    tasks = []
    for name, (wish, tool, arguments) in _TASKS.items():
        action = {
            "action_id": name,
            "name": tool,
            "arguments": _SHARED_ARGUMENTS.get(tool, {}) | arguments,
        }
        criteria = {"actions": [action], "reward_basis": ["DB", "ACTION"]}
        scenario = {"instructions": wish}
        tasks.append({"id": name, "user_scenario": scenario, "evaluation_criteria": criteria})
    _write_json(domain / "tasks.json", tasks)


def _answer_tau2(request: dict[str, Any]) -> dict[str, Any]:
    messages = request["messages"]
    text = json.dumps(messages)
    number, (wish, tool, arguments) = next(
        (number, task) for number, task in enumerate(_TASKS.values()) if task[0] in text
    )
    if request["model"] == "user":
        said = sum(message["role"] == "assistant" for message in messages)
        return {"content": wish if not said else "###STOP###"}
    if messages[-1]["role"] == "tool":
        return {"content": "It is done."}
    if request["model"] == "small" and number % 2:
        return {"content": "I am sorry."}
    return build_call(tool, _SHARED_ARGUMENTS.get(tool, {}) | arguments)


def make_tau2(python: str, scratch: Path) -> None:
    """Run the domain twice per task with upstream's own runner."""
    write_tau2_data(scratch / "data")
    with serve_chat(_answer_tau2) as url:
        asked = {"models": list(MODELS), "url": url, "trials": 2}
        environment = {"OPENAI_API_KEY": "none", "TAU2_DATA_DIR": str(scratch / "data")}
        _run_program(python, "run_tau2.py", asked, scratch, environment)
    for name in ("large", "small", "folder"):
        root = scratch / "data" / "simulations" / name
        for file in root.rglob("*.json"):
            text = _scrub(file.read_text(), scratch).replace(url, "http://localhost:8000/v1")
            target = FIXTURES / "tau2_results" / "simulations" / name / file.relative_to(root)
            _write_json(target, _drop_raw(json.loads(text)))
    shutil.copy(scratch / "expected.json", FIXTURES / "tau2_results" / "expected.json")


def _drop_raw(value: Any) -> Any:
    """Without the replies of the provider, which are most of a file."""
    if isinstance(value, dict):
        return {
            name: None if name == "raw_data" else _drop_raw(each) for name, each in value.items()
        }
    return [_drop_raw(each) for each in value] if isinstance(value, list) else value


# SWE-bench: its grading and its report, on test outputs of our own.


def make_swebench(python: str, scratch: Path) -> None:
    """Grade and report with upstream's own functions."""
    _run_program(python, "run_swebench.py", {"models": list(MODELS)}, scratch, {})
    shutil.copytree(scratch / "out", FIXTURES / "swebench", dirs_exist_ok=True)


def _run_program(
    python: str, name: str, asked: dict[str, Any], folder: Path, environment: dict[str, str]
) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    command = [python, str(PROGRAMS / name), json.dumps(asked)]
    subprocess.run(command, cwd=folder, env=os.environ | offline | environment, check=True)


def _scrub(text: str, scratch: Path) -> str:
    return re.sub(re.escape(str(scratch)), "/example", text)


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


_MAKERS = {"bfcl_eval": make_bfcl, "tau2_results": make_tau2, "swebench": make_swebench}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluation", choices=_MAKERS)
    parser.add_argument("python", help="interpreter of its environment")
    args = parser.parse_args()
    shutil.rmtree(FIXTURES / args.evaluation, ignore_errors=True)
    (FIXTURES / args.evaluation).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        _MAKERS[args.evaluation](str(Path(args.python).absolute()), Path(scratch))
    print(f"made {FIXTURES / args.evaluation}", file=sys.stderr)


if __name__ == "__main__":
    main()
