"""Ties beside rows that a statement wants not to find, and texts that have the form of dates."""

from __future__ import annotations

import datetime
import re

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.generate.regex_samples import sample_matches
from perf.questions import asked

MEMBERS = (
    "CREATE TABLE member (member_id INTEGER PRIMARY KEY, points INTEGER NOT NULL)",
    "CREATE TABLE voucher (code VARCHAR(16) PRIMARY KEY, member_id INTEGER)",
)
VOUCHERS = """INSERT INTO voucher (code, member_id)
SELECT 'G' || m.member_id, m.member_id FROM member AS m
WHERE NOT EXISTS (SELECT 1 FROM voucher AS v WHERE v.member_id = m.member_id)
ORDER BY {order} LIMIT 20"""


@pytest.mark.parametrize(
    ("order", "status"),
    [("m.points DESC, m.member_id", "equivalent"), ("m.member_id", "different")],
)
def test_an_order_decides_who_comes_below_a_limit(order: str, status: str) -> None:
    question = EquivalenceQuestion(
        engine="sqlite",
        schema=MEMBERS,
        reference=VOUCHERS.format(order="m.points DESC, m.member_id"),
        state_of=("voucher",),
    )
    with EnginePool() as engines:
        decision = Decider(engines.get).decide(question, f"{VOUCHERS.format(order=order)};")
    assert decision.status == status


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        (r"^[0-3][0-9]\.[0-1][0-9]\.[1-2][0-9]{3}$", "%d.%m.%Y"),
        (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "%Y-%m-%d"),
    ],
)
def test_a_sampled_text_that_looks_like_a_date_is_one(pattern: str, form: str) -> None:
    matching = [text for text in sample_matches(pattern) if re.search(pattern, text)]
    assert len(matching) > 1
    for text in matching:
        assert datetime.datetime.strptime(text, form)


def test_a_default_of_a_procedure_is_called_for() -> None:
    """Each bundled routine with a DEFAULT is called without that argument too."""
    header = re.compile(
        r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:PROCEDURE|FUNCTION)\s+(\w+)\s*\(", re.I
    )
    found = 0
    for case in asked("dialect_conversion", engine="postgres"):
        start = header.match(case.question.reference)
        head = case.question.reference.split("$$")[0]
        if start is None or not re.search(r"\bDEFAULT\b", head, re.I):
            continue
        found += 1
        parameters = head[start.end() :].split("RETURNS")[0].count(",")
        call = re.compile(rf"\b{start[1]}\(((?:[^(),]|\([^()]*\))*(?:,[^(),]*)*)\)", re.I)
        counts = {
            arguments.count(",") for c in case.question.calls for arguments in call.findall(c)
        }
        assert min(counts) < parameters, case.case
    assert found >= 9
