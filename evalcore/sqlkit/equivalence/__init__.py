"""Whether an answer does what a reference does: the question, and the decision's record."""

from __future__ import annotations

from typing import Literal

from evalcore.records import Record, content_hash
from evalcore.sqlkit.engines import SessionScript
from evalcore.sqlkit.result_tables import Reason, ResultTable, TableDiff

Status = Literal["equivalent", "different", "error", "undecided"]
#: What an equivalence rests on.
Level = Literal["", "tested", "proved"]


class EquivalenceQuestion(Record, frozen=True):
    """A reference statement and the world in which answers are held against it.

    `engine` runs both and is also the dialect of `reference` and `schema` (DDL, run as it is).
    `related` are other statements, as (sql, dialect), whose constants and boundaries the databases
    shall reach, such as the source of a conversion. `data` are databases made by hand, as INSERT
    scripts. `state_of` names the tables to be compared after a change, `calls` our statements that
    use what the statement created (a procedure, a table). `ordered` None means: by the reference.
    `session` are statements of our own with which each session begins; `empty_is_null` says that,
    as to Oracle, no text is without characters.
    """

    engine: str
    schema: tuple[str, ...]
    reference: str
    related: tuple[tuple[str, str], ...] = ()
    data: tuple[tuple[str, ...], ...] = ()
    state_of: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    ordered: bool | None = None
    count: int = 16
    session: tuple[str, ...] = ()
    empty_is_null: bool = False

    @property
    def seed(self) -> int:
        """Equal questions get equal databases, everywhere and always."""
        return int(content_hash(self), 16)

    def build_tables(self) -> tuple[str, ...]:
        """The scripts that make empty tables, after those of a session."""
        return (*map(SessionScript, self.session), *self.schema)


class Counterexample(Record, frozen=True):
    """One database on which the answer differs.

    `tables` is its content; `expected` and `actual` are the observations that differ (None where
    there was none), `subject` says what was observed: "" for the statement's rows, the name of a
    table, or a call. The `reason` collation is the lesser finding that texts differ by their bytes
    alone and are equal to the engine, on every database; object_kind that one statement creates a
    view where the other creates a table, or the like. `message` holds the engine's words where
    the answer failed on this database only.
    """

    profile: str
    tables: dict[str, ResultTable]
    subject: str = ""
    expected: ResultTable | None = None
    actual: ResultTable | None = None
    diff: TableDiff | None = None
    reason: Reason | Literal["failed", "no_rows", "object_kind", "collation"] = ""
    message: str = ""


class Equivalence(Record, frozen=True):
    """The decision. `databases` were compared, on `nonempty` of them there was something to see;
    `left_out` are those on which the reference met the limits of time or memory.

    equivalent: no difference on any of them, and by `level` "proved" none possible with up to
    `proof_rows` rows in each table; "tested" claims no more than the databases; different: see
    `counterexample`; error: the answer does not run, `message` are the engine's words; undecided:
    `message` tells why nothing can be said. `cause` is a word for machines for the latter two: a
    status of `engines.base`, or few_databases, reference_fails, unstable, row_limit. Where an
    engine stood in for another product, `product` names that and `stand_in` the engine with its
    version.
    """

    status: Status
    databases: int = 0
    nonempty: int = 0
    cause: str = ""
    message: str = ""
    counterexample: Counterexample | None = None
    level: Level = ""
    proof_rows: int = 0
    left_out: int = 0
    product: str = ""
    stand_in: str = ""
