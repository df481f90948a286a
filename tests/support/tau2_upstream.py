"""Run in an environment with tau2-bench: play calls through it and print what it makes of them.

`python -m tests.support.tau2_upstream CHECKOUT` reads JSON lines of {domain, task, calls, says} and
answers each with {reward, db, agent, user, errors, contents}; one of {domain} alone with the
database that episodes begin with. Models are never asked: litellm is an empty module here.
"""

import json
import sys
import types
from functools import partial
from pathlib import Path
from random import random

from tests.support.tau2_rows import BaseDatabase


def stub_modules(but=()):
    """Stand-ins for what upstream imports to ask models, and never uses here; not for those that
    `but` names."""

    class Anything(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (Exception,), {"__init__": lambda self, *args, **kwargs: None})

    class Finder:
        names = ("litellm", "langfuse", "elevenlabs", "openai", "redis", "docker", "scipy")

        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] not in self.names or name.split(".")[0] in but:
                return None
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, self, is_package=True)

        def create_module(self, spec):
            module = Anything(spec.name)
            module.__path__ = []
            return module

        def exec_module(self, module):
            return None

    sys.meta_path.insert(0, Finder())


#: The first state of each domain whose rows are many.
BASES = {}


def load_domain(name, variant="no_knowledge"):
    """The constructor of a domain's environment, whose database is read once."""
    import importlib

    module = importlib.import_module(f"tau2.domains.{name}.environment")
    if name == "telecom":
        from tau2.domains.telecom.data_model import TelecomDB
        from tau2.domains.telecom.user_data_model import TelecomUserDB
        from tau2.domains.telecom.utils import TELECOM_DB_PATH, TELECOM_USER_DB_PATH

        base, user = TelecomDB.load(TELECOM_DB_PATH), TelecomUserDB.load(TELECOM_USER_DB_PATH)

        def construct(solo_mode=False, **_):
            return module.get_environment(base.model_copy(deep=True), user.model_copy(deep=True))

        return construct
    words = {}
    if name == "banking_knowledge":
        documents = module.get_knowledge_base()
        documents.documents = dict(sorted(documents.documents.items()))  # else as the disk has them
        module.get_knowledge_base = lambda: documents
        words = {"retrieval_variant": variant}
        base = BASES[name] = BaseDatabase(module.get_db())
    else:
        base = BASES[name] = BaseDatabase(module.get_environment().tools.db)

    def construct(solo_mode=False, **kwargs):
        kwargs = kwargs if words else {}
        environment = module.get_environment(base.fork(), **words, **kwargs)
        for kit in (environment.tools, environment.user_tools):
            if kit is not None:
                kit.get_db_hash = lambda kit=kit: base.hash(kit.db)
        return environment

    return construct


def dump_states(name, environment):
    """Both sides in the end: what changed of a database of many rows, else all of it."""
    users = environment.user_tools
    if name in BASES:
        agent = BASES[name].list_changes(environment.tools.db)
        user = BASES[name].list_changes(users.db) if users else None
    else:
        agent, user = environment.tools.db.model_dump(), users.db.model_dump()
    return json.loads(json.dumps([agent, user], default=str))


def reset_vpn():
    """Undo what an episode leaves in a class of upstream's, and with it in every later one."""
    from tau2.domains.telecom.user_data_model import PerformanceLevel, VpnDetails
    from tau2.domains.telecom.user_tools import TelecomUserTools

    TelecomUserTools.default_vpn_details = VpnDetails(
        server_address="192.168.1.1",
        protocol="OpenVPN",
        server_performance=PerformanceLevel.EXCELLENT,
    )


def list_logged_reads(task):
    """The tools of the ground truth that are called by their names, as upstream's runner has it."""
    actions = task.evaluation_criteria.actions or []
    return {
        action.arguments["agent_tool_name"]
        for action in actions
        if action.name == "call_discoverable_agent_tool" and "agent_tool_name" in action.arguments
    }


def play(construct, task, calls, says):
    """The messages of an episode of these calls, played live, and both sides in the end."""
    from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage

    environment = construct()
    initial = task.initial_state
    environment.set_state(
        initial.initialization_data if initial else None,
        initial.initialization_actions if initial else None,
        [],
    )
    messages, errors = [], []
    for number, call in enumerate(calls):
        made = ToolCall(
            id=str(number),
            name=call["name"],
            arguments=call["arguments"],
            requestor=call["requestor"],
        )
        kind = AssistantMessage if call["requestor"] == "assistant" else UserMessage
        messages.append(kind(role=call["requestor"], tool_calls=[made]))
        answer = environment.get_response(made)
        errors.append(bool(answer.error))
        messages.append(answer)
        environment.sync_tools()
    messages += [AssistantMessage(role="assistant", content=text) for text in says]
    return messages, environment, errors


def score(construct, task, messages):
    from tau2.data_model.tasks import RewardType
    from tau2.evaluator.evaluator_action import ActionEvaluator
    from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator

    basis = set(task.evaluation_criteria.reward_basis)
    world = EnvironmentEvaluator.calculate_reward(construct, task, messages, strict_replay=False)
    reward = world.reward if basis & {RewardType.DB, RewardType.ENV_ASSERTION} else 1.0
    if RewardType.ACTION in basis:
        reward *= ActionEvaluator.calculate_reward(task, messages).reward
    if RewardType.COMMUNICATE in basis:
        reward *= CommunicateEvaluator.calculate_reward(task, messages).reward
    return reward, bool(world.db_check.db_match)


def enter_checkout(checkout, but=()):
    """Make upstream's package importable, without what it imports itself: models and voices."""
    stub_modules(but)
    sys.path.insert(0, str(checkout / "src"))
    package = types.ModuleType("tau2")
    package.__path__ = [str(checkout / "src" / "tau2")]
    sys.modules["tau2"] = package
    from loguru import logger

    logger.remove()


def answer_line(request, constructors):
    from tau2.data_model.tasks import Task

    name = request["domain"]
    if name not in constructors:
        constructors[name] = load_domain(name)
    if "task" not in request:
        base = BASES[name].database.model_dump() if name in BASES else {}
        return json.loads(json.dumps(base, default=str))
    if name == "telecom":
        reset_vpn()
    task, construct = Task.model_validate(request["task"]), constructors[name]
    if name == "banking_knowledge":
        construct = partial(construct, read_log_allowlist=list_logged_reads(task))
    messages, environment, errors = play(construct, task, request["calls"], request["says"])
    try:
        reward, same = score(construct, task, messages)
    except Exception:  # its own checks fail on what a wrong call left behind: no reward
        reward, same = 0.0, False
    agent, user = dump_states(name, environment) if request.get("states") else (None, None)
    if name in BASES and random() < 0.05:
        BASES[name].check_hash(environment.tools.db)
    return {
        "reward": reward,
        "db": same,
        "errors": errors,
        "contents": [message.content for message in messages if message.role == "tool"],
        "agent": agent,
        "user": user,
    }


def main():
    enter_checkout(Path(sys.argv[1]))
    constructors = {}
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer_line(json.loads(line), constructors)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
