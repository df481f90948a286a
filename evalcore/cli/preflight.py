"""`evalcore preflight` and `evalcore models`: what a target can do and which models an endpoint
has, before a run is paid for."""

from __future__ import annotations

import argparse
import json
from typing import Any

from evalcore.access import policy
from evalcore.access.secrets import scrub_secrets
from evalcore.cli.exchange import load_cli_settings
from evalcore.cli.parser import AddCommon, CommandParser
from evalcore.cli.terminal import tr, tr_note
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.plain_text import align_columns
from evalcore.records import to_plain

_DONE, _INCOMPLETE = 0, 3


def add_preflight_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "check key, model, tools, sampling, token limit and streaming in at most 5 requests"
    sub = verbs.add_parser("preflight", help=about)
    sub.add_argument("target", metavar="T", help="target to check, for example openai:MODEL")
    _add_target_options(sub, "temperature=0")
    add_common(sub, _print_preflight)


def _add_target_options(sub: CommandParser, example: str) -> None:
    sub.add_repeatable(
        "--target-option", "KEY=VALUE", f"set a target option, for example {example}; repeatable"
    )


def _print_preflight(args: argparse.Namespace) -> int:
    from evalcore.runner import client

    options = dict(map(_split_option, args.target_option))
    loaded = load_cli_settings(args)
    report = client.test_connection(args.target, options, {}, loaded, visitor=policy.OPERATOR)
    if args.json:
        print(json.dumps(to_plain(report), ensure_ascii=False))
    else:
        print(f"{args.target}: {tr_note(report.message)}")
        rows = [
            (
                tr(f"launch.capability.{line.name}"),
                tr(f"launch.capability_{line.state}"),
                line.detail,
            )
            for line in report.capabilities
        ]
        if rows:
            print(align_columns(rows))
    return _DONE if report.ok else _INCOMPLETE


def add_models_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    sub = verbs.add_parser("models", help="list the models that your key can reach at an endpoint")
    sub.add_argument(
        "endpoint", metavar="ENDPOINT", help="an endpoint's name, for example groq, or an address"
    )
    _add_target_options(sub, "api_key_env=MY_KEY")
    add_common(sub, _print_models)


def _print_models(args: argparse.Namespace) -> int:
    from evalcore.runner import client

    options = dict(map(_split_option, args.target_option))
    loaded = load_cli_settings(args)
    models = client.list_models(args.endpoint, options, {}, loaded, visitor=policy.OPERATOR)
    if args.json:
        print(json.dumps(to_plain(models), ensure_ascii=False))
        return _DONE
    rows = [
        (
            model.id,
            tr("cli.models.context", tokens=f"{model.context:,}") if model.context else "",
            model.title,
        )
        for model in models
    ]
    print(align_columns(rows) if rows else tr("cli.models.none"))
    return _DONE


def _split_option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        shown = scrub_secrets(text)
        raise UsageError(Note("cli_key_value", flag="--target-option", value=repr(shown)))
    return name, value
