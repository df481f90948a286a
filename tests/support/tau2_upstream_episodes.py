"""Run in an environment with tau2-bench and litellm: play whole episodes by its orchestrator.

`python -m tests.support.tau2_upstream_episodes CHECKOUT URL` reads JSON lines of {domain, task,
trial} and answers each with {ended, reward, error}. Agent and user are asked at URL/agent and
URL/user. Judges are never asked: that part of a reward is left out.
"""

import json
import random
import sys
from pathlib import Path

from tests.support.tau2_upstream import enter_checkout, list_logged_reads, load_domain, reset_vpn

#: The retrieval of a bank's documents that our side has too.
VARIANT = "bm25_grep"


def play(construct, request, url):
    """One episode; what its exception was, if any."""
    from tau2.agent.llm_agent import LLMAgent
    from tau2.config import (
        DEFAULT_LLM_ARGS_AGENT,
        DEFAULT_LLM_ARGS_USER,
        DEFAULT_MAX_ERRORS,
        DEFAULT_MAX_STEPS,
        DEFAULT_SEED,
    )
    from tau2.data_model.tasks import RewardType, Task
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    from tau2.orchestrator.orchestrator import Orchestrator
    from tau2.registry import registry
    from tau2.runner.build import build_user

    task, domain = Task.model_validate(request["task"]), request["domain"]
    kwargs = {}
    if domain == "telecom":
        reset_vpn()
    if domain == "banking_knowledge":
        kwargs = {"read_log_allowlist": list_logged_reads(task), "task": task}
    environment = construct(**kwargs)

    def build_arguments(side, defaults):
        return {**defaults, "api_base": f"{url}/{side}/v1", "api_key": "k", "num_retries": 0}

    agent = LLMAgent(
        environment.get_tools(),
        environment.get_policy(),
        "openai/m",
        build_arguments("agent", DEFAULT_LLM_ARGS_AGENT),
    )
    user = build_user(
        "user_simulator",
        environment,
        task,
        llm="openai/m",
        llm_args=build_arguments("user", DEFAULT_LLM_ARGS_USER),
    )
    random.seed(DEFAULT_SEED)
    seeds = [random.randint(0, 1000000) for _ in range(request["trial"] + 1)]
    orchestrator = Orchestrator(
        domain=domain,
        agent=agent,
        user=user,
        environment=environment,
        task=task,
        max_steps=DEFAULT_MAX_STEPS,
        max_errors=DEFAULT_MAX_ERRORS,
        seed=seeds[-1],
    )
    try:
        simulation = orchestrator.run()
    except Exception as error:  # upstream tries such an episode again, then leaves it out
        return {"ended": "error", "reward": None, "error": f"{type(error).__name__}: {error}"[:500]}
    task.evaluation_criteria.reward_basis = [
        part for part in task.evaluation_criteria.reward_basis if part != RewardType.NL_ASSERTION
    ]
    registry._domains[domain] = construct
    reward = evaluate_simulation(
        simulation, task, EvaluationType.ALL, False, domain, env_kwargs=kwargs
    ).reward
    return {"ended": simulation.termination_reason.value, "reward": reward, "error": ""}


def main():
    checkout, url = Path(sys.argv[1]), sys.argv[2]
    import litellm

    litellm.suppress_debug_info = True
    enter_checkout(checkout, but=("litellm", "openai"))
    constructors = {}
    for line in sys.stdin:
        request = json.loads(line)
        domain = request["domain"]
        if domain not in constructors:
            constructors[domain] = load_domain(domain, VARIANT)
        answer = play(constructors[domain], request, url)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
