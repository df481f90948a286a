"""What a command says besides its result: in the language of the terminal, and as much as its flags
ask for. Results go to standard output, everything here to standard error."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from evalcore.i18n import DEFAULT, LANGUAGES, language_for_locale, t, translate_note
from evalcore.plain_text import to_terminal_text

Amount = Literal["quiet", "normal", "verbose"]
_language: ContextVar[str] = ContextVar("language", default=DEFAULT)
_amount: ContextVar[Amount] = ContextVar("amount", default="normal")
#: Variables that name the language of a terminal, the first that is set counts.
_VARIABLES = ("EVALBOARD_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def find_language(words: Sequence[str]) -> str:
    """The language that a command line asks for, read before the command line is parsed because its
    help has a language too; else that of the environment."""
    for position, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag == "--lang":
            value = value if equals else next(iter(words[position + 1 :]), "")
            return value if value in LANGUAGES else DEFAULT
    return language_for_locale(next(filter(None, map(os.environ.get, _VARIABLES)), None))


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Speak a language for as long as the block lasts."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


@contextmanager
def use_amount(amount: Amount) -> Iterator[None]:
    """Say as much for as long as the block lasts; `verbose` prints what is logged too."""
    token = _amount.set(amount)
    logger, handler = logging.getLogger("evalcore"), logging.StreamHandler()
    before = logger.level
    if amount == "verbose":
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        _amount.reset(token)


def get_language() -> str:
    """The language of this command."""
    return _language.get()


def get_amount() -> Amount:
    """How much this command says."""
    return _amount.get()


def tr(key: str, **values: Any) -> str:
    """The text of a key in the language of this command."""
    return t(key, get_language(), **values)


def say(line: object) -> None:
    """Print a notice, unless the command is quiet."""
    if get_amount() != "quiet":
        say_always(line)


def say_always(line: object) -> None:
    """Print an error or what is needed to go on; notes are translated."""
    text = translate_note(line if isinstance(line, str) else str(line), get_language())
    print(to_terminal_text(f"evalcore: {text}"), file=sys.stderr)
