"""tau2-bench as upstream asks: its prompts, tool schemas and user, by texts that a fetch read.

Upstream calls tools natively and in no other way. The domains whose users have no tools of their
own are asked so; of the others the schemas are not read.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

from evalcore.benchmarks.tau2_bench.environment.tasks import Scenario
from evalcore.benchmarks.tau_bench.conversation import Budgets
from evalcore.errors import UsageError
from evalcore.records import Record

#: The domains that can be asked officially.
OFFICIAL_DOMAINS = ("retail", "airline")
_PERSONA = "<PERSONA_GUIDELINES>"
#: Parts of a scenario, and what stands before each.
_PARTS = (
    ("domain", "Domain: "),
    ("reason_for_call", "Reason for call:\n"),
    ("known_info", "Known info:\n"),
    ("unknown_info", "Unknown info:\n"),
    ("task_instructions", "Task instructions:\n"),
)


class Tau2Texts(Record, frozen=True):
    """What upstream's code says. `tools` are the schemas of each domain as JSON text;
    `agent_prompt` has places for the instruction and the policy, `user_prompt` for the guidelines
    and the scenario. `max_steps` counts every message and every result of tools."""

    tools: dict[str, str]
    agent_prompt: str
    agent_instruction: str
    user_prompt: str
    user_guidelines: str
    greeting: str
    temperature: float
    user_temperature: float
    max_steps: int
    max_errors: int

    def list_tool_schemas(self, domain: str) -> tuple[dict[str, Any], ...]:
        """The tools of a domain as a server takes them. Raises UsageError for one without any."""
        if domain not in self.tools:
            raise UsageError(
                f"protocol=official asks {', '.join(self.tools)}; the texts have no tools of "
                f"{domain}: choose domains by tau2_bench.domain"
            )
        return tuple(json.loads(self.tools[domain]))

    def build_agent_prompt(self, policy: str) -> str:
        return self.agent_prompt.format(
            agent_instruction=self.agent_instruction, domain_policy=policy
        )

    def build_user_prompt(self, scenario: Scenario) -> str:
        return self.user_prompt.format(
            global_user_sim_guidelines_with_persona=self.user_guidelines.replace(_PERSONA, ""),
            instructions=format_scenario(scenario),
        )

    def build_budgets(self) -> Budgets:
        """Upstream's limits: the user's first line is a step, and so are each answer of the agent
        and what comes back."""
        return Budgets(
            max_turns=self.max_steps // 2, max_tool_errors=self.max_errors, max_parse_errors=1
        )


def format_scenario(scenario: Scenario) -> str:
    """The scenario as upstream writes it for the user."""
    lines = []
    if scenario.persona is not None:
        lines += ["Persona:", textwrap.indent(scenario.persona, "\t")]
    return "\n".join([*lines, "Instructions:", textwrap.indent(_format_parts(scenario), "\t")])


def _format_parts(scenario: Scenario) -> str:
    parts = scenario.instructions
    if isinstance(parts, str):
        return parts
    lines = []
    for name, head in _PARTS:
        value = parts.get(name)
        if value is not None:
            text = str(value)
            lines.append(head + (text if name == "domain" else textwrap.indent(text, "\t")))
    return "\n".join(lines)
