"""Read texts and tables out of Python source without running it: constants, f-strings, literals.

Upstream projects keep their prompts in code. What is read here is parsed, never imported, and only
what follows from literals and from names with known values has a value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from evalcore.errors import IntakeError
from evalcore.i18n import Note

_MAX_SOURCE_BYTES = 4 << 20
#: Stands in an evaluated text for a value that only a run has.
SLOT = "\x00"


class SourceModule:
    """A parsed module. `constants` are the values of its assigned names that follow from literals,
    and from `names` that its imports bring."""

    def __init__(self, source: str, path: str, names: Mapping[str, Any] | None = None) -> None:
        """Raises IntakeError for what is no Python."""
        self.path = path
        try:
            if len(source) > _MAX_SOURCE_BYTES:
                raise ValueError(Note("source_many_bytes", size=_MAX_SOURCE_BYTES >> 20))
            self._tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise IntakeError(Note("source_no_python", path=path, problem=error)) from None
        self.constants: dict[str, Any] = dict(names or {})
        for name, value in _iter_assignments(self._tree.body):
            try:
                self.constants[name] = evaluate_literal(value, self.constants)
            except (ValueError, RecursionError):
                continue

    def get_constant(self, name: str) -> Any:
        """The value of a name; raises IntakeError where it does not follow from literals."""
        if name not in self.constants:
            raise IntakeError(Note("source_no_literal", path=self.path, name=name))
        return self.constants[name]

    def find_assignment(self, name: str) -> ast.expr:
        """What is assigned to a name of the module; raises IntakeError where nothing is."""
        for target, value in _iter_assignments(self._tree.body):
            if target == name:
                return value
        raise IntakeError(Note("source_unassigned", path=self.path, name=name))

    def list_imports(self) -> dict[str, str]:
        """The modules that names are imported from, as written after `from`, by name."""
        return {
            alias.asname or alias.name: node.module or ""
            for node in ast.walk(self._tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }

    def find_function(self, name: str) -> ast.FunctionDef:
        """A function, or a method by "Class.name"; raises IntakeError where there is none."""
        *classes, function = name.split(".")
        body = self._tree.body
        for part in classes:
            found = next((n for n in body if isinstance(n, ast.ClassDef) and n.name == part), None)
            body = found.body if found else []
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return node
        raise IntakeError(Note("source_undefined", path=self.path, name=name))

    def evaluate_return(self, name: str, names: Mapping[str, Any] | None = None) -> Any:
        """What a function returns, where that follows from literals, its own assignments and
        `names`. Raises IntakeError."""
        function = self.find_function(name)
        scope = {**self.constants, **(names or {})}
        try:
            for target, value in _iter_assignments(function.body):
                if target not in (names or {}):
                    _try_assignment(scope, target, value)
            for node in function.body:
                if isinstance(node, ast.Return) and node.value is not None:
                    return evaluate_literal(node.value, scope)
        except (ValueError, RecursionError) as error:
            raise IntakeError(
                Note("no_literal_of", path=self.path, name=name, problem=error)
            ) from None
        raise IntakeError(Note("source_no_return", path=self.path, name=name))

    def evaluate_assignment(
        self, function: str, name: str, names: Mapping[str, Any] | None = None
    ) -> Any:
        """What a function first assigns to a name; as `evaluate_return`. Raises IntakeError."""
        scope = {**self.constants, **(names or {})}
        for target, value in _iter_assignments(self.find_function(function).body):
            if target == name:
                try:
                    return evaluate_literal(value, scope)
                except (ValueError, RecursionError) as error:
                    raise IntakeError(f"{self.path}: {function}: {name}: {error}") from None
            if target not in (names or {}):
                _try_assignment(scope, target, value)
        raise IntakeError(Note("unassigned_in", path=self.path, function=function, name=name))

    def get_argument_default(self, function: str, argument: str) -> Any:
        """The default of an argument; raises IntakeError."""
        arguments = self.find_function(function).args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(reversed(positional), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        for declared, default in pairs:
            if declared.arg == argument and default is not None:
                try:
                    return evaluate_literal(default, self.constants)
                except (ValueError, RecursionError):
                    break
        raise IntakeError(Note("no_default", path=self.path, function=function, name=argument))

    def get_call_keyword(self, first: str, keyword: str) -> Any:
        """A keyword of the call whose first argument is a text; raises IntakeError."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and node.args:
                argument = node.args[0]
                if isinstance(argument, ast.Constant) and argument.value == first:
                    for word in node.keywords:
                        if word.arg == keyword and isinstance(word.value, ast.Constant):
                            return word.value.value
        raise IntakeError(Note("no_call_with", path=self.path, first=repr(first), keyword=keyword))

    def get_fallback(self, name: str) -> Any:
        """What `.pop(name, fallback)` falls back to; of a condition its first branch. Raises
        IntakeError."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(ast.Attribute(attr="pop"), [ast.Constant(value), fallback]) if (
                    value == name
                ):
                    chosen = fallback.body if isinstance(fallback, ast.IfExp) else fallback
                    if isinstance(chosen, ast.Constant):
                        return chosen.value
        raise IntakeError(Note("source_no_fallback", path=self.path, name=name))

    def list_texts(self, function: str = "") -> list[str]:
        """Every text of a function, or of the module, in the order of the source; an f-string is
        one text with a `SLOT` for each value."""
        root: ast.AST = self.find_function(function) if function else self._tree
        return list(_iter_texts(root))


def evaluate_literal(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression of literals, known names, f-strings, sums and conditions on what
    is not None. Raises ValueError for anything else, naming its line."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in names:
            return names[name]
        case ast.JoinedStr(parts):
            return "".join(str(_evaluate_part(part, names)) for part in parts)
        case ast.BinOp(left, ast.Add(), right):
            first, second = evaluate_literal(left, names), evaluate_literal(right, names)
            if isinstance(first, str) and isinstance(second, str):
                return first + second
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
            return -number
        case ast.List(items) | ast.Tuple(items):
            return [evaluate_literal(item, names) for item in items]
        case ast.Dict(keys, values):
            return _evaluate_pairs(keys, values, names)
        case ast.IfExp(ast.Compare(ast.Name(name), [ast.IsNot()], [ast.Constant(None)]), body, _):
            if names.get(name) is not None:
                return evaluate_literal(body, names)
    raise ValueError(f"line {getattr(node, 'lineno', 0)}: {type(node).__name__}")


def _evaluate_pairs(
    keys: list[ast.expr | None], values: list[ast.expr], names: Mapping[str, Any]
) -> dict[Any, Any]:
    evaluated = {}
    for key, value in zip(keys, values, strict=True):
        if key is None:
            raise ValueError(f"line {value.lineno}: a dict within a dict")
        evaluated[evaluate_literal(key, names)] = evaluate_literal(value, names)
    return evaluated


def _evaluate_part(part: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(part, ast.FormattedValue):
        if part.conversion != -1 or part.format_spec is not None:
            raise ValueError(f"line {part.lineno}: a format in an f-string")
        return evaluate_literal(part.value, names)
    return evaluate_literal(part, names)


def _try_assignment(scope: dict[str, Any], name: str, value: ast.expr) -> None:
    """Enter what has a value; what has none hides the outer name, and fails where it is used."""
    try:
        scope[name] = evaluate_literal(value, scope)
    except ValueError:
        scope.pop(name, None)


def _iter_assignments(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Names and values of plain assignments, in order, those of classes' fields among them."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{name}", value) for name, value in _iter_assignments(node.body)
            )
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            if isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _iter_texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else SLOT for part in node.values
        )
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
        return
    for child in ast.iter_child_nodes(node):
        yield from _iter_texts(child)
