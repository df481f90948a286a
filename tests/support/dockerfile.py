"""The Dockerfile, read: its instructions, what they set, and the program that they start."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Instruction(NamedTuple):
    """One instruction with its text, continued lines joined."""

    name: str
    text: str


def instructions(path: Path = ROOT / "Dockerfile") -> list[Instruction]:
    lines = [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.lstrip().startswith("#")
    ]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    split = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [Instruction(name, text.strip()) for name, text in split]


def texts(name: str) -> list[str]:
    return [instruction.text for instruction in instructions() if instruction.name == name]


def environment() -> dict[str, str]:
    """What ENV sets."""
    return dict(pair.split("=", 1) for text in texts("ENV") for pair in shlex.split(text))


def copied() -> dict[str, str]:
    """Source -> destination of every COPY."""
    results = {}
    for text in texts("COPY"):
        *sources, destination = shlex.split(text)
        for source in sources:
            inside = Path(source).name if destination.endswith("/") else ""
            results[source] = (Path(destination) / inside).as_posix()
    return results


def command(name: str) -> list[str]:
    """The exec form of CMD, of ENTRYPOINT, or of the health check."""
    (text,) = texts(name)
    return json.loads(text[text.index("[") :])
