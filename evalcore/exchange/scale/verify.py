"""Decide verdicts that SCALE published again with our equivalence check."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp

from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.scale.forms import CASES, SUFFIX, json_object, read_report
from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.evidence import describe_decision
from evalcore.sqlkit.syntax import find_changed_table, transpile_sql


class PublishedAnswer(Record, frozen=True):
    """One graded answer. `case` is the case as it was when it was asked; `passed` the verdict."""

    month: str
    target: str
    capability: str
    indicator: str
    case_id: str
    case: dict[str, Any]
    answer: Any
    passed: bool


def read_published_answers(
    data_folder: Path, capability: str, indicator: str
) -> Iterator[PublishedAnswer]:
    """Every answer to one indicator, in the order of month, target and case. Raises UsageError for
    a folder without reports, DatasetError for a report of another form."""
    root = data_folder / CASES
    if not root.is_dir():
        raise UsageError(f"{data_folder} has no folder {CASES}; give SCALE's public/data")
    for path in sorted(root.glob(f"eval_run_case_*/{capability}/*.json")):
        month = path.parent.parent.name.removeprefix("eval_run_case_")
        for part in read_report(path).indicators:
            if part.indicator_name.removesuffix(SUFFIX) != indicator:
                continue
            for row in part.case_datas:
                case = json_object(row.case_content)
                if case is None:
                    raise DatasetError(path, None, "case_content", "is no JSON object")
                for answered in row.model_answers:
                    yield PublishedAnswer(
                        month=month,
                        target=path.stem,
                        capability=capability,
                        indicator=indicator,
                        case_id=row.case_id,
                        case=case,
                        answer=answered.model_answer,
                        passed=row.passed,
                    )


# Deciding SCALE's published answers again, by execution, and how often its judges said the same.
# Dialect cases come without schema or reference: `datasets/scale_twins` holds a reference twin
# for each that is no procedure, found by the hash of the source statement. Of the optimization
# cases the MySQL ones carry all that is needed. The decision never sees a published verdict:
# `decide_all` gets answers without them, and `compute_agreement` joins the two afterwards.

INDICATOR = "logical_equivalence"
CAPABILITIES = ("dialect_conversion", "sql_optimization")
_DECIDED = ("equivalent", "different", "error")


class Twin(Record, frozen=True):
    """What an answer is held against: the questions (tried in turn where names do not resolve)
    and the dialect that answers are written in, if it is not the engine's."""

    questions: tuple[EquivalenceQuestion, ...]
    answer_dialect: str = ""


class BlindAnswer(Record, frozen=True):
    """An answer as the decision sees it: a case and a text, no verdict."""

    case_id: str
    twin: Twin
    answer: str


def verify_published_answers(data_folder: Path, twins: Path) -> dict[str, Any]:
    """Per capability: counts, agreement by case, and every disagreement with its proof."""
    with EnginePool() as engines:
        decider = Decider(engines.get)
        return {
            capability: _verify_capability(
                decider, list(read_published_answers(data_folder, capability, INDICATOR)), twins
            )
            for capability in CAPABILITIES
        }


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
    for entry in list_disagreements(report):
        lines.append(
            f"  {entry['capability']} case {entry['case_id']}, {entry['target']}: published "
            f"{entry['published']}, here {entry['decision']}: {entry['why']}"
        )
    return "\n".join(lines)


def _verify_capability(
    decider: Decider, published: Sequence[PublishedAnswer], twins: Path
) -> dict[str, Any]:
    twins_by_hash = read_twins(twins)
    eligible, blind = [], []
    for answer in published:
        if twin := find_twin(answer, twins_by_hash):
            eligible.append(answer)
            blind.append(BlindAnswer(answer.case_id, twin, _answer_to_text(answer.answer)))
    decisions = decide_all(decider, blind)
    return {"answers": len(published)} | compute_agreement(eligible, decisions)


def decide_all(decider: Decider, blind_answers: Sequence[BlindAnswer]) -> list[Equivalence]:
    """The decision on each answer; equal answers to equal questions are decided once."""
    decisions: dict[tuple[Twin, str], Equivalence] = {}
    # keeps a case's databases at hand
    for blind in sorted(blind_answers, key=lambda blind: blind.case_id):
        if (blind.twin, blind.answer) not in decisions:
            decisions[blind.twin, blind.answer] = _decide_answer(decider, blind)
    return [decisions[blind.twin, blind.answer] for blind in blind_answers]


def _decide_answer(decider: Decider, blind_answer: BlindAnswer) -> Equivalence:
    twin = blind_answer.twin
    sql = extract_sql(blind_answer.answer, twin.answer_dialect or twin.questions[0].engine).sql
    if not sql:
        return Equivalence(status="error", cause="format", message="the answer contains no SQL")
    decision = Equivalence(status="undecided", cause="few_databases")
    for question in twin.questions:
        # an answer for a server that nobody can start here, in the dialect of the engine
        dialect = twin.answer_dialect or question.engine
        decision = decider.decide(question, transpile_sql(sql, dialect, question.engine))
        if decision.status != "error":
            break
    return decision


def compute_agreement(
    published: Sequence[PublishedAnswer], decisions: Sequence[Equivalence]
) -> dict[str, Any]:
    """How the decisions compare with the published verdicts."""
    cases: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_COUNTS, 0))
    disagreements = []
    for answer, decision in zip(published, decisions, strict=True):
        counts = cases[answer.case_id]
        counts["eligible"] += 1
        if decision.status not in _DECIDED:
            continue
        counts["decided"] += 1
        if (decision.status == "equivalent") == answer.passed:
            counts["agree"] += 1
        else:
            disagreements.append(_build_disagreement(answer, decision))
    totals = {name: sum(counts[name] for counts in cases.values()) for name in _COUNTS}
    by_case = dict(sorted(cases.items(), key=lambda item: (len(item[0]), item[0])))
    return totals | {"by_case": by_case, "disagreements": disagreements}


_COUNTS = ("eligible", "decided", "agree")


def _build_disagreement(answer: PublishedAnswer, decision: Equivalence) -> dict[str, Any]:
    return {
        "month": answer.month,
        "target": answer.target,
        "case_id": answer.case_id,
        "published": "Pass" if answer.passed else "Fail",
        "decision": decision.status,
        "why": describe_decision(decision),
        "answer": _answer_to_text(answer.answer),
        "counterexample": msgspec.to_builtins(decision.counterexample),
    }


def read_twins(path: Path) -> dict[str, Twin]:
    """Twins by the hash of the source statement; raises DatasetError for a bad line."""
    twins = {}
    for _, row in read_rows(path):
        question = EquivalenceQuestion(
            engine=row["engine"],
            schema=tuple(row["schema"]),
            reference=row["reference"],
            state_of=tuple(filter(None, [find_changed_table(row["reference"], row["engine"])])),
            ordered=row.get("ordered"),
        )
        questions = (question, _quote_question_names(question, row["names"]))
        twins[row["sql_hash"]] = Twin(questions, row.get("answer_dialect", ""))
    return twins


def find_twin(answer: PublishedAnswer, twins_by_hash: Mapping[str, Twin]) -> Twin | None:
    """What an answer can be held against, None where it cannot: procedures, other engines."""
    if isinstance(answer.answer, dict) and answer.answer.get("status") == "error":
        return None  # a failure of a service is no answer
    if answer.capability == "dialect_conversion":
        return twins_by_hash.get(hash_sql(str(answer.case.get("sql", ""))))
    if answer.case.get("db_type") != "mysql":
        return None
    return Twin((_mysql_question(answer.case),))


def hash_sql(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()[:16]


def _mysql_question(case: Mapping[str, Any]) -> EquivalenceQuestion:
    """The original statement is what answers are held against, on the tables of the case."""
    schema = case.get("create_table_statements", [])
    return EquivalenceQuestion(
        engine="mysql",
        schema=tuple([schema] if isinstance(schema, str) else schema),
        reference=str(case.get("sql", "")).strip().rstrip(";"),
    )


def _quote_question_names(
    question: EquivalenceQuestion, names: Mapping[str, str]
) -> EquivalenceQuestion:
    """The same world with quoted names, written as the source writes them: some answers quote."""

    def quote_names(sql: str) -> str:
        try:
            tree = sqlglot.parse_one(sql, dialect=question.engine)
        except sqlglot.errors.SqlglotError:
            return sql
        for node in tree.find_all(exp.Identifier):
            node.set("this", names.get(node.name.lower(), node.name))
            node.set("quoted", True)
        return tree.sql(dialect=question.engine)

    return msgspec.structs.replace(
        question,
        schema=tuple(map(quote_names, question.schema)),
        reference=quote_names(question.reference),
        state_of=tuple(
            ".".join(f'"{names.get(part, part)}"' for part in table.split("."))
            for table in question.state_of
        ),
    )


def _answer_to_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
