"""The verbs of the command line for what goes out and comes in: export, import, verify."""

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
    from evalcore.exchange.bundle.importer import ImportedBundle
    from evalcore.exchange.scale.importer import Imported
    from evalcore.settings import Settings
    from evalcore.store.run_folder import RunFolder

Verb = Callable[[argparse.Namespace], int]
REPORTS = ("json", "csv", "md", "html")
SCALE, BFCL, GAIA, SWE_BENCH = "scale", "bfcl", "gaia", "swe_bench"
EVAL_RESULTS = "eval_results"
BUNDLE = "bundle"
PATCHES = ("official", "repaired")
_DONE = 0


def add(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    """Add the verbs; `common` adds the flags that every verb has and sets its function."""
    about = "write a report of a run, its answers as official evaluations read them, or all of it"
    sub = verbs.add_parser("export", help=about, description=about)
    sub.add_argument("run", metavar="RUN")
    sub.add_argument("--format", choices=(*REPORTS, *_ANSWERS), required=True)
    sub.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="a file (reports: default stdout); a folder for scale and bfcl",
    )
    sub.add_argument(
        "--patch",
        choices=PATCHES,
        help="of swe_bench: as officially extracted (default), or put into a form that applies",
    )
    sub.add_argument(
        "--hub",
        action="append",
        default=[],
        metavar="BENCHMARK=OWNER/DATASET:TASK[@REVISION]",
        help=f"of {EVAL_RESULTS}: where on the Hugging Face Hub a score belongs; repeat for more",
    )
    sub.add_argument(
        "--source", default="", metavar="URL", help=f"of {EVAL_RESULTS}: where the evidence is"
    )
    common(sub, _export)
    _add_import(verbs, common)
    about = "decide published answers again by execution, and compare with the published verdicts"
    sub = verbs.add_parser("verify", help=about, description=about)
    sub.add_argument("origin", choices=("scale",))
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--out", type=Path, metavar="FILE.jsonl", help="a line per disagreement")
    common(sub, _verify)


def _add_import(verbs: Any, common: Callable[[argparse.ArgumentParser, Verb], None]) -> None:
    about = "take in what others published, as runs that are shown and never repeated"
    origins = verbs.add_parser("import", help=about, description=about).add_subparsers(
        required=True, metavar="ORIGIN"
    )
    about = "take in the boards that SCALE published, with their verdicts"
    sub = origins.add_parser(SCALE, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="PATH", help="SCALE's folder public/data")
    sub.add_argument("--month", default="", metavar="YYYY-MM", help="one month (default: all)")
    common(sub, _import_scale)
    about = "take in official BFCL result files and score their answers here"
    sub = origins.add_parser(BFCL, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="PATH", help="the folder result/, around or in it")
    sub.add_argument(
        "--dataset", default="", metavar="D", help="the official data (default: what was fetched)"
    )
    sub.add_argument(
        "--mode", choices=("fc", "prompt"), help="how the answers were asked for (default: by form)"
    )
    sub.add_argument(
        "--month", default="", metavar="YYYY-MM", help="when (default: by folder or file)"
    )
    common(sub, _import_bfcl)
    about = "take in a run that was handed in as a bundle, and score its answers again here"
    sub = origins.add_parser(BUNDLE, help=about, description=about)
    sub.add_argument("path", type=Path, metavar="FILE.zip")
    sub.add_argument(
        "--dataset", default="", metavar="D", help="where its cases are here (default: by name)"
    )
    common(sub, _import_bundle)


def _settings(given: argparse.Namespace) -> Settings:
    from evalcore import settings

    return settings.load(given.data)


def _export(given: argparse.Namespace) -> int:
    from evalcore.exchange import reports
    from evalcore.store import run_folder

    settings = _settings(given)
    if given.patch and given.format != SWE_BENCH:
        raise UsageError(f"--patch is for --format {SWE_BENCH} only; drop it")
    if (given.hub or given.source) and given.format != EVAL_RESULTS:
        raise UsageError(f"--hub and --source are for --format {EVAL_RESULTS} only; drop them")
    folder = run_folder.find(given.run, settings.run_roots)
    if given.format in _ANSWERS:
        return _ANSWERS[given.format](given, folder)
    return _write(given, reports.render(folder, given.format, show_gated=settings.show_gated))


def _write(given: argparse.Namespace, text: str) -> int:
    """A text to the file of --out, else to standard output."""
    if given.out is None:
        sys.stdout.write(text)
        return _DONE
    try:
        given.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {given.out}: {error.strerror}") from None
    return _DONE


def _place(given: argparse.Namespace, kind: str = "folder") -> Path:
    if given.out is None:
        raise UsageError(f"--out is missing: the {kind} that --format {given.format} writes")
    return Path(given.out)


def _export_scale(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.scale import exporter

    out = _place(given)
    done = exporter.export(folder, out)
    told = {"month": done.month, "model": done.model, "files": done.files}
    _tell(
        given,
        told,
        f"{out}: {format_count(len(done.files), 'file')} for {done.model} in {done.month}",
    )
    if done.unmeasured:
        _say(f"{done.unmeasured} cases without a verdict went out as Fail")
    return _DONE


def _export_bfcl(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.bfcl import exporter

    out = _place(given)
    done = exporter.export(folder, out)
    _tell(
        given,
        done,
        f"{out}: {format_count(len(done.files), 'file')}, "
        f"{format_count(done.answers, 'answer')} of {done.model}",
    )
    if done.failed:
        _say(f"{done.failed} failed requests went out as upstream writes them")
    if done.left_out:
        _say(f"{done.left_out} samples without an answer were left out")
    return _DONE


def _export_gaia(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.gaia import exporter

    out = _place(given, "file")
    done = exporter.export(folder, out)
    _tell(given, done, f"{out}: {format_count(done.samples, 'line')} for the leaderboard of GAIA")
    if done.missing:
        _say(f"{done.missing} samples without an answer went out as empty ones")
    if done.gated:
        _say(f"{done.gated} answers are to gated questions: {out} is not to be shared openly")
    return _DONE


def _export_swe_bench(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.swe_bench import exporter

    out = _place(given, "file")
    done = exporter.export(folder, out, given.patch or exporter.OFFICIAL)
    _tell(given, done, f"{out}: {format_count(done.samples, 'prediction')} of {done.model}")
    if done.missing:
        _say(f"{done.missing} samples without a patch went out as empty ones")
    if done.repaired:
        _say(f"{done.repaired} patches are others than the official extraction finds")
    return _DONE


def _export_eval_results(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange import eval_results

    places = {}
    for text in given.hub:
        benchmark, _, place = text.partition("=")
        places[benchmark] = eval_results.place_of(place)
    return _write(given, eval_results.render(folder, places, given.source))


def _export_bundle(given: argparse.Namespace, folder: RunFolder) -> int:
    from evalcore.exchange.bundle import exporter

    out = _place(given, "file")
    done = exporter.export(folder, out, _settings(given))
    _tell(given, done, f"{out}: a bundle of {format_count(done.cases, 'case')} of run {done.run}")
    if done.redacted:
        _say(
            f"the texts of {done.redacted} gated cases were left out, so that nobody can score "
            "them again: what they are part of is taken in at level 0, as a claim"
        )
    if done.gated:
        _say(f"{done.gated} cases are gated: {out} is not to be shared openly")
    return _DONE


#: Forms apart from reports: for official evaluations, for the Hub, and the bundle.
_ANSWERS: dict[str, Callable[[argparse.Namespace, RunFolder], int]] = {
    SCALE: _export_scale,
    BFCL: _export_bfcl,
    GAIA: _export_gaia,
    SWE_BENCH: _export_swe_bench,
    EVAL_RESULTS: _export_eval_results,
    BUNDLE: _export_bundle,
}


def _import_scale(given: argparse.Namespace) -> int:
    from evalcore.exchange.scale import importer

    done = importer.import_tree(given.path, _settings(given), given.month, _say)
    _tell(given, vars(done), _imported_text(done))
    return _DONE


def _import_bfcl(given: argparse.Namespace) -> int:
    from evalcore.exchange.bfcl import importer

    source = importer.Source(str(given.path), given.dataset, given.month, given.mode)
    done = importer.import_results(source, _settings(given), _say)
    _tell(given, vars(done), _imported_text(done))
    return _DONE


def _import_bundle(given: argparse.Namespace) -> int:
    from evalcore.exchange.bundle import importer

    done = importer.import_bundle(given.path, _settings(given), given.dataset, _say)
    _tell(given, done, _bundle_text(done))
    return _DONE


def _bundle_text(done: ImportedBundle) -> str:
    """What became of the run, then each claim beside what is counted here."""
    lines = [f"run {done.run} {done.became}: {done.target}, from run {done.source_run}"]
    for one in done.scores:
        claimed, here = (
            "not scored" if score is None else f"{score:.2f}"
            for score in (one.claimed, one.recomputed)
        )
        lines.append(
            f"{one.benchmark}: level {one.level}, {claimed} claimed, {here} here; "
            f"{one.equal} of {one.verdicts} verdicts came out equal"
        )
        lines += [f"  not scored here, {count}: {why}" for why, count in one.kept.items()]
        if one.unconfirmed:
            lines.append(f"  {one.unconfirmed} expected answers are not confirmed: {one.reason}")
    return "\n".join(lines)


def _tell(given: argparse.Namespace, done: Any, text: str) -> None:
    """What was done: as JSON for machines, else as text."""
    import msgspec

    print(msgspec.json.encode(done).decode() if given.json else text)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


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
    _tell(given, found, verify.as_text(found))
    return _DONE
