"""Export runs in the form in which SCALE publishes: its index, case reports and process logs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.access.redaction import mask_votes, with_masked_target
from evalcore.catalog import find_target_kind
from evalcore.errors import FileError, UsageError
from evalcore.exchange.report_data import (
    BenchmarkReport,
    Round,
    RunReport,
    iter_case_rounds,
    open_run_report,
)
from evalcore.exchange.scale.forms import (
    APPLICATION,
    CAPABILITIES,
    MOST_POINTS,
    SUBJECTIVE,
    SUFFIX,
    CapabilityScore,
    Indicator,
    IndicatorScore,
    ScaleAnswer,
    ScaleCaseRow,
    ScaleModel,
    board_path,
    case_folder,
    evaluation_type,
    indicator_of,
    log_path,
)
from evalcore.i18n import Note
from evalcore.records import MEASURED, Record, RunSpec, Sample
from evalcore.results import BenchmarkScore
from evalcore.scoring.claims import ClaimSum, compute_claimed_score
from evalcore.store import run_folder as published_file
from evalcore.store.run_folder import RunFolder, write_atomic

# The cases of a run as rows of SCALE's case reports.
# The form knows Pass and Fail only: what was not measured is a Fail, as in our strict score.

_SCHEMA_AS_TEXT = "index_advice"  # whose schema is one text there, elsewhere a list
_THEIRS = {"schema": "create_table_statements", "data": "insert_statements"}


class ExportedCase(Record, frozen=True):
    """A case with its episodes and verdicts by epoch; None where nothing is journaled."""

    sample: Sample
    rounds: tuple[Round, ...]

    @property
    def id_parts(self) -> tuple[str, str]:
        """The id of the case and, where it stands for one rule of the case, that of the rule."""
        if self.sample.metric != SUBJECTIVE:
            return self.sample.id, ""
        case, _, rule = self.sample.id.rpartition("/")
        return (case, rule) if case else (rule, "")

    @property
    def answers(self) -> list[str]:
        """Every answer that was graded: one per epoch, or several that an import kept together."""
        collected: list[str] = []
        for episode, _ in self.rounds:
            stored_answers = episode.state.get("answers") if episode else None
            single = [episode.answer if episode else ""]
            collected += stored_answers if isinstance(stored_answers, list) else single
        return collected

    @property
    def passed(self) -> bool:
        """Whether it passed in more than half of the epochs."""
        wins = sum(v is not None and v.outcome == "passed" for _, v in self.rounds)
        return 2 * wins > len(self.rounds)


class MetricCases(Iterable[ExportedCase]):
    """The cases of one metric, read anew each time. Counted are cases, points and verdicts."""

    def __init__(self, iterate: Callable[[], Iterable[ExportedCase]], metric: str) -> None:
        self._iterate, self.metric = iterate, metric
        self.counts: Counter[str] = Counter()
        self.judges: set[str] = set()

    def __iter__(self) -> Iterator[ExportedCase]:
        return (case for case in self._iterate() if case.sample.metric == self.metric)

    def count(self, case: ExportedCase) -> None:
        """Count a case; raises UsageError for points that are not whole."""
        points, passed = _compute_case_points(case.sample), case.passed
        measured = sum(v is not None and v.outcome in MEASURED for _, v in case.rounds)
        self.counts.update(measured=measured, unmeasured=len(case.rounds) - measured)
        self.counts.update(cases=1, passed=passed, won=points * passed, total=points)
        self.judges.update(judge for judge, *_ in _iter_votes(case))


def list_measured_metrics(folder: RunFolder, run: RunReport, benchmark: str) -> list[MetricCases]:
    """The metrics with a measured case: of others their format can say no score."""

    def iterate() -> Iterator[ExportedCase]:
        scoring = run.summary.scoring
        for stored, rounds in iter_case_rounds(folder, run.spec, scoring, benchmark):
            masked = tuple(
                (episode, verdict and mask_votes(verdict)) for episode, verdict in rounds
            )
            yield ExportedCase(stored.sample, masked)

    metrics: dict[str, MetricCases] = {}
    for case in iterate():
        name = case.sample.metric
        metrics.setdefault(name, MetricCases(iterate, name)).count(case)
    return [cases for cases in metrics.values() if cases.counts["measured"]]


def build_indicator(report: BenchmarkReport, cases: MetricCases) -> Indicator:
    """The head of an indicator, without its cases."""
    weight, counts = report.spec.weights.get(cases.metric, 0.0), cases.counts
    return Indicator(
        indicator_name=f"{indicator_of(cases.metric)}{SUFFIX}",
        indicator_weight=int(weight) if weight == int(weight) else weight,
        evaluation_type=evaluation_type(report.spec.key, cases.metric),
        case_pass_count=counts["passed"],
        case_wrong_count=counts["cases"] - counts["passed"],
        correct_rate=round(counts["passed"] / counts["cases"], 2),
    )


def _render_case_report(report: BenchmarkReport, metrics: Iterable[MetricCases]) -> Iterator[bytes]:
    """The report of a benchmark, an indented list of indicators with their rows."""
    before = b"[\n  "
    for cases in metrics:
        indicator = _indent_json(build_indicator(report, cases), 2)
        head, _, tail = indicator.partition(b'"case_datas": []')
        yield before + head + b'"case_datas": ['
        before = b"\n      "
        for case in cases:
            yield before + _indent_json(_build_scale_row(report.spec.key, case), 6)
            before = b",\n      "
        yield b"\n    ]" + tail
        before = b",\n  "
    yield b"\n]"


def _indent_json(value: object, depth: int) -> bytes:
    """Indented JSON that stands `depth` blanks deep; a text in it holds no end of a line."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return text.replace(b"\n", b"\n" + b" " * depth)


def _build_scale_row(capability: str, case: ExportedCase) -> ScaleCaseRow:
    sample = case.sample
    case_id, rule = case.id_parts
    messages = next((episode.messages for episode, _ in case.rounds if episode), ())
    return ScaleCaseRow(
        case_id=case_id,
        case_weight=_compute_case_points(sample),
        case_content=json.dumps(
            _build_case_content(capability, sample, case_id), ensure_ascii=False
        ),
        case_eval_result="Pass" if case.passed else "Fail",
        mode_question="\n\n".join(m.content for m in messages if m.role in ("system", "user")),
        model_answers=tuple(
            ScaleAnswer(number, _parse_json_answer(text))
            for number, text in enumerate(case.answers, 1)
        ),
        rule_id=rule or msgspec.UNSET,
    )


def _compute_case_points(sample: Sample) -> int:
    """What the case weighs; raises UsageError for what their whole numbers cannot hold."""
    weight = sample.difficulty if sample.weight is None else sample.weight
    if weight != int(weight) or weight > MOST_POINTS:
        raise UsageError(
            Note("scale_weight", sample=sample.key, weight=f"{weight:g}", most=MOST_POINTS)
        )
    return int(weight)


def _build_case_content(capability: str, sample: Sample, case_id: str) -> dict[str, Any]:
    fields = {_THEIRS.get(name, name): value for name, value in sample.input.items()}
    if capability == "sql_optimization" and "dialect" in fields:
        fields["db_type"] = fields.pop("dialect")
    if sample.metric == _SCHEMA_AS_TEXT and isinstance(fields.get("create_table_statements"), list):
        fields["create_table_statements"] = "\n".join(fields["create_table_statements"])
    expected = sample.reference.get("expected")
    if sample.metric != SUBJECTIVE:  # there each rule has a difficulty of its own
        fields["difficulty_level"] = str(sample.difficulty)
    content = {"case_id": case_id, **fields}
    return content | ({"expected": expected} if expected is not None else {})


def _parse_json_answer(text: str) -> Any:
    """JSON answers go out parsed, as they do there."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


# Writing a process log in SCALE's newer dialect, so that `logs.read` reads it back.

_RULE = "=" * 49
#: An answer could hold lines that look like entries of the log.
_LIKE_AN_ENTRY = re.compile(r"^(?=\[\d{4}-)", re.MULTILINE)


def render_process_log(spec: RunSpec, capability: str, cases: MetricCases) -> Iterator[str]:
    """The log of one indicator of a run; times are those of the episodes, else of the run."""
    kind = evaluation_type(capability, cases.metric)
    yield from _render_log_header(spec, capability, cases)
    for case in cases:
        yield from _render_exchanges(spec, case)
    for case in cases:
        name, _, rule = "/".join(filter(None, case.id_parts)).partition("/")
        label = f"Rule[{rule}]" if rule else f"{kind} Eval Case"
        head = f"[{_escape_log_name(name)}] {label} Final Result: {case.passed}"
        yield _format_log_entry(spec.created_at, head)


def _render_log_header(spec: RunSpec, capability: str, cases: MetricCases) -> Iterator[str]:
    digits = re.sub(r"\D", "", spec.created_at)
    yield from (_RULE, "SQL Capability Evaluation Process Report", _RULE)
    yield f"Run ID: {digits[:8]}_{digits[8:14]}_{digits[14:17]}"
    yield f"Run Dimensions: {capability}"
    yield f"Run Indicator: {indicator_of(cases.metric)}"
    yield f"Evaluation Timestamp: {spec.created_at[:23]}"
    yield f"Target: {_escape_log_name(spec.target.identity)}"
    yield f"Judge LLMs: {', '.join(sorted(map(_escape_log_name, cases.judges)))}"
    yield from ("-" * 49, "")


def _render_exchanges(spec: RunSpec, case: ExportedCase) -> Iterator[str]:
    """The question, each answer, then the votes."""
    name = _escape_log_name("/".join(case.id_parts).partition("/")[0])
    target = _escape_log_name(spec.target.key)
    episode = next((episode for episode, _ in case.rounds if episode), None)
    at = episode.at if episode and episode.at else spec.created_at
    asked = [m.content for m in episode.messages if m.role == "user"] if episode else []
    for number, answer in enumerate(case.answers, 1):
        head = f"[Case:{name}][Run:{number}] [{target}] Model"
        yield _format_log_entry(at, f"{head} Input Prompt:", "\n\n".join(asked))
        yield _format_log_entry(at, f"{head} Output Response:", answer)
    for judge, vote, reason in _iter_votes(case):
        reply = {"answer": vote} | ({"reason": reason} if reason else {})
        head = f"[Case:{name}][Run:1] [{_escape_log_name(judge)}] Model Output Response:"
        yield _format_log_entry(at, head, json.dumps(reply, ensure_ascii=False))


def _iter_votes(case: ExportedCase) -> Iterator[tuple[str, str, str]]:
    """(judge, vote, reason) of every vote in the evidence."""
    for _, verdict in case.rounds:
        for section in verdict.evidence if verdict else ():
            if section.kind == "votes" and isinstance(section.body, list):
                for cast in section.body:
                    yield tuple(str(cast.get(name, "")) for name in ("judge", "vote", "reason"))  # type: ignore[misc]


def _format_log_entry(at: str, head: str, body: str = "") -> str:
    text = f"[{at[:10]} {at[11:23]}] {head}"
    return f"{text}\n{_LIKE_AN_ENTRY.sub(' ', body)}" if body else text


def _escape_log_name(name: str) -> str:
    """A name within brackets on one line."""
    return re.sub(r"[\[\]\r\n]", "_", name)


# A run as SCALE's site reads it: a row of the monthly board, case reports and process logs.
# Scores are computed from the written reports, so that they recompute; how many of the written
# Fails were never measured is told.

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class ScaleExport(Record, frozen=True):
    """What was written: files by path, and how many cases without a measured outcome are Fails."""

    month: str
    model: str
    files: tuple[str, ...]
    unmeasured: int


def export_scale_run(folder: RunFolder, out: Path) -> ScaleExport:
    """Write the three kinds of report under `out`, SCALE's folder public/data.

    A monthly board that is there keeps its other rows. Raises UsageError, with nothing written, for
    a run without scores, with nothing measured or without a benchmark that SCALE has, for a board
    that is none or has another model of that id, and where `out` cannot be written.
    """
    with open_run_report(folder) as run:
        return _export_report(folder, run, out)


def _export_report(folder: RunFolder, run: RunReport, out: Path) -> ScaleExport:
    run = msgspec.structs.replace(run, spec=with_masked_target(run.spec))
    reports = [report for report in run.benchmarks if report.spec.key in CAPABILITIES]
    if not reports:
        names = ", ".join(CAPABILITIES)
        raise UsageError(Note("scale_none", run=folder.run_id, names=names))
    model, month = _build_model_row(folder, run), run.spec.created_at[:7]
    files: dict[Path, Iterable[bytes]] = {}
    unmeasured = 0
    for report in reports:
        name = report.spec.key
        metrics = list_measured_metrics(folder, run, name)
        unmeasured += sum(cases.counts["unmeasured"] for cases in metrics)
        if report.score.level == 0:
            model.scores[name] = _bare_claim(report.score)
        elif metrics:
            model.scores[name] = _build_claim(report, metrics)
            path = case_folder(out, month) / name / f"{model.id}.json"
            files[path] = _render_case_report(report, metrics)
            for cases in metrics:
                path = log_path(out, month, model.id, name, indicator_of(cases.metric))
                lines = render_process_log(run.spec, name, cases)
                files[path] = (f"{line}\n".encode() for line in lines)
    if not model.scores:
        raise UsageError(Note("scale_unmeasured", run=folder.run_id))
    files[board_path(out, month)] = [_render_month_board(board_path(out, month), model)]
    _write_scale_files(files)
    written = tuple(str(path.relative_to(out)) for path in files)
    return ScaleExport(month=month, model=model.id, files=written, unmeasured=unmeasured)


def _bare_claim(benchmark_score: BenchmarkScore) -> CapabilityScore:
    """An imported claim without cases goes out as it came in."""
    return CapabilityScore(
        ability_score=benchmark_score.score or 0.0,
        indicator_score=tuple(
            IndicatorScore(f"{indicator_of(metric)}{SUFFIX}", metric_score.score)
            for metric, metric_score in benchmark_score.metrics.items()
            if metric_score.score is not None
        ),
    )


def _build_claim(report: BenchmarkReport, metrics: Iterable[MetricCases]) -> CapabilityScore:
    weights = report.spec.weights
    parts = [
        ClaimSum(own.metric, weights.get(own.metric, 0), own.counts["won"], own.counts["total"])
        for own in metrics
    ]
    return CapabilityScore(
        ability_score=compute_claimed_score(parts),
        indicator_score=tuple(
            IndicatorScore(f"{indicator_of(part.metric)}{SUFFIX}", part.score) for part in parts
        ),
    )


def _build_model_row(folder: RunFolder, run: RunReport) -> ScaleModel:
    """Build the row without scores; an import is exported under its publisher's description."""
    published = published_file.read_published(folder)
    if published is not None:
        facts = msgspec.convert(published.facts, ScaleModel)
        return msgspec.structs.replace(facts, id=_file_name(facts.id))
    target = run.spec.target
    kind = find_target_kind(target.key)
    return ScaleModel(
        id=_file_name(target.identity),
        display=target.identity,
        name=target.key.partition(":")[2],
        type="Chat" if kind is None or kind.can_judge else APPLICATION,
    )


def _file_name(name: str) -> str:
    """A name as files may have it: it comes from outside."""
    return _UNSAFE.sub("-", name).strip(".-") or "unnamed"


def _render_month_board(path: Path, model: ScaleModel) -> bytes:
    """The monthly board with this row, in the place of its earlier one; others stay as they are."""
    others = _read_board_rows(path)
    earlier = next((other for other in others if other["id"] == model.id), None)
    if earlier is not None and earlier.get("real_model_namne", "") != model.display:
        raise UsageError(Note("scale_other_model", path=path, model=model.id))
    rows = [model if other is earlier else other for other in others]
    rows += [model] if earlier is None else []
    return msgspec.json.format(msgspec.json.encode({"models": rows}), indent=2)


def _read_board_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a monthly board as they are, none where there is no file."""
    if not path.exists():
        return []
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())["models"]
        msgspec.convert(rows, tuple[ScaleModel, ...], strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError) as error:
        problem = f"{path} is not a monthly board, so nothing was written"
        raise UsageError(f"{problem}: {error}") from None
    return rows


def _write_scale_files(files: Mapping[Path, Iterable[bytes]]) -> None:
    for path, content in files.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise FileError(f"--out {path}", error) from None
