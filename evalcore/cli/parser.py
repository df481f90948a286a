"""The parser of the command line: its help in every language, with examples for every verb.

The English texts stand at the flags, in the modules of the verbs. `help_zh.json` holds each with
its translation; a test compares both with the parser.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from evalcore.cli.terminal import get_language, tr, tr_note
from evalcore.errors import suggest_name
from evalcore.i18n import DEFAULT

#: What runs a verb and returns its exit status, and what adds the common flags to its parser.
Verb = Callable[[argparse.Namespace], int]
AddCommon = Callable[["CommandParser", Verb], None]
_TRANSLATIONS = Path(__file__).parents[1] / "i18n"
_EXAMPLES = Path(__file__).with_name("examples.json")
#: By the key of its text what argparse says of a bad command line.
_ERRORS = {
    "cli.error.required": r"the following arguments are required: (?P<names>.*)",
    "cli.error.unrecognized": r"unrecognized arguments: (?P<names>.*)",
    "cli.error.choice": (
        r"argument (?P<flag>.*?): invalid choice: (?P<value>.*) \(choose from (?P<choices>.*)\)"
    ),
    "cli.error.value": r"argument (?P<flag>.*?): invalid (?P<type>\w+) value: (?P<value>.*)",
    "cli.error.expected": (
        r"argument (?P<flag>.*?): expected (one argument|at least one argument|\d+ arguments)"
    ),
}


class CommandParser(argparse.ArgumentParser):
    """A parser whose help speaks the language of the terminal; so do the parsers of its verbs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", _HelpFormatter)
        super().__init__(*args, **kwargs)
        self.register("action", "parsers", SubParsersAction)

    def add_text(self, name: str, metavar: str, about: str) -> None:
        """Add an argument that is a text, "" where it is left out."""
        self.add_argument(name, default="", metavar=metavar, help=about)

    def add_path(self, name: str, metavar: str, about: str) -> None:
        """Add an argument that names a file or a folder."""
        self.add_argument(name, type=Path, metavar=metavar, help=about)

    def add_number(
        self, name: str, metavar: str, about: str, kind: Callable[[str], float] = int
    ) -> None:
        """Add an argument that is a number, a whole one unless `kind` is float."""
        self.add_argument(name, type=kind, metavar=metavar, help=about)

    def add_repeatable(self, name: str, metavar: str, about: str) -> None:
        """Add a flag that may be repeated; its values are a list."""
        self.add_argument(name, action="append", default=[], metavar=metavar, help=about)

    def format_help(self) -> str:
        if get_language() != DEFAULT:
            translate_parser(self)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        for key, pattern in _ERRORS.items():
            if match := re.fullmatch(pattern, message, re.DOTALL):
                parts = match.groupdict()
                message = tr(key, **parts)
                if names := parts.get("choices"):
                    choices = [name.strip("' ") for name in names.split(",")]
                    message = tr_note(suggest_name(message, parts["value"].strip("'"), choices))
                elif key == "cli.error.unrecognized":
                    flag = parts["names"].split()[0].partition("=")[0]
                    actions = (action for verb in walk_parsers(self) for action in verb._actions)
                    flags = [name for action in actions for name in action.option_strings]
                    if flag not in flags:  # else another action of the verb has it
                        message = tr_note(suggest_name(message, flag, flags, 0.75))
                break
        self.print_usage(sys.stderr)
        self.exit(2, f"{tr('cli.error.line', program=self.prog, message=message)}\n")


class _Skipped:
    """Takes whatever is added to the parser of a verb that is not asked for."""

    def __getattr__(self, name: str) -> Callable[..., _Skipped]:
        return lambda *args, **kwargs: self


class SubParsersAction(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Verbs of which `only` one gets a parser, which takes a tenth of the time; "": all. A verb
    is described by its line in the list of verbs, unless it says more."""

    only = ""
    is_built = False

    def add_parser(self, name: str, **kwargs: Any) -> Any:
        if self.only not in ("", name):
            return _Skipped()
        self.is_built = True
        kwargs.setdefault("description", kwargs.get("help"))
        return super().add_parser(name, **kwargs)


class ListAction(argparse.Action):
    """A flag for several values: separated by spaces or commas, and the flag may be repeated."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        parts = [part.strip() for value in values for part in value.split(",")]
        values = [*(getattr(namespace, self.dest) or ()), *filter(None, parts)]
        setattr(namespace, self.dest, values)


class ListChoices(tuple[str, ...]):
    """The values that a `ListAction` takes."""

    def __contains__(self, text: object) -> bool:
        return all(super(ListChoices, self).__contains__(part) for part in str(text).split(","))


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of examples, and says "usage" in the language of the terminal."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        prefix = tr("cli.help.usage") if prefix is None else prefix
        super().add_usage(usage, actions, groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))


def walk_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its verbs, at any depth."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from walk_parsers(below)


def list_texts(parser: argparse.ArgumentParser) -> list[str]:
    """The English texts of the help of one parser."""
    texts = [parser.description]
    for action in parser._actions:
        texts.append(action.help)
        if isinstance(action, argparse._SubParsersAction):
            texts += [choice.help for choice in action._choices_actions]
    return [text for text in texts if text and text != argparse.SUPPRESS]


def translate_parser(parser: argparse.ArgumentParser) -> None:
    """Put the texts of one parser into the language of the terminal."""
    texts = load_help_texts(get_language())
    parser.description = texts.get(parser.description or "", parser.description)
    parser._positionals.title = tr("cli.help.arguments")
    parser._optionals.title = tr("cli.help.options")
    for action in parser._actions:
        action.help = texts.get(action.help or "", action.help)
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                choice.help = texts.get(choice.help or "", choice.help)


@cache
def load_help_texts(language: str) -> dict[str, str]:
    """English texts of the help with their translations; empty for English."""
    path = _TRANSLATIONS / f"help_{language}.json"
    texts: dict[str, str] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return texts


@cache
def load_examples() -> dict[str, list[str]]:
    """By verb the lines for the end of its help, without `evalcore`."""
    examples: dict[str, list[str]] = json.loads(_EXAMPLES.read_text("utf-8"))
    return examples


def add_examples(parser: argparse.ArgumentParser) -> None:
    """End the help of every verb with its examples."""
    for below in walk_parsers(parser):
        verb = below.prog.partition(" ")[2]
        if lines := load_examples().get(verb):
            title = tr("cli.help.examples")
            below.epilog = "\n".join([title, *(f"  evalcore {line}" for line in lines)]) + "\n"
