"""A chat server on the loopback that plays tau_bench: an agent by a script, or a user who agrees.

An agent's answer follows from how many messages of its own it is shown, so that a conversation
that is begun again goes the same way. Requests are counted by what they ask.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support import quiet_server

#: What the model named `user` says, in turn.
USER = ("Please cancel it.", "Yes.", "###STOP###")


@dataclass
class TauServer:
    """`script` holds the agent's answers: texts, or calls of {name, kwargs}; the last is repeated.

    `delay` is in seconds; `asked` counts requests by their content, `models` by model.
    """

    script: Sequence[str | dict[str, Any]]
    delay: float = 0.0
    base_url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    counting: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        with self.counting:
            self.asked[json.dumps([body["model"], body["messages"]], sort_keys=True)] += 1
            self.models[body["model"]] += 1
        time.sleep(self.delay)
        total = sum(message["role"] == "assistant" for message in body["messages"])
        script = USER if body["model"] == "user" else self.script
        step = script[min(total, len(script) - 1)]
        message: dict[str, Any] = {"role": "assistant", "content": step}
        if isinstance(step, dict):
            function = {"name": step["name"], "arguments": json.dumps(step["kwargs"])}
            call = {"id": f"call{total}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        about = {"id": "1", "object": "chat.completion", "model": body["model"]}
        return {**about, "choices": [choice], "usage": usage}


@contextmanager
def serve(script: Sequence[str | dict[str, Any]], delay: float = 0.0) -> Iterator[TauServer]:
    state = TauServer(script, delay)

    class Handler(quiet_server.Handler):
        def do_POST(self) -> None:
            self.send_json(state.answer(json.loads(self.content())))

    with quiet_server.listening(Handler) as port:
        state.base_url = f"http://127.0.0.1:{port}/v1"
        yield state
