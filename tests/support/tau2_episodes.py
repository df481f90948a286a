"""Whole episodes of tau2-bench with scripted models, played by ours and by upstream's orchestrator,
and what differs in the requests.

The models answer in the order of a script whatever they are asked, over HTTP: a script is drawn by
the task's id, of its ground truth and of what models get wrong.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.official_texts import OfficialTexts, store_official_texts
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.benchmarks.tau2_bench.card import BANK
from evalcore.benchmarks.tau2_bench.dataset import to_task
from evalcore.benchmarks.tau2_bench.environment.tasks import Task
from evalcore.errors import EnvironmentFailure
from evalcore.exchange.tau2_bench import read_tau2_texts
from evalcore.records import Completion, GenerationRequest, Sample, Verdict, to_plain
from evalcore.settings import load_settings
from evalcore.targets.endpoint.chat import ChatDialect
from evalcore.targets.endpoint.dialect import Capabilities
from tests.support.tau2_parity import Upstream

Answer = dict[str, Any]
Script = dict[str, list[Answer]]
_ENDS = {"agent": {"content": "Is there anything else?"}, "user": {"content": "###STOP###"}}
#: How a script may go wrong, and how often.
_MODES = (
    ("plain", 0.62),
    ("stopped", 0.08),
    ("many_errors", 0.08),
    ("user_errors", 0.05),
    ("long", 0.02),
    ("unreadable_agent", 0.05),
    ("unreadable_user", 0.05),
    ("empty_agent", 0.05),
)
_ODD: tuple[Any, ...] = (None, 3, 2.5, "", "x", [], {}, True, "3", -1, "日本 é ✈️", ["a"], {"a": 1})
_WORDS = (
    "I can help with that.",
    "你好,請稍候 — ça va? ✅",
    'Say "yes" \\ to go on.\n\tThanks.',
    "###STOP###",
)


class Fumbler:
    """Draws the script of a task."""

    def __init__(self, task: Task, tools: dict[str, list[dict[str, Any]]], seed: int) -> None:
        self.task, self.tools, self.rng = task, tools, Random(f"{task.id}/{seed}")
        self.ids = 0

    def draw(self) -> Script:
        rng = self.rng
        names, weights = zip(*_MODES, strict=True)
        mode = rng.choices(names, weights)[0]
        sides: Script = {"agent": [], "user": [{"content": "Hello, I need help."}]}
        for action in self.task.actions:
            side = "agent" if action.requestor == "assistant" else "user"
            self._add_noise(sides)
            call = self._call(action.name, action.arguments)
            if rng.random() < 0.12:
                call = self._spoil(call)
            calls = [call]
            if rng.random() < 0.2:
                calls.insert(rng.randrange(2), self._draw_call(side))
            sides[side].append(self._say_calls(calls))
            if side == "user" and rng.random() < 0.5:
                sides["user"].append({"content": "Done."})
        self._add_noise(sides)
        for text in self.task.criteria.communicate_info or ():
            if rng.random() < 0.9:
                sides["agent"].append({"content": f"It is {text}."})
        self._finish(sides, mode)
        return sides

    def _finish(self, sides: Script, mode: str) -> None:
        rng = self.rng
        if mode in ("many_errors", "user_errors"):
            side = "agent" if mode == "many_errors" else "user"
            calls = [self._call("no_such_tool", {"n": n}) for n in range(12)]
            while calls:
                taken = rng.randrange(1, 5)
                sides[side].append(self._say_calls(calls[:taken]))
                calls = calls[taken:]
        elif mode == "long":
            sides["agent"] = [{"content": f"Line {n}"} for n in range(130)]
            sides["user"] = [{"content": f"Reply {n}"} for n in range(130)]
        elif mode == "stopped":
            end = rng.choice(("###TRANSFER###", "Bye ###OUT-OF-SCOPE###", "###STOP### thanks"))
            sides["user"].insert(rng.randrange(1, len(sides["user"]) + 1), {"content": end})
        elif mode.startswith("unreadable"):
            side = mode.partition("_")[2]
            broken = self._call("x", {})
            broken["arguments"] = rng.choice(('{"a": ', "", "[1]", "null", '"text"', "{'a': 1}"))
            at = rng.randrange(len(sides[side]) + 1)
            sides[side].insert(at, self._say_calls([broken]))
        elif mode == "empty_agent":
            empty = rng.choice(({"content": ""}, {"content": None}, {"content": " \n"}))
            sides["agent"].insert(rng.randrange(len(sides["agent"]) + 1), empty)

    def _add_noise(self, sides: Script) -> None:
        rng = self.rng
        for side in sides:
            if rng.random() < 0.25:
                calls = [self._draw_call(side) for _ in range(rng.choice((1, 1, 2, 3)))]
                sides[side].append(self._say_calls(calls))
        if rng.random() < 0.3:
            sides["agent"].append({"content": rng.choice(_WORDS)})

    def _say_calls(self, calls: list[Answer]) -> Answer:
        content = self.rng.choice((None, None, None, "", "Let me look. 請稍候"))
        if len(calls) > 1 and self.rng.random() < 0.2:
            calls[1]["id"] = calls[0]["id"]
        return {"content": content, "tool_calls": calls}

    def _call(self, name: str, arguments: dict[str, Any]) -> Answer:
        self.ids += 1
        dense = self.rng.random() < 0.3
        text = json.dumps(
            arguments,
            ensure_ascii=self.rng.random() < 0.5,
            separators=(",", ":") if dense else None,
        )
        return {"id": f"call_{self.ids}", "name": name, "arguments": text}

    def _draw_call(self, side: str) -> Answer:
        offered = self.tools[side]
        if not offered or self.rng.random() < 0.1:
            return self._call(self.rng.choice(("no_such_tool", "respond", "outil_é")), {"a": 1})
        function = self.rng.choice(offered)["function"]
        parameters = function["parameters"]["properties"]
        arguments = {name: self._draw_value(name) for name in parameters}
        call = self._call(function["name"], arguments)
        return self._spoil(call) if self.rng.random() < 0.3 else call

    def _draw_value(self, name: str) -> Any:
        values = [
            action.arguments[name] for action in self.task.actions if name in action.arguments
        ]
        if values and self.rng.random() < 0.8:
            return self.rng.choice(values)
        return self.rng.choice(_ODD)

    def _spoil(self, call: Answer) -> Answer:
        """The call with a value of another kind, one too few or one too many."""
        arguments = json.loads(call["arguments"])
        kind = self.rng.random()
        if kind < 0.3 and arguments:
            arguments.pop(self.rng.choice(sorted(arguments)))
        elif kind < 0.5:
            arguments["extra"] = 1
        elif arguments:
            arguments[self.rng.choice(sorted(arguments))] = self.rng.choice(_ODD)
        return self._call(call["name"], arguments)


class ScriptServer:
    """Answers chat completions by the script of the moment and keeps the bodies."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._script: dict[str, Iterator[Answer]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                side = self.path.split("/")[1]
                outer.asked.append((side, json.loads(body)))
                reply = json.dumps(outer.reply(side)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *arguments: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def start(self, script: Script) -> None:
        self.asked = []
        self._script = {side: iter(answers) for side, answers in script.items()}

    def reply(self, side: str) -> dict[str, Any]:
        answer = next(self._script[side], _ENDS[side])
        message: dict[str, Any] = {"role": "assistant", "content": answer["content"]}
        calls = answer.get("tool_calls")
        if calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls
            ]
        finish = "tool_calls" if calls else "stop"
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serve_scripts() -> Iterator[ScriptServer]:
    server = ScriptServer()
    try:
        yield server
    finally:
        server.close()


class WireContext:
    """A run's context whose target and user are asked over HTTP as `openai:` targets are."""

    seed, judges = 0, ()

    def __init__(self, url: str, epoch: int) -> None:
        self._url, self.epoch = url, epoch
        self._client = httpx2.Client()

    async def resolve_tool_call_mode(self) -> str:
        return "native"

    def price(self, role: str, usage: Any) -> float:
        return 0.0

    async def generate(self, request: GenerationRequest, role: str = "target") -> Completion:
        dialect, capabilities = ChatDialect("m", {}), Capabilities(stream=False)
        parameters = dialect.build_parameters(request.sampling, capabilities)
        wire = dialect.build_request(request, parameters, capabilities)
        side = "agent" if role == "target" else "user"
        body = json.dumps(wire.body)
        reply = self._client.post(f"{self._url}/{side}/v1{wire.path}", content=body).json()
        completion = dialect.parse_reply(reply, parameters)
        assert isinstance(completion, Completion), completion
        return completion


def build_official_benchmark(checkout: Path, domain: str) -> tuple[Any, list[Sample]]:
    """The benchmark with a checkout's texts, and all its samples of a domain."""
    texts = OfficialTexts("tau2_bench", "a checkout", to_plain(read_tau2_texts(checkout)))
    store_official_texts(texts, load_settings())
    options = {
        "protocol": "official",
        "official_texts": texts.hash,
        "domain": domain,
        "retrieval": RETRIEVAL if domain == BANK else "",
        "use_llm_user": True,
        "user_model": "openai:m",
    }
    benchmark = instantiate_benchmark("tau2_bench", options)
    return benchmark, benchmark.load_dataset(DatasetSource(str(checkout)))


def play_here(benchmark: Any, sample: Sample, url: str, trial: int) -> Verdict | str:
    """The verdict, or why there is none."""
    context = WireContext(url, trial)
    try:
        episode = asyncio.run(benchmark.run_sample(sample, context))
    except EnvironmentFailure as error:
        return str(error)
    return asyncio.run(benchmark.evaluate_sample(sample, episode))


#: How the agents of a bank reach its documents on both sides.
RETRIEVAL = "bm25_grep"
_TIMING = re.compile(r"(retrieval|reranking|total)=\d+ms")
#: What a server takes as said where a body leaves it out.
_DEFAULTS = {"tool_choice": "auto"}


def normalize_body(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what says nothing: fields that are null, those with the server's default, a
    call's second copy of its name, and the milliseconds of a search. Order is kept."""
    kept = {name: value for name, value in body.items() if _DEFAULTS.get(name) != value}
    messages = _number_repeated_ids(body["messages"])
    kept["messages"] = [_normalize_message(message) for message in messages]
    return {name: kept[name] for name in sorted(kept)}


def _number_repeated_ids(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with ids that differ within an answer, as whatever reads a server's answer here
    numbers them, and the results with those of their calls."""
    numbered, due = [], []
    for message in messages:
        if message.get("tool_calls"):
            used: set[str] = set()
            calls = []
            for at, call in enumerate(message["tool_calls"]):
                call_id = f"{call['id']}_{at}" if call["id"] in used else call["id"]
                used.add(call_id)
                calls.append({**call, "id": call_id})
            due = [
                (call["id"], new["id"])
                for call, new in zip(message["tool_calls"], calls, strict=True)
            ]
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool" and due:
            old, new = due.pop(0)
            if message["tool_call_id"] == old:
                message = {**message, "tool_call_id": new}
        numbered.append(message)
    return numbered


def _normalize_message(message: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in message.items() if value is not None}
    if kept.get("tool_calls"):
        if not kept.get("content"):
            kept.pop("content", None)
        kept["tool_calls"] = [
            {name: call[name] for name in ("id", "type", "function")} for call in kept["tool_calls"]
        ]
    if isinstance(kept.get("content"), str):
        kept["content"] = _TIMING.sub(r"\1=0ms", kept["content"])
    return {name: kept[name] for name in sorted(kept)}


#: How upstream names an end, and what ours is told by.
_ENDINGS = {
    "user_stop": "",
    "max_steps": "max_turns",
    "too_many_errors": "max_tool_errors",
}


#: What upstream's validator says of a value of the wrong kind inside of a call, with the address of
#: its release; ours says it in other words.
_VALIDATOR = re.compile(r"Error: \d+ validation errors? for \w+\n")


def _has_same_result(theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether two messages are the same; of a validator's error, only that it is one."""
    if theirs.get("role") == "tool" and _VALIDATOR.match(str(theirs["content"])):
        return str(ours["content"]).startswith("Error: ") and _drop_content(theirs) == (
            _drop_content(ours)
        )
    return json.dumps(theirs) == json.dumps(ours)


def _drop_content(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "content"}


def find_difference(
    theirs: Sequence[tuple[str, Any]], ours: Sequence[tuple[str, Any]]
) -> Any | None:
    """The first request that differs, as (number, theirs, ours)."""
    for number in range(max(len(theirs), len(ours))):
        if number >= len(theirs) or number >= len(ours):
            return (number, theirs[number:], ours[number:])
        (side, their_body), (own_side, own_body) = theirs[number], ours[number]
        their_body, own_body = normalize_body(their_body), normalize_body(own_body)
        their_messages, own_messages = their_body.pop("messages"), own_body.pop("messages")
        same = side == own_side and json.dumps(their_body) == json.dumps(own_body)
        same = same and len(their_messages) == len(own_messages)
        if not same:
            return (number, (side, their_body), (own_side, own_body))
        for pair in zip(their_messages, own_messages, strict=True):
            if not _has_same_result(*pair):
                return (number, *pair)
    return None


def compare_episodes(
    checkout: Path, python: str, domain: str, count: int = 0, seed: int = 0
) -> tuple[list[Any], dict[str, int]]:
    """What differs in the episodes of the tasks of a domain (`count` of them, 0: all), and how
    many episodes and requests were compared, by how upstream ended them."""
    benchmark, samples = build_official_benchmark(checkout, domain)
    texts = benchmark._texts
    differences: list[Any] = []
    counts: dict[str, int] = {"episodes": 0, "requests": 0, "rewarded": 0}
    with serve_scripts() as server:
        data = checkout / "data"
        with Upstream(python, "tau2_upstream_episodes", checkout, data, server.url) as upstream:
            for sample in samples[: count or None]:
                task = to_task(sample)
                tools = {
                    "agent": list(texts.list_tool_schemas(domain, RETRIEVAL)),
                    "user": list(texts.list_user_tool_schemas(task, domain)),
                }
                script = Fumbler(task, tools, seed).draw()
                server.start(script)
                trial = seed % 3
                theirs = upstream.ask(domain=domain, task=task, trial=trial)
                asked = server.asked
                server.start(script)
                ours = play_here(benchmark, sample, server.url, trial)
                counts["episodes"] += 1
                counts["requests"] += len(asked)
                counts["rewarded"] += theirs["reward"] == 1
                counts[theirs["ended"]] = counts.get(theirs["ended"], 0) + 1
                difference = find_difference(asked, server.asked)
                if difference is not None:
                    differences.append((sample.id, "request", *difference, theirs))
                elif problem := _find_other_end(theirs, ours):
                    differences.append((sample.id, "end", problem, theirs))
    return differences, counts


def _find_other_end(theirs: dict[str, Any], ours: Verdict | str) -> str:
    """How the end or the reward differ; empty if they do not."""
    if isinstance(ours, str):
        return "" if theirs["ended"] == "error" else f"no verdict: {ours}"
    if theirs["ended"] == "error":
        return "" if ours.outcome == "failed" else f"{ours.outcome} where upstream raises"
    if theirs["ended"] not in _ENDINGS:
        return f"an unknown end: {theirs['ended']}"
    parts = str(ours.details.get("reward_parts", "")).split(", ")
    failed = any(part.endswith("=0") for part in parts if not part.startswith("NL_ASSERTION"))
    reward = float(theirs["ended"] == "user_stop" and not failed)
    if reward != theirs["reward"]:
        return f"reward {reward}: {ours.note}"
    return ""
