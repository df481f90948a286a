"""Run in an environment with tau2-bench: print what its agent and its user are asked first.

`python -m tests.support.tau2_upstream_requests CHECKOUT` reads {domain: policy} as JSON and answers
by domain with `tools` and, by task, the messages that agent and user get first; `retrievals` of the
bank are answered with `tools` and the `policies` of its first tasks. No model is asked.
"""

import json
import sys
from pathlib import Path

from tests.support.tau2_upstream import stub_modules

LINE = "Hello there."


def describe_bank(retrievals):
    from tau2.domains.banking_knowledge import environment

    documents = environment.get_knowledge_base()
    documents.documents = dict(sorted(documents.documents.items()))  # else as the disk has them
    environment.get_knowledge_base = lambda: documents
    answer = {}
    for name in retrievals:
        desks = [
            environment.get_environment(retrieval_variant=name, task=task)
            for task in environment.get_tasks()[:4]
        ]
        answer[name] = {
            "tools": [tool.openai_schema for tool in desks[0].get_tools()],
            "user_tools": [tool.openai_schema for tool in desks[0].get_user_tools()],
            "policies": [desk.get_policy() for desk in desks],
        }
    return answer


def main():
    checkout = Path(sys.argv[1])
    stub_modules()
    sys.path.insert(0, str(checkout / "src"))
    from importlib import import_module

    from tau2.agent.llm_agent import LLMAgent
    from tau2.config import DEFAULT_LLM_ARGS_AGENT, DEFAULT_LLM_ARGS_USER
    from tau2.data_model.message import UserMessage
    from tau2.data_model.tasks import Task
    from tau2.orchestrator.orchestrator import DEFAULT_FIRST_AGENT_MESSAGE
    from tau2.user.user_simulator import UserSimulator
    from tau2.utils.llm_utils import to_litellm_messages

    request = json.load(sys.stdin)
    answer = {"retrievals": describe_bank(request.pop("retrievals"))}
    for domain, policy in request.items():
        module = import_module(f"tau2.domains.{domain}.tools")
        kit = getattr(module, f"{domain.capitalize()}Tools")(None)
        tools = list(kit.get_tools().values())
        agent = LLMAgent(tools, policy, "m", DEFAULT_LLM_ARGS_AGENT)
        state = agent.get_init_state([DEFAULT_FIRST_AGENT_MESSAGE])
        opening = [*state.system_messages, *state.messages, UserMessage(role="user", content=LINE)]
        path = checkout / "data" / "tau2" / "domains" / domain / "tasks.json"
        users = {}
        for row in json.loads(path.read_text("utf-8")):
            task = Task.model_validate(row)
            user = UserSimulator("m", str(task.user_scenario), None, DEFAULT_LLM_ARGS_USER)
            begun = user.get_init_state([DEFAULT_FIRST_AGENT_MESSAGE])
            messages = begun.system_messages + begun.flip_roles()
            users[task.id] = to_litellm_messages(messages)
        answer[domain] = {
            "tools": [tool.openai_schema for tool in tools],
            "agent": to_litellm_messages(opening),
            "users": users,
            "temperatures": [agent.llm_args["temperature"], user.llm_args["temperature"]],
        }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
