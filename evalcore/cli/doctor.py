"""Check this installation: packages, programs, data, engines, sandbox, GPU, servers, keys and
plug-ins.

`evalcore doctor` prints the result and, for each gap, the command that closes it. The report holds
only the names of keys, and nothing outside this machine is contacted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import urlsplit

from evalcore import catalog, plugins
from evalcore.access import policy
from evalcore.access.egress import is_this_machine
from evalcore.access.secrets import scrub_secrets
from evalcore.cli.parser import AddCommon
from evalcore.cli.terminal import get_language, tr, tr_note
from evalcore.errors import EvalboardError
from evalcore.i18n import name_term
from evalcore.plain_text import measure_width, pad_cell
from evalcore.records import Record, to_plain
from evalcore.settings import Settings, load_settings

#: `missing`: something that the installation promises is not there; `absent`: optional, and not
#: there; `broken`: there, and unusable.
Status = Literal["ok", "missing", "absent", "broken"]
_DONE, _INCOMPLETE = 0, 3
_SECONDS_TO_CONNECT = 0.5
_EXTRAS = ("local", "postgres", "mysql", "charts", "auth")
#: Programs that parts of the package call, with the text of what for.
_PROGRAMS = {"git": "cli.doctor.for_git"}
_GIB = 1 << 30


class Check(Record, frozen=True):
    """One line of the report. `remedy` is the command or step that closes the gap, else ""."""

    group: str
    name: str
    status: Status
    detail: str = ""
    remedy: str = ""


def add_doctor_verb(verbs: Any, add_common: AddCommon) -> None:
    """Add the verb; `add_common` adds the common flags and sets the verb's function."""
    about = "check this installation and print the command that fixes each problem"
    add_common(verbs.add_parser("doctor", help=about), _print_report)


def _print_report(args: argparse.Namespace) -> int:

    settings = policy.restrict_settings(load_settings(args.data), policy.OPERATOR)
    report = examine_installation(settings)
    if args.json:
        print(json.dumps([to_plain(check) for check in report], ensure_ascii=False))
    else:
        print(format_report(report))
    return _INCOMPLETE if has_gaps(report) else _DONE


def examine_installation(settings: Settings) -> list[Check]:
    """Run all checks, in the order of the report. Takes a few seconds: each SQL engine is started
    once, and a probe runs in the sandbox. A check that fails is a line of the report, never an
    exception."""
    groups: dict[str, Callable[[Settings], Iterator[Check]]] = {
        "python": _check_packages,
        "program": _check_programs,
        "data": _check_data_folder,
        "engine": _check_engines,
        "sandbox": _check_sandbox,
        "gpu": _check_gpu,
        "server": _check_servers,
        "key": _check_keys,
        "dataset": _check_official_datasets,
        "plugin": _check_plugins,
    }
    report: list[Check] = []
    for group, examine in groups.items():
        try:
            report += examine(settings)
        except Exception as error:  # the report must say it and go on
            problem = scrub_secrets(f"{type(error).__name__}: {error}")
            report.append(Check(group, group, "broken", problem))
    return report


def has_gaps(report: list[Check]) -> bool:
    """Whether anything that the installation promises is missing or broken."""
    return any(check.status in ("missing", "broken") for check in report)


def _check_packages(settings: Settings) -> Iterator[Check]:
    yield Check("python", "python", "ok", sys.version.split()[0])
    cards = catalog.benchmark_cards().values()
    for extra in dict.fromkeys(("", *_EXTRAS, *(card.extra for card in cards))):
        lacking = list(_list_unmet_requirements(extra))
        name = f"extra {extra}" if extra else "evalboard"
        package = f"evalboard[{extra}]" if extra else "evalboard"
        if not lacking:
            yield Check("python", name, "ok", version("evalboard") if not extra else "")
        else:
            yield Check(
                "python",
                name,
                "absent" if extra else "missing",
                tr("cli.doctor.needs", names=", ".join(lacking)),
                f"pip install '{package}'",
            )


def _list_unmet_requirements(extra: str) -> Iterator[str]:
    """The requirements of the core ("") or of one extra that are absent or too old."""
    from packaging.requirements import Requirement

    for line in requires("evalboard") or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not marker.evaluate({"extra": extra}):
            continue
        if extra and (marker is None or marker.evaluate({"extra": ""})):
            continue  # the core's own
        try:
            installed = metadata(requirement.name)["Version"]
        except PackageNotFoundError:
            yield requirement.name
        else:
            if not requirement.specifier.contains(installed, prereleases=True):
                yield f"{requirement.name}{requirement.specifier} (installed: {installed})"


def _check_programs(settings: Settings) -> Iterator[Check]:
    for name, purpose in _PROGRAMS.items():
        path = shutil.which(name)
        if path:
            yield Check("program", name, "ok", path)
        else:
            yield Check("program", name, "absent", tr(purpose), f"apt-get install {name}")


def _check_data_folder(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    if not os.access(existing, os.W_OK):
        problem = tr("cli.doctor.not_writable", folder=existing)
        yield Check("data", "data folder", "broken", problem, tr("cli.doctor.set_data"))
        return
    free = tr("cli.doctor.free", size=f"{shutil.disk_usage(existing).free / _GIB:.0f}")
    yield Check("data", "data folder", "ok", f"{folder}, {free}")


def _check_engines(settings: Settings) -> Iterator[Check]:
    from evalcore.sqlkit.engines import registry

    for name, answer in registry.probe_engines().items():
        if answer[:1].isdigit():
            yield Check("engine", name, "ok", answer)
        else:
            command = re.search(r"\((?:for example )?((?:pip|apt-get) install [^)]*)\)", answer)
            remedy = command[1] if command else ""
            yield Check("engine", name, "absent", scrub_secrets(tr_note(answer)), remedy)


def _check_sandbox(settings: Settings) -> Iterator[Check]:
    from evalcore.sandbox.program import detect_sandbox

    found = detect_sandbox()
    if found.means:
        detail = tr("cli.doctor.enforces", names=", ".join(found.enforced))
        yield Check("sandbox", found.means, "ok", detail)
    else:
        yield Check("sandbox", "sandbox", "absent", tr_note(found.problem), tr_note(found.fix))


def _check_gpu(settings: Settings) -> Iterator[Check]:
    from evalcore.targets.huggingface.machine import list_dtypes, list_gpus

    devices = list_gpus()
    for number, gpu in enumerate(devices):
        size = tr("common.unknown") if gpu.free is None else f"{gpu.free / _GIB:.0f}"
        free = tr("cli.doctor.free", size=size)
        detail = f"{free}; {', '.join(list_dtypes(f'cuda:{number}'))}"
        yield Check("gpu", gpu.name, "ok", detail)
    if devices:
        return
    if shutil.which("nvidia-smi") is None:
        detail, remedy = tr("cli.doctor.no_gpu"), ""
    elif find_spec("torch") is None:
        detail, remedy = tr("cli.doctor.no_torch"), "pip install 'evalboard[local]'"
    else:
        detail, remedy = tr("cli.doctor.blind_torch"), "pip install --force-reinstall torch"
    yield Check("gpu", "gpu", "absent", detail, remedy)


def _check_servers(settings: Settings) -> Iterator[Check]:
    """Programs that serve local models, then model servers on this machine, by whether their port
    answers."""
    from evalcore.targets.huggingface.engines import ENGINES, find_program

    for option, engine in ENGINES.items():
        purpose = tr("cli.doctor.for_engine", option=option)
        try:
            yield Check("server", engine.title, "ok", f"{find_program(option)}, {purpose}")
        except EvalboardError:
            yield Check("server", engine.title, "absent", purpose, engine.install)
    for name, endpoint in sorted(catalog.load_endpoints(settings).items()):
        address = urlsplit(endpoint.base_url)
        if not is_this_machine(address.hostname or ""):
            continue
        port = address.port or (443 if address.scheme == "https" else 80)
        where = f"{address.hostname}:{port}"
        try:
            with socket.create_connection((address.hostname, port), _SECONDS_TO_CONNECT):
                yield Check("server", name, "ok", tr("cli.doctor.reachable", where=where))
        except OSError:
            detail = tr("cli.doctor.unreachable", where=where)
            yield Check("server", name, "absent", detail, endpoint.start)


def _check_keys(settings: Settings) -> Iterator[Check]:
    purposes: dict[str, list[str]] = {}
    for variable, purpose in _iter_key_purposes(settings):
        purposes.setdefault(variable, []).append(purpose)
    for variable, uses in sorted(purposes.items()):
        names = ", ".join(dict.fromkeys(uses))
        if os.environ.get(variable):
            yield Check("key", variable, "ok", tr("cli.doctor.set", names=names))
        else:
            detail = tr("cli.doctor.not_set", names=names)
            yield Check("key", variable, "absent", detail, f"export {variable}=...")


def _iter_key_purposes(settings: Settings) -> Iterator[tuple[str, str]]:
    """The environment variables that hold keys, each with what wants it."""
    from evalcore.runner.jobs.data_client import HUB_TOKEN_VARIABLE

    yield HUB_TOKEN_VARIABLE, tr("cli.doctor.for_hub")
    kinds = catalog.target_kinds()
    servers = next(prefix for prefix, card in kinds.items() if card.chooser == "server")
    for name, endpoint in catalog.load_endpoints(settings).items():
        if endpoint.api_key_env:
            yield endpoint.api_key_env, f"{servers}:{name}/..."
    for key, application in catalog.load_applications(settings).items():
        yield from ((variable, key) for variable in application.variables)
    for prefix, card in kinds.items():
        yield from ((secret.name, f"{prefix}:...") for secret in card.secrets)
    for benchmark in catalog.benchmark_cards().values():
        yield from ((variable, benchmark.key) for variable in benchmark.key_variables)


def _check_official_datasets(settings: Settings) -> Iterator[Check]:
    for name, official in catalog.list_official_datasets().items():
        folder = settings.data_dir / "datasets" / official.folder
        if folder.is_dir():
            yield Check("dataset", name, "ok", str(folder))
            continue
        fetcher = catalog.benchmark_card(official.benchmark).fetcher
        flag = fetcher.flags[0] if fetcher and fetcher.flags else None
        part = f" --{flag.name} {official.part}" if flag and official.part != flag.default else ""
        gated = official.gated and tr("cli.doctor.gated", page=official.page)
        detail = gated or tr("cli.doctor.not_fetched")
        remedy = f"evalcore datasets fetch {official.benchmark}{part}"
        yield Check("dataset", name, "absent", detail, remedy)


def _check_plugins(settings: Settings) -> Iterator[Check]:
    skipped_plugins = catalog.list_skipped_plugins()
    unusable = {(plugin.name, plugin.distribution) for plugin in skipped_plugins}
    for group, name, distribution in plugins.list_installed_plugins():
        if (name, distribution) not in unusable:
            detail = tr("cli.doctor.plugin", group=group, distribution=distribution)
            yield Check("plugin", name, "ok", detail)
    for skipped in skipped_plugins:
        why, remedy = tr_note(skipped.why), tr_note(skipped.remedy)
        yield Check("plugin", skipped.name, "broken", why, remedy)


def format_report(report: list[Check]) -> str:
    """The report as aligned lines, one group below the other, each remedy under its gap."""
    marks: dict[Status, str] = {"ok": "ok", "missing": "MISSING", "absent": "-", "broken": "BROKEN"}
    say = partial(name_term, language=get_language())
    width = max(measure_width(say(check.name)) for check in report)
    lines: list[str] = []
    group = ""
    for check in report:
        if check.group != group:
            group = check.group
            lines += ["", tr("cli.doctor.keys") if group == "key" else say(group)]
        mark, name = pad_cell(say(marks[check.status]), 8), pad_cell(say(check.name), width)
        lines.append(f"  {mark}{name}  {check.detail}".rstrip())
        if check.remedy and check.status != "ok":
            lines.append(f"  {'':8}{'':{width}}  -> {check.remedy}")
    return "\n".join(lines[1:])
