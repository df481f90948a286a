"""Fetch tau2-bench out of a checkout or an archive of it: its official data, and the texts that it
asks with, which are parsed out of its source.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.benchmarks.tau2_bench.card import BANK, OFFICIAL_DOMAINS, RETRIEVALS
from evalcore.benchmarks.tau2_bench.dataset import ALL, load_tau2_samples
from evalcore.benchmarks.tau2_bench.environment.loaders import (
    CHECKOUT_FOLDER,
    OFFICIAL_DATABASES,
    read_bank_prompt,
)
from evalcore.benchmarks.tau2_bench.official import Tau2Texts
from evalcore.benchmarks.tau2_bench.official_bank import BANK_MODULES, BankTexts
from evalcore.catalog import CommandResult
from evalcore.errors import IntakeError, UsageError
from evalcore.exchange.tau2_bench_files import OfficialFiles, fetch_checkout
from evalcore.i18n import Note
from evalcore.intake.python_source import SourceModule
from evalcore.intake.python_tools import find_tool_class, read_tool_schemas
from evalcore.records import ProgressCallback, Record, to_plain
from evalcore.settings import Settings

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


_BANK_SOURCES = {name: f"src/{name.replace('.', '/')}.py" for name in BANK_MODULES}
_BANK_MODELS = f"{_DOMAINS}/{BANK}/data_model.py"
_BANK_TOOLS, _BANK_SEARCHES = list(_BANK_SOURCES)[-2:]
#: What holds the bank's tools, and the prompt of each way to its documents.
_BANK_CLASSES = {
    "assistant": (_BANK_TOOLS, "KnowledgeTools"),
    "user": (_BANK_TOOLS, "KnowledgeUserTools"),
    "KB_search": (_BANK_SEARCHES, "KBSearchMixin"),
    "grep": (_BANK_SEARCHES, "GrepMixin"),
}
_BANK_PROMPTS = {
    "bm25": "classic_rag_bm25_no_grep",
    "bm25_grep": "classic_rag_bm25",
    "golden_retrieval": "required_docs",
}


class Toolkit(Record, frozen=True):
    """Where the tools of a side are: in the classes of a file, or its `owner`, whose annotations
    name what `models` defines."""

    path: str
    models: str
    owner: str = ""

    def read_schemas(self, folder: Path) -> str:
        """The schemas as JSON text. Raises IntakeError for source of another form."""
        source, models = ((folder / name).read_text("utf-8") for name in (self.path, self.models))
        return json.dumps(read_tool_schemas(source, models, self.path, self.owner))


def _locate_toolkit(domain: str, side: str = "") -> Toolkit:
    folder = f"{_DOMAINS}/{domain}/{side}"
    return Toolkit(f"{folder}tools.py", f"{folder}data_model.py")


#: The toolkits of the agent's side and of the user's, by domain.
_AGENT_TOOLKITS = {domain: _locate_toolkit(domain) for domain in OFFICIAL_DOMAINS}
_USER_TOOLKITS = {"telecom": _locate_toolkit("telecom", "user_")}
#: What of a checkout is read, and what of it for the bank alone, which older ones lack.
TEXT_FILES = (
    *(_AGENT, _USER, _LOOP, _CONFIG, _GUIDELINES, _GUIDELINES_TOOLS),
    *(
        name
        for kit in (*_AGENT_TOOLKITS.values(), *_USER_TOOLKITS.values())
        for name in (kit.path, kit.models)
    ),
)
_BANK_FILES = (*_BANK_SOURCES.values(), _BANK_MODELS)


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
        raise UsageError(Note("tau2_texts_unread", problem=error)) from None


def _parse_texts(folder: Path) -> Tau2Texts:
    def read(name: str) -> str:
        return (folder / name).read_text("utf-8")

    agent, user, loop, config = (
        SourceModule(read(name), name) for name in (_AGENT, _USER, _LOOP, _CONFIG)
    )

    return Tau2Texts(
        tools={domain: kit.read_schemas(folder) for domain, kit in _AGENT_TOOLKITS.items()},
        user_tools={domain: kit.read_schemas(folder) for domain, kit in _USER_TOOLKITS.items()},
        toolkits={
            f"{domain}/{side}": find_tool_class(read(kit.path), kit.path)
            for side, by_domain in (("assistant", _AGENT_TOOLKITS), ("user", _USER_TOOLKITS))
            for domain, kit in by_domain.items()
        },
        bank=_read_bank_texts(folder),
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


def _read_bank_texts(folder: Path) -> BankTexts | None:
    """The bank's, None where the checkout has none."""
    if not all((folder / name).is_file() for name in _BANK_FILES):
        return None
    kits = {
        side: Toolkit(_BANK_SOURCES[module], _BANK_MODELS, owner)
        for side, (module, owner) in _BANK_CLASSES.items()
    }
    home = folder / CHECKOUT_FOLDER / BANK
    return BankTexts(
        {name: (folder / path).read_text("utf-8") for name, path in _BANK_SOURCES.items()},
        _BANK_CLASSES,
        {name: read_bank_prompt(home, _BANK_PROMPTS.get(name, name)) for name in RETRIEVALS},
        {side: kit.read_schemas(folder) for side, kit in kits.items()},
    )


def _read_stripped_text(module: SourceModule, name: str) -> str:
    """A text that is assigned as a literal, or as one with `.strip()` behind it."""
    match module.find_assignment(name):
        case ast.Constant(str(text)):
            return text
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "strip"), [], []):
            return text.strip()
    raise IntakeError(Note("source_no_plain", path=module.path, name=name))


def _read_keyword_text(module: SourceModule, name: str, keyword: str) -> str:
    """The text of a keyword of the call that is assigned."""
    node = module.find_assignment(name)
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg == keyword and isinstance(word.value, ast.Constant):
            return str(word.value.value)
    raise IntakeError(Note("source_no_keyword", path=module.path, name=name, keyword=keyword))


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
        raise IntakeError(Note("source_form", path=module.path, names=f"{_SETTINGS}, {_SPEED}"))
    return endings


_DOMAIN_FILES = {
    "retail": ("db.json", "policy.md", "tasks.json", "split_tasks.json"),
    "airline": ("db.json", "policy.md", "tasks.json", "split_tasks.json"),
    "telecom": (
        *("db.toml", "user_db.toml", "main_policy.md", "tech_support_manual.md"),
        *("tasks.json", "split_tasks.json"),
    ),
    BANK: (
        *("db.json", "tasks/*", "documents/*", "prompts/classic_rag_bm25.md"),
        "prompts/components/*",
    ),
}
_EXPECTED = tuple(
    f"{CHECKOUT_FOLDER}/{domain}/{name}"
    for domain, names in _DOMAIN_FILES.items()
    for name in names
)
_KEPT = (
    *_EXPECTED,
    f"{CHECKOUT_FOLDER}/telecom/tasks_small.json",
    f"{CHECKOUT_FOLDER}/telecom/*db.json",
    f"{CHECKOUT_FOLDER}/{BANK}/prompts/*.md",
    "data/tau2/user_simulator/*.md",
    *TEXT_FILES,
    *_BANK_FILES,
)


def run_tau2_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """Copy the official data of tau2-bench out of what `--from` names, and say what was found."""
    official = OfficialFiles(
        "tau2_bench",
        _EXPECTED,
        _KEPT,
        lambda copy: load_tau2_samples(DatasetSource(str(copy)), ALL, ""),
        write_tau2_texts,
        {f"{CHECKOUT_FOLDER}/{name}": digest for name, digest in OFFICIAL_DATABASES.items()},
    )
    return fetch_checkout(official, settings, folder, flags["from"], progress)
