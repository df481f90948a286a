"""What a command shows besides numbers: notices and errors in the language of the terminal, as many
as its flags ask for, and titled blocks of text, with rich where there is a terminal and plain where
a program reads. What models wrote is printed as text that moves no cursor and sets no color."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from evalcore.i18n import DEFAULT, LANGUAGES, find_environment_language, t, t_count, translate_note
from evalcore.plain_text import to_terminal_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from evalcore.views.case_text import TextBlock

# Notices and errors. Results go to standard output, everything here to standard error.

Amount = Literal["quiet", "normal", "verbose"]
_language: ContextVar[str] = ContextVar("language", default=DEFAULT)
_amount: ContextVar[Amount] = ContextVar("amount", default="normal")


def find_language(words: Sequence[str]) -> str:
    """The language that a command line asks for, read before the command line is parsed because its
    help has a language too; else that of the environment."""
    for position, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag == "--lang":
            value = value if equals else next(iter(words[position + 1 :]), "")
            return value if value in LANGUAGES else DEFAULT
    return find_environment_language()


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


def tr_count(key: str, count: int, **values: Any) -> str:
    """The text of a key that counts something, in the language of this command."""
    return t_count(key, get_language(), count, **values)


def tr_note(text: str) -> str:
    """A note in the language of this command, with the commands that a terminal takes."""
    return translate_note(text, get_language(), in_terminal=True)


def say(line: object) -> None:
    """Print a notice, unless the command is quiet."""
    if get_amount() != "quiet":
        say_always(line)


def say_always(line: object) -> None:
    """Print an error or what is needed to go on; notes are translated."""
    print(to_terminal_text(f"evalcore: {tr_note(str(line))}"), file=sys.stderr)


# Titled blocks of text.

Layout = Literal["auto", "columns", "stacked"]
LAYOUTS: tuple[Layout, ...] = ("auto", "columns", "stacked")
#: From this width of a terminal on, two sides stand in columns.
WIDE = 120
#: Lines and characters of a block, unless all of it is asked for.
MAX_LINES, MAX_CHARACTERS = 60, 8_000
_HIGHLIGHTED = ("diff", "sql", "json", "python", "java", "javascript")


def shorten_block(block: TextBlock) -> TextBlock:
    """The beginning of a long block, and what is left out."""
    text = block.text[:MAX_CHARACTERS]
    lines = text.split("\n")
    if len(text) == len(block.text) and len(lines) <= MAX_LINES:
        return block
    shown = "\n".join(lines[:MAX_LINES])
    cut = tr("cli.more_characters", count=f"{len(block.text) - len(shown):,}")
    return msgspec.structs.replace(block, text=f"{shown}\n{cut}")


def print_blocks(blocks: Sequence[TextBlock], *, full: bool = False) -> None:
    """Print blocks one after another."""
    shown = [block if full else shorten_block(block) for block in blocks]
    if not sys.stdout.isatty():
        print("\n\n".join(f"== {_to_line(b.title)} ==\n{to_terminal_text(b.text)}" for b in shown))
        return
    console = _open_console()
    for block in shown:
        console.rule(_to_text(_to_line(block.title), "bold"), align="left")
        console.print(_render_block(block))


def print_block_pairs(
    pairs: Sequence[tuple[TextBlock | None, TextBlock | None]],
    names: tuple[str, str],
    *,
    layout: Layout = "auto",
    full: bool = False,
) -> None:
    """Print blocks of two sides, None where a side has none; equal ones are printed once."""
    in_columns = layout == "columns" or (
        layout == "auto" and sys.stdout.isatty() and _read_width() >= WIDE
    )
    for left, right in pairs:
        present = left or right
        if present is None:
            continue
        if left is not None and right is not None and left.text == right.text:
            both = msgspec.structs.replace(left, title=tr("cli.both_sides", title=left.title))
            print_blocks([both], full=full)
        elif in_columns:
            _print_columns(present.title, (left, right), names, full=full)
        else:
            sides = zip((left, right), names, strict=True)
            print_blocks(
                [_name_side(block, name, present.title) for block, name in sides], full=full
            )
        if not sys.stdout.isatty():
            print()


def _name_side(block: TextBlock | None, name: str, title: str) -> TextBlock:
    from evalcore.views.case_text import TextBlock

    block = block or TextBlock(title, tr("cli.nothing"))
    return msgspec.structs.replace(block, title=f"{title}: {name}")


def _print_columns(
    title: str,
    sides: tuple[TextBlock | None, TextBlock | None],
    names: tuple[str, str],
    *,
    full: bool,
) -> None:
    from rich.table import Table

    console = _open_console()
    table = Table(
        title=_to_text(_to_line(title), "bold"), title_justify="left", expand=True, show_lines=False
    )
    for name in names:
        table.add_column(_to_text(_to_line(name), ""), ratio=1, overflow="fold")
    shown = [block if full or block is None else shorten_block(block) for block in sides]
    table.add_row(*(_to_text("", "") if block is None else _render_block(block) for block in shown))
    console.print(table)


def _render_block(block: TextBlock) -> RenderableType:
    from rich.syntax import Syntax

    text = to_terminal_text(block.text)
    if block.language not in _HIGHLIGHTED:
        return _to_text(text, "")
    return Syntax(
        text, block.language, theme="ansi_dark", word_wrap=True, background_color="default"
    )


def _to_text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style)


def _to_line(text: str) -> str:
    return to_terminal_text(text).replace("\n", " ")


def _open_console() -> Console:
    from rich.console import Console

    tty = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if tty else _read_width(),
        color_system="auto" if tty and "NO_COLOR" not in os.environ else None,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _read_width() -> int:
    return shutil.get_terminal_size(fallback=(WIDE, 40)).columns
