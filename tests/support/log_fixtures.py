"""Make the logs in tests/fixtures/logs anew: other frameworks, on eight authored questions.

    python -m tests.support.log_fixtures inspect PYTHON
    python -m tests.support.log_fixtures lm_eval PYTHON
    python -m tests.support.log_fixtures evalscope PYTHON

PYTHON is the interpreter of an environment with `inspect-ai` and `openai`, `lm-eval[api]`, or
`evalscope`. Each asks a server on the loopback that knows all answers as `large` and half of them
as `small`. What the files name of this machine is replaced.
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
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures" / "logs"
MODELS = ("large", "small")
#: Questions with their answers; `small` knows every second of them.
QUESTIONS = {
    "How many legs does a spider have?": "8",
    "Which number follows 41?": "42",
    "How many sides does a hexagon have?": "6",
    "How many minutes does an hour have?": "60",
    "How much is 12 times 3?": "36",
    "How many days does a week have?": "7",
    "How many zeros does a million have?": "6",
    "Which number is half of 18?": "9",
}
_WRONG = "100"

_INSPECT = """
from inspect_ai import Task, task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match, includes
from inspect_ai.solver import generate
import json, sys
questions = json.loads(sys.argv[1])

@task
def counting():
    samples = [
        Sample(id=f"q{n}", input=q, target=a) for n, (q, a) in enumerate(questions.items(), 1)
    ]
    return Task(dataset=samples, solver=generate(), scorer=[match(numeric=True), includes()])

for kind, name in (("eval", "large"), ("eval", "small"), ("json", "small")):
    eval(counting(), model=f"openai-api/board/{name}", log_dir=f"{sys.argv[2]}/{name}",
         log_format=kind, display="none", epochs=2 if kind == "json" else 1)
"""
_LM_EVAL_TASK = """
task: counting
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: ["\\n"]
  temperature: 0
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
  - metric: bleu
metadata:
  version: 1.0
"""
_EVALSCOPE = """
import sys
from evalscope import TaskConfig, run_task
run_task(TaskConfig(
    model=sys.argv[1], api_url=sys.argv[2], api_key="none", eval_type="openai_api",
    datasets=["general_mcq"], dataset_args={"general_mcq": {
        "local_path": sys.argv[3], "subset_list": ["counting"],
        "prompt_template": "{question}\\n{choices}\\nEnd with: ANSWER: and one of {letters}"}},
    work_dir=sys.argv[4], no_timestamp=True, generation_config={"temperature": 0}))
"""


class _Answers(BaseHTTPRequestHandler):
    """The chat API, as far as the frameworks ask for it."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(request["messages"])
        at, answer = next(
            (at, answer) for at, (q, answer) in enumerate(QUESTIONS.items()) if q in text
        )
        knows = request["model"] == "large" or at % 2 == 0
        right, wrong = ("ANSWER: A", "ANSWER: B") if "A) " in text else (answer, _WRONG)
        message = {"role": "assistant", "content": right if knows else wrong}
        reply = {
            "id": f"reply-{at}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 13},
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve_answers() -> Iterator[str]:
    """Yield the address of the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def make_inspect_logs(python: str, url: str, scratch: Path) -> None:
    environment = {"BOARD_BASE_URL": url, "BOARD_API_KEY": "none"}
    _run(
        [python, "-c", _INSPECT, json.dumps(QUESTIONS), str(scratch / "out")], scratch, environment
    )
    for file in (scratch / "out").rglob("*.*"):
        target = FIXTURES / "inspect" / f"{file.parent.name}{file.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".json":
            log = json.loads(_scrub(file.read_text(), scratch, url))
            for sample in log["samples"]:  # the events are most of the file, and nobody reads them
                del sample["events"]
            target.write_text(json.dumps(log, indent=1) + "\n")
        else:  # compressed in a way of its own, which is a part of the test
            shutil.copyfile(file, target)


def make_lm_eval_logs(python: str, url: str, scratch: Path) -> None:
    rows = [{"question": q, "answer": a} for q, a in QUESTIONS.items()]
    data = scratch / "counting.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (scratch / "counting.yaml").write_text(_LM_EVAL_TASK.format(data=data))
    for name in MODELS:
        arguments = f"model={name},base_url={url}/chat/completions,num_concurrent=2"
        command = [python, "-m", "lm_eval", "--model", "local-chat-completions"]
        command += ["--model_args", arguments, "--tasks", "counting", "--log_samples"]
        command += ["--include_path", str(scratch), "--output_path", str(scratch / "out" / name)]
        command += ["--apply_chat_template"]
        _run(command, scratch, {"OPENAI_API_KEY": "none"})
        for file in (scratch / "out" / name).rglob("*.json*"):
            target = FIXTURES / "lm_eval" / name / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_scrub(file.read_text(), scratch, url))


def make_evalscope_logs(python: str, url: str, scratch: Path) -> None:
    rows = [{"question": q, "A": a, "B": _WRONG, "answer": "A"} for q, a in QUESTIONS.items()]
    (scratch / "data").mkdir()
    data = scratch / "data" / "counting_val.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in MODELS:
        out = scratch / "out" / name
        _run([python, "-c", _EVALSCOPE, name, url, str(scratch / "data"), str(out)], scratch, {})
        for file in (*out.rglob("*.json"), *out.rglob("*.jsonl")):
            if file.relative_to(out).parts[0] not in ("reports", "reviews"):
                continue
            target = FIXTURES / "evalscope" / name / file.relative_to(out)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = _scrub(file.read_text(), scratch, url)
            if file.relative_to(out).parts[0] == "reports":
                report = json.loads(text) | {"dataset_description": "", "perf_metrics": None}
                text = json.dumps(report, indent=1) + "\n"
            target.write_text(text)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "NO_PROXY": "127.0.0.1"}
    subprocess.run(command, cwd=folder, env=os.environ | offline | environment, check=True)


def _scrub(text: str, scratch: Path, url: str) -> str:
    """Leave out what names this machine; the text stays valid JSON."""
    text = text.replace(str(scratch), "/example").replace(url, "http://localhost:8000/v1")
    text = re.sub(r'"pretty_env_info": "(?:[^"\\]|\\.)*"', '"pretty_env_info": ""', text)
    return re.sub(r'"(/[^"/ ]+/[^" ]*/)([^"/ ]+)"', r'"/example/\2"', text)


_MAKERS = {
    "inspect": make_inspect_logs,
    "lm_eval": make_lm_eval_logs,
    "evalscope": make_evalscope_logs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", choices=_MAKERS)
    parser.add_argument("python", help="interpreter of its environment")
    args = parser.parse_args()
    shutil.rmtree(FIXTURES / args.framework, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch, serve_answers() as url:
        _MAKERS[args.framework](args.python, url, Path(scratch))
    print(f"made {FIXTURES / args.framework}", file=sys.stderr)


if __name__ == "__main__":
    main()
