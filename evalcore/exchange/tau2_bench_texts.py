"""The texts that tau2-bench asks with, parsed out of its checkout; nothing of it is run."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.benchmarks.tau2_bench.official import OFFICIAL_DOMAINS, Tau2Texts
from evalcore.errors import IntakeError, UsageError
from evalcore.intake.python_source import SourceModule
from evalcore.intake.python_tools import read_tool_schemas
from evalcore.records import to_plain

_AGENT = "src/tau2/agent/llm_agent.py"
_USER = "src/tau2/user/user_simulator.py"
_LOOP = "src/tau2/orchestrator/orchestrator.py"
_CONFIG = "src/tau2/config.py"
_GUIDELINES = "data/tau2/user_simulator/simulation_guidelines.md"
_DOMAINS = "src/tau2/domains"
#: What of a checkout is read.
TEXT_FILES = (
    *(_AGENT, _USER, _LOOP, _CONFIG, _GUIDELINES),
    *(
        f"{_DOMAINS}/{domain}/{name}.py"
        for domain in OFFICIAL_DOMAINS
        for name in ("tools", "data_model")
    ),
)


def write_tau2_texts(folder: Path, source: str) -> bool:
    """Leave the texts of a copy beside it; False where it lacks a file that they are in. Raises
    UsageError where one has another form."""
    if not all((folder / name).is_file() for name in TEXT_FILES):
        return False
    texts = OfficialTexts("tau2_bench", source, to_plain(read_tau2_texts(folder)))
    write_official_texts(texts, folder)
    return True


def read_tau2_texts(folder: Path) -> Tau2Texts:
    """What upstream's code asks with. Raises UsageError where it has another form."""
    try:
        return _parse_texts(folder)
    except (IntakeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise UsageError(
            f"the texts of tau2-bench cannot be read: {error}; its form may have changed"
        ) from None


def _parse_texts(folder: Path) -> Tau2Texts:
    def read(name: str) -> str:
        return (folder / name).read_text("utf-8")

    agent, user, loop, config = (
        SourceModule(read(name), name) for name in (_AGENT, _USER, _LOOP, _CONFIG)
    )
    return Tau2Texts(
        tools={
            domain: json.dumps(
                read_tool_schemas(
                    read(f"{_DOMAINS}/{domain}/tools.py"),
                    read(f"{_DOMAINS}/{domain}/data_model.py"),
                    f"{_DOMAINS}/{domain}/tools.py",
                )
            )
            for domain in OFFICIAL_DOMAINS
        },
        agent_prompt=_read_stripped_text(agent, "SYSTEM_PROMPT"),
        agent_instruction=_read_stripped_text(agent, "AGENT_INSTRUCTION"),
        user_prompt=_read_stripped_text(user, "SYSTEM_PROMPT"),
        user_guidelines=read(_GUIDELINES),
        greeting=_read_keyword_text(loop, "DEFAULT_FIRST_AGENT_MESSAGE", "content"),
        temperature=float(config.get_constant("DEFAULT_LLM_TEMPERATURE_AGENT")),
        user_temperature=float(config.get_constant("DEFAULT_LLM_TEMPERATURE_USER")),
        max_steps=int(config.get_constant("DEFAULT_MAX_STEPS")),
        max_errors=int(config.get_constant("DEFAULT_MAX_ERRORS")),
    )


def _read_stripped_text(module: SourceModule, name: str) -> str:
    """A text that is assigned as a literal, or as one with `.strip()` behind it."""
    match module.find_assignment(name):
        case ast.Constant(str(text)):
            return text
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "strip"), [], []):
            return text.strip()
    raise IntakeError(f"{module.path}: {name} is no plain text")


def _read_keyword_text(module: SourceModule, name: str, keyword: str) -> str:
    """The text of a keyword of the call that is assigned."""
    node = module.find_assignment(name)
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg == keyword and isinstance(word.value, ast.Constant):
            return str(word.value.value)
    raise IntakeError(f"{module.path}: {name} has no text {keyword}")
