"""From case reports and process logs to samples, episodes and verdicts, written once per report;
published verdicts stay."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalcore.errors import DatasetError
from evalcore.exchange.imported_run import Journals, put_journals
from evalcore.exchange.scale.forms import (
    Indicator,
    ScaleCaseRow,
    build_scale_card,
    digest_of,
    evaluation_type,
    json_object,
    metric_of,
    read_report,
)
from evalcore.exchange.scale.month_scan import MonthScan
from evalcore.exchange.staging import BlobStore
from evalcore.i18n import Note
from evalcore.records import Episode, Message, Record, Sample, Section, Verdict, content_hash
from evalcore.results import BenchmarkScore
from evalcore.runner.plan import dataset_hash
from evalcore.scoring.aggregation import score_benchmark

# SCALE's process logs of both dialects: the panel, each vote and the final results. Header lines,
# then `[time] text`. Old logs say `[case] Hybrid Eval Case Judge NAME Results: True` and `...
# Correct Rules: ['1']`; new ones hold every exchange under `[Case:c][Run:k] [model] Model Output
# Response:`, for target and judges alike: the target's is the first of its name in a run.

_HEADER = re.compile(r"^(Run ID|Evaluation Timestamp|Target LLM|Target|Judge LLMs):[ \t]*(.*)$")
_ENTRY = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\] (.*)$")
_EXCHANGE = re.compile(
    r"\[Case:(.+?)\]\[Run:(\d+)\] \[(.+?)\] Model (Input Prompt|Output Response):"
)
_OLD_VOTE = re.compile(r"\[(.+?)\] \w+ Eval Case Judge (.+?) (Results|Correct Rules): (.*)")
_FINAL = re.compile(
    r"\[(.+?)\] (?:\w+ Eval Case |Rule ?\[?([^\]\s]+)\]? ?)(?:Final )?Results?: (True|False)", re.I
)
_ITEMS = re.compile(r"""['"]?([^\s'",\[\]]+)['"]?""")
_FENCE = re.compile(r"^```\w*\s*$", re.MULTILINE)


class Vote(Record, frozen=True):
    """One vote of one judge. `vote` is yes, no or, for rules, their ids joined by a comma; empty
    where the reply could not be read. `text` is the reply as it came, empty in old logs."""

    case: str
    run: int
    judge: str
    vote: str
    reason: str = ""
    text: str = ""


class ProcessLog(Record, frozen=True):
    """A parsed log. `finals` maps a case, or case/rule, to its result."""

    target: str
    judges: tuple[str, ...]
    timestamp: str
    answers: dict[str, tuple[str, ...]]
    votes: tuple[Vote, ...]
    finals: dict[str, bool]


def read_process_log(path: Path) -> ProcessLog:
    """A log of either dialect; raises DatasetError for a file that is none."""
    try:
        text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise DatasetError(path, None, "", str(error.strerror)) from None
    header, entries = _split_process_log(text)
    if "Run ID" not in header:
        raise DatasetError(path, None, "Run ID", Note("scale_no_log"))
    votes, finals, answers = _parse_log_entries(entries)
    judges = [name.strip() for name in header.get("Judge LLMs", "").split(",")]
    return ProcessLog(
        target=header.get("Target", header.get("Target LLM", "")),
        judges=tuple(filter(None, judges)),
        timestamp=header.get("Evaluation Timestamp", ""),
        answers={case: tuple(texts) for case, texts in answers.items()},
        votes=tuple(votes),
        finals=finals,
    )


def _split_process_log(text: str) -> tuple[dict[str, str], list[str]]:
    """The header fields, and the entries without their times, each with its further lines."""
    header: dict[str, str] = {}
    entries: list[list[str]] = []
    for line in text.split("\n"):
        if entry := _ENTRY.match(line):
            entries.append([entry[2]])
        elif entries:
            entries[-1].append(line)
        elif field := _HEADER.match(line):
            header[field[1]] = field[2].strip()
    return header, ["\n".join(lines) for lines in entries]


def _parse_log_entries(
    entries: list[str],
) -> tuple[list[Vote], dict[str, bool], dict[str, list[str]]]:
    votes: list[Vote] = []
    finals: dict[str, bool] = {}
    answers: dict[str, list[str]] = {}
    target, answered = "", set[tuple[str, str]]()
    for entry in entries:
        head, _, body = entry.partition("\n")
        if exchange := _EXCHANGE.match(head):
            case, run, model, direction = exchange.groups()
            target = target or model  # the first to be asked
            if direction == "Input Prompt":
                continue
            if model == target and (case, run) not in answered:
                answered.add((case, run))
                answers.setdefault(case, []).append(body.strip())
            else:
                votes.append(_parse_vote(case, int(run), model, body.strip()))
        elif old := _OLD_VOTE.match(head):
            case, judge, kind, reply = old.groups()
            results = {"true": "yes", "false": "no"}
            vote = results.get(reply.strip().lower(), "") if kind == "Results" else None
            vote = ",".join(_ITEMS.findall(reply)) if vote is None else vote
            votes.append(Vote(case, 1, judge, vote))
        elif final := _FINAL.match(head):
            case = f"{final[1]}/{final[2]}" if final[2] else final[1]
            finals[case] = final[3] == "True"
    return votes, finals, answers


def _parse_vote(case: str, run: int, judge: str, text: str) -> Vote:
    """A reply is JSON with `answer` (yes, no, or rule ids) and perhaps `reason`."""
    reply = _extract_json(_FENCE.sub("", text))
    if not isinstance(reply, dict):
        return Vote(case, run, judge, "", text=text)
    answer = next((reply[name] for name in ("answer", "rule_ids", "rules") if name in reply), "")
    vote = ",".join(map(str, answer)) if isinstance(answer, list) else str(answer).strip().lower()
    return Vote(case, run, judge, vote, str(reply.get("reason") or ""), text)


def _extract_json(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None


def group_votes(votes: tuple[Vote, ...]) -> Iterator[tuple[str, list[Vote]]]:
    """The votes grouped by case, in the order of their first vote."""
    grouped: dict[str, list[Vote]] = {}
    for vote in votes:
        grouped.setdefault(vote.case, []).append(vote)
    yield from grouped.items()


_OURS = {"create_table_statements": "schema", "insert_statements": "data", "db_type": "dialect"}
_HIDDEN_FIELDS = ("expected", "case_id", "difficulty_level")
_LISTS = ("schema", "data")


class GradedCase(Record, frozen=True):
    """One row as it enters a run folder."""

    sample: Sample
    episode: Episode
    verdict: Verdict


def build_graded_cases(
    capability: str,
    report: Iterable[Indicator],
    cases: Mapping[str, Collection[str]],
    votes: Mapping[str, Mapping[str, list[Vote]]],
) -> Iterator[GradedCase]:
    """Every row of a case among `cases` (by metric) in the first indicator of its metric; `votes`
    by metric and case."""
    for metric, row in select_case_rows(report, cases):
        cast = votes.get(metric, {}).get(row.case_id, [])
        sample = build_scale_sample(metric, row)
        yield GradedCase(
            sample,
            _build_scale_episode(sample, row),
            _build_scale_verdict(capability, sample, row, cast),
        )


def select_case_rows(
    report: Iterable[Indicator], cases: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, ScaleCaseRow]]:
    """The rows of `cases` (by metric) with their metrics, from the first indicator of each. Of a
    case that stands there twice only the first row is read: the second would count twice."""
    pending = {metric: set(ids) for metric, ids in cases.items()}
    for indicator in report:
        metric = metric_of(indicator.indicator_name)
        remaining = pending.pop(metric, set())
        for row in indicator.case_datas:
            if row.id in remaining:
                remaining.remove(row.id)
                yield metric, row


def build_scale_sample(metric: str, row: ScaleCaseRow) -> Sample:
    """The case of a row, whatever became of it; content that is no JSON object is a question."""
    content = json_object(row.case_content) or {"question": row.case_content}
    return Sample(
        metric=metric,
        id=row.id,
        input=_build_sample_input(content),
        reference={"expected": content["expected"]} if "expected" in content else {},
        difficulty=row.case_weight,
        meta={"source": "SCALE"},
    )


def _build_sample_input(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the target may know of a case, under our names."""
    fields = {
        _OURS.get(name, name): value
        for name, value in content.items()
        if name not in _HIDDEN_FIELDS and not name.startswith("_")  # a client's own notes
    }
    return fields | {name: [fields[name]] for name in _LISTS if isinstance(fields.get(name), str)}


def answer_text(answer: Any) -> str:
    """A parsed answer as the text that it was parsed from."""
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _build_scale_episode(sample: Sample, row: ScaleCaseRow) -> Episode:
    texts = [answer_text(answer.model_answer) for answer in row.model_answers]
    first = texts[0] if texts else ""
    return Episode(
        key=sample.key,
        epoch=0,
        answer=first,
        messages=(
            Message(role="user", content=row.mode_question),
            Message(role="assistant", content=first),
        ),
        completions=len(texts),
        state={"answers": texts} if len(texts) > 1 else {},
    )


def _build_scale_verdict(
    capability: str, sample: Sample, row: ScaleCaseRow, cast: list[Vote]
) -> Verdict:
    objective = evaluation_type(capability, sample.metric) == "objective"
    details: dict[str, Any] = {"published": row.case_eval_result}
    if row.service_error:
        details["error_type"] = "service_error"
    verdict = Verdict(sample.metric, sample.id, outcome="not_executed", details=details)
    if not row.has_verdict:
        return msgspec.structs.replace(verdict, reason="unknown_verdict")
    return msgspec.structs.replace(
        verdict,
        outcome="passed" if row.passed else "failed",
        score=float(row.passed),
        evidence_kind="checked" if objective else "judged",
        evidence=(_votes_section(cast),) if cast else (),
    )


def _votes_section(cast: list[Vote]) -> Section:
    several = len({vote.run for vote in cast}) > 1
    body = [
        {
            "judge": f"{vote.judge} ({vote.run})" if several else vote.judge,
            "vote": vote.vote,
            "reason": vote.reason or (vote.text if not vote.vote else ""),
        }
        for vote in cast
    ]
    return Section(kind="votes", title="votes", body=body)


# The cases of a published score as journals, with their score: made once per distinct report.

Weights = Mapping[str, float]
#: By metric the cases that it consists of, each with a report that holds it.
Declared = Mapping[str, Mapping[str, Path]]


class CapabilityContents(Record, frozen=True):
    """Journals and what is computed from them; `score` is of no column. `judges` and `graded_at`
    are what the process logs say, empty without logs."""

    journals: Journals
    dataset_hash: str
    score: BenchmarkScore
    judges: tuple[str, ...]
    graded_at: str


class ContentsBuilder:
    """Makes contents, and remembers them by the hashes of all that they are made from."""

    def __init__(self, scan: MonthScan, blobs: BlobStore) -> None:
        self._scan, self._blobs = scan, blobs
        self._contents_by_key: dict[str, CapabilityContents] = {}

    def build_contents(
        self,
        capability: str,
        report: Path,
        log_paths: Mapping[str, Path],
        weights: Weights,
        declared: Declared,
    ) -> CapabilityContents:
        """The contents of a report that the survey has seen; `log_paths` by metric, `weights` of
        the metrics to count. A declared case that the report lacks is a sample without a verdict:
        it was dropped, and nobody knows what became of it. Raises DatasetError for a log that is
        none."""
        digests = {metric: digest_of(path) for metric, path in log_paths.items()}
        missing = self._find_missing_cases(report, declared)
        reports = self._scan.reports
        sources = {
            metric: {case: reports[path].digest for case, path in cases.items()}
            for metric, cases in missing.items()
        }
        cases = {metric: sorted(ids) for metric, ids in declared.items()}
        digest = self._scan.reports[report].digest
        key = content_hash([capability, digest, digests, dict(weights), cases, sources])
        if key in self._contents_by_key:
            return self._contents_by_key[key]
        logs_by_metric = {metric: read_process_log(path) for metric, path in log_paths.items()}
        votes = {metric: dict(group_votes(log.votes)) for metric, log in logs_by_metric.items()}
        rows = list(build_graded_cases(capability, read_report(report).indicators, declared, votes))
        samples = [*(row.sample for row in rows), *_samples_elsewhere(missing)]
        verdicts = [row.verdict for row in rows]
        card = build_scale_card(capability)
        self._contents_by_key[key] = contents = CapabilityContents(
            journals=put_journals(
                self._blobs, capability, samples, (row.episode for row in rows), verdicts
            ),
            dataset_hash=dataset_hash(samples),
            score=msgspec.structs.replace(
                score_benchmark(card, samples, verdicts, weights), level=1
            ),
            judges=tuple(sorted({name for log in logs_by_metric.values() for name in log.judges})),
            graded_at=max((log.timestamp for log in logs_by_metric.values()), default=""),
        )
        return contents

    def _find_missing_cases(self, report: Path, declared: Declared) -> dict[str, dict[str, Path]]:
        held: dict[str, set[str]] = {}
        for each in self._scan.reports[report].indicators:
            held.setdefault(each.metric, {row.id for row in each.rows})
        return {
            metric: {case: cases[case] for case in sorted(cases.keys() - held.get(metric, set()))}
            for metric, cases in declared.items()
        }


def _samples_elsewhere(missing: Declared) -> list[Sample]:
    """The missing cases as other reports of the month have them."""
    by_report: dict[Path, dict[str, list[str]]] = {}
    for metric, cases in missing.items():
        for case, path in cases.items():
            by_report.setdefault(path, {}).setdefault(metric, []).append(case)
    return [
        build_scale_sample(metric, row)
        for path, cases in by_report.items()
        for metric, row in select_case_rows(read_report(path).indicators, cases)
    ]
