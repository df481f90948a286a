"""Symbolic SQL values for z3: three-valued logic, comparisons, unknown functions.

A value is a null flag and a term. Numbers are integers or reals without bounds, so a proof holds up
to overflow and to the rounding of floats. Dates are days, timestamps seconds. Texts are reals: any
dense total order serves, because only comparisons look at them. Where a collation may call texts
of different bytes equal (MySQL), a text has a second term for its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from evalcore.sqlkit.schema import Column

Term = Any  # a z3 expression; z3 is imported only when something is proved
Kind = Literal["null", "number", "text", "enum", "boolean", "date", "timestamp"]

#: Terms that a formula may have before it is called too large.
_BUDGET = 60_000
#: Dialects in which a condition is a number and a number a condition.
_NUMERIC_TRUTH = frozenset(("sqlite", "mysql"))
_EPOCH = date(1970, 1, 1)
_DAY = 86_400


class Unsupported(Exception):
    """The statement, or the type of a value, is outside what can be proved; says why."""


class Value(NamedTuple):
    """A cell. `literal` is the text of a string constant, which takes the type it meets."""

    kind: Kind
    null: Term
    term: Term
    variant: Term = None
    literal: str | None = None


class Symbols:
    """One z3 context, a new one unless it is given, with the constants and functions that both
    statements share.

    Raises ImportError where z3-solver is not installed.
    """

    def __init__(self, dialect: str, context: Any = None) -> None:
        import z3

        self.z3 = z3
        self.context = context or z3.Context()
        # the garbage collector may free terms from any thread
        z3.Z3_enable_concurrent_dec_ref(self.context.ref())
        self.dialect = dialect
        self.true = z3.BoolVal(True, self.context)
        self.false = z3.BoolVal(False, self.context)
        self._true, self._false = self.true.ast.value, self.false.ast.value
        self.null = Value("null", self.true, None)
        self.texts: dict[str, Term] = {}
        self._functions: dict[tuple[object, ...], Term] = {}
        self._remaining = _BUDGET

    def spend(self, count: int = 1) -> None:
        self._remaining -= count
        if self._remaining < 0:
            raise Unsupported("the statements are too large")

    # Logic, with constants folded so that formulas stay small. A context holds each term once, so
    # that a constant is known by its address. z3's own functions for this and for joining terms
    # look at the sort of each term, which takes several times as long.

    def all_of(self, terms: Iterable[Term]) -> Term:
        left = [term for term in terms if term.ast.value != self._true]
        self.spend(len(left))
        if any(term.ast.value == self._false for term in left):
            return self.false
        return self._join(self.z3.Z3_mk_and, left) if left else self.true

    def any_of(self, terms: Iterable[Term]) -> Term:
        left = [term for term in terms if term.ast.value != self._false]
        self.spend(len(left))
        if any(term.ast.value == self._true for term in left):
            return self.true
        return self._join(self.z3.Z3_mk_or, left) if left else self.false

    def negate(self, term: Term) -> Term:
        if term.ast.value == self._true:
            return self.false
        if term.ast.value == self._false:
            return self.true
        z3, context = self.z3, self.context
        return z3.BoolRef(z3.Z3_mk_not(context.ref(), term.ast), context)

    def _join(self, make: Callable[..., Any], terms: Sequence[Term]) -> Term:
        """One condition, or several joined by a function of z3's interface for C."""
        if len(terms) == 1:
            return terms[0]
        context, array = self.context, (self.z3.Ast * len(terms))(*(t.ast for t in terms))
        return self.z3.BoolRef(make(context.ref(), len(terms), array), context)

    def choose(self, condition: Term, then: Term, otherwise: Term) -> Term:
        self.spend()
        if condition.ast.value == self._true or then is otherwise:
            return then
        if condition.ast.value == self._false:
            return otherwise
        return self.z3.If(condition, then, otherwise)

    def _choose_alike(self, condition: Term, then: Term, otherwise: Term) -> Term:
        """`choose` between terms of one sort."""
        self.spend()
        if condition.ast.value == self._true or then is otherwise:
            return then
        if condition.ast.value == self._false:
            return otherwise
        z3, context = self.z3, self.context
        chosen = z3.Z3_mk_ite(context.ref(), condition.ast, then.ast, otherwise.ast)
        kind = z3.BoolRef if isinstance(then, z3.BoolRef) else z3.ArithRef
        return kind(chosen, context)

    def count(self, terms: Iterable[Term]) -> Term:
        """How many of the conditions hold."""
        one, zero = self.integer(1), self.integer(0)
        parts = [self._choose_alike(term, one, zero) for term in terms]
        z3, context = self.z3, self.context
        if not parts:
            return zero
        array = (z3.Ast * len(parts))(*(part.ast for part in parts))
        return z3.ArithRef(z3.Z3_mk_add(context.ref(), len(parts), array), context)

    def add(self, terms: Iterable[Term]) -> Term:
        summands = list(terms)
        return self.z3.Sum(summands) if summands else self.integer(0)

    def integer(self, number: int) -> Term:
        return self.z3.IntVal(number, self.context)

    # Values.

    def create_cell(self, name: str, column: Column) -> Value:
        """Any value that the column may hold."""
        null = self.z3.Bool(f"{name}?", self.context) if column.nullable else self.false
        kind, sort = _classify_column(column, self.dialect)
        make = {"Bool": self.z3.Bool, "Int": self.z3.Int, "Real": self.z3.Real}[sort]
        variant = None
        if kind in ("text", "enum") and self.dialect == "mysql":
            variant = self.z3.Int(f"{name}#", self.context)
        return Value(kind, null, make(name, self.context), variant)

    def create_number(self, text: str) -> Value:
        if text.isdigit():
            return Value("number", self.false, self.integer(int(text)))
        return Value("number", self.false, self.z3.RealVal(str(Fraction(text)), self.context))

    def create_text(self, text: str) -> Value:
        """A string constant. What order constants are in is left open, as collations differ."""
        key = text
        if self.dialect == "mysql":
            if not (text.isascii() and text.replace(" ", "").isalnum()):
                raise Unsupported("a text constant whose collation is not known")
            key = text.rstrip(" ").lower()
        if key not in self.texts:
            self.texts[key] = self.z3.Real(f"'{key}'", self.context)
        variant = None
        if self.dialect == "mysql":
            variant = self.integer(int.from_bytes(text.encode(), "big"))
        return Value("text", self.false, self.texts[key], variant, text)

    def create_boolean(self, true: Term, false: Term) -> Value:
        """The truth value that is true, false, or NULL where it is neither."""
        return Value("boolean", self.negate(self.any_of((true, false))), true)

    def list_axioms(self) -> list[Term]:
        """What holds of the text constants: they differ, and some engines order them by bytes."""
        if self.dialect in ("sqlite", "duckdb"):
            ordered = [self.texts[key] for key in sorted(self.texts, key=str.encode)]
            return [a < b for a, b in pairwise(ordered)]
        return [self.z3.Distinct(*self.texts.values())] if len(self.texts) > 1 else []

    def read_truth(self, value: Value) -> tuple[Term, Term]:
        """Whether a condition is true, and whether it is false."""
        if value.kind == "null":
            return self.false, self.false
        if value.kind == "number" and self.dialect in _NUMERIC_TRUTH:
            holds = value.term != 0
        elif value.kind == "boolean":
            holds = value.term
        else:
            raise Unsupported(f"a {value.kind} as a condition")
        not_null = self.negate(value.null)
        return self.all_of((not_null, holds)), self.all_of((not_null, self.negate(holds)))

    def is_true(self, value: Value) -> Term:
        return self.read_truth(value)[0]

    def align(self, left: Value, right: Value) -> tuple[Value, Value]:
        """Both values in one type; raises Unsupported where engines would differ in how."""
        if left.kind == "null" and right.kind == "null":
            zero = Value("number", self.true, self.integer(0))
            return zero, zero
        if left.kind == "null":
            return self.create_null(right), right
        if right.kind == "null":
            return left, self.create_null(left)
        left, right = self._coerce(left, right), self._coerce(right, left)
        if {left.kind, right.kind} == {"text", "enum"}:
            return left._replace(kind="enum"), right._replace(kind="enum")
        if {left.kind, right.kind} == {"date", "timestamp"}:
            return self._to_timestamp(left), self._to_timestamp(right)
        if left.kind != right.kind:
            raise Unsupported(f"{left.kind} beside {right.kind}")
        if left.kind == "number" and left.term.sort() != right.term.sort():
            return self.to_real(left), self.to_real(right)
        return left, right

    def _equate(self, left: Term, right: Term) -> Term:
        """That terms of one sort are equal."""
        z3, context = self.z3, self.context
        return z3.BoolRef(z3.Z3_mk_eq(context.ref(), left.ast, right.ast), context)

    def create_null(self, like: Value) -> Value:
        return Value(like.kind, self.true, self._create_default(like.term), like.variant)

    def to_real(self, value: Value) -> Value:
        if self.z3.is_int(value.term):
            return value._replace(term=self.z3.ToReal(value.term))
        return value

    def is_same(self, left: Value, right: Value, exactly: bool = False) -> Term:
        """Whether both are NULL or equal; `exactly` also by their bytes."""
        left, right = self.align(left, right)
        equal = [self._equate(left.term, right.term)]
        if exactly and left.variant is not None and right.variant is not None:
            equal.append(self._equate(left.variant, right.variant))
        self.spend(2)
        both_null = self.all_of((left.null, right.null))
        neither = (self.negate(left.null), self.negate(right.null))
        return self.any_of((both_null, self.all_of((*neither, *equal))))

    def compare(self, left: Value, right: Value, test: Callable[[Term, Term], Term]) -> Value:
        """A comparison that is NULL where a side is."""
        left, right = self.align(left, right)
        return Value("boolean", self.any_of((left.null, right.null)), test(left.term, right.term))

    def order(self, left: Value, right: Value, test: Callable[[Term, Term], Term]) -> Value:
        left, right = self.align(left, right)
        if left.kind in ("boolean", "enum"):
            raise Unsupported(f"the order of a {left.kind}")
        return self.compare(left, right, test)

    def select(self, condition: Term, then: Value, otherwise: Value) -> Value:
        """One of two values of one type."""
        then, otherwise = self.align(then, otherwise)
        variant = None
        if then.variant is not None and otherwise.variant is not None:
            variant = self._choose_alike(condition, then.variant, otherwise.variant)
        elif then.variant is not None or otherwise.variant is not None:
            raise Unsupported("a text of unknown collation")
        null = self._choose_alike(condition, then.null, otherwise.null)
        term = self._choose_alike(condition, then.term, otherwise.term)
        return Value(then.kind, null, term, variant)

    def call(self, name: str, kind: Kind, sort: str, args: Sequence[Value]) -> Value:
        """A function of which nothing is known but that equal arguments give equal results."""
        if self.dialect == "mysql" and kind == "text":
            raise Unsupported(f"{name}: a text of unknown collation")
        terms: list[Term] = []
        for value in args:
            if value.kind == "null":
                terms.append(self.true)
                continue
            default = self._create_default(value.term)
            terms += [value.null, self.choose(value.null, default, value.term)]
            if value.variant is not None:
                terms.append(self.choose(value.null, self.integer(0), value.variant))
        sorts = [term.sort() for term in terms]
        return Value(
            kind,
            self._apply(f"{name}?", sorts, self.z3.BoolSort(self.context), terms),
            self._apply(name, sorts, self._find_sort(sort), terms),
        )

    def _apply(self, name: str, sorts: list[Term], result: Term, terms: list[Term]) -> Term:
        key = (name, *map(str, sorts), str(result))
        if key not in self._functions:
            label = "/".join(map(str, key))
            self._functions[key] = (
                self.z3.Function(label, *sorts, result) if sorts else self.z3.Const(label, result)
            )
        self.spend()
        return self._functions[key](*terms) if sorts else self._functions[key]

    def _find_sort(self, name: str) -> Term:
        sorts = {"Bool": self.z3.BoolSort, "Int": self.z3.IntSort, "Real": self.z3.RealSort}
        return sorts[name](self.context)

    def _create_default(self, term: Term) -> Term:
        if self.z3.is_bool(term):
            return self.false
        return self.integer(0) if self.z3.is_int(term) else self.z3.RealVal(0, self.context)

    def _coerce(self, value: Value, other: Value) -> Value:
        """A constant in the type of what it meets; a condition as a number where engines do so."""
        numeric = self.dialect in _NUMERIC_TRUTH
        if value.kind == "boolean" and other.kind == "number" and numeric:
            one, zero = self.integer(1), self.integer(0)
            return Value("number", value.null, self.choose(value.term, one, zero))
        if value.literal is None or other.kind in ("text", "enum"):
            return value
        try:
            return self.parse_constant(value.literal, other.kind)
        except ValueError:
            raise Unsupported(f"{value.literal!r} as a {other.kind}") from None

    def parse_constant(self, text: str, kind: Kind) -> Value:
        """A string constant as a number, date or timestamp; raises ValueError where it is none."""
        if kind == "number" and self.dialect in ("postgres", "duckdb"):
            return self.create_number(text.strip()) if text.strip().isdigit() else _refuse(text)
        if kind == "date":
            days = (date.fromisoformat(text) - _EPOCH).days
            return Value("date", self.false, self.integer(days))
        if kind == "timestamp":
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                raise Unsupported("a constant with a time zone")
            seconds = Fraction(str((moment - datetime(1970, 1, 1)).total_seconds()))
            return Value("timestamp", self.false, self.z3.RealVal(str(seconds), self.context))
        return _refuse(text)

    def _to_timestamp(self, value: Value) -> Value:
        if value.kind == "timestamp":
            return value
        return Value("timestamp", value.null, self.z3.ToReal(value.term) * _DAY)


def _refuse(text: str) -> Value:
    raise ValueError(text)


def _classify_column(column: Column, dialect: str) -> tuple[Kind, str]:
    if column.choices and column.kind == "text":
        return "enum", "Real"
    if column.kind in ("timestamp", "time") and dialect == "sqlite":
        return "text", "Real"  # SQLite compares them as texts, which a date is a prefix of
    if column.kind == "boolean" and dialect in _NUMERIC_TRUTH:
        return "number", "Int"
    kinds: dict[str, tuple[Kind, str]] = {
        "integer": ("number", "Int"),
        "decimal": ("number", "Real"),
        "float": ("number", "Real"),
        "text": ("text", "Real"),
        "boolean": ("boolean", "Bool"),
        "date": ("date", "Int"),
        "timestamp": ("timestamp", "Real"),
    }
    if column.kind not in kinds:
        raise Unsupported(f"a column of type {column.kind}")
    return kinds[column.kind]
