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
    from evalcore.records import Record
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
    names = actions.add_parser("fetch", help=about, description=about).add_subparsers(
        required=True, metavar="NAME"
    )
    _add_bfcl(names, common)
    _add_gaia(names, common)
    _add_swe_bench(names, common)


def _add_bfcl(names: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "the questions and answers of BFCL, v4 or v3"
    sub = names.add_parser("bfcl", help=about, description=about)
    sub.add_argument(
        "--source", choices=("wheel", "hub"), default="", help="wheel: v4 (default); hub: v3"
    )
    sub.add_argument("--from", dest="wheel", type=Path, metavar="FILE.whl", help="a wheel at hand")
    _place(sub, "")
    common(sub, _fetch_bfcl)


def _add_gaia(names: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "the questions of GAIA with their files: gated, needs HF_TOKEN, not to be shared"
    sub = names.add_parser("gaia", help=about, description=about)
    sub.add_argument(
        "--split", default="validation", metavar="S", help="validation (default) or test"
    )
    _place(sub, "the commit that is known")
    common(sub, _fetch_gaia)


def _add_swe_bench(names: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "the tasks of a SWE-bench data set; their repositories and images are not fetched"
    sub = names.add_parser("swe_bench", help=about, description=about)
    sub.add_argument(
        "--name",
        default="verified",
        metavar="OWNER/NAME",
        help="on the Hub, or one of verified (default), lite, full, multilingual, mini, oracle",
    )
    sub.add_argument("--split", default="test", metavar="S", help="default: test")
    _place(sub, "main")
    common(sub, _fetch_swe_bench)


def _place(sub: argparse.ArgumentParser, revision: str) -> None:
    """Where it goes, and of which commit where one may be chosen."""
    sub.add_argument("--out", type=Path, metavar="DIR", help="default: below the data folder")
    if revision:
        sub.add_argument(
            "--revision", default="", metavar="R", help=f"a commit or tag (default: {revision})"
        )


def _settings(given: argparse.Namespace) -> Settings:
    from evalcore import settings

    return settings.load(given.data)


def _check(given: argparse.Namespace) -> int:
    from evalcore.runner import dataset_check

    report = dataset_check.check(given.names, _settings(given))
    print(json.dumps(report.as_data()) if given.json else report.as_text())
    return _DONE if report.ok else _BAD


def _fetch_bfcl(given: argparse.Namespace) -> int:
    from evalcore.exchange.bfcl import fetch

    if given.wheel and given.source == fetch.HUB:
        raise UsageError("--from gives a wheel, which --source hub does not use; drop one of them")
    source = given.source or fetch.WHEEL
    folder = given.out or fetch.default_folder(_settings(given), source)
    told = fetch.fetch_bfcl(folder, given.wheel or source, _say)
    return _tell(given, told, fetch.as_text(told))


def _fetch_gaia(given: argparse.Namespace) -> int:
    from evalcore.exchange.gaia import fetch

    folder = given.out or fetch.default_folder(_settings(given), given.split)
    revision = given.revision or fetch.REVISION
    told = fetch.fetch_gaia(folder, _say, split=given.split, revision=revision)
    return _tell(given, told, fetch.as_text(told))


def _fetch_swe_bench(given: argparse.Namespace) -> int:
    from evalcore.exchange.swe_bench import fetch

    folder = given.out or fetch.default_folder(_settings(given), given.name)
    revision = given.revision or "main"
    told = fetch.fetch_swe_bench(folder, given.name, _say, split=given.split, revision=revision)
    return _tell(given, told, fetch.as_text(told))


def _tell(given: argparse.Namespace, told: Record, text: str) -> int:
    import msgspec

    print(json.dumps(msgspec.to_builtins(told)) if given.json else text)
    return _DONE


def _say(line: str) -> None:
    print(line, file=sys.stderr)
