"""Tests that do not know what they expect: the answers stay outside of the process that the patched
code runs in.

`blind_tests` takes every question that a test asks of a value out of its file, with the literal
that the value was compared to, and leaves a call that writes the value down (`blind_recorder`).
`blind_answers` answers the questions afterwards, here, where no patched code runs. What such code
may read (sources, frames, objects, files) does not hold the expected values, and what it prints
does not matter. A question whose two sides are both computed inside proves nothing of this kind:
it holds wherever the program gives the same value twice.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from evalcore.benchmarks.swe_bench.blind_recorder import RECORDS_PATH

#: Where the recorder lies inside, and the file of the work tree that it writes.
RECORDER_PATH = "/opt/evalboard/blind_recorder.py"
RECORDS_NAME = RECORDS_PATH.removeprefix("/testbed/")
_NAME = "_blind_recorder"
_IMPORT = f"import runpy as {_NAME}\n{_NAME} = {_NAME}.run_path({RECORDER_PATH!r})\n"
_TOKEN = "held back "
MAX_SHOWN = 300


class BlindCheck(NamedTuple):
    """One question of a test. `sides` says of each operand whether it is held here (a key of
    `held`), may be a token for one that is, or is written down; `once` that it is asked once each
    time the test runs."""

    test: str
    text: str
    operator: str
    sides: tuple[str, ...]
    once: bool


class BlindedTests(NamedTuple):
    """The files with their questions taken out, the questions by name, and what was held back."""

    sources: dict[str, str]
    checks: dict[str, BlindCheck]
    held: dict[str, Any]


def blind_tests(files: Mapping[str, str]) -> BlindedTests:
    """Blind the tests of files by path; a file that is no Python is left out."""
    blinded = BlindedTests({}, {}, {})
    for path, source in files.items():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        _Blinder(blinded).visit(tree)
        later = (n for n, line in enumerate(tree.body) if not _must_stay_first(line))
        at = next(later, len(tree.body))
        tree.body[at:at] = ast.parse(_IMPORT).body
        blinded.sources[path] = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return blinded


def _must_stay_first(line: ast.stmt) -> bool:
    if isinstance(line, ast.ImportFrom):
        return line.module == "__future__"
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
#: Methods of unittest by the question they ask; those of one argument compare it with a literal.
_METHODS = {
    **dict.fromkeys(("assertEqual", "assertEquals", "assertListEqual", "assertDictEqual"), "=="),
    **dict.fromkeys(("assertTupleEqual", "assertSetEqual", "assertSequenceEqual"), "=="),
    **{"assertMultiLineEqual": "==", "assertNotEqual": "!=", "assertIs": "is"},
    **{"assertIsNot": "is not", "assertIn": "in", "assertNotIn": "not in"},
    **{"assertLess": "<", "assertLessEqual": "<=", "assertGreater": ">"},
    **{"assertGreaterEqual": ">=", "assertTrue": "true", "assertFalse": "false"},
    **{"assertIsNone": "is None", "assertIsNotNone": "is not None"},
    **{"assertAlmostEqual": "almost"},
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Blinder(ast.NodeTransformer):
    """Takes the questions out of all functions of a file."""

    def __init__(self, blinded: BlindedTests) -> None:
        self._blinded = blinded
        self._owners: list[str] = []
        self._loops = 0
        self._tokens: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._owners.append(node.name)
        self.generic_visit(node)
        self._owners.pop()
        return node

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1
        return node

    visit_While = visit_For

    def visit_FunctionDef(self, node: _Function) -> ast.AST:
        before = self._tokens, self._loops
        self._tokens = self._tokens | self._hold_back_rows(node)
        self._loops = 0 if node.name.startswith("test") else 1
        self._owners.append(node.name)
        self.generic_visit(node)
        self._owners.pop()
        self._tokens, self._loops = before
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _hold_back_rows(self, node: _Function) -> set[str]:
        """The names of a function that only ever are what a value is compared with: their literals
        are held back, each by a token of its own."""
        names: set[str] = set()
        compared = _find_compared_names(node)
        for decorator in node.decorator_list:
            for name, cells in _iter_parameters(decorator):
                if name in compared and self._hold_back_cells(cells):
                    names.add(name)
        stores = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_store(n)]
        for line in ast.walk(node):
            for name, cells in _iter_bound(line):
                once = stores.count(name) == 1 and name in compared
                if once and self._hold_back_cells(cells):
                    names.add(name)
        return names

    def _hold_back_cells(self, cells: Iterable[tuple[list[Any] | ast.AST, Any]]) -> bool:
        """Put tokens in the place of literals; whether there were any."""
        before = len(self._blinded.held)
        for holder, at in cells:
            if literal := _read_literal(_get_cell(holder, at)):
                _set_cell(holder, at, ast.Constant(self._hold(literal[0])))
        return len(self._blinded.held) > before

    def visit_Assert(self, node: ast.Assert) -> Any:
        return self._ask(node.test)

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), args=args) if (
                name in _METHODS and not any(isinstance(one, ast.Starred) for one in args)
            ):
                question = _METHODS[name]
                if question in ("true", "false") and args:
                    inner = ast.UnaryOp(ast.Not(), args[0]) if question == "false" else args[0]
                    return self._ask(inner)
                if question.endswith("None") and args:
                    return [
                        self._write_question(question.removesuffix(" None"), args[0], _NONE, node)
                    ]
                if question == "almost":
                    return self._ask_almost(node, args, node.value.keywords)
                if len(args) >= 2:
                    return [self._write_question(question, args[0], args[1], node)]
        return self.generic_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        expected = _read_raises(node, self._tokens)
        self.generic_visit(node)
        if expected is not None:
            held, passed = expected
            whole = node.items[0].context_expr
            key = self._add_check("raises", (self._hold(held),), whole)
            match node.body:
                case [ast.Expr(value=value)]:
                    node.body = [_record(key, [value])]
            node.items[0].context_expr = _watch(key, passed)
        return node

    def _ask(self, test: ast.expr) -> list[ast.stmt]:
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return [line for value in values for line in self._ask(value)]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return [self._write_question(_COMPARISONS[type(op)], left, right, test)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return [self._write_question("false", operand, None, test)]
        return [self._write_question("true", test, None, test)]

    def _ask_almost(
        self, node: ast.Expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> list[ast.stmt] | ast.AST:
        """`assertAlmostEqual` with its usual seven places only."""
        if len(args) != 2 or keywords:
            return self.generic_visit(node)
        return [self._write_question("almost", args[0], args[1], node)]

    def _write_question(
        self, question: str, left: ast.expr, right: ast.expr | None, whole: ast.AST
    ) -> ast.stmt:
        approx = _read_approx(right) if question == "==" else None
        if approx is not None:
            question, right = approx
        operands = [left] if right is None else [left, right]
        sides, passed = [], []
        for operand in operands:
            literal = _read_literal(operand)
            is_token = any(
                isinstance(leaf, ast.Name) and leaf.id in self._tokens
                for leaf in _iter_leaves(operand)
            )
            sides.append(self._hold(literal[0]) if literal else "token" if is_token else "value")
            if not literal:
                passed.append(operand)
        key = self._add_check(question, tuple(sides), whole)
        return ast.With([ast.withitem(_watch(key, []))], [_record(key, passed)])

    def _hold(self, value: Any) -> str:
        token = f"{_TOKEN}{len(self._blinded.held)}"
        self._blinded.held[token] = value
        return token

    def _add_check(self, question: str, sides: tuple[str, ...], whole: ast.AST) -> str:
        key = f"check {len(self._blinded.checks)}"
        test = "::".join(self._owners)
        text = ast.unparse(whole)[:MAX_SHOWN]
        self._blinded.checks[key] = BlindCheck(test, text, question, sides, once=not self._loops)
        return key


_NONE = ast.Constant(None)


def _recorder(name: str) -> ast.expr:
    return ast.Subscript(ast.Name(_NAME, ast.Load()), ast.Constant(name), ast.Load())


def _record(key: str, operands: list[ast.expr]) -> ast.stmt:
    return ast.Expr(ast.Call(_recorder("record"), [ast.Constant(key), *operands], []))


def _watch(key: str, tokens: list[ast.expr]) -> ast.expr:
    """What notes an exception: a value is asked for in the same form whether one is expected or
    not, for a program could look."""
    return ast.Call(_recorder("Raises"), [ast.Constant(key), *tokens], [])


def _is_store(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store | ast.Del)


def _find_compared_names(function: _Function) -> set[str]:
    """Names that are only read as a whole side of a question."""
    sides: dict[str, int] = {}
    reads: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assert(test=test):
                found = [side for part in _iter_parts(test) for side in _iter_sides(part)]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[a, b, *_])):
                found = [a, b] if name in _METHODS else []
            case ast.Call(func=ast.Attribute(attr="raises"), keywords=keywords):
                found = [word.value for word in keywords if word.arg == "match"]
            case ast.Name(ctx=ast.Load(), id=name):
                reads[name] = reads.get(name, 0) + 1
                continue
            case _:
                continue
        for side in found:
            approx = _read_approx(side)
            for leaf in _iter_leaves(approx[1] if approx else side):
                if isinstance(leaf, ast.Name):
                    sides[leaf.id] = sides.get(leaf.id, 0) + 1
    return {name for name, count in sides.items() if reads.get(name) == count}


def _iter_parts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _iter_parts(value)
    else:
        yield test


def _iter_sides(test: ast.expr) -> list[ast.expr]:
    """The sides of a comparison with something that is computed: two names prove nothing."""
    match test:
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            both = isinstance(left, ast.Name) and isinstance(right, ast.Name)
            return [right] if both else [left, right]
    return []


def _iter_leaves(side: ast.expr) -> Iterator[ast.expr]:
    """A side, or what stands in the collections that it writes out."""
    match side:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Dict(values=elements):
            for element in elements:
                yield from _iter_leaves(element)
        case _:
            yield side


def _iter_parameters(decorator: ast.expr) -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """(name, places of its values) of a `parametrize` whose values are written out."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, values, *_]):
            pass
        case _:
            return
    literal = _read_literal(names)
    if not literal or not isinstance(values, ast.List | ast.Tuple):
        return
    named = literal[0]
    several = not isinstance(named, str) or "," in named
    parts = [part.strip() for part in named.split(",")] if isinstance(named, str) else list(named)
    for at, name in enumerate(filter(None, parts)):
        cells = [_find_cell(values.elts, row, at, several) for row in range(len(values.elts))]
        if all(cell is not None for cell in cells):
            yield name, [cell for cell in cells if cell is not None]


def _find_cell(
    rows: list[ast.expr], row: int, at: int, several: bool
) -> tuple[list[ast.expr], int] | None:
    element = rows[row]
    match element:
        case ast.Call(func=ast.Attribute(attr="param"), args=args):
            return (args, at) if at < len(args) else None
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if several:
            return (elts, at) if at < len(elts) else None
    return None if several else (rows, row)


def _iter_bound(line: ast.AST) -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """(name, places of its values) of an assignment, or of a loop over rows written out."""
    match line:
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield name, [(line, "value")]
        case ast.For(
            target=ast.Tuple(elts=targets), iter=ast.List(elts=rows) | ast.Tuple(elts=rows)
        ):
            for at, target in enumerate(targets):
                cells = [_find_cell(rows, row, at, True) for row in range(len(rows))]
                if isinstance(target, ast.Name) and all(cell is not None for cell in cells):
                    yield target.id, [cell for cell in cells if cell is not None]


def _get_cell(holder: Any, at: Any) -> ast.expr:
    return getattr(holder, at) if isinstance(at, str) else holder[at]  # type: ignore[no-any-return]


def _set_cell(holder: Any, at: Any, value: ast.expr) -> None:
    if isinstance(at, str):
        setattr(holder, at, value)
    else:
        holder[at] = value


def _read_literal(node: ast.AST | None) -> tuple[Any] | None:
    """The value of a literal, or of constant numbers computed with, in a tuple; None for others."""
    if node is None or isinstance(node, ast.JoinedStr):
        return None
    try:
        return (_evaluate(node),)
    except (ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        return None


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
#: Classes of the standard library that expected values are written with.
_CLASSES: dict[str, Callable[..., Any]] = {
    **{"Fraction": Fraction, "Decimal": Decimal, "date": date, "datetime": datetime},
    **{"timedelta": timedelta, "set": set, "frozenset": frozenset},
}
_MAX_NUMBER, _MAX_POWER = 10**9, 64


def _evaluate(node: ast.AST) -> Any:
    """Raises ValueError for what is no constant, or an expensive one."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            sides = _evaluate(left), _evaluate(right)
            if not all(isinstance(one, int | float | Fraction) for one in sides):
                raise ValueError
            too_high = isinstance(op, ast.Pow) and abs(sides[1]) > _MAX_POWER
            if too_high or max(map(abs, sides)) > _MAX_NUMBER:
                raise ValueError
            return _ARITHMETIC.get(type(op), _refuse)(*sides)
        case ast.Tuple(elts=elements):
            return tuple(map(_evaluate, elements))
        case ast.List(elts=elements):
            return list(map(_evaluate, elements))
        case ast.Dict(keys=keys, values=values):
            names = [_evaluate(key) if key else _refuse() for key in keys]
            return dict(zip(names, map(_evaluate, values), strict=True))
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name),
            args=args,
            keywords=keywords,
        ) if name in _CLASSES:
            words = {str(word.arg): _evaluate(word.value) for word in keywords}
            return _CLASSES[name](*map(_evaluate, args), **words)
    return ast.literal_eval(node)


def _refuse(*_: Any) -> Any:
    raise ValueError


def _read_approx(node: ast.expr | None) -> tuple[str, ast.expr] | None:
    """The question and the operand of `pytest.approx(operand, abs=..., rel=...)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="pytest"), attr="approx"),
            args=[operand],
            keywords=keywords,
        ):
            limits = {word.arg: _read_literal(word.value) for word in keywords}
            if all(limits.values()) and not limits.keys() - {"abs", "rel"}:
                values = {name: literal[0] for name, literal in limits.items() if literal}
                return f"approx {json.dumps(values)}", operand
    return None


def _read_raises(node: ast.With, tokens: set[str]) -> tuple[list[Any], list[ast.expr]] | None:
    """[names of classes, pattern or None] that a block expects to be raised, and the pattern where
    it comes by a token; None for another block, or one whose pattern is computed."""
    match node.items:
        case [
            ast.withitem(
                context_expr=ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="pytest" | "self"),
                        attr="raises" | "assertRaises" | "assertRaisesRegex",
                    ),
                    args=[kind, *patterns],
                    keywords=keywords,
                )
            )
        ]:
            patterns += [word.value for word in keywords]
        case _:
            return None
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    names = [one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in kinds]
    if len(patterns) > 1 or any(word.arg != "match" for word in keywords) or not all(names):
        return None
    for pattern in patterns:
        literal = _read_literal(pattern)
        if literal is not None and isinstance(literal[0], str):
            return [names, literal[0]], []
        is_token = isinstance(pattern, ast.Name) and pattern.id in tokens
        return ([names, None], [pattern]) if is_token else None
    return [names, None], []
