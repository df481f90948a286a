"""Reading small files of settings that people write: YAML, TOML or JSON, one table of fields."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalcore.errors import UsageError

_LARGEST = 1_000_000  # bytes; what people write by hand is far smaller


def read(path: Path) -> dict[str, Any]:
    """The fields of a file, read by its suffix (.yaml, .yml, .toml, .json; others as YAML).

    Raises UsageError naming the file and what is wrong with it.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: is larger than {_LARGEST} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text: {error}") from None
    kind, parse = _PARSERS.get(path.suffix.lower(), _PARSERS[".yaml"])
    try:
        values = parse(text)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no {kind}: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{path}: must hold fields, one `name: value` a line")
    return values


def _yaml(text: str) -> Any:
    import yaml

    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            # A few lines of aliases to aliases stand for more than any memory holds.
            raise UsageError("aliases (*name) are not taken; write the value out")
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


_PARSERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".yaml": ("YAML", _yaml),
    ".yml": ("YAML", _yaml),
    ".toml": ("TOML", tomllib.loads),
    ".json": ("JSON", json.loads),
}
