"""Choose among the statements of an answer the one that answers the question.

What counts, in this order: what the words beside a candidate call it, whether it is the original
again, its kind, whether the dialect takes it, and how it changes the original: one that keeps what
an earlier one changed and changes more is a step further.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from evalcore.benchmarks.sql_prose import compile_pattern
from evalcore.benchmarks.sql_roles import ASIDE
from evalcore.benchmarks.sql_text import (
    VERBS,
    StatementParser,
    find_routine_end,
    is_routine,
    normalize_statement,
    split_statements,
)
from evalcore.records import Record
from evalcore.sqlkit.syntax import classify_statement

_MAX_PARSED_CHARS = 30_000  # characters of a statement whose kind is read
#: Kinds of statements that are converted and rewritten into one statement.
_SINGLE = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE")
#: Statements that change data, one of which may stand for another.
_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE")
_SAME_CHANGES = {
    "INSERT": ("INSERT", "MERGE", "REPLACE"),
    "REPLACE": ("INSERT", "MERGE", "REPLACE"),
    "MERGE": ("INSERT", "MERGE", "REPLACE", "UPDATE"),
    "UPDATE": ("UPDATE", "MERGE"),
}
_DEFINED = compile_pattern("defined")
_DEFINITION = re.compile(
    r"(?:\s|--[^\n]*\n|/\*[^*]*\*/)*(?:CREATE|ALTER|COMMENT|GRANT|DROP|DELIMITER)\b", re.I
)
#: A statement after the routine that a script begins with.
_SCRIPT_GOES_ON = re.compile(
    r"[\s;/]*+(?:--[^\n]*+\s*+)*+(?:WITH|SELECT|INSERT|UPDATE|DELETE|MERGE)\b", re.I
)
#: Names under which a server tells of plans, objects and its own work.
_CATALOG = compile_pattern("catalog")
_NEW_INDEX = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:CREATE\s+(?:UNIQUE\s+|BITMAP\s+)?INDEX"
    r"|ALTER\s+TABLE\s+[^\s;]+\s+ADD\s+(?:UNIQUE\s+)?(?:INDEX|KEY))\b",
    re.I,
)
_DROPPED = re.compile(r"(?:\s|--[^\n]*\n)*DROP\s+\w+\s+(?:IF\s+EXISTS\s+)?([^\s(;]+)", re.I)
_INDEX = re.compile(r"(?<!PRIMARY )(?<!FOREIGN )\bKEY\b|\b(?:INDEX|UNIQUE)\b", re.I)
_ELLIPSIS = re.compile(
    r"(?:--|/\*)\s*(?:TODO|your\s|the\s+rest\b|rest\s+of\b|同上)"
    r"|(?<![\w'])(?:\.\.\.|…)(?![\w'])|<[a-z_ ]+ here>"
)
#: A query that stores what it selects, which other products say as CREATE TABLE.
_CREATES_TABLE = re.compile(r"\s*SELECT\b[^;']{1,4000}?\bINTO\s+[#\w.\[\]]+\s+FROM\b", re.I)
_CHANGED_TABLE = re.compile(
    r"(?:\s|--[^\n]*\n|/\*[^*]*\*/)*"
    r"(?P<kind>UPDATE|INSERT(?=\s+INTO)|DELETE(?=\s+FROM))\s+(?:INTO\s+|FROM\s+)?(?P<table>[^\s(;]+)",
    re.I,
)
_SET_OPERATOR = re.compile(r"\s*\)*\s*(?:union|except|intersect|minus)\b")
#: The last part of a name after a word that a table or a routine follows.
_NAMED = re.compile(
    r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|VIEW|PROC|PROCEDURE|FUNCTION|TRIGGER)\s+"
    r"(?:[\"`\[]?\w+[\"`\]]?\s*\.\s*)*[\"`\[]?(\w+)",
    re.I,
)
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|[^\w\s]")


def _count_tokens(sql: str) -> Counter[str]:
    return Counter(_TOKEN.findall(sql))


class Candidate(Record, frozen=True):
    """A piece of SQL, what the words before it call it, and how sure it is meant as code: 2 for a
    fence, a tag or a field, 1 for bare text, 0 for inline code and the middle of a sentence.
    `dialect` is that of the product that a heading or a fence names, "" if none does."""

    sql: str
    role: str = ""
    form: int = 2
    dialect: str = ""


class Question:
    """What was asked: the original, its class, and how many statements it has."""

    def __init__(self, original: str, parser: StatementParser) -> None:
        self.parser, self.dialect, self.original = parser, parser.dialect, original
        self.statement_class = self.classify(original) if original else None
        #: The kinds of statements that may say the same.
        self.classes = _SAME_CHANGES.get(self.statement_class or "", (self.statement_class,))
        self._is_script = False
        self.advised: int | None = None  # which alternative the answer itself recommends
        self.statements = (
            1 if is_routine(original) else len(split_statements(original, self.dialect))
        )
        self._normalized = normalize_statement(original)
        names = _NAMED.findall(original) if len(original) < _MAX_PARSED_CHARS else []
        self._objects = {name.lower() for name in names} - {"dual"}
        lines = map(str.strip, original.split("\n"))
        self._comments = frozenset(line for line in lines if line.startswith(("--", "#", "/*")))
        self.defines_index = self.statement_class == "CREATE" and bool(_INDEX.search(original))
        if self.statement_class == "SELECT" and _CREATES_TABLE.match(original):
            self.statement_class = None
        if self.statement_class == "ROUTINE":
            rest = original[find_routine_end(original, self.dialect) :]
            self._is_script = _SCRIPT_GOES_ON.match(rest) is not None
            self.statement_class = None if self._is_script else "ROUTINE"

    def is_quoted(self, sql: str) -> bool:
        """Whether a statement is the original again, however laid out."""
        normalized = normalize_statement(sql)
        is_start = self._is_script and self._normalized.startswith(normalized)
        return bool(self.original) and (is_start or normalized == self._normalized)

    def drop_comments(self, before: str) -> str:
        """The words before a candidate without the comments of the original, which are repeated
        above its conversion and say nothing of it."""
        lines = before.split("\n")
        return "\n".join(line for line in lines if line.strip() not in self._comments)

    def check_role(self, candidate: Candidate) -> Candidate:
        """The candidate, not called the original where it holds what that does not."""
        if candidate.role != "original" or not self.original:
            return candidate
        added = _count_tokens(normalize_statement(candidate.sql)) - _count_tokens(self._normalized)
        is_new = sum(word[0].isalnum() or word[0] == "'" for word in added) >= 2
        return msgspec.structs.replace(candidate, role="") if is_new else candidate

    def is_compared(self, sql: str) -> bool:
        """Whether the original stands inside of a statement, as in a test of both."""
        normalized = normalize_statement(sql)
        start = normalized.find(self._normalized) if self.original else -1
        return start > 0 or (
            start == 0 and _SET_OPERATOR.match(normalized, len(self._normalized)) is not None
        )

    def goes_on(self, sql: str, later: str) -> bool:
        """Whether a later statement has an earlier one as a part, or keeps whatever that changed in
        the original and changes more of it: a step further, and no alternative."""
        inner, outer = normalize_statement(sql), normalize_statement(later)
        if outer.find(inner) > 0:
            return not outer.startswith("select count(*)from(")
        asked, first, second = map(_count_tokens, (self._normalized, inner, outer))
        if outer.startswith(inner):  # the rest of it, if it holds what the original holds
            values = {word for word in second - first if word[0].isdigit() or word[0] == "'"}
            restored = bool(values) and values <= asked.keys()
            return restored or _SET_OPERATOR.match(outer, len(inner)) is not None
        dropped, added = asked - first, first - asked
        return (
            bool(asked and dropped)
            and not dropped - (asked - second)
            and not added - (second - asked)
            and (asked - second).total() > dropped.total()
        )

    def classify(self, sql: str) -> str | None:
        """The kind of a statement by its first verb: SELECT, INSERT, CREATE ROUTINE, ..."""
        if is_routine(sql):
            return "ROUTINE"
        if len(sql) > _MAX_PARSED_CHARS:
            return None
        classified = classify_statement(sql, self.dialect or "postgres")
        word = re.match(rf"[\s(;]*({'|'.join(VERBS)})\b", sql, re.I)
        return classified[1] if classified else (word[1].upper() if word else None)

    def is_change(self, candidate: Candidate) -> bool:
        """Whether a candidate changes data and is not offered beside the answer."""
        return candidate.role not in ASIDE and self.classify(candidate.sql) in _CHANGES

    def is_other_kind(self, sql: str) -> bool:
        """Whether a statement defines something where a query or a change was asked for."""
        return self.statement_class in _SINGLE and self.classify(sql) in ("CREATE", "ROUTINE")

    def is_index_alone(self, sql: str) -> bool:
        """Whether a statement only creates an index where a query or a change was asked for."""
        return self.statement_class in _SINGLE and _NEW_INDEX.match(sql) is not None

    def names_objects(self, sql: str) -> bool:
        """Whether a text names a table or a routine that the original names, if that names any."""
        words = set(_WORD.findall(sql.lower())) if self._objects else set()
        return not self._objects or bool(self._objects & words)

    def is_upsert(self, statements: Sequence[str]) -> bool:
        """Whether two changes of different kinds of one table together do what one statement did
        that inserts or updates."""
        if len(statements) != 2 or self.statement_class not in ("MERGE", "INSERT", "REPLACE"):
            return False
        changes = [_CHANGED_TABLE.match(statement) for statement in statements]
        kinds = [change["kind"].upper() for change in changes if change]
        tables = {change["table"].strip('"`[]').lower() for change in changes if change}
        return len(tables) == 1 and kinds in (["UPDATE", "INSERT"], ["DELETE", "INSERT"])

    def is_answered_by(self, candidate: Candidate) -> bool:
        """Whether a candidate may be the answer by what it is and by what it is called."""
        return (
            candidate.role not in ASIDE
            and not self.is_quoted(candidate.sql)
            and (self.statement_class is None or self.classify(candidate.sql) in self.classes)
        )


def choose_candidate(candidates: Sequence[Candidate], question: Question) -> str:
    """The candidate that answers."""
    candidates = _settle_versions(list(map(question.check_role, candidates)), question)
    remaining = _keep_unchanged(candidates, question)
    if not remaining:
        return ""
    aside = [role for role in ASIDE if role != "index" or not question.defines_index]
    intended = [part for part in remaining if part.role not in aside]
    intended = [part for part in intended if not _ELLIPSIS.search(part.sql)] or intended
    defined = {_identify_definition(part) for part in intended}
    if question.statements == len(intended) == len(defined) > 1:  # each part in its own block
        return _join(intended)
    if question.statements > len(intended) == len(defined) > 1:  # or some of them together
        counts = [len(split_statements(part.sql, question.dialect)) for part in intended]
        if sum(counts) == question.statements:
            return _join(intended)
    if question.statement_class not in (None, *_SINGLE) and question.statements == 1:
        parts = _select_definitions(intended, question)
        if len(parts) > 1:
            return _join(parts)
    parser, asked = question.parser, question.statement_class
    of_kind = _filter(
        remaining,
        lambda candidate: not question.is_quoted(candidate.sql),
        lambda candidate: candidate.dialect in ("", parser.dialect),
        lambda candidate: question.names_objects(candidate.sql),
        lambda candidate: not _ELLIPSIS.search(candidate.sql),
        lambda candidate: bool(
            _CATALOG.search(question.original) or not _CATALOG.search(candidate.sql)
        ),
        lambda candidate: asked not in _CHANGES or question.is_change(candidate),
        lambda candidate: asked is None or question.classify(candidate.sql) in question.classes,
    )
    if question.advised is not None and question.advised < len(of_kind):
        return of_kind[question.advised].sql
    answers = _filter(
        of_kind,
        lambda candidate: candidate.role not in ASIDE,
        lambda candidate: len(candidate.sql) > _MAX_PARSED_CHARS or parser.accepts(candidate.sql),
        lambda candidate: not question.is_compared(candidate.sql),
        lambda candidate: candidate.role == "best",
        lambda candidate: candidate.role in ("best", "final", "next"),
        lambda candidate: candidate.form > 0,
    )
    answers = _drop_changed_results(answers, question)
    chosen = answers[0]
    for candidate in answers[1:]:
        if candidate.role in ("best", "final", "next") or question.goes_on(
            chosen.sql, candidate.sql
        ):
            chosen = candidate
    return chosen.sql


# What a caller sees of a statement, which a conversion and a rewrite keep.

_PARAMETER = re.compile(r"'(?:[^']|'')*'|(?P<mark>\?|(?<![:\w]):[a-z]\w*|\$\d)", re.I)
_LIMIT = re.compile(
    r"\b(?:limit|top|rownum|first\s+\d+|fetch\s+(?:first|next)|row_number|rank)\b", re.I
)
_SOURCE_DIALECTS = ("oracle", "mysql", "tsql", "postgres")  # that an original may be in
_MAX_COMPARED = 6


def _drop_changed_results(
    candidates: Sequence[Candidate], question: Question
) -> Sequence[Candidate]:
    """The candidates that keep most of the original's columns, tables, parameters, order and limit:
    a part of an answer and a proposal to ask something else keep less."""
    if (
        len(candidates) < 2
        or len(candidates) > _MAX_COMPARED
        or question.statement_class != "SELECT"
    ):
        return candidates
    asked = _parse_query(question.original, (question.dialect, *_SOURCE_DIALECTS))
    if asked is None:
        return candidates
    losses = [_count_losses(asked, question, candidate.sql) for candidate in candidates]
    return [part for part, lost in zip(candidates, losses, strict=True) if lost == min(losses)]


def _parse_query(sql: str, dialects: Sequence[str]) -> exp.Query | None:
    for dialect in dict.fromkeys(dialects):
        try:
            tree = sqlglot.parse_one(sql.strip().rstrip("; /"), read=dialect or None)
        except (SqlglotError, RecursionError, ValueError):
            continue
        if isinstance(tree, exp.Query):
            return tree
    return None


def _count_losses(asked: exp.Query, question: Question, sql: str) -> int:
    given = _parse_query(sql, (question.dialect,))
    if given is None:
        return 0
    names, answered = _list_output_names(asked), _list_output_names(given)
    has_columns = not names or not answered or _match_names(names, answered)
    return sum(
        (
            not has_columns,
            bool(_list_tables(asked) - _list_tables(given)),
            _has_parameter(sql) and not _has_parameter(question.original),
            asked.args.get("order") is not None and given.find(exp.Order) is None,
            bool(_LIMIT.search(question.original)) and not _LIMIT.search(sql),
        )
    )


def _list_output_names(tree: exp.Query) -> list[str]:
    """The names of the columns, "" for one without a name; none where a star stands for some."""
    return [] if tree.is_star else [select.alias_or_name.lower() for select in tree.selects]


def _match_names(asked: list[str], given: list[str]) -> bool:
    pairs = zip(asked, given, strict=False)
    return len(asked) == len(given) and all(not (a and b) or a == b for a, b in pairs)


def _list_tables(tree: exp.Query) -> set[str]:
    local = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = {table.name.lower() for table in tree.find_all(exp.Table)}
    return names - local - {"dual", ""}


def _has_parameter(sql: str) -> bool:
    return any(match["mark"] for match in _PARAMETER.finditer(sql))


def _filter(
    candidates: Sequence[Candidate], *rules: Callable[[Candidate], bool]
) -> Sequence[Candidate]:
    """The candidates that pass the rules, each of which counts only where some candidate does."""
    for rule in rules:
        candidates = [candidate for candidate in candidates if rule(candidate)] or candidates
    return candidates


def _join(parts: Sequence[Candidate]) -> str:
    ends = (part.sql.rstrip().endswith("DELIMITER ;") for part in parts)
    return "\n".join(
        part.sql if is_ended else f"{part.sql.rstrip('; ')};"
        for part, is_ended in zip(parts, ends, strict=True)
    )


def _settle_versions(candidates: Sequence[Candidate], question: Question) -> list[Candidate]:
    """What is for one version of a product is an alternative where an answer for all stands above
    it, or one for a later version anywhere."""
    roles = [part.role for part in candidates if part.role.startswith("version")]
    latest = max(roles, key=lambda role: float(role.split()[1]), default="")
    settled: list[Candidate] = []
    is_answered = False
    for candidate in candidates:
        role = candidate.role
        if role in roles:
            role = "alternative" if is_answered or role != latest else ""
        is_answered = is_answered or (role == candidate.role and question.is_answered_by(candidate))
        settled.append(msgspec.structs.replace(candidate, role=role))
    return settled


def _keep_unchanged(candidates: Sequence[Candidate], question: Question) -> list[Candidate]:
    """The original alone where it is the answer, and the rest is only offered beside it."""
    quoted = [candidate for candidate in candidates if question.is_quoted(candidate.sql)]
    others = [candidate for candidate in candidates if candidate not in quoted]
    offered = all(other.role in ASIDE and other.role != "original" for other in others)
    return quoted if quoted and others and offered else list(candidates)


def _select_definitions(candidates: Sequence[Candidate], question: Question) -> Sequence[Candidate]:
    """The statements that define something, the last of each thing, where a definition was asked
    for: it may take a sequence, a table and a comment to say what one statement said."""
    by_object: dict[str, Candidate] = {}
    for candidate in candidates:
        if question.is_quoted(candidate.sql) or not _DEFINITION.match(candidate.sql):
            continue
        if candidate.dialect not in ("", question.dialect):
            continue
        dropped = _DROPPED.match(candidate.sql)
        if dropped and dropped[1].lower() in {key.split()[-1] for key in by_object}:
            continue  # of what was defined above, for who has it already
        if candidate.sql.upper().startswith("GRANT") and "GRANT" not in question.original.upper():
            continue
        key = _identify_definition(candidate)
        by_object.pop(key, None)
        by_object[key] = candidate
    return list(by_object.values())


def _identify_definition(candidate: Candidate) -> str:
    """The kind and the name of what a statement defines, any other statement itself."""
    defined = _DEFINED.search(candidate.sql)
    return f"{defined[1]} {defined[2]}".lower() if defined else candidate.sql
