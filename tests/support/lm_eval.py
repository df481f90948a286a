"""lm-evaluation-harness for tests: an interpreter that has it, a model that answers by rule, and
the same model as a server of completions.

Run as a program, it lets lm-eval itself evaluate tasks and prints what it computed for each answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evalcore.benchmarks.academic.harness import HarnessProcess
from evalcore.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
TASKS = ROOT / "datasets" / "academic"
_TOKEN = re.compile(r"\s*\S+|\s+\Z")


def find_lm_eval_python() -> str:
    """An interpreter with lm-eval: this one, or that of an environment made once under `build/`,
    which takes the other packages, pip among them, from here."""
    if find_spec("lm_eval"):
        return sys.executable
    from filelock import FileLock

    pins = ROOT / "constraints.txt"
    home = ROOT / "build" / f"lm-eval-{hashlib.sha256(pins.read_bytes()).hexdigest()[:12]}"
    python, done = home / "bin" / "python", home / "complete"
    home.parent.mkdir(exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not done.exists():
            create = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(home)]
            subprocess.run(create, check=True)
            packages = next((home / "lib").glob("python*/site-packages"))
            paths = [path for path in sys.path if path.endswith("site-packages")]
            (packages / "shared.pth").write_text("\n".join(paths), encoding="utf-8")
            install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
            subprocess.run([*install, "lm-eval", "evaluate", "-c", str(pins)], check=True, cwd=ROOT)
            done.touch()
    return str(python)


@pytest.fixture(scope="module")
def python() -> str:
    return find_lm_eval_python()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(tmp_path / "data")


@pytest.fixture(scope="module")
def harnesses(python: str) -> Iterator[Callable[..., HarnessProcess]]:
    """`harnesses(folders, defaults=...)`: one process of lm-eval for all who ask the same of this
    module, the benchmark included, as each takes seconds to import it."""
    processes: dict[tuple[tuple[Path, ...], bool], HarnessProcess] = {}

    def share_process(folders: Sequence[Path], *, defaults: bool) -> HarnessProcess:
        key = (tuple(folders), defaults)
        if key not in processes:
            processes[key] = SharedProcess(folders, defaults=defaults)
        return processes[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_LM_EVAL_PYTHON", python)
        for user in ("benchmark", "listing"):
            patch.setattr(f"evalcore.benchmarks.academic.{user}.HarnessProcess", share_process)
        yield share_process
    for process in processes.values():
        HarnessProcess.close(process)


class SharedProcess(HarnessProcess):
    """A process that the others go on using when one of them is done."""

    def close(self) -> None:
        return


def answer_prompt(prompt: str) -> str:
    """What the model writes: the right answer to every other document of a task, else a wrong
    one."""
    for name, question, right in _list_answers():
        if question in prompt:
            is_right = int(re.sub(r"\D", "", name)) % 2 == 0
            wrong = (
                "```python\ndef nothing():\n    return 1\n```" if name[0] == "p" else "Answer: 0"
            )
            return right if is_right else wrong
    return ""


def rate_word(word: str) -> float:
    """The log-probability of a token, by its letters alone."""
    return -1 - int(hashlib.sha256(word.encode()).hexdigest()[:6], 16) % 1000 / 250


def split_words(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _list_answers() -> Iterator[tuple[str, str, str]]:
    for row in _read_rows("arithmetic"):
        yield row["id"], row["question"], f"Let me see.\nAnswer: {row['answer']}"
    for row in _read_rows("code"):
        yield row["id"], row["description"], row["solution"]
    for row in _read_rows("instructions"):
        yield row["id"], row["instruction"], row["example"]
    for row in _read_rows("choices"):
        yield row["id"], row["question"], "ABCD"[row["right"]]


def _read_rows(name: str) -> list[dict[str, Any]]:
    lines = (TASKS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


class CompletionsServer:
    """A server of plain completions, which counts the prompts that it answered. While
    `answers_left` is 0 it answers nothing; None: no limit."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()
        self.answers_left: int | None = None
        self.says_likelihoods = True
        self.lock = threading.Lock()
        self.waiting = threading.Event()
        self.address = ""

    def take_answer(self, prompts: list[str]) -> bool:
        with self.lock:
            if self.answers_left == 0:
                self.waiting.set()
                return False
            if self.answers_left is not None:
                self.answers_left -= 1
            self.answered["\n".join(prompts)] += 1
            return True

    def build_reply(self, body: dict[str, Any]) -> dict[str, Any]:
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        choices = [
            self._echo(number, prompt, body)
            if body.get("echo")
            else {"index": number, "text": answer_prompt(prompt), "finish_reason": "stop"}
            for number, prompt in enumerate(prompts)
        ]
        usage = {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": len(prompts)}
        return {"model": body["model"], "choices": choices, "usage": usage}

    def _echo(self, number: int, prompt: str, body: dict[str, Any]) -> dict[str, Any]:
        text = f"{prompt} on" if body["max_tokens"] else prompt
        tokens, offsets, position = split_words(text), [], 0
        for token in tokens:
            offsets.append(position)
            position += len(token)
        logprobs = {
            "tokens": tokens,
            "token_logprobs": [None, *map(rate_word, tokens[1:])],
            "top_logprobs": [None, *({"other": -0.1} for _ in tokens[1:])],
            "text_offset": offsets,
        }
        said = logprobs if self.says_likelihoods else None
        return {"index": number, "text": text, "logprobs": said, "finish_reason": "length"}


@contextmanager
def serve_completions() -> Iterator[CompletionsServer]:
    """The model as a server on a port of this machine."""
    state = CompletionsServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
            if not state.take_answer(prompts):
                released.wait(60)
                self.close_connection = True
                return
            content = json.dumps(state.build_reply(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            return

    released = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        released.set()
        server.shutdown()
        server.server_close()


def evaluate_by_lm_eval(python: str, tasks: list[str], model: str, limit: int) -> dict[str, Any]:
    """What lm-eval's own `simple_evaluate` computes, by task: {"score", "samples": {document:
    {"metric", "filtered", "likelihoods"}}}. `model` is a folder, or "" for the model by rule."""
    words = [python, "-m", "tests.support.lm_eval", json.dumps([tasks, model, limit])]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "TQDM_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        words, cwd=TASKS, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def _evaluate(tasks: list[str], model: str, limit: int) -> dict[str, Any]:
    import evaluate
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    evaluate.load = lambda name: _PlainCode()  # the real one is fetched from the Hub

    class ByRule(LM):
        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            return [answer_prompt(request.args[0]) for request in requests]

        def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[Any]:
            return [(sum(map(rate_word, split_words(r.args[1]))), False) for r in requests]

        def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[Any]:
            raise NotImplementedError

    arguments = {"pretrained": model, "dtype": "float32", "device": "cpu", "batch_size": 1}
    found = lm_eval.simple_evaluate(
        model="hf" if model else ByRule(),
        model_args=arguments if model else None,
        tasks=tasks,
        limit=limit or None,
        task_manager=TaskManager(include_path=str(TASKS), include_defaults=False),
        confirm_run_unsafe_code=True,
        bootstrap_iters=0,
        log_samples=True,
    )
    return {
        task: {
            "score": next(
                value
                for name, value in found["results"][task].items()
                if name.split(",")[0] in _METRICS
            ),
            "samples": {
                str(sample["doc_id"]): {
                    "metric": next(sample[name] for name in _METRICS if name in sample),
                    "filtered": sample["filtered_resps"],
                    "answers": [reply for group in sample["resps"] for reply in group],
                }
                for sample in found["samples"][task]
            },
        }
        for task in tasks
    }


_METRICS = ("acc", "exact_match", "tests_passed", "instructions_followed")


class _PlainCode:
    """`code_eval` as its authors have it: every program in a process of its own, no sandbox."""

    def compute(self, references: Any, predictions: Any, k: Any, **_: Any) -> Any:
        (candidate,), reference = predictions[0], references[0]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "program.py"
            file.write_text(f"{candidate}\n{reference}", encoding="utf-8")
            ran = subprocess.run([sys.executable, str(file)], capture_output=True, check=False)
        return {"pass@1": float(ran.returncode == 0)}, {}


if __name__ == "__main__":
    print(json.dumps(_evaluate(*json.loads(sys.argv[1]))))
