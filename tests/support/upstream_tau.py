"""Plays conversations with upstream's tau-bench and prints what it asked agent and user.

`python -m tests.support.upstream_tau CHECKOUT` with [{"domain", "split", "index", "style"}] on
standard input. The provider's library is replaced, and so is the reward, which needs no request.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
import types
from collections import Counter
from typing import Any

from tests.support.tau_script import agent_answer, hash_request, user_line


class _Message:
    def __init__(self, answer: dict[str, Any]) -> None:
        self.content = answer["content"]
        self._calls = answer["tool_calls"]

    def model_dump(self) -> dict[str, Any]:
        return {"role": "assistant", "content": self.content, "tool_calls": self._calls or None}


class _Provider:
    def __init__(self, task: dict[str, Any], style: str) -> None:
        self.task, self.style = task, style
        self.requests: list[str] = []
        self._counts: Counter[str] = Counter()

    def complete(self, **request: Any) -> Any:
        who = request.pop("model")
        request.pop("custom_llm_provider")
        self.requests.append(hash_request({"who": who, **request}))
        number = self._counts[who]
        self._counts[who] += 1
        answer = (
            agent_answer(self.task, self.style, number)
            if who == "agent"
            else {"content": user_line(number), "tool_calls": []}
        )
        choice = types.SimpleNamespace(message=_Message(answer))
        return types.SimpleNamespace(choices=[choice], _hidden_params={"response_cost": 0.0})


def main(checkout: str) -> None:
    sys.path.insert(0, checkout)
    current: list[_Provider] = []
    litellm = types.ModuleType("litellm")
    litellm.completion = lambda **request: current[-1].complete(**request)
    litellm.provider_list = []
    sys.modules["litellm"] = litellm
    from tau_bench.agents.chat_react_agent import ChatReActAgent
    from tau_bench.agents.tool_calling_agent import ToolCallingAgent
    from tau_bench.envs import base, get_env

    base.Env.calculate_reward = lambda self: base.RewardResult(
        reward=0.0, info=base.RewardActionInfo(r_actions=0.0, gt_data_hash=""), actions=[]
    )
    loaded: dict[str, tuple[Any, bytes]] = {}
    conversations = []
    for asked in json.load(sys.stdin):
        current.append(_Provider({"key": "", "actions": []}, "act"))
        key = f"{asked['domain']}/{asked['split']}"
        if key not in loaded:
            env = get_env(
                asked["domain"],
                user_strategy="llm",
                user_model="user",
                user_provider="user",
                task_split=asked["split"],
                task_index=0,
            )
            loaded[key] = env, pickle.dumps(env.data_load_func())
            env.data_load_func = lambda data=loaded[key][1]: pickle.loads(data)
        env = loaded[key][0]
        task = env.tasks[asked["index"]]
        actions = [{"name": action.name, "kwargs": action.kwargs} for action in task.actions]
        provider = _Provider({"key": f"{key}/{asked['index']}", "actions": actions}, asked["style"])
        current.append(provider)
        shared = {"tools_info": env.tools_info, "wiki": env.wiki, "provider": "agent"}
        agent = (
            ToolCallingAgent(model="agent", **shared)
            if asked["style"] == "tool-calling"
            else ChatReActAgent(model="agent", use_reasoning=asked["style"] == "react", **shared)
        )
        with contextlib.suppress(Exception):  # what upstream's runner scores as 0
            agent.solve(env, task_index=asked["index"])
        conversations.append(provider.requests)
    print(json.dumps(conversations))


if __name__ == "__main__":
    main(sys.argv[1])
