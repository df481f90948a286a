"""The calculator: arithmetic by an evaluator of our own, which knows nothing but numbers.

Integers stay exact and floats are shown by repr. Every step is bounded, so that an expression of
the longest length ends within a second whatever it says.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from evalcore.benchmarks.gaia.tools.tool import Refusal, text_tool

Number = int | float

_LONGEST = 1000  # characters of an expression
_MOST_BITS = 100_000  # of an integer on the way
_MOST_DIGITS = 4000  # of a result
_MOST_FACTORIAL = 5000
_MOST_PLACES = 400  # of round

_SIGNS = str.maketrans({"×": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": "pi"})


def calculate(expression: str) -> str:
    """The value of an expression as text. Raises Refusal for what is no arithmetic."""
    if len(expression) > _LONGEST:
        raise Refusal(f"the expression is longer than {_LONGEST} characters")
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval")
        value = _value(tree.body)
        if isinstance(value, float) and not math.isfinite(value):
            raise Refusal("the result is not a finite number")
        if isinstance(value, int) and abs(value).bit_length() > _MOST_DIGITS * math.log2(10):
            raise Refusal(f"the result has more than {_MOST_DIGITS} digits")
        return repr(value)
    except SyntaxError as error:
        raise Refusal(f"not an arithmetic expression ({error.msg}){_hint(expression)}") from None
    except ZeroDivisionError:
        raise Refusal("division by zero") from None
    except OverflowError:
        raise Refusal("the numbers become too large for floating point") from None
    except ValueError as error:  # outside a function's domain, or too many digits to be read
        raise Refusal(f"no result: {error}") from None
    except (RecursionError, MemoryError):  # Python's parser raises both for deep nesting
        raise Refusal("the expression is nested too deep") from None


def _hint(expression: str) -> str:
    hints = {"%": "; for percent, divide by 100", "$": "; leave out signs of currency"}
    found = next((hint for sign, hint in hints.items() if sign in expression), "")
    return found or "; write numbers without thousands separators and units"


def _value(node: ast.expr) -> Number:
    for kind, evaluate in _NODES.items():
        if isinstance(node, kind):
            return evaluate(node)
    if isinstance(node, ast.Tuple):
        raise Refusal("a comma stands between numbers; write 1234 without a thousands separator")
    raise Refusal(f"{type(node).__name__} is not arithmetic")


def _constant(node: ast.Constant) -> Number:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise Refusal(f"{str(node.value)[:40]!r} is not a real number")
    return _bounded(node.value)


def _name(node: ast.Name) -> Number:
    if node.id not in _CONSTANTS:
        known = ", ".join((*_CONSTANTS, *_FUNCTIONS))
        raise Refusal(f'"{node.id[:40]}" is not known; known are {known}')
    return _CONSTANTS[node.id]


def _unary(node: ast.UnaryOp) -> Number:
    sign = _UNARY.get(type(node.op))
    if sign is None:
        raise Refusal(f"the operator {type(node.op).__name__} is not arithmetic")
    return sign(_value(node.operand))


def _binary(node: ast.BinOp) -> Number:
    if isinstance(node.op, ast.BitXor):
        raise Refusal("^ is not a power; write **")
    apply = _BINARY.get(type(node.op))
    if apply is None:
        raise Refusal(f"the operator {type(node.op).__name__} is not arithmetic")
    return _bounded(apply(_value(node.left), _value(node.right)))


def _call(node: ast.Call) -> Number:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS:
        raise Refusal(f'no function "{name[:40]}"; there are {", ".join(_FUNCTIONS)}')
    if node.keywords:
        raise Refusal(f"{name} takes no named arguments")
    function, least, most = _FUNCTIONS[name]
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise Refusal(
            f"{name} takes {wanted} arguments, not {len(node.args)}; "
            "write numbers without thousands separators"
        )
    try:
        return _bounded(function(*map(_value, node.args)))
    except TypeError:
        raise Refusal(f"{name} does not take these numbers; it may need whole ones") from None


def _bounded(value: Number) -> Number:
    if isinstance(value, complex):  # a root of a negative number
        raise Refusal("the result is not a real number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise Refusal("the numbers become too large")
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        bits = max(base.bit_length(), 1) * exponent
        if bits > _MOST_BITS and abs(base) > 1:
            raise Refusal("the power becomes too large")
    result: Number = base**exponent
    return result


def _round(value: Number, places: Number = 0) -> Number:
    if not isinstance(places, int) or abs(places) > _MOST_PLACES:
        raise Refusal(f"round takes a whole number of places, at most {_MOST_PLACES}")
    return round(value, places) if places else round(value)


def _factorial(number: Number) -> int:
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or not 0 <= number <= _MOST_FACTORIAL:
        raise Refusal(f"factorial takes whole numbers from 0 to {_MOST_FACTORIAL}")
    return math.factorial(number)


_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
_UNARY: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_MANY = 100
#: A function with the least and the most arguments it takes.
_FUNCTIONS: Mapping[str, tuple[Callable[..., Number], int, int]] = {
    "sqrt": (math.sqrt, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "log": (math.log, 1, 2),
    "log10": (math.log10, 1, 1),
    "exp": (math.exp, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "min": (min, 2, _MANY),
    "max": (max, 2, _MANY),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "factorial": (_factorial, 1, 1),
    "gcd": (math.gcd, 1, _MANY),
}
_NODES: Mapping[type[ast.expr], Callable[..., Number]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Call: _call,
}

TOOL = text_tool(
    "calculator",
    "Computes an arithmetic expression. Operators: + - * / // % **, parentheses. Functions: "
    f"{', '.join(_FUNCTIONS)} (angles in radians, log is natural). Constants: pi, e. "
    "No thousands separators, no units.",
    {"expression": "the expression, like (12.5 + 3) * 2 ** 0.5"},
)
