"""Decide verdicts that SCALE published again: each question once, on all cores, resumable.

Decisions are journaled in the data folder as they are made, so that a run that was killed goes on
where it stopped, and another month costs only what is new in it. Neither the workers nor the
journal know a published verdict; `compare_verdicts` joins the two afterwards.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import util
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.exchange.scale.published_answers import (
    BlindQuestion,
    PublishedData,
    PublishedRow,
    read_published_data,
)
from evalcore.exchange.scale.redecision import RULES_VERSION, Redecider, Redecision
from evalcore.exchange.scale.twins import read_twins
from evalcore.i18n import Note
from evalcore.records import Record
from evalcore.store.journal import Journal, read_journal

JOURNAL = "verify/scale.jsonl"
#: Called with how many questions are decided, of how many, and how many of them just now.
Progress = Callable[[int, int, int], None]


class JournaledDecision(Record, frozen=True):
    """A line of the journal: the hash of a question, the version of the rules, the decision."""

    key: str
    rules: str
    decision: Redecision


class VerifiedRow(Record, frozen=True):
    """A published row, and our verdict on it: None where it stays undecided. `decisions` are those
    on its answers, `answer` the first of them that bears our verdict."""

    row: PublishedRow
    passed: bool | None
    decisions: tuple[Redecision, ...] = ()
    answer: str = ""

    @property
    def is_disputed(self) -> bool:
        return self.passed is not None and self.passed != self.row.passed

    @property
    def decisive(self) -> Redecision:
        """The first decision that bears the verdict of a decided row."""
        return next(each for each in self.decisions if each.passed == self.passed)


def verify_published_answers(
    data_folder: Path,
    twins: Path,
    journal: Path,
    *,
    jobs: int = 1,
    progress: Progress = lambda decided, total, new: None,
) -> list[VerifiedRow]:
    """Decide every published row. `journal` is the file of decisions, which one process writes at a
    time; `jobs` is the number of worker processes.

    Raises UsageError for a folder without reports or while another process verifies, and
    EnvironmentFailure if a worker dies; decisions made until then stay in the journal.
    """
    data = read_published_data(data_folder, read_twins(twins))
    journal.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(journal.with_suffix(".lock"), timeout=0)
    try:
        with lock:
            decisions = _decide_all(data.questions, journal, jobs, progress)
    except Timeout:
        raise UsageError(Note("scale_busy", folder=journal.parent)) from None
    return compare_verdicts(data, decisions)


def _decide_all(
    questions: Mapping[str, BlindQuestion], journal: Path, jobs: int, progress: Progress
) -> dict[str, Redecision]:
    """The decisions on all questions by their hashes; those in the journal are not made again."""
    decisions = {
        line.key: line.decision
        for line in read_journal(journal, JournaledDecision)
        if line.rules == RULES_VERSION and line.key in questions
    }
    known = len(decisions)
    # neighbours share a case, so that its databases are prepared once
    pending = sorted(questions.keys() - decisions.keys(), key=lambda key: _sort_key(questions[key]))
    progress(known, len(questions), 0)
    with Journal(journal) as writer:
        for key, decision in decide_questions([(key, questions[key]) for key in pending], jobs):
            decisions[key] = decision
            if decision.lasts:
                writer.append(JournaledDecision(key, RULES_VERSION, decision))
            progress(len(decisions), len(questions), len(decisions) - known)
    return decisions


def _sort_key(question: BlindQuestion) -> tuple[str, str, str]:
    references = [asked.reference for asked in question.twin.questions[:1]]
    return (question.kind, "".join(references), question.answer)


_workers: list[Redecider] = []  # the one of this process, if it is a worker


def decide_questions(
    questions: Sequence[tuple[str, BlindQuestion]], jobs: int
) -> Iterator[tuple[str, Redecision]]:
    """Each question's key and decision, as they are made; with one job in this process."""
    if jobs < 2:
        redecider = Redecider()
        try:
            for key, question in questions:
                yield key, redecider.decide(question)
        finally:
            redecider.close()
        return
    pool = ProcessPoolExecutor(
        min(jobs, max(1, len(questions))),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    )
    try:
        futures = {pool.submit(_decide_in_worker, question): key for key, question in questions}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    except BrokenProcessPool:
        raise EnvironmentFailure(Note("cli_verify_worker_ended")) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Open a worker's engines and close them with it; an interrupt is for the parent to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    redecider = Redecider()
    _workers.append(redecider)
    util.Finalize(redecider, redecider.close, exitpriority=10)  # a worker runs no atexit hooks


def _decide_in_worker(question: BlindQuestion) -> Redecision:
    return _workers[0].decide(question)


def compare_verdicts(data: PublishedData, decisions: Mapping[str, Redecision]) -> list[VerifiedRow]:
    """Join the rows with the decisions on their answers. Of several answers more than half must
    agree: a row of three answers is wrong as soon as two are."""
    verified = []
    for row in data.rows:
        made = tuple(decisions[key] for key in row.questions)
        verdict = next(
            (v for v in (True, False) if 2 * sum(d.passed is v for d in made) > len(made)), None
        )
        bearing = (key for key in row.questions if decisions[key].passed is verdict)
        key = next(bearing, "") if verdict is not None else ""
        answer = data.questions[key].answer if key else ""
        verified.append(VerifiedRow(row, verdict, made, answer))
    return verified


# What the command prints: counts by capability and case, and every disagreement with its proof.

_COUNTS = ("answers", "eligible", "decided", "agree")


def summarize_agreement(verified: Sequence[VerifiedRow]) -> dict[str, Any]:
    """Per capability: counts, the same by metric and case, and every disagreement."""
    report: dict[str, Any] = {}
    for each in verified:
        part = report.setdefault(
            each.row.capability,
            {**dict.fromkeys(_COUNTS, 0), "by_case": {}, "by_metric": {}, "disagreements": []},
        )
        case = f"{each.row.metric}/{each.row.case_id}"
        tallies = [part]
        for group, name in (("by_metric", each.row.metric), ("by_case", case)):
            tallies.append(part[group].setdefault(name, dict.fromkeys(_COUNTS, 0)))
        for tally in tallies:
            tally["answers"] += 1
            tally["eligible"] += bool(each.row.questions)
            tally["decided"] += each.passed is not None
            tally["agree"] += each.passed == each.row.passed
        if each.is_disputed:
            part["disagreements"].append(_build_disagreement(each))
    return report


def list_disagreements(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All disagreements of a verification, each with its capability."""
    return [
        {"capability": name, **entry}
        for name, part in report.items()
        for entry in part["disagreements"]
    ]


def format_verification(report: Mapping[str, Any]) -> str:
    """The counts for people."""
    lines = []
    for name, part in report.items():
        decided = f"{part['decided']} of {part['eligible']} eligible answers decided"
        share = f"{part['agree']} of them as published" if part["decided"] else "none as published"
        lines.append(f"{name}: {part['answers']} answers, {decided}, {share}")
        lines += [
            f"  {metric}: {tally['answers']} answers, {tally['decided']} of {tally['eligible']} "
            f"decided, {tally['agree']} as published"
            for metric, tally in part["by_metric"].items()
        ]
    for entry in list_disagreements(report):
        lines.append(
            f"  {entry['capability']} {entry['metric']} case {entry['case_id']}, {entry['month']} "
            f"{entry['target']}: published {entry['published']}, here {entry['decision']}: "
            f"{entry['why']}"
        )
    return "\n".join(lines)


def _build_disagreement(each: VerifiedRow) -> dict[str, Any]:
    decisive = each.decisive
    return {
        "month": each.row.month,
        "target": each.row.target,
        "metric": each.row.metric,
        "case_id": each.row.row_id,
        "published": "Pass" if each.row.passed else "Fail",
        "decision": decisive.decision,
        "why": decisive.why,
        "answer": each.answer,
        "counterexample": decisive.counterexample,
    }
