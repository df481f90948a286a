"""A tiny simulated API with its entries, and the official package in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.conversations import examine_prediction
from evalcore.benchmarks.bfcl.multi_turn.simulators import Api, Simulators
from evalcore.benchmarks.bfcl.score import ViewResult
from tests.support.bfcl import function
from tests.support.shared_data import ROOT

OFFICIAL_VERSION = "2026.3.23"


class Shelf:
    """A shelf of boxes: every kind of result, error and hang that a tool can have."""

    def __init__(self) -> None:
        self.boxes: dict[str, Any] = {}
        self._moves = 0

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        self.boxes = scenario.get("boxes", {})
        if long_context:
            self.boxes.update({f"old {number}": [] for number in range(500)})

    def put(self, box: str, item: Any) -> dict[str, Any]:
        self._moves += 1
        self.boxes.setdefault(box, []).append(item)
        return {"items": len(self.boxes[box])}

    def look(self, box: str) -> dict[str, Any]:
        if box not in self.boxes:
            return {"error": f"no box {box}"}
        return {"items": list(self.boxes[box])}

    def count(self) -> int:
        return len(self.boxes)

    def label(self) -> str:
        return "shelf"

    def odd(self) -> dict[str, Any]:
        return {"set": {1}}

    def wait(self) -> None:
        while True:
            pass

    def crash(self) -> None:
        os.abort()

    def secret(self) -> str:
        return "not documented"


class Clerk:
    """A second API without a scenario."""

    def greet(self, name: str = "you") -> str:
        return f"hello {name}"


TOOLS = {
    "Shelf": {
        "put": ("box", "item"),
        "look": ("box",),
        **dict.fromkeys(("count", "label", "odd", "wait", "crash"), ()),
    },
    "Clerk": {"greet": ("name",)},
}


def shelf_apis() -> dict[str, Api]:
    """Both APIs, importable by a worker that runs from this checkout."""
    return {
        name: Api(
            name,
            f"{__name__}:{name}",
            tuple(function(tool, dict.fromkeys(keys, "string")) for tool, keys in tools.items()),
        )
        for name, tools in TOOLS.items()
    }


def shelf_simulators(seconds: float = 10.0) -> Simulators:
    """The tiny APIs in a worker; a hang is ended after `seconds`."""
    return Simulators(shelf_apis(), seconds=seconds)


def shelf_entry(
    truth: list[list[str]], category: str = "multi_turn_base", **extra: Any
) -> BfclEntry:
    """An entry with one user's message a turn, over box `a` with one item and an empty box `b`."""
    question: list[Any] = [[{"role": "user", "content": f"Turn {n}."}] for n in range(len(truth))]
    question = extra.pop("question", question)
    fields = {
        "involved_classes": ["Shelf", "Clerk"],
        "initial_config": {"Shelf": {"boxes": {"a": ["nail"], "b": []}}},
        **extra,
    }
    return BfclEntry(f"{category}_0", category, question, [], truth, fields)


def official_environment() -> Path:
    """The interpreter of an environment with the official package, made once under `build/`.

    Skips the test, saying why, where it cannot be made.
    """
    home = ROOT / "build" / f"bfcl-eval-{OFFICIAL_VERSION}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = home / "complete"
    home.parent.mkdir(exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not done.exists():
            packages = [f"bfcl-eval=={OFFICIAL_VERSION}", "mpmath"]
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", *packages]
            for command in ([sys.executable, "-m", "venv", "--clear", str(home)], install):
                ran = subprocess.run(command, capture_output=True, text=True, check=False)
                if ran.returncode:
                    pytest.skip(f"no official package: {ran.stderr.strip()[-300:]}")
            done.touch()
    return python


def official_folder(python: Path) -> str:
    """The folder of that environment that holds `bfcl_eval/`."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return subprocess.check_output([str(python), "-c", code], text=True).strip()


def ask_official(python: Path, requests: list[dict[str, Any]], folder: Path) -> list[Any]:
    """What the official code says to each request; it may write to `folder`, a temporary one.

    Requests: {"entry", "truth", "prediction"}, answered by [valid, error type], and {"calls",
    "native"}, answered by the texts of decoded calls or None.
    """
    (folder / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    (folder / "official.py").write_text(_OFFICIAL, encoding="utf-8")
    environment = {**os.environ, "BFCL_PROJECT_ROOT": str(folder), "TZ": "UTC"}
    subprocess.run(
        [str(python), "-W", "ignore", "official.py"], cwd=folder, env=environment, check=True
    )
    return json.loads((folder / "answers.json").read_text(encoding="utf-8"))


#: Runs the official checker. Two modules of the package import every vendor's client, so that
#: only the functions needed are taken out of their source.
_OFFICIAL = """
import ast, json, pathlib
import bfcl_eval
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils

ROOT = pathlib.Path(bfcl_eval.__file__).parent

def taken(path, names, space):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "") in names]
    for node in tree.body:
        for part in ast.walk(node):
            if isinstance(part, ast.arg):
                part.annotation = None
    exec(compile(tree, path, "exec"), space)
    return space

writers = taken("model_handler/utils.py", {
    "parse_nested_value", "decoded_output_to_execution_list", "convert_to_function_call",
}, {"json": json})
evaluate = taken("eval_checker/eval_runner.py", {"_evaluate_single_multi_turn_entry"}, {
    "multi_turn_checker": multi_turn_checker.multi_turn_checker,
    "is_empty_execute_response": multi_turn_utils.is_empty_execute_response,
})["_evaluate_single_multi_turn_entry"]

class Handler:
    def decode_execute(self, step, has_tool_call_tag):
        if not isinstance(step, list):
            raise ValueError("no calls")
        return step

def answer(number, request):
    if "calls" in request:
        write = "convert_to_function_call" if request["native"] else \\
            "decoded_output_to_execution_list"
        try:
            return writers[write](request["calls"])
        except Exception:
            return None
    entry = request["entry"]
    found = evaluate(
        Handler(), entry["id"], request["prediction"], request["truth"], entry,
        f"m{number}", entry["id"].rsplit("_", 1)[0],
    )
    for name in [name for name in vars(multi_turn_utils) if name.startswith(f"m{number}_")]:
        delattr(multi_turn_utils, name)
    return [found["valid"], found.get("error", {}).get("error_type", "")]

requests = json.loads(pathlib.Path("requests.json").read_text(encoding="utf-8"))
answers = [answer(number, request) for number, request in enumerate(requests)]
pathlib.Path("answers.json").write_text(json.dumps(answers), encoding="utf-8")
"""


def check_prediction(entry: BfclEntry, prediction: Any, simulators: Simulators) -> ViewResult:
    return examine_prediction(entry, prediction, simulators).scored
