"""The texts that tau2-bench asks with, parsed out of its checkout; nothing of it is run."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.benchmarks.tau2_bench.card import OFFICIAL_DOMAINS
from evalcore.benchmarks.tau2_bench.official import Tau2Texts
from evalcore.errors import IntakeError, UsageError
from evalcore.intake.python_source import SourceModule
from evalcore.intake.python_tools import find_tool_class, read_tool_schemas
from evalcore.records import Record, to_plain

_AGENT = "src/tau2/agent/llm_agent.py"
_USER = "src/tau2/user/user_simulator.py"
_LOOP = "src/tau2/orchestrator/orchestrator.py"
_CONFIG = "src/tau2/config.py"
_GUIDELINES = "data/tau2/user_simulator/simulation_guidelines.md"
_GUIDELINES_TOOLS = "data/tau2/user_simulator/simulation_guidelines_tools.md"
_DOMAINS = "src/tau2/domains"
_PHONE_CLASS = "TelecomUserTools"
_SETTINGS, _SPEED = "check_apn_settings", "run_speed_test"
_PHONE = f"{_DOMAINS}/telecom/user_tools.py"


class Toolkit(Record, frozen=True):
    """Where the tools of a side are: in the classes of a file, whose annotations name what `models`
    defines."""

    path: str
    models: str


def _locate_toolkit(domain: str, side: str = "") -> tuple[Toolkit, ...]:
    folder = f"{_DOMAINS}/{domain}/{side}"
    return (Toolkit(f"{folder}tools.py", f"{folder}data_model.py"),)


#: The toolkits of the agent's side and of the user's, by domain, in the order of their tools.
_AGENT_TOOLKITS = {domain: _locate_toolkit(domain) for domain in OFFICIAL_DOMAINS}
_USER_TOOLKITS = {"telecom": _locate_toolkit("telecom", "user_")}
#: What of a checkout is read.
TEXT_FILES = tuple(
    dict.fromkeys(
        (
            *(_AGENT, _USER, _LOOP, _CONFIG, _GUIDELINES, _GUIDELINES_TOOLS),
            *(
                name
                for kits in (*_AGENT_TOOLKITS.values(), *_USER_TOOLKITS.values())
                for kit in kits
                for name in (kit.path, kit.models)
            ),
        )
    )
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

    def read_toolkits(by_domain: Mapping[str, Sequence[Toolkit]]) -> dict[str, str]:
        return {
            domain: json.dumps(
                [
                    schema
                    for kit in kits
                    for schema in read_tool_schemas(read(kit.path), read(kit.models), kit.path)
                ]
            )
            for domain, kits in by_domain.items()
        }

    return Tau2Texts(
        tools=read_toolkits(_AGENT_TOOLKITS),
        user_tools=read_toolkits(_USER_TOOLKITS),
        toolkits={
            f"{domain}/{side}": find_tool_class(read(kits[-1].path), kits[-1].path)
            for side, by_domain in (("assistant", _AGENT_TOOLKITS), ("user", _USER_TOOLKITS))
            for domain, kits in by_domain.items()
        },
        endings=_read_phone_endings(SourceModule(read(_PHONE), _PHONE)),
        agent_prompt=_read_stripped_text(agent, "SYSTEM_PROMPT"),
        agent_instruction=_read_stripped_text(agent, "AGENT_INSTRUCTION"),
        user_prompt=_read_stripped_text(user, "SYSTEM_PROMPT"),
        user_guidelines=read(_GUIDELINES),
        user_guidelines_tools=read(_GUIDELINES_TOOLS),
        greeting=_read_keyword_text(loop, "DEFAULT_FIRST_AGENT_MESSAGE", "content"),
        temperature=float(config.get_constant("DEFAULT_LLM_TEMPERATURE_AGENT")),
        user_temperature=float(config.get_constant("DEFAULT_LLM_TEMPERATURE_USER")),
        max_steps=int(config.get_constant("DEFAULT_MAX_STEPS")),
        max_errors=int(config.get_constant("DEFAULT_MAX_ERRORS")),
        seed=int(config.get_constant("DEFAULT_SEED")),
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


def _read_phone_endings(module: SourceModule) -> dict[str, str]:
    """What ends the answers of two tools of the phone: on its settings always, on its speed by how
    good it is."""
    endings = {}
    for node in ast.walk(module.find_function(f"{_PHONE_CLASS}.{_SETTINGS}")):
        match node:
            case ast.Return(ast.JoinedStr([*_, ast.Constant(str(text))])):
                endings[_SETTINGS] = text
    for node in ast.walk(module.find_function(f"{_PHONE_CLASS}.{_SPEED}")):
        match node:
            case ast.If(
                ast.Compare(ast.Name(), [ast.Eq()], [ast.Constant(str(quality))]),
                [ast.Assign([ast.Name()], ast.Constant(str(text)))],
            ):
                endings[f"{_SPEED}/{quality}"] = f" {text}"
    if len(endings) < 3:
        raise IntakeError(f"{module.path}: {_SETTINGS} and {_SPEED} have another form")
    return endings
