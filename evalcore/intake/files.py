"""Files from outside, bounded: bytes, zip archives, and YAML, TOML or JSON that people write."""

from __future__ import annotations

import math
import re
import stat
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any

from evalcore.errors import FileError, IntakeError, UsageError
from evalcore.i18n import Note
from evalcore.intake.json_text import is_deeper, parse_json, replace_surrogates

# Files from outside: bytes up to a limit, and zip archives that nobody vouches for. No way out of
# the folder, no bomb, no link: all names and kinds of an archive are checked before anything is
# written, and sizes while writing, because what an archive says of its sizes need not be true.

#: The others need as much memory as the archive says (LZMA), or are unknown.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
#: What `zipfile` raises for an archive that is damaged, or not what it says.
_DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError)
_LONGEST_NAME, _LONGEST_PATH = 255, 1024
_CHUNK = 1 << 16
#: Below so many bytes a high ratio is no sign of anything.
_SMALL = 1 << 20


@dataclass(frozen=True)
class ArchiveLimits:
    """Bytes of all members together, their number, and unpacked bytes per packed byte of each."""

    total_bytes: int = 256 << 20
    members: int = 10_000
    ratio: int = 200


_DEFAULT = ArchiveLimits()


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file; raises UsageError for one that cannot be read or has more than
    `limit` bytes, of which no more are read."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise FileError(path, error) from None
    if len(content) > limit:
        raise UsageError(Note("file_large", path=path, limit=limit))
    return content


def unpack_zip(
    archive: Path, folder: Path, limits: ArchiveLimits = _DEFAULT
) -> tuple[PurePosixPath, ...]:
    """Unpack `archive` into `folder`, which is made, and return the files' paths in it.

    `folder` must be one that no untrusted program is writing to. Raises UsageError, naming archive
    and member, for whatever is not a plain small enough file; what was written so far then stays.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            return _unpack_members(opened, archive, folder, limits)
    except _DAMAGE as problem:
        raise FileError(archive, Note("bundle_no_zip", detail=problem)) from problem


def _unpack_members(
    opened: zipfile.ZipFile, archive: Path, folder: Path, limits: ArchiveLimits
) -> tuple[PurePosixPath, ...]:
    members = opened.infolist()
    if len(members) > limits.members:
        raise UsageError(
            Note("archive_members", archive=archive, count=len(members), most=limits.members)
        )
    for member in members:
        if problem := _find_member_problem(member):
            raise UsageError(f"{archive}, member {member.filename!r}: {problem}")
    folder.mkdir(parents=True, exist_ok=True)
    remaining = limits.total_bytes
    written = []
    for member in members:
        path = PurePosixPath(member.filename)
        target = _resolve_member_path(folder, path, archive)
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        member_limit = min(remaining, max(_SMALL, member.compress_size * limits.ratio))
        with opened.open(member) as source, target.open("xb") as file:
            size = _copy_bounded(source, file, member_limit)
        if size > member_limit:
            raise UsageError(
                Note(
                    "member_large", archive=archive, member=repr(member.filename), most=member_limit
                )
            )
        remaining -= size
        written.append(path)
    return tuple(written)


def _find_member_problem(member: zipfile.ZipInfo) -> str:
    """What is wrong with a member by what its header says, "" for nothing."""
    path = PurePosixPath(member.filename)
    kind = stat.S_IFMT(member.external_attr >> 16)
    checks = {
        Note("member_outside"): path.is_absolute() or ".." in path.parts,
        Note("member_unnamed"): not path.parts,
        Note("member_letters"): any(
            letter in "\\:" or not letter.isprintable() for letter in member.filename
        ),
        Note("member_long_name"): len(member.filename.encode()) > _LONGEST_PATH
        or any(len(part.encode()) > _LONGEST_NAME for part in path.parts),
        Note("member_kind"): kind not in (0, stat.S_IFREG, stat.S_IFDIR),
        Note("archive_encrypted"): bool(member.flag_bits & _ENCRYPTED),
        Note("archive_compression"): member.compress_type not in _METHODS,
    }
    return next((problem for problem, holds in checks.items() if holds), "")


def _resolve_member_path(folder: Path, path: PurePosixPath, archive: Path) -> Path:
    """Where a member goes; a link that already lay in the folder must not lead it elsewhere."""
    target = folder / path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise UsageError(Note("archive_outside", archive=archive, member=repr(str(path))))
    return target


def _copy_bounded(source: IO[bytes], target: IO[bytes], limit: int) -> int:
    """Copy until the end or until just over `limit` bytes; returns how many were read."""
    size = 0
    while size <= limit and (piece := source.read(_CHUNK)):
        target.write(piece)
        size += len(piece)
    return size


# Small files of settings that people write: YAML, TOML or JSON, each one table of fields.

BYTES_LIMIT = 1_000_000  # what people write by hand is far smaller
DEPTH_LIMIT = 50
_DIGITS_LIMIT = 100  # of a number in YAML, in whatever base
_TOML_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_TOML_PATH = re.compile(rf"(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEPTH_LIMIT}}}")


def read_document(path: Path, suffix: str = "") -> dict[str, Any]:
    """Return the fields of a file, read by its suffix (.yaml, .yml, .toml, .json; others as YAML)
    or as if it had the `suffix`.

    Raises UsageError naming the file and what is wrong with it: too large, nested too deep, a field
    that occurs twice, a number that is not finite.
    """
    content = read_bytes(path, BYTES_LIMIT)
    kind, parse = _PARSERS.get(suffix or path.suffix.lower(), _PARSERS[".yaml"])
    try:
        values = parse(content.decode("utf-8"))
        _check_document_values(values)
    except UnicodeDecodeError as error:
        raise UsageError(Note("file_not_utf8", path=path, problem=error)) from None
    except IntakeError as error:
        raise UsageError(Note("file_unreadable", path=path, kind=kind, problem=error)) from None
    except (ValueError, RecursionError) as error:
        problem = error.args[0] if error.args else ""
        problem = problem if isinstance(problem, Note) else " ".join(str(error).split())
        raise UsageError(Note("file_no_kind", path=path, kind=kind, problem=problem)) from None
    if not isinstance(values, dict):
        raise UsageError(Note("file_no_fields", path=path))
    fields: dict[str, Any] = replace_surrogates(values)
    return fields


def find_field_lines(path: Path) -> dict[str, int]:
    """The line (from 1) of each field of a YAML or JSON file by its dotted path; no lines for a
    file of another kind."""
    import yaml

    lines: dict[str, int] = {}

    def add_lines(node: Any, prefix: str) -> None:
        for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
            lines[f"{prefix}{name.value}"] = name.start_mark.line + 1
            add_lines(value, f"{prefix}{name.value}.")

    try:
        add_lines(yaml.compose(read_bytes(path, BYTES_LIMIT).decode("utf-8")), "")
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return {}
    return lines


def _check_document_values(values: Any) -> None:
    """Raises IntakeError for what JSON could not hold: no later reader or writer expects it."""
    if is_deeper(values, DEPTH_LIMIT):
        raise IntakeError(Note("nested_deep", limit=DEPTH_LIMIT))
    level = [values]
    while level:
        for value in level:
            if isinstance(value, float) and not math.isfinite(value):
                raise IntakeError(Note("yaml_not_finite", value=value))
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise IntakeError(Note("yaml_long_number"))
            if not isinstance(value, dict | list | str | int | float | None):
                raise IntakeError(Note("yaml_quote", value=str(value)[:60]))
        level = [child for value in level for child in _list_child_values(value)]


def _list_child_values(value: Any) -> Iterable[Any]:
    """The names and values of a mapping, the items of a list."""
    if isinstance(value, dict):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise IntakeError(Note("yaml_quote_name", name=str(wrong[0])[:60]))
        return value.values()
    return value if isinstance(value, list) else ()


@cache
def _yaml_loader() -> type[Any]:
    """PyYAML's safe loader, which refuses fields that occur twice and numbers without end."""
    import yaml

    class BoundedLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            scalars = (name for name, _ in node.value if isinstance(name, yaml.ScalarNode))
            names = Counter(name.value for name in scalars)
            for name, times in names.items() if len(names) < len(node.value) else ():
                if times > 1:
                    raise IntakeError(Note("yaml_twice", name=name[:60]))
            mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return mapping

        def construct_yaml_int(self, node: Any) -> int:
            # `1:59:59` is a number, and the time that it takes grows with the square of its parts.
            if len(node.value) > _DIGITS_LIMIT:
                raise IntakeError(Note("yaml_long_number"))
            return int(super().construct_yaml_int(node))

    BoundedLoader.add_constructor("tag:yaml.org,2002:int", BoundedLoader.construct_yaml_int)
    return BoundedLoader


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        _check_yaml_tokens(text)
        return yaml.load(text, Loader=_yaml_loader()) or {}  # noqa: S506  (a safe loader)
    except yaml.YAMLError as error:
        if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
            raise ValueError(str(error)) from None
        line, column = error.problem_mark.line + 1, error.problem_mark.column + 1
        note = Note("yaml_syntax", line=line, column=column, problem=str(error.problem))
        raise ValueError(note) from None


def _check_yaml_tokens(text: str) -> None:
    """Raise IntakeError at the first alias or excess nesting level, before anything is built.

    A few lines of nested aliases expand beyond any memory, and both the parser and its caller are
    recursive.
    """
    import yaml

    opening = (
        yaml.BlockSequenceStartToken,
        yaml.BlockMappingStartToken,
        yaml.FlowSequenceStartToken,
        yaml.FlowMappingStartToken,
    )
    closing = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    depth = 0
    for token in yaml.scan(text, Loader=_yaml_loader()):
        depth += isinstance(token, opening) - isinstance(token, closing)
        if depth > DEPTH_LIMIT:
            raise IntakeError(Note("nested_deep", limit=DEPTH_LIMIT))
        if isinstance(token, yaml.AliasToken):
            raise IntakeError(Note("yaml_alias"))


def _parse_toml(text: str) -> Any:
    # The time that tomllib takes for `a.a.a = 1` grows with the square of the names.
    if _TOML_PATH.search(_TOML_TEXT.sub("x", text)):
        raise IntakeError(Note("nested_deep", limit=DEPTH_LIMIT))
    return tomllib.loads(text)


def _parse_json_document(text: str) -> Any:
    return parse_json(text, depth=DEPTH_LIMIT, strict=True)


_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".yaml": ("YAML", _parse_yaml),
    ".yml": ("YAML", _parse_yaml),
    ".toml": ("TOML", _parse_toml),
    ".json": ("JSON", _parse_json_document),
}
