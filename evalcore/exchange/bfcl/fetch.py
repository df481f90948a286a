"""Fetch the official data and APIs of BFCL: from the wheel of `bfcl-eval` or from the Hub, by known
hashes."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evalcore.access.secrets import scrub_secrets
from evalcore.benchmarks.bfcl.agentic import MATERIAL_FOLDER, SCENARIOS
from evalcore.benchmarks.bfcl.categories import (
    DECODE_ONLY,
    MEMORY,
    MULTI_TURN,
    SHARED_FILES,
    SINGLE_TURN,
    V3_ALIASES,
)
from evalcore.benchmarks.bfcl.format_sensitivity import IDS_FILE
from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    DOCUMENTS,
    OFFICIAL_APIS,
    OFFICIAL_DOCUMENTS,
    OFFICIAL_SOURCES,
    VARIABLE,
    fetched_folder,
    find_installation,
)
from evalcore.benchmarks.bfcl.official_prompts import BfclTexts, LanguageTexts
from evalcore.benchmarks.official_texts import TEXTS_FILE, OfficialTexts, write_official_texts
from evalcore.catalog import CommandResult
from evalcore.errors import EnvironmentFailure, IntakeError, UsageError
from evalcore.exchange.hub_datasets import (
    check_files_present,
    format_fetch,
    install_folder,
    open_scratch_folder,
    read_fetch_note,
    write_data_file,
)
from evalcore.i18n import Note
from evalcore.intake.python_source import SourceModule
from evalcore.records import ProgressCallback, Record, to_plain
from evalcore.settings import Settings

if TYPE_CHECKING:
    import httpx2

# The official files of BFCL that are fetched, as paths within their data folder.

_V3_NAMES = {today: earlier for earlier, today in V3_ALIASES.items()}


def list_official_files(version: str) -> tuple[str, ...]:
    """Every file of the categories, for the version `v3` (without the agentic ones) or `v4`."""
    question_files, answer_files = [], []
    for category in (*SINGLE_TURN, *MULTI_TURN):
        name = _V3_NAMES.get(category, category) if version == "v3" else category
        question_files.append(f"BFCL_{version}_{name}.json")
        if category not in DECODE_ONLY:
            answer_files.append(f"possible_answer/BFCL_{version}_{name}.json")
    if version == "v3":
        docs = [f"{DOCUMENTS}/{name}.json" for name in OFFICIAL_APIS.values()]
        return (*question_files, *answer_files, *docs)
    shared = [f"BFCL_{version}_{name}.json" for name in SHARED_FILES]
    answer_files += [f"possible_answer/{name}" for name in shared]
    docs = [f"{DOCUMENTS}/{name}.json" for name in OFFICIAL_DOCUMENTS]
    docs += [f"{MATERIAL_FOLDER}/memory_{name}.json" for name in SCENARIOS]
    return (*question_files, *shared, *answer_files, *docs)


def wheel_members() -> dict[str, str]:
    """The files to take out of the wheel: their names in it by their paths in the folder."""
    names = (*list_official_files("v4"), IDS_FILE)
    data = {name: f"bfcl_eval/data/{name}" for name in names}
    return data | {name: name for name in OFFICIAL_SOURCES}


# The v3 files of BFCL from the Hugging Face Hub, by plain addresses. The loaders of data-set
# libraries fail on these files, whose lines differ in their types; the Hub's own notes on the data
# set say so. HF_ENDPOINT may name a mirror, as it does for the Hub's tools.

DATASET = "gorilla-llm/Berkeley-Function-Calling-Leaderboard"
_HUB = "https://huggingface.co"
_FILE_LIMIT = 32 << 20  # bytes
_SECONDS = 60.0


def download_bfcl_files(
    names: Sequence[str], progress: ProgressCallback
) -> tuple[Iterator[tuple[str, bytes]], str]:
    """The named files with their contents, and where they are from. Raises UsageError, while
    iterating, without network and for a file that is not there."""
    base = f"{os.environ.get('HF_ENDPOINT') or _HUB}".rstrip("/")
    return _download_contents(base, names, progress), f"the Hub dataset {DATASET}"


def _download_contents(
    base: str, names: Sequence[str], progress: ProgressCallback
) -> Iterator[tuple[str, bytes]]:
    import httpx2

    with httpx2.Client(timeout=_SECONDS, follow_redirects=True) as client:
        for number, name in enumerate(names, 1):
            progress(Note("progress_file", done=number, total=len(names), name=name))
            address = f"{base}/datasets/{DATASET}/resolve/main/{name}"
            try:
                yield name, _download_file(client, address)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise UsageError(
                    Note(
                        "fetch_no_network",
                        address=address,
                        problem=scrub_secrets(str(error)) or type(error).__name__,
                    )
                ) from None


def _download_file(client: httpx2.Client, address: str) -> bytes:
    content = bytearray()
    with client.stream("GET", address) as reply:
        reply.raise_for_status()
        for part in reply.iter_bytes():
            content += part
            if len(content) > _FILE_LIMIT:
                raise UsageError(Note("source_large", path=address, size=_FILE_LIMIT >> 20))
    if not content.lstrip().startswith(b"{"):  # a page to log in at, for example
        raise UsageError(Note("fetch_no_lines", address=address))
    return bytes(content)


# The wheel of `bfcl-eval`: downloaded alone by pip, compared by hash, and read without unpacking.
# The files to read are known by name, so no name of the archive is ever used as a path.

_WHEEL_LIMIT = 64 << 20  # bytes; the real one has 2 MB
_PIP_SECONDS = 600


class BfclRelease(Record, frozen=True):
    """A release of the package `bfcl-eval` and the sha256 of its wheel."""

    version: str
    sha256: str

    @property
    def pip_requirement(self) -> str:
        return f"bfcl-eval=={self.version}"


OFFICIAL_RELEASE = BfclRelease(
    "2026.3.23", "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
)


def download_wheel(folder: Path, release: BfclRelease, progress: ProgressCallback) -> Path:
    """The wheel, downloaded below `folder` by pip, which knows the user's index and proxies. Raises
    UsageError where there is no pip, no network or no such release."""
    hint = Note("fetch_elsewhere", package=release.pip_requirement)
    if find_spec("pip") is None:
        raise UsageError(Note("fetch_no_pip", hint=hint))
    progress(Note("fetch_wheel", package=release.pip_requirement))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]  # a source would be run
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), release.pip_requirement],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(Note("fetch_pip_slow", seconds=_PIP_SECONDS, hint=hint)) from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise UsageError(
            Note(
                "fetch_pip_failed",
                pip_requirement=release.pip_requirement,
                problem=_extract_pip_error(done.stderr),
                hint=hint,
            )
        )
    return wheels[0]


def _extract_pip_error(output: str) -> str:
    errors = [line for line in output.splitlines() if line.startswith("ERROR")]
    return (
        scrub_secrets(errors[-1].removeprefix("ERROR: ")[:300]) if errors else "no reason was given"
    )


def read_wheel_files(
    path: Path, members: Mapping[str, str], release: BfclRelease
) -> tuple[Iterator[tuple[str, bytes]], str]:
    """Some files of a wheel with their contents, and what the wheel is.

    `members` maps the names that the files shall have to those they have in the wheel.

    Raises UsageError for a file that is not exactly this release's wheel; while iterating, for one
    that lacks a file or has one beyond the limits.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _WHEEL_LIMIT else b""
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != release.sha256:
        raise UsageError(
            Note(
                "fetch_other_wheel",
                path=path,
                pip_requirement=release.pip_requirement,
                sha256=release.sha256,
            )
        )
    return _read_wheel_members(
        path, content, members
    ), f"{release.pip_requirement} (sha256 {release.sha256[:12]})"


def _read_wheel_members(
    path: Path, wheel: bytes, members: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            for name, member in members.items():
                with archive.open(member) as file:
                    content = file.read(_FILE_LIMIT + 1)
                if len(content) > _FILE_LIMIT:
                    size = _FILE_LIMIT >> 20
                    raise UsageError(Note("source_member_large", path=path, name=name, size=size))
                yield name, content
    except KeyError as error:
        raise UsageError(f"{path} lacks a file: {error.args[0]}") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise UsageError(Note("fetch_bad_wheel", path=path, error=error)) from None


# What upstream asks with, parsed out of the wheel's modules; see `BfclTexts`.

_SIMULATED = "bfcl_eval/eval_checker/multi_turn_eval/func_source_code"
TEXT_MODULES = {
    "prompts": "bfcl_eval/constants/default_prompts.py",
    "types": "bfcl_eval/constants/type_mappings.py",
    "entries": "bfcl_eval/utils.py",
    "tools": "bfcl_eval/model_handler/utils.py",
    "generation": "bfcl_eval/_llm_response_generation.py",
    "memory_kv": f"{_SIMULATED}/memory_kv.py",
    "memory_vector": f"{_SIMULATED}/memory_vector.py",
    "memory_rec_sum": f"{_SIMULATED}/memory_rec_sum.py",
}
_AGENTIC_TEXTS = (
    "ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT",
    "MEMORY_AGENT_SETTINGS",
    "MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL",
    "MEMORY_BACKEND_INSTRUCTION_UNIFIED",
)


def read_bfcl_texts(sources: Mapping[str, bytes]) -> BfclTexts:
    """The texts of upstream's modules, whose sources are by the names of `TEXT_MODULES`. Raises
    UsageError where they have another form."""
    try:
        modules = {
            name: SourceModule(sources[name].decode("utf-8"), path)
            for name, path in TEXT_MODULES.items()
        }
        prompts = modules["prompts"]
        return BfclTexts(
            forms=prompts.get_constant("OUTPUT_FORMAT_MAPPING"),
            param_types=prompts.get_constant("PARAM_TYPE_MAPPING"),
            styles=prompts.get_constant("PROMPT_STYLE_TEMPLATES"),
            templates=prompts.get_constant("PROMPT_TEMPLATE_MAPPING"),
            default_form=prompts.get_constant("DEFAULT_SYSTEM_PROMPT_FORMAT"),
            functions_added=prompts.get_constant("DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"),
            functions_added_prompt=prompts.get_constant(
                "DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING"
            ),
            languages=_read_language_texts(modules["entries"]),
            float_type=_list_hints(modules["tools"], "_cast_to_openai_type", 1)[0],
            json_types=modules["types"].get_constant("GORILLA_TO_OPENAPI"),
            temperature=float(modules["generation"].get_call_keyword("--temperature", "default")),
            max_steps=int(prompts.get_constant("MAXIMUM_STEP_LIMIT")),
            agentic={name: prompts.get_constant(name) for name in _AGENTIC_TEXTS}
            | {"empty_memory": {name: _read_empty_memory(modules[name], name) for name in MEMORY}},
        )
    except (IntakeError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise UsageError(Note("texts_package", problem=error)) from None


def _read_empty_memory(module: SourceModule, category: str) -> str:
    """What an empty memory says of itself: the one sentence of the method that shows it."""
    name = f"MemoryAPI_{category.removeprefix('memory_')}._dump_core_memory_to_context"
    texts = [text for text in module.list_texts(name) if text.endswith(".")]
    if len(texts) != 1:
        raise IntakeError(f"{module.path}: {name} has {len(texts)} sentences, not 1")
    return texts[0]


def _read_language_texts(module: SourceModule) -> dict[str, LanguageTexts]:
    java, javascript, python = _list_hints(module, "_get_language_specific_hint", 3)
    hints = _list_hints(module, "_func_doc_language_specific_pre_processing", 7)
    return {
        "java": LanguageTexts(java, *hints[:3]),
        "javascript": LanguageTexts(javascript, *hints[3:]),
        "python": LanguageTexts(python),
    }


def _list_hints(module: SourceModule, function: str, count: int) -> list[str]:
    """The texts of a function that are added to a description: those that begin with a space."""
    texts = [text for text in module.list_texts(function) if re.match(r" [A-Z]", text)]
    if len(texts) != count:
        raise IntakeError(f"{module.path}: {function} has {len(texts)} hints, not {count}")
    return texts


# Fetching the official BFCL data: v4 out of the wheel of `bfcl-eval`, v3 from the Hub's files.
# Nothing of the wheel is installed, imported or run here: pip only downloads it, its hash is
# compared, and the known files are read out of it: the data, and the sources of the simulated
# APIs, which a locked process loads when a multi-turn entry needs them. The Hub's files are
# fetched one by one, as its own notes demand. A folder appears as a whole or not at all.

WHEEL, HUB = "wheel", "hub"
LICENCE = "Apache-2.0"


class FetchedBfcl(Record, frozen=True):
    """A folder of official data. `files` holds the sha256 of each by its path within the folder;
    `already` tells that it was there before and nothing was fetched."""

    source: str
    version: str
    origin: str
    licence: str
    files: dict[str, str]
    folder: str = ""
    already: bool = False


def default_folder(settings: Settings, source: str = WHEEL) -> Path:
    """Where the data of a source goes unless told otherwise: below the data folder."""
    folder = fetched_folder(settings)
    return folder.with_name("bfcl-v3") if source == HUB else folder


def fetch_bfcl(
    folder: Path,
    source: str | Path = WHEEL,
    progress: ProgressCallback = print,
    release: BfclRelease = OFFICIAL_RELEASE,
) -> FetchedBfcl:
    """Fetch v4 (`wheel`), v3 (`hub`), or v4 from a wheel that somebody downloaded (a path).

    A complete folder of the same kind is left in place. Raises UsageError for a folder that holds
    anything else, without network, and for a wheel that is not the one whose hash is known.
    """
    version = "v3" if source == HUB else "v4"
    existing = _find_fetched_bfcl(folder, version)
    if existing is not None:
        return existing
    with open_scratch_folder(folder) as scratch:
        ready, path = scratch / "data", None
        if source == HUB:
            contents, origin = download_bfcl_files(list_official_files(version), progress)
        else:
            path = download_wheel(scratch, release, progress) if source == WHEEL else Path(source)
            contents, origin = read_wheel_files(path, wheel_members(), release)
        hashes = {name: write_data_file(ready / name, content) for name, content in contents}
        if path is not None:
            sources = dict(read_wheel_files(path, TEXT_MODULES, release)[0])
            texts = OfficialTexts("bfcl", origin, to_plain(read_bfcl_texts(sources)))
            write_official_texts(texts, ready)
        kind = HUB if source == HUB else WHEEL
        fetched = install_folder(ready, folder, FetchedBfcl(kind, version, origin, LICENCE, hashes))
    return fetched


def _find_fetched_bfcl(folder: Path, version: str) -> FetchedBfcl | None:
    """What was fetched before, None for a folder that is not there or empty."""
    fetched = read_fetch_note(folder, FetchedBfcl)
    if fetched is None:
        return None
    if fetched.version != version:
        raise UsageError(
            Note("bfcl_other_version", folder=folder, version=fetched.version, other=version)
        )
    check_files_present(
        folder, list_official_files(version) if version == "v3" else [*wheel_members(), TEXTS_FILE]
    )
    return msgspec.structs.replace(fetched, folder=str(folder), already=True)


def format_bfcl_fetch(fetched: FetchedBfcl) -> str:
    """What a person is told at the end."""
    origin = f"BFCL {fetched.version}, {fetched.origin}, {fetched.licence}"
    return format_fetch(fetched, origin, "bfcl", _build_command_prefix(fetched))


def _build_command_prefix(fetched: FetchedBfcl) -> str:
    """What has to stand before the command so that it finds the official APIs."""
    if (Path(fetched.folder) / OFFICIAL_SOURCES[0]).is_file():
        return "" if _finds_apis() else f"{VARIABLE}={shlex.quote(fetched.folder)} "
    return "" if _finds_apis() else "evalcore datasets fetch bfcl && "  # for its multi-turn entries


def _finds_apis() -> bool:
    try:
        return find_installation() is not None
    except EnvironmentFailure:
        return False


def run_bfcl_fetch(
    settings: Settings,
    folder: Path | None,
    flags: Mapping[str, str],
    progress: ProgressCallback,
    token: str | None = None,
) -> CommandResult:
    """`evalcore datasets fetch bfcl`; see `CommandCard`."""
    wheel, source = flags["from"], flags["source"] or WHEEL
    if wheel and source == HUB:
        raise UsageError(Note("cli_bfcl_from_and_source"))
    fetched = fetch_bfcl(
        folder or default_folder(settings, source), Path(wheel) if wheel else source, progress
    )
    return CommandResult(fetched, format_bfcl_fetch(fetched))
