"""The verbs of single benchmarks: one prepares this machine for cases, as `evalcore swe prepare`,
another lists what it can ask."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from evalcore import catalog
from evalcore.cli.exchange import (
    add_command_flags,
    load_cli_settings,
    print_command_result,
    print_stderr,
    read_command_flags,
)
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language

if TYPE_CHECKING:
    from evalcore.catalog import CommandCard


def add_prepare_verbs(verbs: Any, add_common: AddCommon) -> None:
    """Add a verb for each benchmark that prepares something, by the first word of its key."""
    for key, command in catalog.list_command_cards("preparer").items():
        name = key.partition("_")[0]
        actions = verbs.add_parser(name, help=command.about)
        actions = actions.add_subparsers(required=True, metavar="ACTION")
        sub = actions.add_parser("prepare", help=command.about)
        sub.add_argument("--dataset", required=True, metavar="NAME|PATH", help=command.path_about)
        add_common(sub, partial(_prepare, key, command))
        add_command_flags(sub, command)


def add_list_verbs(verbs: Any, add_common: AddCommon) -> None:
    """Add a verb for each benchmark that lists what it can ask, by its key."""
    for key, command in catalog.list_command_cards("lister").items():
        actions = verbs.add_parser(key, help=command.about)
        actions = actions.add_subparsers(required=True, metavar="ACTION")
        sub = actions.add_parser("list", help=command.about)
        sub.add_argument("name", nargs="?", default="", metavar="NAME", help=command.path_about)
        add_common(sub, partial(_list, key, command))
        add_command_flags(sub, command)


def _list(key: str, command: CommandCard, args: argparse.Namespace) -> int:
    loaded = load_cli_settings(args)
    flags = {**read_command_flags(args, command), "language": get_language()}
    return print_command_result(
        args, catalog.call_reference(command.run, key, loaded, args.name, flags, print_stderr)
    )


def _prepare(key: str, command: CommandCard, args: argparse.Namespace) -> int:
    flags, loaded = read_command_flags(args, command), load_cli_settings(args)
    return print_command_result(
        args, catalog.call_reference(command.run, key, loaded, args.dataset, flags, print_stderr)
    )
