"""The scope of an application: which cases its maker declares it for, by dialect and by kind of
statement. A case outside it is not applicable: it is not sent, and no answer is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Sample, Verdict

#: Fields of a scope: each lists what is inside, and leaves all inside where it is absent.
DIALECTS, STATEMENTS = "dialects", "statements"
#: Fields of a case's input that name the dialect of its statements.
_DIALECT_FIELDS = ("dialect", "db_type", "source_dialect", "target_dialect")

Scope = Mapping[str, Sequence[str]]


def find_scope_problem(scope: Scope, sample: Sample) -> str:
    """Why a case is outside a scope, empty where it is inside."""
    fields = sample.input
    dialects = [str(fields[name]) for name in _DIALECT_FIELDS if fields.get(name)]
    prefixes = tuple(name.casefold() for name in scope.get(DIALECTS) or ())
    for dialect in dialects:
        if prefixes and not dialect.casefold().startswith(prefixes):
            return Note("scope_dialect", dialect=dialect)
    sql = fields.get("sql")
    if scope.get(STATEMENTS) and isinstance(sql, str):
        kind = _classify(sql, dialects[0] if dialects else "")
        if kind.casefold() not in {name.casefold() for name in scope[STATEMENTS]}:
            return Note("scope_statement", kind=kind)
    return ""


def _classify(sql: str, dialect: str) -> str:
    """The kind of the first statement as in `sql_understanding`, "OTHER" where it has none."""
    from evalcore.sqlkit.syntax import classify_statement  # its parser takes a while to import

    try:
        classes = classify_statement(sql, dialect)
    except UsageError:  # a dialect that no parser is for
        classes = classify_statement(sql, "")
    return classes[1] if classes else "OTHER"


def build_scope_verdict(scope: Scope, sample: Sample, epoch: int) -> Verdict | None:
    """The verdict on a case outside a scope, None inside."""
    problem = find_scope_problem(scope, sample)
    if not problem:
        return None
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        epoch=epoch,
        outcome="not_applicable",
        reason="scope",
        note=problem,
    )
