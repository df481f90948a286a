"""What environment a task of SWE-bench needs: from upstream's package or from a file.

Upstream's specifications are Python source in the wheel of `swebench` 4.1.0, the last to have them.
They are read out of the wheel by a small evaluator of assignments, never imported or run.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import operator
import re
import shlex
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import FileError, UsageError
from evalcore.i18n import Note
from evalcore.records import Record

RELEASE = "swebench==4.1.0"
SHA256 = "1243776f720047cc9e20a427f7a52b75c13a07abda6154fb60fe77f82ec8af57"
_MEMBER = "swebench/harness/constants/python.py"
_SPECS, _REQUIREMENTS = "MAP_REPO_VERSION_TO_SPECS_PY", "MAP_REPO_TO_REQS_PATHS"
_DEFAULT_PYTHON = "3.11"


class EnvironmentSpec(Record, frozen=True):
    """What is installed for one version of a repository: `python` is a version, `packages` are
    requirements, `requirements` files of the repository that list more, `project` what is installed
    of the repository itself (`.` or `.[test]`), "" for nothing. `commands` are shell commands that
    upstream runs and we do not."""

    python: str = _DEFAULT_PYTHON
    packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    project: str = "."
    commands: tuple[str, ...] = ()


#: A specification by (repository, version).
Specs = Mapping[tuple[str, str], EnvironmentSpec]


def read_specs_file(path: Path) -> Specs:
    """Specifications of a JSON file, {repository: {version: {python, packages, ...}}}, or those of
    upstream's wheel. Raises UsageError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(path, error) from None
    if path.suffix == ".whl":
        return read_wheel_specs(content, str(path))
    try:
        rows = msgspec.json.decode(content, type=dict[str, dict[str, EnvironmentSpec]])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise FileError(path, error) from None
    return {(repo, version): spec for repo, by in rows.items() for version, spec in by.items()}


def read_wheel_specs(content: bytes, name: str) -> Specs:
    """The specifications in upstream's wheel. Raises UsageError for any other file."""
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise UsageError(Note("swe_other_wheel", name=name, release=RELEASE, hash=SHA256))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return parse_specs(archive.read(_MEMBER).decode("utf-8"))


def parse_specs(source: str) -> Specs:
    """The specifications that a module of upstream's assigns. Raises UsageError where it does not
    assign them in a way that can be read without running it."""
    names = _evaluate_module(ast.parse(source))
    if not isinstance(names.get(_SPECS), dict):
        raise UsageError(Note("swe_no_specs", name=_SPECS))
    files = names.get(_REQUIREMENTS) or {}
    return {
        (repo, version): _build_spec(row, files.get(repo) or [])
        for repo, by_version in names[_SPECS].items()
        for version, row in by_version.items()
    }


_INSTALL = re.compile(r"pip install .*?([\"']?)(\.(?:\[[\w, -]+\])?)\1(?:\s|$)")


def _build_spec(row: Mapping[str, Any], files: list[str]) -> EnvironmentSpec:
    packages = str(row.get("packages") or "")
    listed = packages in ("requirements.txt", "environment.yml")
    install = str(row.get("install") or "")
    match = _INSTALL.search(install)
    return EnvironmentSpec(
        python=str(row.get("python") or _DEFAULT_PYTHON),
        packages=(
            *(() if listed else shlex.split(packages)),
            *map(str, row.get("pip_packages") or ()),
        ),
        requirements=tuple(files) if packages == "requirements.txt" else (),
        project=match[2] if match else "",
        commands=(
            *map(str, row.get("pre_install") or ()),
            *(() if match or not install else (install,)),
            *((packages,) if packages == "environment.yml" else ()),
        ),
    )


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mod: operator.mod,
}


def _evaluate_module(tree: ast.Module) -> dict[str, Any]:
    """The values of a module's names; a statement of another kind is passed over."""
    names: dict[str, Any] = {}
    for line in tree.body:
        try:
            _run_statement(line, names)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            continue
    return names


def _run_statement(line: ast.stmt, names: dict[str, Any]) -> None:
    match line:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            names[name] = _evaluate(value, names)
        case ast.Assign(targets=[ast.Subscript(value=holder, slice=key)], value=value):
            _evaluate(holder, names)[_evaluate(key, names)] = _evaluate(value, names)
        case ast.AugAssign(target=ast.Subscript(value=holder, slice=key), op=ast.Add(), value=more):
            rows, at = _evaluate(holder, names), _evaluate(key, names)
            rows[at] = rows[at] + _evaluate(more, names)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=holder, attr="update" | "extend" as name), args=[more]
            )
        ):
            getattr(_evaluate(holder, names), name)(_evaluate(more, names))
        case ast.For(target=ast.Name(id=name), iter=values, body=body):
            for value in _evaluate(values, names):
                names[name] = value
                for inner in body:
                    _run_statement(inner, names)


def _evaluate(node: ast.AST | None, names: Mapping[str, Any]) -> Any:
    """The value of an expression of literals and names. Raises ValueError for others, KeyError for
    an unknown name."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [_evaluate(element, names) for element in elements]
        case ast.Dict(keys=keys, values=values):
            made: dict[Any, Any] = {}
            for key, value in zip(keys, values, strict=True):
                found = _evaluate(value, names)
                made |= found if key is None else {_evaluate(key, names): found}
            return made
        case ast.DictComp(
            key=key,
            value=value,
            generators=[ast.comprehension(target=ast.Name(id=name), iter=values, ifs=[])],
        ):
            return {
                _evaluate(key, inner): _evaluate(value, inner)
                for one in _evaluate(values, names)
                for inner in ({**names, name: one},)
            }
        case ast.Subscript(value=holder, slice=key):
            return _evaluate(holder, names)[_evaluate(key, names)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, names), _evaluate(right, names))
    raise ValueError(type(node).__name__)


def format_spec(spec: EnvironmentSpec) -> str:
    return json.dumps(msgspec.to_builtins(spec), sort_keys=True)
