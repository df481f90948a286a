"""How statements use tables and columns other than in comparisons: which values would matter."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Any

from sqlglot import exp

from evalcore.records import Record
from evalcore.sqlkit.generate.conditions import list_column_names
from evalcore.sqlkit.generate.hints import collect_aliases, find_nodes, parse_trees, resolve_alias
from evalcore.sqlkit.generate.text_forms import Reading, iter_readings

_MAX_LENGTH = 300  # of a text that a statement cuts at
_MAX_LITERAL = 60  # characters
_JSON_CALLS = re.compile(r"\bjson\w*\s*\(([^()]*)|(\w+)\s*(?:->>?|#>>?|@>|\?)", re.I)
#: A path, a key after an operator, a key within a document.
_JSON_PATH = re.compile(r"""'\$([^']*)'|(?:->>?|#>>?|\?[|&]?)\s*'([^']*)'|"([^"]*)"\s*:""")
#: A path from the root, or keys after one another.
_JSON_ROUTE = re.compile(
    r"'\$([^']{1,120})'|#>>?\s*'\{([^'}]{1,120})\}'|((?:->>?\s*'[^']{1,60}'\s*)+)"
)
_JSON_STEP = re.compile(r"[^\W\d]\w*|\d+")
_JSON_KEY = re.compile(r"[^\W\d]\w*")
_PATH = re.compile(r"'(?:lax |strict )?\$[^']*'")
_COMPARED_NUMBER = re.compile(r"[<>=]\s*(-?\d+(?:\.\d+)?)")
_STRING = re.compile(r"'([^'\n]{1,60})'")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Usage(Record, frozen=True):
    """What statements do with columns, all names folded.

    `columns` and `tables` are mentioned, empty where all may be. `lengths` are the numbers that may
    cut a text. `literals` are texts by the columns that a function takes with them. `readings`
    tell as what texts are read; `json_texts` are handled as JSON with `json_keys` in it and
    `json_paths` of several keys. `texts` and `numbers` are all literals; what `patterns` hold,
    others must be LIKE.
    """

    columns: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    lengths: tuple[int, ...] = ()
    literals: dict[str, tuple[str, ...]] = {}
    readings: frozenset[Reading] = frozenset()
    json_texts: frozenset[str] = frozenset()
    json_keys: tuple[str, ...] = ()
    json_paths: tuple[tuple[str, ...], ...] = ()
    texts: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    patterns: frozenset[str] = frozenset()
    takes_lengths: bool = False

    def mentions_column(self, name: str) -> bool:
        return not self.columns or name in self.columns

    def mentions_table(self, name: str) -> bool:
        return not self.tables or name in self.tables


@lru_cache(maxsize=512)
def _read_statement(sql: str, dialect: str) -> tuple[Usage, bool]:
    """The usage of one statement, and whether it may use all columns."""
    try:
        return _read_trees(sql, parse_trees(sql, dialect))
    except RecursionError:  # nested too deeply
        return _read_trees(sql, ())


def _read_trees(sql: str, trees: tuple[exp.Expr, ...]) -> tuple[Usage, bool]:
    columns = {column.name.lower() for tree in trees for column in find_nodes(tree, exp.Column)}
    columns |= {
        name.name.lower()
        for tree in trees
        for name in find_nodes(tree, exp.Identifier)
        if not isinstance(name.parent, _NAMED) and name.arg_key != "table"
    }
    literals = [literal for tree in trees for literal in find_nodes(tree, exp.Literal)]
    texts_by_column: dict[str, dict[str, None]] = defaultdict(dict)
    for name, text in (pair for tree in trees for pair in _iter_function_literals(tree)):
        texts_by_column[name][text] = None
    usage = Usage(
        columns=frozenset(columns),
        tables=frozenset(t.name.lower() for tree in trees for t in find_nodes(tree, exp.Table)),
        literals={name: tuple(texts) for name, texts in texts_by_column.items()},
        texts=tuple(_STRING.findall(sql)),  # paths are no literals to the parser
        numbers=(
            *(_parse_number(number.name) for number in literals if not number.is_string),
            *(float(n) for path in _PATH.findall(sql) for n in _COMPARED_NUMBER.findall(path)),
        ),
        readings=_read_columns(trees),
        patterns=frozenset(
            name
            for tree in trees
            for node in find_nodes(tree, exp.Like, exp.ILike)
            for name in list_column_names(node.expression)
        ),
        json_texts=frozenset(_list_words(_JSON_CALLS, sql)),
        json_keys=tuple(_list_json_keys(sql)),
        json_paths=tuple(_list_json_paths(sql)),
        takes_lengths=any(next(find_nodes(tree, *_CUTTING), None) is not None for tree in trees),
    )
    return usage, not trees or any(map(_has_star, trees))


def read_usage(statements: tuple[tuple[str, str], ...]) -> Usage:
    """The usage of some statements, each with its dialect; all of everything where one does not
    parse."""
    read = [_read_statement(sql, dialect) for sql, dialect in statements]
    usages = [usage for usage, _ in read]

    def merge(field: str) -> Iterator[Any]:
        return (value for usage in usages for value in getattr(usage, field))

    literals: dict[str, dict[str, None]] = defaultdict(dict)
    for name, texts in (pair for usage in usages for pair in usage.literals.items()):
        literals[name] |= dict.fromkeys(texts)
    numbers = tuple(filter(isfinite, dict.fromkeys(merge("numbers"))))
    everything = any(everything for _, everything in read)
    sets: Any = {name: frozenset(merge(name)) for name in _MERGED_SETS}
    names = ("json_keys", "json_paths", "texts")
    lists: Any = {name: tuple(dict.fromkeys(merge(name))) for name in names}
    return Usage(
        columns=frozenset() if everything else frozenset(merge("columns")),
        lengths=tuple(int(n) for n in numbers if 0 < n <= _MAX_LENGTH and n == int(n)),
        literals={name: tuple(values) for name, values in literals.items()},
        numbers=numbers,
        takes_lengths=any(usage.takes_lengths for usage in usages),
        **sets,
        **lists,
    )


def _read_columns(trees: tuple[exp.Expr, ...]) -> frozenset[Reading]:
    aliases = collect_aliases(trees)
    return frozenset(
        (column, form, strict)
        for tree in trees
        for name, form, strict in iter_readings(find_nodes(tree, exp.Column))
        for column in resolve_alias(name, aliases)
    )


_MERGED_SETS = ("tables", "readings", "json_texts", "patterns")
_NAMED = (exp.Table, exp.TableAlias, exp.Alias)
_CUTTING = (exp.Length, exp.Substring, exp.Left, exp.Right, exp.Pad, exp.Anonymous, exp.Overlay)


def _has_star(tree: exp.Expr) -> bool:
    return any(not isinstance(star.parent, exp.Count) for star in find_nodes(tree, exp.Star))


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _iter_function_literals(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for function in find_nodes(tree, exp.Func):
        if isinstance(function, exp.And | exp.Or | exp.Case | exp.Exists):
            continue
        names = list_column_names(function)
        for literal in function.find_all(exp.Literal):
            if literal.is_string and len(literal.name) <= _MAX_LITERAL:
                yield from ((name, literal.name) for name in names)


def _list_words(pattern: re.Pattern[str], sql: str) -> set[str]:
    groups = (group for match in pattern.finditer(sql) for group in match.groups() if group)
    return {word.lower() for group in groups for word in _WORD.findall(group)}


def _list_json_keys(sql: str) -> list[str]:
    """The keys of paths and documents: `'$.tags[0]'`, `->> 'name'`, `#> '{tags,0}'`, `{"a": 1}`."""
    parts = (part for match in _JSON_PATH.finditer(sql) for part in match.groups() if part)
    return [key for part in parts for key in _JSON_KEY.findall(part)]


def _list_json_paths(sql: str) -> list[tuple[str, ...]]:
    """Paths of two steps or more: `'$.user.name'`, `-> 'user' ->> 'name'`, `#>> '{user,0}'`."""
    routes = (next(filter(None, match.groups()), "") for match in _JSON_ROUTE.finditer(sql))
    paths = (tuple(_JSON_STEP.findall(route)) for route in routes)
    return [path for path in paths if len(path) > 1]
