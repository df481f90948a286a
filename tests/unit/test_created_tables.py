"""Statements that create tables differ where the tables take or fill in other rows."""

import pytest

from evalcore.sqlkit.engines.registry import EnginePool
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.equivalence.decider import Decider

PARENT = "CREATE TABLE site (site_id INTEGER PRIMARY KEY, region TEXT)"
REFERENCE = """CREATE TABLE alarm (
  alarm_id INTEGER PRIMARY KEY,
  site_id INTEGER NOT NULL REFERENCES site (site_id),
  level TEXT NOT NULL DEFAULT 'low' CHECK (level IN ('low', 'high')),
  load_pct DECIMAL(5,2) CHECK (load_pct >= 0),
  first_day DATE,
  last_day DATE NOT NULL,
  UNIQUE (site_id, level)
)"""


@pytest.fixture(scope="module")
def decide():
    with EnginePool() as engines:
        decider = Decider(engines.get)
        question = EquivalenceQuestion(engine="sqlite", schema=(PARENT,), reference=REFERENCE)
        yield lambda answer: decider.decide(question, answer)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" CHECK (load_pct >= 0)", ""),
        ("load_pct >= 0", "load_pct > 0"),
        ("load_pct >= 0", "load_pct >= -1"),
        ("'low', 'high'", "'low'"),
        ("'low', 'high'", "'low', 'high', 'top'"),
        (" CHECK (level IN ('low', 'high'))", ""),
        ("DEFAULT 'low'", "DEFAULT 'high'"),
        (" DEFAULT 'low'", ""),
        ("last_day DATE NOT NULL", "last_day DATE"),
        ("first_day DATE", "first_day DATE NOT NULL"),
        ("first_day DATE", "first_day DATE DEFAULT '2024-01-01'"),
        ("load_pct >= 0)", "load_pct >= 0 AND load_pct < 50)"),
        ("UNIQUE (site_id, level)", "UNIQUE (site_id)"),
        (",\n  UNIQUE (site_id, level)", ""),
    ],
)
def test_a_rule_that_is_changed_is_a_difference(decide, old, new):
    assert REFERENCE.count(old) == 1
    decision = decide(REFERENCE.replace(old, new))
    assert decision.status == "different"
    assert decision.counterexample is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load_pct >= 0", "NOT load_pct < 0"),
        ("level IN ('low', 'high')", "level = 'high' OR level = 'low'"),
        ("UNIQUE (site_id, level)", "UNIQUE (level, site_id)"),
        ("DECIMAL(5,2)", "NUMERIC(5, 2)"),
    ],
)
def test_a_rule_that_is_written_otherwise_is_none(decide, old, new):
    assert REFERENCE.count(old) == 1
    assert decide(REFERENCE.replace(old, new)).status == "equivalent"


@pytest.mark.parametrize("declared", ["NUMERIC", "INTEGER", "DECIMAL(10,2)"])
def test_a_text_of_digits_that_is_kept_as_a_number_is_a_difference(declared):
    question = EquivalenceQuestion("sqlite", (PARENT,), "CREATE TABLE t (id INTEGER, code TEXT)")
    with EnginePool() as engines:
        answer = f"CREATE TABLE t (id INTEGER, code {declared})"
        assert Decider(engines.get).decide(question, answer).status == "different"
