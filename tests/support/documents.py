"""The commands and names that the documents for people give, read from their Markdown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "hosting/*/README.md")
SHELLS = {"sh", "bash", "console"}
#: Programs of others that a document may call; whatever else is called has to be ours.
FOREIGN = {
    *(
        "apt-get",
        "chown",
        "docker",
        "export",
        "git",
        "hf",
        "kubectl",
        "pip",
        "printf",
        "ray",
        "rsync",
    ),
}
OURS = ("evalcore ", "make ", "python ", "streamlit ", ".venv/bin/")
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")


class Command(NamedTuple):
    """A command of a document, without variables before it and comments behind it; `line` is that
    of the document, from 1."""

    document: str
    words: tuple[str, ...]
    line: int = 0

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {shlex.join(self.words)}"


def list_documents(root: Path = ROOT) -> dict[str, str]:
    """The text of every document by its path below the root."""
    paths = sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)})
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}


def list_commands(document: str, text: str) -> list[Command]:
    """Every command in blocks of shell code, and every `span` that begins with one of ours."""
    commands = list_fenced_commands(document, text)
    for token in MarkdownIt().parse(text):
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith(OURS):
                commands += split_commands(document, child.content, (token.map or [0])[0] + 1)
    return commands


def list_fenced_commands(document: str, text: str) -> list[Command]:
    """Every command in blocks of shell code, in their order."""
    return [
        command
        for token in MarkdownIt().parse(text)
        if token.type == "fence" and token.info.strip() in SHELLS
        for command in split_commands(document, token.content, (token.map or [0])[0] + 2)
    ]


def split_commands(document: str, script: str, first: int = 0) -> list[Command]:
    """The single commands of a script that begins in line `first`: lines joined at a backslash,
    parted at && and ;."""
    commands, following = [], first
    for line in re.split(r"(?<!\\)\n", script):
        number, following = following, following + line.count("\n") + 1
        joined = line.replace("\\\n", " ")
        lexer = shlex.shlex(joined, posix=True, punctuation_chars="&;|")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in ("&&", ";", "|", "||", "&"):
                words.append(word)
                continue
            while words and _ASSIGNMENT.fullmatch(words[0]):
                words.pop(0)
            if words:
                commands.append(Command(document, tuple(words), number))
            words = []
    return commands
