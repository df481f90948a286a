"""Fetch tau-bench from a checkout, an archive or a download: databases, policies, tasks, and the
texts that it asks with.

Its code is parsed and never imported or run: tool schemas and prompts follow from literals.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalcore.benchmarks.official_texts import OfficialTexts, write_official_texts
from evalcore.benchmarks.tau_bench.environment.loaders import DOMAINS
from evalcore.benchmarks.tau_bench.official import TauTexts
from evalcore.catalog import CommandResult
from evalcore.errors import IntakeError, UsageError
from evalcore.exchange.hub_datasets import (
    FetchedDataset,
    find_fetched_dataset,
    format_fetch,
    install_folder,
    open_scratch_folder,
    write_data_file,
)
from evalcore.exchange.source_trees import (
    SourceTree,
    download_commit,
    open_source_tree,
    read_source_text,
)
from evalcore.i18n import Note
from evalcore.intake.python_source import SLOT, SourceModule
from evalcore.records import ProgressCallback, content_hash, to_plain
from evalcore.settings import Settings

BENCHMARK = "tau_bench"
REPOSITORY = "sierra-research/tau-bench"
#: The commit that is downloaded, and the hash of the data files that it has.
COMMIT = "59a200c6d575d595120f1cb70fea53cef0632f6b"
DATA_HASH = "e74800252d03d353"
LICENCE = "MIT"
VERSION = "v1"
_ENVS = "tau_bench/envs"
_AGENTS = "tau_bench/agents"


def fetch_tau(
    folder: Path, source: Path | None = None, progress: ProgressCallback = print
) -> FetchedDataset:
    """Fetch the data and the texts, from a checkout or archive where `source` names one. A complete
    folder is left in place. Raises UsageError for a folder that holds anything else, for a source
    that is no tau-bench, and without network."""
    existing = find_fetched_dataset(folder, REPOSITORY, VERSION)
    if existing is not None:
        return existing
    with open_scratch_folder(folder) as scratch:
        path = source or download_commit(REPOSITORY, COMMIT, scratch, progress)
        ready = scratch / "data"
        ready.mkdir()
        with open_source_tree(path) as tree:
            files = _iter_data_files(tree, str(path), progress)
            hashes = {name: write_data_file(ready / name, content) for name, content in files}
            texts = read_tau_texts(tree, str(path))
        commit = COMMIT if content_hash(hashes) == DATA_HASH else "unknown"
        official = OfficialTexts(BENCHMARK, f"{REPOSITORY}@{commit[:12]}", to_plain(texts))
        write_official_texts(official, ready)
        fetched = install_folder(
            ready, folder, FetchedDataset(REPOSITORY, VERSION, commit, LICENCE, hashes)
        )
    return fetched


def _iter_data_files(
    tree: SourceTree, origin: str, progress: ProgressCallback
) -> Iterator[tuple[str, bytes]]:
    """The files of each domain that is whole; what is absent is reported. Raises UsageError where
    no domain is."""
    whole = 0
    for domain, (tables, _) in DOMAINS.items():
        names = [f"{_ENVS}/{domain}/data/{table}.json" for table in tables]
        names.append(f"{_ENVS}/{domain}/wiki.md")
        tasks = tree.list_files(f"{_ENVS}/{domain}/tasks_*.py")
        contents = {name: tree.read_bytes(name) for name in (*names, *tasks)}
        missing = [name for name, content in contents.items() if content is None]
        if missing or not tasks:
            lack = ", ".join(missing) or f"{_ENVS}/{domain}/tasks_*.py"
            progress(Note("fetch_no_domain", origin=origin, names=lack, domain=domain))
            continue
        whole += 1
        yield from ((name, content) for name, content in contents.items() if content is not None)
    if not whole:
        raise UsageError(Note("tau_no_checkout", source=origin, repository=REPOSITORY))


def read_tau_texts(tree: SourceTree, origin: str) -> TauTexts:
    """What upstream's code asks with. Raises UsageError where it has another form."""
    try:
        return _parse_texts(tree, origin)
    except IntakeError as error:
        raise UsageError(
            Note("tau_texts_unread", origin=origin, problem=error, commit=COMMIT[:12])
        ) from None


def _parse_texts(tree: SourceTree, origin: str) -> TauTexts:
    def read_module(name: str, names: Mapping[str, Any] | None = None) -> SourceModule:
        return SourceModule(read_source_text(tree, name, origin), name, names)

    types = read_module("tau_bench/types.py")
    agent = read_module(f"{_AGENTS}/chat_react_agent.py", types.constants)
    caller = read_module(f"{_AGENTS}/tool_calling_agent.py")
    user = read_module(f"{_ENVS}/user.py")
    prompt = user.evaluate_return("LLMUserSimulationEnv.build_system_prompt", {"instruction": SLOT})
    head, slot, tail = prompt.partition(SLOT)
    if not slot:
        raise IntakeError(Note("source_no_instruction", path=user.path))
    return TauTexts(
        tools={domain: json.dumps(_read_tool_schemas(tree, origin, domain)) for domain in DOMAINS},
        tools_heading=_find_text(agent, "ChatReActAgent.__init__", "tools"),
        instructions={
            "act": agent.get_constant("ACT_INSTRUCTION"),
            "react": agent.get_constant("REACT_INSTRUCTION"),
        },
        result_prefix=_find_text(agent, "ChatReActAgent.solve", "output"),
        user_prompt=(head, tail),
        greeting=_find_text(user, "LLMUserSimulationEnv.reset", "help"),
        temperature=float(types.get_constant("RunConfig.temperature")),
        max_steps=int(caller.get_argument_default("ToolCallingAgent.solve", "max_num_steps")),
    )


def _read_tool_schemas(tree: SourceTree, origin: str, domain: str) -> list[Any]:
    """The schemas of a domain's tools, in upstream's order."""
    folder = f"{_ENVS}/{domain}/tools"
    path = f"{folder}/__init__.py"
    package = SourceModule(read_source_text(tree, path, origin), path)
    modules = package.list_imports()
    schemas = []
    for name in _list_tool_classes(package):
        if name not in modules:
            raise IntakeError(Note("source_no_import", path=path, name=name))
        module = f"{folder}/{modules[name]}.py"
        source = SourceModule(read_source_text(tree, module, origin), module)
        schemas.append(source.evaluate_return(f"{name}.get_info"))
    return schemas


def _list_tool_classes(package: SourceModule) -> list[str]:
    node = package.find_assignment("ALL_TOOLS")
    if not isinstance(node, ast.List) or not all(isinstance(each, ast.Name) for each in node.elts):
        raise IntakeError(Note("source_no_list", path=package.path, name="ALL_TOOLS"))
    return [each.id for each in node.elts if isinstance(each, ast.Name)]


def _find_text(module: SourceModule, function: str, word: str) -> str:
    """The one text of a function that has a word; raises IntakeError for none and for several."""
    texts = {text for text in module.list_texts(function) if word in text and " " in text}
    if len(texts) != 1:
        raise IntakeError(
            Note("source_many_texts", path=module.path, name=function, count=len(texts), word=word)
        )
    return texts.pop()


def format_tau_fetch(fetched: FetchedDataset) -> str:
    """What was fetched, and the command that asks as upstream does."""
    options = ["protocol=official", "split=test", "use_llm_user=true", "user_model=MODEL"]
    flags = " ".join(f"--option {BENCHMARK}.{option}" for option in options)
    origin = f"{fetched.part}: {fetched.dataset}@{fetched.commit[:12]}, {fetched.licence}"
    return format_fetch(fetched, origin, f"{BENCHMARK} {flags}")


def run_tau_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """`evalcore datasets fetch tau_bench`; see `CommandCard`."""
    folder = folder or settings.data_dir / "datasets" / f"tau-{VERSION}"
    source = Path(flags["from"]) if flags["from"] else None
    fetched = fetch_tau(folder, source, progress)
    return CommandResult(fetched, format_tau_fetch(fetched))
