"""A run as a file for others: reports, `.eval_results` of the Hub, result files of slm-evals, and
the lines that official evaluations take."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import yaml

from evalcore import catalog
from evalcore.access.redaction import Redactor, redact_spec, redact_summary
from evalcore.errors import FileError, UsageError
from evalcore.exchange import report_data, report_tables
from evalcore.exchange.report_data import ERRORS, BenchmarkReport, ReportCase, RunReport
from evalcore.exchange.report_tables import build_report_tables
from evalcore.i18n import DEFAULT, Note, t
from evalcore.plain_text import format_csv, round_cell
from evalcore.records import Episode, Record, RunSpec, Sample, to_plain
from evalcore.results import BenchmarkScore
from evalcore.store.case_index import CaseIndex
from evalcore.store.cases import read_case_rounds
from evalcore.store.run_folder import RunFolder, write_atomic
from evalcore.views.comparability import (
    Comparability,
    assess_run,
    assessment_to_dict,
    describe_reasons,
)
from evalcore.views.seals import SealStatus

# A report as strangers may read it: no key, no place of this machine, nobody who started it.


def redact_report(report: RunReport, censored: Redactor) -> RunReport:
    """The report, with what a bundle leaves out of the same run left out here too."""
    spec = redact_spec(report.spec, censored)
    summary = redact_summary(report.summary, spec)
    specs = {benchmark.key: benchmark for benchmark in spec.benchmarks}
    redact = partial(_redact_case, censored=censored)
    return RunReport(
        spec=spec,
        summary=summary,
        benchmarks=tuple(
            BenchmarkReport(
                spec=specs[benchmark.spec.key],
                score=summary.benchmarks[benchmark.spec.key],
                counts=benchmark.counts,
                cases=benchmark.cases.change(redact),
            )
            for benchmark in report.benchmarks
        ),
        seal=_redact_seal(report.seal, censored),
    )


def _redact_seal(seal: SealStatus | None, censored: Redactor) -> SealStatus | None:
    """What breaks a seal may name a folder of this machine."""
    if seal is None:
        return None
    problems = tuple(map(censored.redact_text, seal.problems))
    return msgspec.structs.replace(seal, problems=problems)


def _redact_case(case: ReportCase, censored: Redactor) -> ReportCase:
    """Where no answer was scored, the note repeats what programs said, which may name anything."""
    note = censored.redact_text if case.outcome in ERRORS else censored.redact_line
    return msgspec.structs.replace(
        case, note=note(case.note), prediction=censored.redact_line(case.prediction)
    )


# A run's report as JSON, CSV, Markdown or HTML. The JSON and CSV carry the fields of slm-evals, so
# that its readers go on working: `score` there is passed/total from 0 to 1, and nothing (null, an
# empty cell) where no case was executed. Ours stand beside them and run from 0 to 100.

CSV_COLUMNS = (
    *("benchmark", "total", "passed", "score"),
    *("experiment", "timestamp", "model_path", "error_count", "avg_latency_s"),
    *("weighted_score", "low", "high", "answered", "coverage", "complete", "full"),
    *("dataset", "column"),
    *("official_board", "comparable", "not_comparable_because"),
)

_CASE_FIELDS = (
    *("id", "prediction", "passed", "score", "note", "latency", "metric", "epoch"),
    *("difficulty", "weight", "outcome", "reason", "evidence_kind", "level"),
)


def render_report(folder: RunFolder, format: str, experiment: str = "", **look: Any) -> str:
    """`iterate_report` as one text."""
    return "".join(iterate_report(folder, format, experiment, **look))


def iterate_report(
    folder: RunFolder,
    format: str,
    experiment: str = "",
    *,
    show_gated: bool = False,
    censored: Redactor | None = None,
    language: str = DEFAULT,
) -> Iterator[str]:
    """The report of a scored run, piece by piece, with one case at a time in memory; `experiment`
    names it where the run id shall not.

    Answers to gated questions are in it only with `show_gated`; with `censored` it goes to others
    and is without keys and places of this machine. Markdown and HTML are in `language`; JSON and
    CSV keep their fields, and CSV says in it why a score does not compare.

    Raises UsageError for an unknown format and for a run without scores, RunFolderError for a
    folder that cannot be read.
    """
    if format not in _WRITERS:
        raise UsageError(Note("report_form", form=format, names=", ".join(_WRITERS)))
    with report_data.open_run_report(folder, show_gated=show_gated) as report:
        shown = report if censored is None else redact_report(report, censored)
        yield from _WRITERS[format](shown, experiment or folder.run_id, language)


def _iterate_json_report(report: RunReport, experiment: str, language: str) -> Iterator[str]:
    """The object, indented; lists of cases are written into it where their marks stand."""
    spec = report.spec
    summary = msgspec.to_builtins(report.summary)
    del summary["benchmarks"]
    marks = {b.spec.key: secrets.token_hex() for b in report.benchmarks}
    content = {
        "experiment_name": experiment,
        "model_path": spec.target.key,
        "timestamp": spec.created_at,
        "aggregate_score": report.pass_rate,
        "missing": report.missing_benchmarks,
        "benchmarks": {
            b.spec.key: _benchmark_to_dict(b, marks[b.spec.key]) for b in report.benchmarks
        },
        "comparable": {
            key: assessment_to_dict(assessed)
            for key, assessed in assess_run(report.spec, report.summary).items()
        },
        "summary": summary,
        "spec": msgspec.to_builtins(spec),
    }
    if report.seal is not None:
        content["seal"] = to_plain(report.seal)
    rest = _format_json(content)
    for benchmark in report.benchmarks:
        before, _, rest = rest.partition(f'"{marks[benchmark.spec.key]}"')
        yield before
        yield from _iterate_json_list(_list_case_objects(benchmark), before)
    yield rest + "\n"


def _format_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _iterate_json_list(values: Iterable[Any], before: str) -> Iterator[str]:
    """A list as it is written within an indented object, behind the name of its field."""
    line = before.rpartition("\n")[2]
    indent = "\n" + " " * (len(line) - len(line.lstrip()))
    mark = "["
    for value in values:
        yield f"{mark}{indent}  " + _format_json(value).replace("\n", f"{indent}  ")
        mark = ","
    yield "[]" if mark == "[" else f"{indent}]"


def _list_case_objects(benchmark: BenchmarkReport) -> Iterator[dict[str, Any]]:
    card = catalog.benchmark_cards().get(benchmark.spec.key)
    resolving = card is not None and card.resolves
    for case in benchmark.cases:
        yield _case_to_dict(case) | ({"resolved": case.resolved} if resolving else {})


def _benchmark_to_dict(benchmark: BenchmarkReport, samples: str) -> dict[str, Any]:
    """The fields of slm-evals, then `weighted`: our score with interval, coverage and outcomes;
    `samples` stands where its cases will."""
    counts = benchmark.counts
    return {
        "name": benchmark.spec.key,
        "total": counts.total,
        "passed": counts.passed,
        "score": benchmark.pass_rate,
        "error_count": counts.errors,
        "not_executed": counts.not_executed,
        "unusable": counts.unusable,
        "avg_latency_s": counts.latency,
        "weighted": _build_weighted_score(benchmark.score),
        "samples": samples,
    }


def _build_weighted_score(score: BenchmarkScore) -> dict[str, Any]:
    """The record of a score; what was not measured has no points either."""
    weighted: dict[str, Any] = msgspec.to_builtins(score)
    for metric in weighted["metrics"].values():
        if metric["score"] is None:
            metric |= {"passed": None, "points": None}
    return weighted


def _case_to_dict(case: ReportCase) -> dict[str, Any]:
    values = {name: getattr(case, name) for name in _CASE_FIELDS}
    return {"latency_s" if name == "latency" else name: values[name] for name in values}


def _iterate_csv_report(report: RunReport, experiment: str, language: str) -> Iterator[str]:
    """One row per benchmark under CSV_COLUMNS; what is unknown is an empty cell."""
    rows, assessments = [], assess_run(report.spec, report.summary)
    for benchmark in report.benchmarks:
        score, interval = benchmark.score, benchmark.score.interval
        assessed = assessments.get(benchmark.spec.key, Comparability("", ("no_board",)))
        row = {
            "benchmark": benchmark.spec.key,
            "total": benchmark.counts.total,
            "passed": benchmark.counts.passed,
            "score": round_cell(benchmark.pass_rate),
            "experiment": experiment,
            "timestamp": report.spec.created_at,
            "model_path": report.spec.target.key,
            "error_count": benchmark.counts.errors,
            "avg_latency_s": round_cell(benchmark.counts.latency),
            "weighted_score": round_cell(score.score),
            "low": round_cell(interval.low if interval else None),
            "high": round_cell(interval.high if interval else None),
            "answered": round_cell(score.answered),
            "coverage": round(score.coverage, 4),
            "complete": score.complete,
            "full": score.full,
            "dataset": benchmark.spec.dataset,
            "column": score.column,
            "official_board": assessed.official_board,
            "comparable": assessed.comparable,
            "not_comparable_because": describe_reasons(assessed, language),
        }
        rows.append([row[name] for name in CSV_COLUMNS])
    yield format_csv([CSV_COLUMNS, *rows])


def _iterate_markdown_report(report: RunReport, experiment: str, language: str) -> Iterator[str]:
    title = t("cli.report.heading", language, name=experiment)
    return report_tables.iterate_markdown_tables(title, build_report_tables(report, language))


def _iterate_html_report(report: RunReport, experiment: str, language: str) -> Iterator[str]:
    title = t("cli.report.heading", language, name=experiment)
    return report_tables.iterate_html_tables(title, build_report_tables(report, language), language)


_WRITERS: dict[str, Callable[[RunReport, str, str], Iterator[str]]] = {
    "json": _iterate_json_report,
    "csv": _iterate_csv_report,
    "md": _iterate_markdown_report,
    "html": _iterate_html_report,
}


def write_report(out: Path, parts: Iterable[str]) -> None:
    """Write the pieces of a report as a whole. Raises OSError."""
    write_atomic(out, (part.encode() for part in parts))


# The three files of an slm-evals run: results.json, results.csv, report.md in one folder.

_FILES = {"results.json": "json", "results.csv": "csv", "report.md": "md"}


def write_slm_reports(folder: RunFolder, out: Path, *, show_gated: bool = False) -> None:
    """Write a run's reports under slm-evals' names; raises UsageError where it cannot."""
    try:
        for name, form in _FILES.items():
            write_report(out / name, iterate_report(folder, form, out.name, show_gated=show_gated))
    except OSError as error:
        raise FileError(f"output_dir {out}", error) from None


# A run as `.eval_results` YAML: the form in which model repositories on the Hugging Face Hub hold
# results, for their own page and for the leaderboards of the data sets.
# The form (https://huggingface.co/docs/hub/eval-results): a list of entries with `dataset.id`,
# `dataset.task_id`, `value`, and where known `dataset.revision`, `date`, `source.url` and
# `notes`. Which data set and task a result belongs to is for the caller to say: a wrong one would
# put our score of other cases onto somebody's leaderboard.

_PART = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}"
_HUB_TASK = re.compile(rf"({_PART}/{_PART}):([A-Za-z0-9_.:\-]{{1,96}})(?:@([0-9a-f]{{7,64}}))?")
_OWNER = re.compile(_PART)
_SOURCE = re.compile(r"https://[^\s\x00-\x1f]{1,500}")
HUB_TASK_FORM = "OWNER/DATASET:TASK[@REVISION]"


class HubTask(Record, frozen=True):
    """A task of a data set on the Hub; `revision` is a commit, empty where it is not said."""

    dataset: str
    task: str
    revision: str = ""


def parse_hub_task(text: str) -> HubTask:
    """Reads FORM; raises UsageError for anything else."""
    match = _HUB_TASK.fullmatch(text)
    if match is None:
        raise UsageError(Note("report_task", value=text, form=HUB_TASK_FORM))
    return HubTask(match[1], match[2], match[3] or "")


def render_eval_results(
    folder: RunFolder, hub_tasks: Mapping[str, HubTask], source: str = "", organization: str = ""
) -> str:
    """The YAML of a run, an entry per benchmark of `hub_tasks`; `source` is the address of
    evidence, `organization` who gives it there.

    Raises UsageError for a run without scores, a benchmark that it does not hold, and a score that
    is no result: of a control, or not complete, hence only a lower bound.
    """
    spec, summary = folder.read_spec(), folder.read_summary()
    if summary is None:
        raise UsageError(Note("run_no_result", run=folder.run_id, state=folder.current_state()))
    if spec.target.key.startswith(f"{catalog.CONTROL_KIND}:"):
        raise UsageError(Note("export_control", run=folder.run_id, target=spec.target.key))
    if source and not _SOURCE.fullmatch(source):
        raise UsageError(Note("cli_report_source", source=source))
    if organization and not (source and _OWNER.fullmatch(organization)):
        raise UsageError(Note("cli_report_organization", organization=organization))
    held = ", ".join(summary.benchmarks)
    if not hub_tasks:
        raise UsageError(Note("cli_report_no_hub", form=HUB_TASK_FORM, names=held))
    entries = []
    for benchmark, hub_task in hub_tasks.items():
        score = summary.benchmarks.get(benchmark)
        if score is None:
            raise UsageError(Note("cli_report_hub_other", benchmark=benchmark, names=held))
        finished = summary.finished_at or spec.created_at
        evidence = {"url": source, "name": "Evalboard"} if source else {}
        evidence |= {"org": organization} if organization else {}
        entries.append(_build_eval_entry(spec, score, hub_task, finished, evidence))
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10_000)


def _build_eval_entry(
    spec: RunSpec, score: BenchmarkScore, hub_task: HubTask, date: str, evidence: dict[str, str]
) -> dict[str, Any]:
    if score.score is None or not score.complete or score.level is not None:
        raise UsageError(Note("report_incomplete", benchmark=score.benchmark, run=spec.run_id))
    dataset = {"id": hub_task.dataset, "task_id": hub_task.task}
    dataset |= {"revision": hub_task.revision} if hub_task.revision else {}
    entry = {"dataset": dataset, "value": round(score.score, 4), "date": date}
    entry |= {"source": evidence} if evidence else {}
    return entry | {"notes": _build_eval_notes(spec, score)}


def _build_eval_notes(spec: RunSpec, score: BenchmarkScore) -> str:
    """What the number rests on, in one line."""
    own = next(entry for entry in spec.benchmarks if entry.key == score.benchmark)
    notes = [f"Evalboard {score.benchmark}, 0 to 100"]
    if score.interval:
        notes.append(f"95% interval {score.interval.low:.1f} to {score.interval.high:.1f}")
    notes.append(f"{score.samples} cases" if score.full else f"a subset of {score.samples} cases")
    notes += [f"{spec.epochs} epochs"] if spec.epochs > 1 else []
    notes.append(f"data {own.dataset_hash[:12]}, column {score.column}, run {spec.run_id}")
    return "; ".join(notes)


# What goes out to official evaluations as one JSON line for each declared sample of a run.

SampleEpisode = tuple[Sample, Episode | None]


def iter_sample_episodes(folder: RunFolder, benchmark: str) -> Iterator[SampleEpisode]:
    """Every declared sample of a benchmark with its episode in the first epoch, None for one that
    was not asked or whose request failed. Raises UsageError for a run without the benchmark."""
    if not any(benchmark_spec.key == benchmark for benchmark_spec in folder.read_spec().benchmarks):
        raise UsageError(Note("report_no_benchmark", run=folder.run_id, benchmark=benchmark))
    with CaseIndex.load(folder, "", folder.read_spec().epochs) as index:
        for stored, rounds in read_case_rounds(index, benchmark):
            episode = rounds[0][0]
            yield stored.sample, None if episode is None or episode.failure else episode


def write_json_lines(out: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write a file of JSON lines as a whole. Raises UsageError where it cannot be written."""
    try:
        write_atomic(out, (json.dumps(row).encode() + b"\n" for row in rows))
    except OSError as error:
        raise FileError(f"--out {out}", error) from None
