"""The verbs of the command line for what goes out and comes in: export, import, verify."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalcore.errors import UsageError

if TYPE_CHECKING:
    from evalcore.exchange.scale.importer import Imported
    from evalcore.settings import Settings
    from evalcore.store.run_folder import RunFolder

Verb = Callable[[argparse.Namespace], int]
REPORTS = ("json", "csv", "md", "html")
SCALE = "scale"
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verbs; `common` adds the flags that every verb has and sets its function."""
    sub = verbs.add_parser("export", help="write a report of a run")
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--format", choices=(*REPORTS, SCALE), required=True)
    sub.add_argument("--out", type=Path, metavar="PATH", help="a folder for the format scale")
    common(sub, _export)
    about = "take in the boards that SCALE published, as runs that are shown and never repeated"
    sub = verbs.add_parser("import", help=about, description=about)
    sub.add_argument("origin", choices=(SCALE,))
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--month", default="", metavar="YYYY-MM", help="one month (default: all)")
    common(sub, _import)
    about = "decide published answers again by execution, and compare with the published verdicts"
    sub = verbs.add_parser("verify", help=about, description=about)
    sub.add_argument("origin", choices=("scale",))
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--out", type=Path, metavar="FILE.jsonl", help="a line per disagreement")
    common(sub, _verify)


def _settings(given: argparse.Namespace) -> Settings:
    from evalcore import settings

    return settings.load(given.data)


def _export(given: argparse.Namespace) -> int:
    from evalcore.exchange import reports
    from evalcore.store import run_folder

    folder = run_folder.find(given.run, _settings(given).run_roots)
    if given.format == SCALE:
        return _export_scale(given, folder)
    text = reports.render(folder, given.format)
    if given.out is None:
        sys.stdout.write(text)
        return _DONE
    try:
        given.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {given.out}: {error.strerror}") from None
    return _DONE


def _export_scale(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.scale import exporter

    if given.out is None:
        raise UsageError("--out is missing: the folder that the reports go to")
    done = exporter.export(folder, given.out)
    if given.json:
        print(json.dumps({"month": done.month, "model": done.model, "files": done.files}))
    else:
        print(f"{given.out}: {len(done.files)} files for {done.model} in {done.month}")
    if done.unmeasured:
        print(f"{done.unmeasured} cases without a verdict went out as Fail", file=sys.stderr)
    return _DONE


def _import(given: argparse.Namespace) -> int:
    import msgspec

    from evalcore.exchange.scale import importer

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    done = importer.import_tree(given.path, _settings(given), given.month, say)
    if given.json:
        print(msgspec.json.encode(vars(done)).decode())
    else:
        print(_imported_text(done))
    return _DONE


def _imported_text(done: Imported) -> str:
    """What became of the runs, how the claims come about, and the flags, in lines."""
    became = ("created", "replaced", "unchanged")
    lines = ["runs: " + ", ".join(f"{len(getattr(done, name))} {name}" for name in became)]
    for title, counts in (("claims", done.readings), ("flags", done.flags)):
        if counts:
            told = (f"{count} {name}" for name, count in counts.most_common())
            lines.append(f"{title}: {', '.join(told)}")
    return "\n".join([*lines, *(f"left out: {line}" for line in done.skipped)])


def _verify(given: argparse.Namespace) -> int:
    from evalcore.exchange.scale import verify

    twins = Path(_settings(given).datasets) / "scale_twins" / "logical_equivalence.jsonl"
    found = verify.verify(given.path, twins)
    if given.out:
        lines = (json.dumps(d, ensure_ascii=False) for d in verify.disagreements(found))
        given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(json.dumps(found, ensure_ascii=False) if given.json else verify.as_text(found))
    return _DONE
