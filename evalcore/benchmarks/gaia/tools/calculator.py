"""The calculator: arithmetic by an evaluator of our own, which knows nothing but numbers.

Integers stay exact and floats are shown by repr. Every step is bounded, so that an expression of
the longest length ends within a second whatever it says.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from evalcore.benchmarks.gaia.tools.tool import ToolError, text_tool

Number = int | float

_MAX_EXPRESSION_CHARS = 1000  # characters of an expression
_MAX_BITS = 100_000  # of an integer on the way
_MAX_DIGITS = 4000  # of a result
_MAX_FACTORIAL = 5000
_MAX_DECIMALS = 400  # of round

_SIGNS = str.maketrans({"×": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": "pi"})


def evaluate_expression(expression: str) -> str:
    """The value of an expression as text. Raises Refusal for what is no arithmetic."""
    if len(expression) > _MAX_EXPRESSION_CHARS:
        raise ToolError(f"the expression is longer than {_MAX_EXPRESSION_CHARS} characters")
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval")
        value = _evaluate_node(tree.body)
        if isinstance(value, float) and not math.isfinite(value):
            raise ToolError("the result is not a finite number")
        if isinstance(value, int) and abs(value).bit_length() > _MAX_DIGITS * math.log2(10):
            raise ToolError(f"the result has more than {_MAX_DIGITS} digits")
        return repr(value)
    except SyntaxError as error:
        raise ToolError(
            f"not an arithmetic expression ({error.msg}){_find_syntax_hint(expression)}"
        ) from None
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the numbers become too large for floating point") from None
    except ValueError as error:  # outside a function's domain, or too many digits to be read
        raise ToolError(f"no result: {error}") from None
    except (RecursionError, MemoryError):  # Python's parser raises both for deep nesting
        raise ToolError("the expression is nested too deep") from None


def _find_syntax_hint(expression: str) -> str:
    hints = {"%": "; for percent, divide by 100", "$": "; leave out signs of currency"}
    sign_hint = next((hint for sign, hint in hints.items() if sign in expression), "")
    return sign_hint or "; write numbers without thousands separators and units"


def _evaluate_node(node: ast.expr) -> Number:
    for kind, evaluate in _NODES.items():
        if isinstance(node, kind):
            return evaluate(node)
    if isinstance(node, ast.Tuple):
        raise ToolError("a comma stands between numbers; write 1234 without a thousands separator")
    raise ToolError(f"{type(node).__name__} is not arithmetic")


def _evaluate_constant(node: ast.Constant) -> Number:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise ToolError(f"{str(node.value)[:40]!r} is not a real number")
    return _ensure_bounded(node.value)


def _evaluate_name(node: ast.Name) -> Number:
    if node.id not in _CONSTANTS:
        available = ", ".join((*_CONSTANTS, *_FUNCTIONS))
        raise ToolError(f'"{node.id[:40]}" is not known; known are {available}')
    return _CONSTANTS[node.id]


def _evaluate_unary(node: ast.UnaryOp) -> Number:
    sign = _UNARY.get(type(node.op))
    if sign is None:
        raise ToolError(f"the operator {type(node.op).__name__} is not arithmetic")
    return sign(_evaluate_node(node.operand))


def _evaluate_binary(node: ast.BinOp) -> Number:
    if isinstance(node.op, ast.BitXor):
        raise ToolError("^ is not a power; write **")
    apply = _BINARY.get(type(node.op))
    if apply is None:
        raise ToolError(f"the operator {type(node.op).__name__} is not arithmetic")
    return _ensure_bounded(apply(_evaluate_node(node.left), _evaluate_node(node.right)))


def _evaluate_call(node: ast.Call) -> Number:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS:
        raise ToolError(f'no function "{name[:40]}"; there are {", ".join(_FUNCTIONS)}')
    if node.keywords:
        raise ToolError(f"{name} takes no named arguments")
    function, minimum, maximum = _FUNCTIONS[name]
    if not minimum <= len(node.args) <= maximum:
        expected_count = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
        raise ToolError(
            f"{name} takes {expected_count} arguments, not {len(node.args)}; "
            "write numbers without thousands separators"
        )
    try:
        return _ensure_bounded(function(*map(_evaluate_node, node.args)))
    except TypeError:
        raise ToolError(f"{name} does not take these numbers; it may need whole ones") from None


def _ensure_bounded(value: Number) -> Number:
    if isinstance(value, complex):  # a root of a negative number
        raise ToolError("the result is not a real number")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ToolError("the numbers become too large")
    return value


def _bounded_power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        bits = max(base.bit_length(), 1) * exponent
        if bits > _MAX_BITS and abs(base) > 1:
            raise ToolError("the power becomes too large")
    result: Number = base**exponent
    return result


def _bounded_round(value: Number, decimals: Number = 0) -> Number:
    if not isinstance(decimals, int) or abs(decimals) > _MAX_DECIMALS:
        raise ToolError(f"round takes a whole number of places, at most {_MAX_DECIMALS}")
    return round(value, decimals) if decimals else round(value)


def _bounded_factorial(number: Number) -> int:
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or not 0 <= number <= _MAX_FACTORIAL:
        raise ToolError(f"factorial takes whole numbers from 0 to {_MAX_FACTORIAL}")
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
    ast.Pow: _bounded_power,
}
_MAX_ARGUMENTS = 100
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
    "round": (_bounded_round, 1, 2),
    "min": (min, 2, _MAX_ARGUMENTS),
    "max": (max, 2, _MAX_ARGUMENTS),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "factorial": (_bounded_factorial, 1, 1),
    "gcd": (math.gcd, 1, _MAX_ARGUMENTS),
}
_NODES: Mapping[type[ast.expr], Callable[..., Number]] = {
    ast.Constant: _evaluate_constant,
    ast.Name: _evaluate_name,
    ast.UnaryOp: _evaluate_unary,
    ast.BinOp: _evaluate_binary,
    ast.Call: _evaluate_call,
}

CALCULATOR_TOOL = text_tool(
    "calculator",
    "Computes an arithmetic expression. Operators: + - * / // % **, parentheses. Functions: "
    f"{', '.join(_FUNCTIONS)} (angles in radians, log is natural). Constants: pi, e. "
    "No thousands separators, no units.",
    {"expression": "the expression, like (12.5 + 3) * 2 ** 0.5"},
)
