"""The decision: equal, different with a small counterexample, error, undecided; always the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count, islice

import msgspec
import pytest

from evalcore.errors import EnvironmentFailure, UsageError
from evalcore.sqlkit.engines import Engine, Execution, Limits
from evalcore.sqlkit.engines.registry import EnginePool, open_engine
from evalcore.sqlkit.equivalence import Equivalence, EquivalenceQuestion, trials
from evalcore.sqlkit.equivalence.decider import Decider
from evalcore.sqlkit.equivalence.observations import Observation, add_written_tables
from evalcore.sqlkit.equivalence.trials import Trials
from evalcore.sqlkit.query_plans import WorkMeter
from evalcore.sqlkit.schema import read_schema

pytestmark = pytest.mark.slow

DDL = (
    "CREATE TABLE members (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, city VARCHAR(20), "
    "joined DATE)",
    "CREATE TABLE loans (id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES members (id), "
    "fee DECIMAL(8, 2), status VARCHAR(10) NOT NULL, due DATE)",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[EnginePool]:
    with EnginePool() as pool:
        yield pool


@pytest.fixture(scope="module")
def decider(engines: EnginePool) -> Decider:
    return Decider(engines.get)


def ask(decider: Decider, engine: str, reference: str, answer: str, **more: object) -> Equivalence:
    question = EquivalenceQuestion(engine=engine, schema=DDL, reference=reference, **more)  # type: ignore[arg-type]
    return decider.decide(question, answer)


TOTALS = (
    "SELECT m.name, SUM(l.fee) AS total FROM members m JOIN loans l ON l.member_id = m.id "
    "WHERE l.status = 'open' GROUP BY m.id, m.name HAVING SUM(l.fee) > 100"
)
MARCH = "SELECT id, due FROM loans WHERE due >= '2024-03-01' AND due < '2024-04-01'"
FIRST = MARCH + " ORDER BY due, id LIMIT 5"

SAME = [
    (
        TOTALS,
        "SELECT name, total FROM (SELECT m.id, m.name, SUM(l.fee) AS total FROM loans l "
        "JOIN members m ON m.id = l.member_id WHERE l.status = 'open' GROUP BY m.id, m.name) x "
        "WHERE total > 100",
    ),
    (MARCH, "SELECT id, due FROM loans WHERE due BETWEEN '2024-03-01' AND '2024-03-31'"),
    (
        "SELECT name FROM members WHERE id IN (SELECT member_id FROM loans)",
        "SELECT name FROM members m WHERE EXISTS (SELECT 1 FROM loans WHERE member_id = m.id)",
    ),
    (FIRST, FIRST.replace("due >= '2024-03-01' AND", "'2024-03-01' <= due AND")),
]
DIFFERENT = [
    (TOTALS, TOTALS.replace("> 100", ">= 100"), "row_count"),
    (TOTALS, TOTALS.replace("GROUP BY m.id, m.name", "GROUP BY m.name"), None),
    (TOTALS, TOTALS.replace("m JOIN", "m LEFT JOIN").replace("l.status", "m.name"), None),
    (MARCH, MARCH.replace("< '2024-04-01'", "<= '2024-04-01'"), "row_count"),
    (MARCH, MARCH.replace("id, due", "due, id"), "rows"),
    (MARCH, MARCH.replace("id, due", "id"), "columns_count"),
    (FIRST, FIRST.replace("LIMIT 5", "LIMIT 6"), "row_count"),
    (FIRST, FIRST.replace("due, id LIMIT", "due DESC, id LIMIT"), None),
    (
        "SELECT name FROM members WHERE id NOT IN (SELECT member_id FROM loans)",
        "SELECT name FROM members m WHERE NOT EXISTS (SELECT 1 FROM loans WHERE member_id = m.id)",
        "row_count",
    ),
    ("SELECT city FROM members", "SELECT DISTINCT city FROM members", "row_count"),
    ("SELECT COUNT(*) FROM members", "SELECT COUNT(city) FROM members", "rows"),
    (
        "SELECT city FROM members UNION SELECT status FROM loans",
        "SELECT city FROM members UNION ALL SELECT status FROM loans",
        "row_count",
    ),
    ("SELECT AVG(fee) FROM loans", "SELECT SUM(fee) / COUNT(*) FROM loans", "rows"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("reference", "answer"), SAME)
def test_equivalent(decider: Decider, engine: str, reference: str, answer: str) -> None:
    reply = ask(decider, engine, reference, answer)
    assert reply.status == "equivalent", reply
    assert reply.databases >= 16
    assert reply.nonempty >= 6


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("reference", "answer", "reason"), DIFFERENT)
def test_different(
    decider: Decider, engine: str, reference: str, answer: str, reason: str | None
) -> None:
    reply = ask(decider, engine, reference, answer)
    assert reply.status == "different", reply
    example = reply.counterexample
    assert example is not None
    assert reason is None or example.reason == reason
    assert sum(len(table.rows) for table in example.tables.values()) <= 16
    assert reply == ask(decider, engine, reference, answer)


def test_a_counterexample_is_small_and_shows_both_sides(decider: Decider) -> None:
    reply = ask(
        decider, "sqlite", "SELECT COUNT(*) FROM members", "SELECT COUNT(city) FROM members"
    )
    example = reply.counterexample
    assert example is not None
    assert example.expected is not None
    assert example.actual is not None
    assert example.expected.rows == ((1,),)
    assert example.actual.rows == ((0,),)
    assert len(example.tables["members"].rows) == 1
    assert example.tables["members"].rows[0][2] is None


def test_order_counts_only_where_the_reference_orders_totally(decider: Decider) -> None:
    by_id = "SELECT id FROM loans ORDER BY id"
    assert (
        ask(decider, "sqlite", by_id, "SELECT id FROM loans ORDER BY id DESC").status == "different"
    )
    ties = "SELECT status FROM loans ORDER BY due"
    assert ask(decider, "sqlite", ties, ties + ", id DESC").status == "equivalent"
    assert ask(decider, "sqlite", ties, "SELECT status FROM loans").status == "different"
    assert (
        ask(decider, "sqlite", by_id, "SELECT id FROM loans", ordered=False).status == "equivalent"
    )


CHANGE = (
    "UPDATE loans SET fee = fee * 2 WHERE member_id IN (SELECT id FROM members WHERE city = 'Ulm')"
)


def test_a_function_named_like_a_change_writes_no_table() -> None:
    question = EquivalenceQuestion("mysql", DDL, "SELECT name FROM members")
    for answer in ("SELECT REPLACE(name, 'a', '') FROM members", "SELECT TRUNCATE (1.5, 0)"):
        assert add_written_tables(question, answer) is question
    for answer in ("REPLACE members (id) VALUES (1)", "SELECT TRUNCATE(1, 0); TRUNCATE loans"):
        assert add_written_tables(question, answer).state_of == ("members", "loans")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_changes_are_compared_by_the_table_afterwards(decider: Decider, engine: str) -> None:
    answer = (
        "UPDATE loans SET fee = fee + fee WHERE EXISTS (SELECT 1 FROM members m "
        "WHERE m.id = loans.member_id AND m.city = 'Ulm')"
    )
    seen = ask(decider, engine, CHANGE, answer, state_of=("loans",))
    assert (seen.status, seen.nonempty > 3) == ("equivalent", True)
    wrong = ask(decider, engine, CHANGE, CHANGE.replace("* 2", "* 3"), state_of=("loans",))
    assert wrong.status == "different"
    assert wrong.counterexample is not None
    assert wrong.counterexample.subject == "loans"
    query = ask(decider, engine, CHANGE, "SELECT 1", state_of=("loans",))
    assert query.status == "different"


def test_calls_use_what_the_statement_made(decider: Decider) -> None:
    more = {"calls": ("INSERT INTO seats VALUES (1)", "SELECT * FROM seats"), "data": ((), ())}
    reference = "CREATE TABLE seats (n INTEGER DEFAULT 3, PRIMARY KEY (n))"
    same = ask(decider, "sqlite", reference, "CREATE TABLE seats (n INTEGER PRIMARY KEY)", **more)
    assert same.status == "equivalent"
    other = ask(decider, "sqlite", reference, "CREATE TABLE seats (n TEXT, m TEXT)", **more)
    assert other.status in ("different", "error")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("SELEC id FROM loans", "syntax_error"),
        ("SELECT absent FROM loans", "error"),
        ("ATTACH 'x' AS y", "forbidden"),
        ("SELECT 1; DROP TABLE loans", "forbidden"),
    ],
)
def test_what_does_not_run_is_an_error_with_the_engines_words(
    decider: Decider, answer: str, cause: str
) -> None:
    reply = ask(decider, "sqlite", "SELECT id FROM loans", answer)
    assert (reply.status, reply.cause) == ("error", cause)
    assert reply.message


def test_what_does_not_end_is_an_error() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT SUM(i) FROM n"
    with closing(open_engine("sqlite", Limits(seconds=1))) as engine:
        reply = ask(Decider(lambda name: engine), "sqlite", "SELECT id FROM loans", endless)
    assert (reply.status, reply.cause) == ("error", "timeout")
    assert reply.message


@pytest.mark.parametrize(
    ("reference", "cause"),
    [
        ("SELECT absent FROM loans", "reference_fails"),
        ("SELECT id FROM loans WHERE 1 = 0 LIMIT 5", "few_databases"),
        ("SELECT status FROM loans LIMIT 1", "unstable"),
        ("SELECT id, city::UUID FROM members", "reference_fails"),  # it runs on NULL alone
    ],
)
def test_what_the_reference_leaves_open_is_undecided(
    decider: Decider, reference: str, cause: str
) -> None:
    reply = ask(decider, "duckdb", reference, reference)
    assert (reply.status, reply.cause) == ("undecided", cause)


def test_a_table_that_cannot_be_filled_leaves_a_pair_undecided(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = EquivalenceQuestion("sqlite", DDL, "SELECT id FROM loans WHERE id > 3")
    prepared = decider.load_trials(question)
    unread = msgspec.structs.replace(prepared.schema, unread=("loans", "others"))
    without = msgspec.structs.replace(prepared, schema=unread)
    monkeypatch.setattr(decider, "load_trials", lambda _: without)
    same, other = (decider.decide(question, f"{question.reference}{end}") for end in ("", "3"))
    assert (same.status, same.message.params) == ("undecided", {"tables": "loans"})
    assert other.status == "different"


def test_databases_by_hand_are_used_too(decider: Decider) -> None:
    data = (("INSERT INTO members VALUES (1, 'Abe', 'Kyiv', '2024-01-01')",),) * 2
    rare = "SELECT name FROM members WHERE city || '#' || name = 'Kyiv#Abe'"
    reply = ask(decider, "sqlite", rare, "SELECT name FROM members WHERE 1 = 0", data=data)
    assert reply.status == "different"
    assert reply.counterexample is not None
    assert reply.counterexample.profile == "by hand 1"
    assert reply.counterexample.tables["members"].rows[0][1] == "Abe"


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_effort_tells_a_rewrite_that_reads_less(engine: str) -> None:
    slow = (
        "SELECT id FROM members m WHERE (SELECT COUNT(*) FROM loans l WHERE l.member_id = m.id) > 0"
    )
    question = EquivalenceQuestion(engine=engine, schema=DDL, reference=slow)
    with closing(WorkMeter()) as meter:
        before = meter.measure_reference(question)
        after = meter.measure_work(
            question, "SELECT id FROM members WHERE id IN (SELECT member_id FROM loans)"
        )
        assert before.unit
        assert 0 < after.amount < before.amount or engine == "duckdb"
        assert meter.measure_work(question, slow).amount == before.amount


def test_an_unknown_engine_is_said() -> None:
    def none(name: str) -> object:
        raise UsageError(f"unknown SQL engine {name!r}")

    with pytest.raises(UsageError, match="unknown SQL engine"):
        Decider(none).decide(
            EquivalenceQuestion(engine="x", schema=(), reference="SELECT 1"), "SELECT 1"
        )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "limit", ["LIMIT 40", "LIMIT 1000", "LIMIT 10 * 100", "LIMIT 1000 OFFSET 0"]
)
def test_a_limit_that_the_reference_lacks_cuts_something_off(limit: str) -> None:
    question = EquivalenceQuestion(
        engine="sqlite",
        schema=("CREATE TABLE t (id INTEGER PRIMARY KEY, city TEXT)",),
        reference="SELECT id, city FROM t WHERE city = 'x'",
    )
    with EnginePool() as engines:
        decider = Decider(engines.get)
        assert decider.decide(question, f"{question.reference} {limit}").status == "different"
        assert decider.decide(question, f"{question.reference} AND 1 = 1").status == "equivalent"


class BusyEngine:
    """An engine that meets its limit the first time that it is asked for a statement."""

    def __init__(
        self, engine: Engine, statement: str, status: str, times: int, stage: str = "statement"
    ) -> None:
        self.engine, self.statement, self.status, self.times = engine, statement, status, times
        self.stage = stage

    def execute(self, setup, sql, **more):
        if sql == self.statement and self.times:
            self.times -= 1
            return Execution(status=self.status, elapsed=1.0, stage=self.stage)
        return self.engine.execute(setup, sql, **more)

    def execute_each(self, setups, sql, *, eager=False, **more):
        return (self.execute(setup, sql, **more) for setup in setups)

    def __getattr__(self, name: str):
        return getattr(self.engine, name)


@pytest.mark.parametrize("status", ["memory", "timeout"])
@pytest.mark.parametrize(("times", "decided"), [(1, "equivalent"), (1_000, "different")])
def test_a_limit_met_once_is_no_fault_of_the_answer(status, times, decided):
    schema = ("CREATE TABLE t (a INTEGER, b INTEGER)",)
    question = EquivalenceQuestion(engine="sqlite", schema=schema, reference="SELECT a FROM t")
    answer = "SELECT t.a FROM t"
    with EnginePool() as engines:
        busy = BusyEngine(engines.get("sqlite"), answer, status, times)
        decision = Decider(lambda _: busy).decide(question, answer)
    assert decision.status in (decided, "error" if times > 1 else decided)


class EngineForSmallDatabases(BusyEngine):
    """An engine on which every statement on a large database meets the limit of time."""

    def execute(self, setup, sql, **more):
        if sum(map(len, setup)) > 5_000:
            return Execution(status="timeout", elapsed=5.0, stage="statement")
        return self.engine.execute(setup, sql, **more)


def test_a_large_database_decides_however_busy_the_machine_is():
    schema = ("CREATE TABLE t (id INTEGER PRIMARY KEY, city TEXT)",)
    reference = "SELECT id, city FROM t WHERE city = 'x'"
    question = EquivalenceQuestion(engine="sqlite", schema=schema, reference=reference)
    with EnginePool() as engines:
        busy = EngineForSmallDatabases(engines.get("sqlite"), "", "timeout", 0)
        decider = Decider(lambda _: busy, engines.get_patient)
        assert decider.decide(question, f"{reference} LIMIT 1000").status == "different"


def test_a_database_that_cannot_be_filled_again_is_no_fault_of_the_answer():
    schema = ("CREATE TABLE t (a INTEGER, b INTEGER)",)
    question = EquivalenceQuestion(engine="sqlite", schema=schema, reference="SELECT a FROM t")
    answer = "SELECT t.a FROM t"
    with EnginePool() as engines:
        busy = BusyEngine(engines.get("sqlite"), answer, "error", 1_000, "setup")
        with pytest.raises(EnvironmentFailure, match="filled again"):
            Decider(lambda _: busy).decide(question, answer)


@pytest.mark.parametrize(
    ("column", "answer", "is_steady", "status"),
    [
        ("INT", "SELECT a + 1 AS a FROM t", True, "different"),
        ("INT", "SELECT a + 1 AS a FROM t", False, "undecided"),
        # which of several equal texts a group shows changes from call to call
        ("TEXT COLLATE NOCASE", "SELECT lower(a) AS a FROM t", True, "equivalent"),
    ],
)
def test_a_difference_that_does_not_return_is_the_answers_where_the_reference_is_steady(
    engines: EnginePool, monkeypatch: pytest.MonkeyPatch, column, answer, is_steady, status
) -> None:
    monkeypatch.setattr(f"{Decider.__module__}.build_counterexample", lambda *_: None)
    if not is_steady:
        failed = Observation(Execution(status="error"))
        monkeypatch.setattr(f"{Decider.__module__}.observe_statement", lambda *_: failed)
    schema = (f"CREATE TABLE t (a {column} NOT NULL CHECK (a <> ''))",)
    question = EquivalenceQuestion(engine="sqlite", schema=schema, reference="SELECT a FROM t")
    verdict = Decider(engines.get).decide(question, answer)
    assert verdict.status == status
    if status == "different":
        assert "two results on the same rows" in verdict.counterexample.message


def test_questions_are_prepared_side_by_side_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both, prepared = threading.Barrier(2, timeout=30), []

    def prepare(_: object, question: EquivalenceQuestion) -> Trials:
        prepared.append(question.reference)
        both.wait()
        return Trials(read_schema(question.schema, question.engine), ())

    monkeypatch.setattr(trials, "prepare_trials", prepare)
    numbered = (EquivalenceQuestion("sqlite", DDL, f"SELECT {n}", ordered=True) for n in count())
    by_lock = {hash(question) % 2: question for question in islice(numbered, 40)}
    asked = [question for question in by_lock.values() for _ in range(2)]
    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(Decider(lambda _: None).load_trials, asked))  # type: ignore[arg-type,return-value]
    assert len(prepared) == len(by_lock) == 2
    assert seen[0] is seen[1]
    assert seen[2] is seen[3]
