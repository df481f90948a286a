"""Small files of settings that people write: YAML, TOML or JSON, each one table of fields."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from evalcore.errors import IntakeError, UsageError
from evalcore.intake.files import read_bytes
from evalcore.intake.json_text import is_deeper, parse_json, replace_surrogates

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
        raise UsageError(f"{path}: is no UTF-8 text: {error}") from None
    except IntakeError as error:
        raise UsageError(f"{path}: is no {kind} that can be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no {kind}: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{path}: must hold fields, one `name: value` a line")
    fields: dict[str, Any] = replace_surrogates(values)
    return fields


def _check_document_values(values: Any) -> None:
    """Raises IntakeError for what JSON could not hold: no later reader or writer expects it."""
    if is_deeper(values, DEPTH_LIMIT):
        raise IntakeError(f"it is nested more than {DEPTH_LIMIT} levels deep")
    level = [values]
    while level:
        for value in level:
            if isinstance(value, float) and not math.isfinite(value):
                raise IntakeError(f"{value} is no number that is finite")
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise IntakeError("it holds a number of more than 64 bits")
            if not isinstance(value, dict | list | str | int | float | None):
                raise IntakeError(f"{str(value)[:60]} has to be in quotes")
        level = [child for value in level for child in _list_child_values(value)]


def _list_child_values(value: Any) -> Iterable[Any]:
    """The names and values of a mapping, the items of a list."""
    if isinstance(value, dict):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise IntakeError(f"the name {str(wrong[0])[:60]} has to be in quotes")
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
                    raise IntakeError(f"the field {name[:60]!r} occurs twice")
            mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return mapping

        def construct_yaml_int(self, node: Any) -> int:
            # `1:59:59` is a number, and the time that it takes grows with the square of its parts.
            if len(node.value) > _DIGITS_LIMIT:
                raise IntakeError("it holds a number of more than 64 bits")
            return int(super().construct_yaml_int(node))

    BoundedLoader.add_constructor("tag:yaml.org,2002:int", BoundedLoader.construct_yaml_int)
    return BoundedLoader


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        _check_yaml_tokens(text)
        return yaml.load(text, Loader=_yaml_loader()) or {}  # noqa: S506  (a safe loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _check_yaml_tokens(text: str) -> None:
    """Raises IntakeError at the first level too many or alias, before anything is built of it.

    A few lines of aliases to aliases stand for more than any memory holds, and both the parser
    and its caller are recursive.
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
            raise IntakeError(f"it is nested more than {DEPTH_LIMIT} levels deep")
        if isinstance(token, yaml.AliasToken):
            raise IntakeError("aliases (*name) are not taken; write the value out")


def _parse_toml(text: str) -> Any:
    # The time that tomllib takes for `a.a.a = 1` grows with the square of the names.
    if _TOML_PATH.search(_TOML_TEXT.sub("x", text)):
        raise IntakeError(f"it is nested more than {DEPTH_LIMIT} levels deep")
    return tomllib.loads(text)


def _parse_json_document(text: str) -> Any:
    return parse_json(text, depth=DEPTH_LIMIT, strict=True)


_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".yaml": ("YAML", _parse_yaml),
    ".yml": ("YAML", _parse_yaml),
    ".toml": ("TOML", _parse_toml),
    ".json": ("JSON", _parse_json_document),
}
