"""Search every file of the project for keys, and fail where one is in it.

`python tools/check_secrets.py` looks at the files that git tracks, packed journals unpacked, for
what private keys and the keys of providers look like. What tests make up says so itself: a match
with a word of `MADE_UP` in it, or of hardly any different letters, is none.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What keys look like, by whose they are: how they begin, and what follows.
KEYS: dict[str, tuple[tuple[str, ...], str]] = {
    "a private key": (("PRIVATE KEY-----",), r"\s*(?:[A-Za-z0-9+/=]{40,}\s*)+"),
    "OpenAI or Anthropic": (("sk-",), r"[A-Za-z0-9_-]{32,}"),
    "Hugging Face": (("hf_",), r"[A-Za-z0-9]{30,}"),
    "GitHub": (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"[A-Za-z0-9_]{36,}"),
    "Google": (("AIza",), r"[A-Za-z0-9_-]{35}"),
    "Amazon": (("AKIA", "ASIA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "Slack": (("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), r"[A-Za-z0-9-]{20,}"),
    "Groq, xAI or Perplexity": (("gsk_", "xai-", "pplx-"), r"[A-Za-z0-9]{32,}"),
    "NVIDIA": (("nvapi-",), r"[A-Za-z0-9_-]{32,}"),
    "a JSON web token": (
        ("eyJ",),
        r"[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
    ),
}
_PATTERNS = {
    owner: (starts, re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, starts))}){rest}"))
    for owner, (starts, rest) in KEYS.items()
}
#: Words within keys that tests made up, and Amazon's own example.
MADE_UP = re.compile(r"(?i)canary|example|dummy|secret|test|fake|0123456789|abcdef|redacted")
_FEW_LETTERS = 8
_LARGEST = 64 << 20  # bytes of a file that are looked at


def list_files() -> list[Path]:
    """The tracked files; all below the root where git is not at hand."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        names = [name for name in done.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        hidden = {".git", ".venv", "build", "node_modules"}
        paths = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
        names = [str(path) for path in paths if not hidden.intersection(path.parts)]
    paths = (ROOT / name for name in names)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def read_text(path: Path) -> str:
    """The text of a file, of a packed one that of its content; bytes that are no text are lost."""
    with path.open("rb") as file:
        content = file.read(_LARGEST)
    if path.suffix == ".gz":
        try:
            content = zlib.decompressobj(wbits=31).decompress(content, _LARGEST)
        except (zlib.error, gzip.BadGzipFile):
            return ""
    return content.decode("utf-8", "ignore")


def iter_keys(text: str) -> Iterator[tuple[int, str, str]]:
    """Line (from 1), owner and beginning of everything that looks like a key."""
    for owner, (starts, pattern) in _PATTERNS.items():
        if not any(start in text for start in starts):
            continue  # the usual case, in a fraction of the time
        for match in pattern.finditer(text):
            key = match[0]
            if MADE_UP.search(key) or len(set(key)) < _FEW_LETTERS:
                continue
            yield text.count("\n", 0, match.start()) + 1, owner, key[:8]


def main() -> int:
    count = 0
    for path in list_files():
        for line, owner, start in iter_keys(read_text(path)):
            count += 1
            print(f"{path.relative_to(ROOT)}:{line}: looks like a key: {owner} ({start}...)")
    if count:
        print(f"check_secrets: {count}; remove them, and replace each at its provider")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
