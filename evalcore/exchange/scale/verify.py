"""Deciding SCALE's published answers again, by execution, and how often its judges said the same.

Dialect cases come without schema or reference: `datasets/scale_twins` holds a reference twin for
each that is no procedure, found by the hash of the source statement. Of the optimization cases the
MySQL ones carry all that is needed. The decision never sees a published verdict: `decide_all` gets
answers without them, and `agreement` joins the two afterwards.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp

from evalcore.benchmarks.sql_answer import extract_sql
from evalcore.benchmarks.sql_evidence import describe_decision
from evalcore.exchange.scale.published import PublishedAnswer, answers
from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.sqlkit.engines.pool import EnginePool
from evalcore.sqlkit.equivalence.decide import Decider
from evalcore.sqlkit.equivalence.records import Equivalence, Question
from evalcore.sqlkit.rewrite import find_changed_table, transpile_sql

INDICATOR = "logical_equivalence"
CAPABILITIES = ("dialect_conversion", "sql_optimization")
_DECIDED = ("equivalent", "different", "error")


class Twin(Record, frozen=True):
    """What an answer is held against: the questions (tried in turn where names do not resolve)
    and the dialect that answers are written in, if it is not the engine's."""

    questions: tuple[Question, ...]
    answer_dialect: str = ""


class Asked(Record, frozen=True):
    """An answer as the decision sees it: a case and a text, no verdict."""

    case_id: str
    twin: Twin
    answer: str


def verify(place: Path, twins: Path) -> dict[str, Any]:
    """Per capability: counts, agreement by case, and every disagreement with its proof."""
    with EnginePool() as engines:
        decider = Decider(engines.get)
        return {
            capability: _verify(decider, list(answers(place, capability, INDICATOR)), twins)
            for capability in CAPABILITIES
        }


def disagreements(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All disagreements of a verification, each with its capability."""
    return [
        {"capability": name, **one} for name, part in found.items() for one in part["disagreements"]
    ]


def as_text(found: Mapping[str, Any]) -> str:
    """The counts for people."""
    lines = []
    for name, part in found.items():
        decided = f"{part['decided']} of {part['eligible']} eligible answers decided"
        share = f"{part['agree']} of them as published" if part["decided"] else "none as published"
        lines.append(f"{name}: {part['answers']} answers, {decided}, {share}")
    for one in disagreements(found):
        lines.append(
            f"  {one['capability']} case {one['case_id']}, {one['target']}: published "
            f"{one['published']}, here {one['decision']}: {one['why']}"
        )
    return "\n".join(lines)


def _verify(decider: Decider, published: Sequence[PublishedAnswer], twins: Path) -> dict[str, Any]:
    known = read_twins(twins)
    eligible = [(answer, twin) for answer in published if (twin := twin_of(answer, known))]
    asked = [
        Asked(case_id=answer.case_id, twin=twin, answer=_text(answer.answer))
        for answer, twin in eligible
    ]
    found = decide_all(decider, asked)
    return {"answers": len(published)} | agreement([answer for answer, _ in eligible], found)


def decide_all(decider: Decider, asked: Sequence[Asked]) -> list[Equivalence]:
    """The decision on each answer; equal answers to equal questions are decided once."""
    known: dict[tuple[Twin, str], Equivalence] = {}
    for one in sorted(asked, key=lambda one: one.case_id):  # keeps a case's databases at hand
        if (one.twin, one.answer) not in known:
            known[one.twin, one.answer] = _decide(decider, one)
    return [known[one.twin, one.answer] for one in asked]


def _decide(decider: Decider, one: Asked) -> Equivalence:
    sql = extract_sql(one.answer, one.twin.answer_dialect or one.twin.questions[0].engine).sql
    if not sql:
        return Equivalence(status="error", cause="format", message="the answer holds no SQL")
    found = Equivalence(status="undecided", cause="few_databases")
    for question in one.twin.questions:
        found = decider.decide(question, _in_engine(sql, one.twin, question))
        if found.status != "error":
            break
    return found


def _in_engine(sql: str, twin: Twin, question: Question) -> str:
    """An answer for a server that nobody can start here, in the dialect of the engine."""
    return transpile_sql(sql, twin.answer_dialect or question.engine, question.engine)


def agreement(published: Sequence[PublishedAnswer], found: Sequence[Equivalence]) -> dict[str, Any]:
    """How the decisions compare with the published verdicts."""
    cases: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_COUNTS, 0))
    disagreements = []
    for answer, decision in zip(published, found, strict=True):
        counts = cases[answer.case_id]
        counts["eligible"] += 1
        if decision.status not in _DECIDED:
            continue
        counts["decided"] += 1
        if (decision.status == "equivalent") == answer.passed:
            counts["agree"] += 1
        else:
            disagreements.append(_disagreement(answer, decision))
    totals = {name: sum(counts[name] for counts in cases.values()) for name in _COUNTS}
    by_case = dict(sorted(cases.items(), key=lambda item: (len(item[0]), item[0])))
    return totals | {"by_case": by_case, "disagreements": disagreements}


_COUNTS = ("eligible", "decided", "agree")


def _disagreement(answer: PublishedAnswer, decision: Equivalence) -> dict[str, Any]:
    return {
        "month": answer.month,
        "target": answer.target,
        "case_id": answer.case_id,
        "published": "Pass" if answer.passed else "Fail",
        "decision": decision.status,
        "why": describe_decision(decision),
        "answer": _text(answer.answer),
        "counterexample": msgspec.to_builtins(decision.counterexample),
    }


def read_twins(path: Path) -> dict[str, Twin]:
    """Twins by the hash of the source statement; raises DatasetError for a bad line."""
    found = {}
    for _, row in read_rows(path):
        question = Question(
            engine=row["engine"],
            schema=tuple(row["schema"]),
            reference=row["reference"],
            state_of=tuple(filter(None, [find_changed_table(row["reference"], row["engine"])])),
            ordered=row.get("ordered"),
        )
        questions = (question, _quoted(question, row["names"]))
        found[row["sql_hash"]] = Twin(questions, row.get("answer_dialect", ""))
    return found


def twin_of(answer: PublishedAnswer, known: Mapping[str, Twin]) -> Twin | None:
    """What an answer can be held against, None where it cannot: procedures, other engines."""
    if isinstance(answer.answer, dict) and answer.answer.get("status") == "error":
        return None  # a failure of a service is no answer
    if answer.capability == "dialect_conversion":
        return known.get(hash_of(str(answer.case.get("sql", ""))))
    if answer.case.get("db_type") != "mysql":
        return None
    return Twin((_mysql_question(answer.case),))


def hash_of(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()[:16]


def _mysql_question(case: Mapping[str, Any]) -> Question:
    """The original statement is what answers are held against, on the tables of the case."""
    schema = case.get("create_table_statements", [])
    return Question(
        engine="mysql",
        schema=tuple([schema] if isinstance(schema, str) else schema),
        reference=str(case.get("sql", "")).strip().rstrip(";"),
    )


def _quoted(question: Question, names: Mapping[str, str]) -> Question:
    """The same world with quoted names, written as the source writes them: some answers quote."""

    def quoted(sql: str) -> str:
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
        schema=tuple(map(quoted, question.schema)),
        reference=quoted(question.reference),
        state_of=tuple(
            ".".join(f'"{names.get(part, part)}"' for part in table.split("."))
            for table in question.state_of
        ),
    )


def _text(answer: Any) -> str:
    """A parsed answer as the text it was parsed from."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
