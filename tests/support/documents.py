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
    """A command of a document, without variables before it and comments behind it."""

    document: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.document}: {shlex.join(self.words)}"


def list_documents(root: Path = ROOT) -> dict[str, str]:
    """The text of every document by its path below the root."""
    paths = sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)})
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}


def list_commands(document: str, text: str) -> list[Command]:
    """Every command in blocks of shell code, and every `span` that begins with one of ours."""
    commands = []
    for token in MarkdownIt().parse(text):
        if token.type == "fence" and token.info.strip() in SHELLS:
            commands += split_commands(document, token.content)
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith(OURS):
                commands += split_commands(document, child.content)
    return commands


def split_commands(document: str, script: str) -> list[Command]:
    """The single commands of a script: lines joined at a backslash, parted at && and ;."""
    commands = []
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&;|")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in ("&&", ";", "|", "||", "&"):
                words.append(word)
                continue
            while words and _ASSIGNMENT.fullmatch(words[0]):
                words.pop(0)
            if words:
                commands.append(Command(document, tuple(words)))
            words = []
    return commands
