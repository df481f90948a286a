"""Where the simulated APIs come from: our own, or those of the official package `bfcl-eval`.

The official ones are looked for in the folder that EVALBOARD_BFCL_EVAL names (it holds
`bfcl_eval/`), then in this environment, then in what `evalcore datasets fetch bfcl` took out of the
package. Nothing of it is imported here: a worker process does, and only the modules of the APIs.
Documents of tools lie in `multi_turn_func_doc/` of a dataset's folder, one JSON object a line;
those of the official APIs also come with the package.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalcore.errors import DatasetError, EnvironmentFailure
from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.settings import Settings, load_settings

VARIABLE = "EVALBOARD_BFCL_EVAL"
INSTALL = "evalcore datasets fetch bfcl (or pip install --no-deps bfcl-eval)"
DOCUMENTS = "multi_turn_func_doc"

_OFFICIAL_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_OFFICIAL_DATA = Path("bfcl_eval", "data")
_OWN_PACKAGE = "evalcore.benchmarks.bfcl.simulated"

#: The module of every class and, of the same name, the file with its documents.
OFFICIAL_APIS = MappingProxyType(
    {
        "GorillaFileSystem": "gorilla_file_system",
        "MathAPI": "math_api",
        "MessageAPI": "message_api",
        "TicketAPI": "ticket_api",
        "TradingBot": "trading_bot",
        "TravelAPI": "travel_booking",
        "TwitterAPI": "posting_api",
        "VehicleControlAPI": "vehicle_control",
    }
)
#: Files of the package that the official APIs are made of; `long_context` fills their scenarios.
OFFICIAL_SOURCES = (
    *("/".join([*_OFFICIAL_PACKAGE.split(".")[:depth], "__init__.py"]) for depth in range(1, 5)),
    *(
        f"{_OFFICIAL_PACKAGE.replace('.', '/')}/{module}.py"
        for module in (*OFFICIAL_APIS.values(), "long_context")
    ),
)
OWN_APIS = MappingProxyType({"Greenhouse": "greenhouse", "LibraryDesk": "library_desk"})
_STEMS = {**OFFICIAL_APIS, **OWN_APIS}


class Api(Record, frozen=True):
    """A simulated API: `import_path` is "module:Class", `documents` describe its tools."""

    name: str
    import_path: str
    documents: tuple[dict[str, Any], ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """The names that may be called: the documented ones."""
        return tuple(document["name"] for document in self.documents)


class Installation(Record, frozen=True):
    """An official package: the folder that holds `bfcl_eval/`, and its version if known."""

    folder: str
    version: str = ""


def find_installation() -> Installation | None:
    """The official package or the part of it that was fetched, if there is one.

    Raises EnvironmentFailure where EVALBOARD_BFCL_EVAL names a folder without it.
    """
    named = os.environ.get(VARIABLE, "")
    folder = (
        Path(named).expanduser().resolve()
        if named
        else _find_installed_package() or _find_fetched_package()
    )
    if folder is None:
        return None
    if not _holds_apis(folder):
        raise EnvironmentFailure(f"{VARIABLE}={named} holds no bfcl_eval/; or {INSTALL}")
    return Installation(str(folder), _read_package_version(folder))


def fetched_folder(settings: Settings) -> Path:
    """Where `evalcore datasets fetch bfcl` puts official data and APIs by default."""
    return settings.data_dir / "datasets" / "bfcl-v4"


def load_documents(
    name: str, folders: Sequence[Path], official: Installation | None
) -> tuple[dict[str, Any], ...]:
    """The documents of a class's tools, from the first folder that has them or the official
    package; none where nothing has.

    Raises DatasetError for a class that nobody knows, and what `read_documents` raises.
    """
    if name not in _STEMS:
        raise DatasetError("a multi-turn entry", None, "involved_classes", f"unknown: {name!r}")
    if official is not None:
        folders = [*folders, Path(official.folder) / _OFFICIAL_DATA, Path(official.folder)]
    files = [folder / DOCUMENTS / f"{_STEMS[name]}.json" for folder in folders]
    path = next((path for path in files if path.is_file()), None)
    return read_documents(path) if path else ()


def find_api(name: str, folders: Sequence[Path], official: Installation | None) -> Api:
    """The API of a class with its documents.

    Raises EnvironmentFailure where the class is official and not installed or has no documents,
    and what `load_documents` raises.
    """
    documents = load_documents(name, folders, official)
    if name in OFFICIAL_APIS and official is None:
        raise EnvironmentFailure(f"{name} is simulated by the official package: {INSTALL}")
    if not documents:
        path = f"{DOCUMENTS}/{_STEMS[name]}.json"
        raise EnvironmentFailure(f"no folder holds {path}, the tools of {name}")
    package = _OWN_PACKAGE if name in OWN_APIS else _OFFICIAL_PACKAGE
    return Api(name, f"{package}.{_STEMS[name]}:{name}", documents)


def read_documents(path: Path) -> tuple[dict[str, Any], ...]:
    """The documents of a file; raises DatasetError naming the line that has no usable name."""
    documents = []
    for line, row in read_rows(path):
        name = row.get("name")
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise DatasetError(path, line, "name", "must be the public name of a tool")
        documents.append(row)
    return tuple(documents)


def _find_installed_package() -> Path | None:
    spec = find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))).parent
    return folder if _holds_apis(folder) else None


def _find_fetched_package() -> Path | None:
    folder = fetched_folder(load_settings()).resolve()
    return folder if _holds_apis(folder) else None


def _holds_apis(folder: Path) -> bool:
    return (folder / Path(*_OFFICIAL_PACKAGE.split("."))).is_dir()


def _read_package_version(folder: Path) -> str:
    matches = distributions(path=[str(folder)], name="bfcl_eval")
    return next((distribution.version for distribution in matches), "")
