"""Own cases without a file: pasted SQL, and what is made of it. Light on purpose: pages read it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection

from evalcore.catalog import benchmark_cards
from evalcore.records import Record, content_hash
from evalcore.runner.uploads import Upload
from evalcore.sqlkit.dialect_guess import DialectGuess

#: Bytes of a schema and of statements together.
MAX_PASTED_BYTES = 1 << 20
MAX_STATEMENTS = 200
MAX_SETUP_STATEMENTS = 500


def list_draft_parts() -> dict[str, tuple[str, ...]]:
    """The metrics whose cases can be drafted, by benchmark."""
    cards = benchmark_cards()
    return {key: card.draft_parts for key, card in cards.items() if card.draft_parts}


def asks_conversion(benchmark: str) -> bool:
    """Whether a case of a benchmark has a second dialect, that of its answer."""
    return benchmark_cards()[benchmark].draft_target


class DraftInput(Record, frozen=True):
    """What was pasted. Without a `dialect` it is only guessed. `target` is that of a conversion;
    `references` are a person's own expected statements by the number of the statement, from 1;
    `name` begins the ids of the cases."""

    benchmark: str
    part: str
    schema: str
    statements: str
    dialect: str = ""
    target: str = ""
    references: dict[int, str] = {}
    difficulty: int = 1
    name: str = "case"


class DraftProblem(Record, frozen=True):
    """What is wrong with a statement, by its number and line from 1 (0: with all of the field).
    `field` is schema, statements or reference."""

    field: str
    statement: int
    line: int
    problem: str


class DraftCase(Record, frozen=True):
    """A proposed case: the statement, what is expected as a person reads it, and its row."""

    number: int
    line: int
    sql: str
    expected: str
    row: dict[str, object]


class Draft(Record, frozen=True):
    """What was made of pasted SQL. `engine` executed it, in this version."""

    guesses: tuple[DialectGuess, ...] = ()
    cases: tuple[DraftCase, ...] = ()
    problems: tuple[DraftProblem, ...] = ()
    engine: str = ""

    @property
    def is_complete(self) -> bool:
        return bool(self.cases) and not self.problems


def build_upload(asked: DraftInput, draft: Draft) -> Upload:
    """The cases as a file that is handed in like any other."""
    lines = [json.dumps(case.row, ensure_ascii=False) + "\n" for case in draft.cases]
    content = "".join(lines).encode()
    return Upload(asked.benchmark, f"{asked.name}.jsonl", content, asked.part)


def make_slug(title: str, taken: Collection[str] = ()) -> str:
    """A name of a data set from any title: its Latin letters and digits, else a hash; with a number
    where the name is taken."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:32].strip("-")
    if not slug:
        slug = f"cases-{content_hash(title, 6)}"
    name, number = slug, 2
    while name in taken:
        name, number = f"{slug}-{number}", number + 1
    return name
