"""What a published answer is held against: a reference twin of a conversion, the original of a
rewrite on the tables of its case, or the indexes that a case names in prose."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import sqlglot
from sqlglot import exp

from evalcore.intake.json_text import read_rows
from evalcore.records import Record
from evalcore.sqlkit.equivalence import EquivalenceQuestion
from evalcore.sqlkit.index_advice import Expectation, UnreadableIndex, read_index
from evalcore.sqlkit.syntax import find_changed_table

# Dialect cases come without schema or reference: `datasets/scale_twins` holds a reference twin
# for each that is no procedure, found by the hash of the source statement. Optimization cases of a
# server that can be started here carry all that is needed.


class Twin(Record, frozen=True):
    """What an answer is held against: the questions (tried in turn where names do not resolve)
    and the dialect that answers are written in, if it is not the engine's."""

    questions: tuple[EquivalenceQuestion, ...]
    answer_dialect: str = ""


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


def hash_sql(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()[:16]


def build_rewrite_twin(case: Mapping[str, Any], engine: str) -> Twin | None:
    """The original statement is what answers are held against, on the tables of the case; None for
    a case whose tables are no statements."""
    schema = read_statements(case, "create_table_statements")
    if schema is None:
        return None
    reference = str(case.get("sql", "")).strip().rstrip(";")
    return Twin((EquivalenceQuestion(engine=engine, schema=schema, reference=reference),))


def read_statements(case: Mapping[str, Any], field: str) -> tuple[str, ...] | None:
    """A field that holds a statement or a list of them: empty without it, else None."""
    value = case.get(field, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return None
    return tuple(values)


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


# Index cases say in Chinese prose what is right: a line an alternative, each an index on one table
# or a sentence. Lines of another build (several indexes, optional columns, an order left open) are
# not read, and the case then counts as read in part.

_HEADING = re.compile(r"(?:以下)?[两三]种(?:情况|方式)均可[:：]?|[(（].*[)）]")
_NONE_NEEDED = re.compile("无性能问题|无需|满足要求|不需要创建索引")
_CANNOT_HELP = re.compile("无法(?:通过|利用|走)|不能通过|不适合建索引|不建议通过索引")
_ONE_INDEX = re.compile(
    r"""(?:\d+[.．、]\s*)? [^在给为]*? (?:在|给|为)\s* (?P<table>[A-Za-z_]\w*)\s*表(?:的|上的)?\s*
        (?P<columns>[\w\s,，、列和]+?) 列?上? (?:创建|添加|加|建立) (?P<rest>.*)""",
    re.VERBOSE | re.ASCII,
)
_OTHER_BUILD = re.compile(
    "或|可选|必须[:：]|分别|并且?在|替换|重建|长度|互换|固定|(?<!临时)表.*(?<!临时)表"
)
_SET_OF_INDEXES = re.compile(r"情况\s*\d")  # its lines belong together
_COLUMN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LEFTMOST = re.compile(r"([A-Za-z_]\w*)\s*列?(?:一定|必须|需要)?(?:在|为)最?(?:左|前)", re.ASCII)


def read_expected_indexes(prose: str, dialect: str) -> tuple[Expectation, bool]:
    """The alternatives and sentences that a case names, and whether that is all it names."""
    if _SET_OF_INDEXES.search(prose):
        return Expectation(), False
    alternatives, none_ok, cannot_ok, is_whole = [], False, False, True
    for line in filter(None, map(str.strip, prose.splitlines())):
        if _HEADING.fullmatch(line):
            continue
        none, cannot = bool(_NONE_NEEDED.search(line)), bool(_CANNOT_HELP.search(line))
        columns = _read_columns(line)
        if none or cannot:
            none_ok, cannot_ok = none_ok or none, cannot_ok or cannot
        elif columns:
            try:
                alternatives.append(read_index(columns[0], columns[1:], dialect))
            except UnreadableIndex:
                is_whole = False
        else:
            is_whole = False
    return Expectation(tuple(alternatives), none_ok, cannot_ok), is_whole


def _read_columns(line: str) -> list[str]:
    """The table and the columns in their order; empty for a line of another build."""
    match = None if _OTHER_BUILD.search(line) else _ONE_INDEX.fullmatch(line)
    if match is None:
        return []
    columns = _COLUMN.findall(match["columns"])
    if "顺序" in match["rest"]:
        stated = _COLUMN.findall(match["rest"].split("顺序", 1)[1])
        if len(stated) > 1:
            columns = stated if set(stated) == set(columns) else []
    if "单列" in match["rest"] and len(columns) > 1:
        return []
    leftmost = _LEFTMOST.search(match["rest"])
    if not columns or (leftmost and leftmost[1] != columns[0]):
        return []
    return [match["table"], *columns]
