"""Schemas of tools from the source of their Python functions, which is parsed and never run.

A class of tools marks its methods with `is_tool`; annotations, docstrings in Google's style and
the models of pydantic that annotations name become the JSON schema that pydantic would make.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from evalcore.errors import IntakeError
from evalcore.i18n import Note

Schema = dict[str, Any]
_SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_LISTS = ("list", "List")
_DECORATOR = "is_tool"
#: The base of models of upstream's that take no other fields.
_CLOSED = "BaseModelNoExtra"
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Returns|Raises|Examples?|Yields):\s*$")
_ARGUMENT = re.compile(r"^(\w+)\s*(?:\(([^)]*)\))?:\s?(.*)$", re.S)


class _Types:
    """The aliases, models and enumerations of modules, and what of them schemas refer to."""

    def __init__(self, trees: Sequence[ast.Module], path: str) -> None:
        self.path = path
        self._aliases: dict[str, ast.expr] = {}
        self._models: dict[str, ast.ClassDef] = {}
        self.definitions: dict[str, Schema] = {}
        for node in (node for tree in trees for node in tree.body):
            if isinstance(node, ast.ClassDef):
                self._models[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._aliases[node.targets[0].id] = node.value

    def describe(self, node: ast.expr) -> Schema:
        """The schema of an annotation. Raises IntakeError for one that is not known."""
        match node:
            case ast.Name("Any"):
                return {}
            case ast.Constant(None):
                return {"type": "null"}
            case ast.Name(name) if name in _SCALARS:
                return {"type": _SCALARS[name]}
            case ast.Name("dict" | "Dict"):
                return {"additionalProperties": True, "type": "object"}
            case ast.Name(name) if name in self._aliases:
                return self.describe(self._aliases[name])
            case ast.Name(name) if name in self._models:
                self._define(name)
                return {"$ref": f"#/$defs/{name}"}
            case ast.Subscript(ast.Name("Literal"), chosen):
                return _describe_choices(chosen, self.path)
            case ast.Subscript(ast.Name(name), item) if name in _LISTS:
                return {"items": self.describe(item), "type": "array"}
            case ast.Subscript(ast.Name("Optional"), item):
                return {"anyOf": [self.describe(item), {"type": "null"}]}
            case ast.Subscript(ast.Name("Union"), ast.Tuple(items)):
                return {"anyOf": [self.describe(item) for item in items]}
            case ast.BinOp(left, ast.BitOr(), right):
                return {"anyOf": [self.describe(left), self.describe(right)]}
        raise IntakeError(
            Note("source_type", path=self.path, line=node.lineno, text=ast.unparse(node))
        )

    def read_default(self, node: ast.expr) -> Any:
        """The value of a default: a literal, or the member of an enumeration. Raises IntakeError
        for any other."""
        match node:
            case ast.Attribute(ast.Name(name), member) if name in self._models:
                members = _read_members(self._models[name])
                if member in members:
                    return members[member]
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            text = ast.unparse(node)
            raise IntakeError(
                Note("source_default", path=self.path, line=node.lineno, text=text)
            ) from None

    def _define(self, name: str) -> None:
        if name in self.definitions:
            return
        self.definitions[name] = {}
        model = self._models[name]
        bases = {base.id for base in model.bases if isinstance(base, ast.Name)}
        text = ast.get_docstring(model)
        described = {"description": text} if text else {}
        if "Enum" in bases:
            members = list(_read_members(model).values())
            self.definitions[name] = described | {"enum": members, "title": name, "type": "string"}
            return
        closed = {"additionalProperties": False} if _CLOSED in bases else {}
        properties: Schema = {}
        required = []
        for field in model.body:
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            key, (description, default) = field.target.id, _read_field(field.value)
            schema = self.describe(field.annotation)
            if default is None:
                required.append(key)
            else:
                schema = schema | {"default": self.read_default(default)}
            properties[key] = _title(key, schema, description)
        needed = {"required": required} if required else {}
        self.definitions[name] = {
            **closed,
            **described,
            "properties": properties,
            **needed,
            "title": name,
            "type": "object",
        }


def _read_members(node: ast.ClassDef) -> dict[str, Any]:
    """The values of an enumeration by name."""
    return {
        item.targets[0].id: item.value.value
        for item in node.body
        if isinstance(item, ast.Assign)
        and isinstance(item.targets[0], ast.Name)
        and isinstance(item.value, ast.Constant)
    }


def _describe_choices(chosen: ast.expr, path: str) -> Schema:
    items = chosen.elts if isinstance(chosen, ast.Tuple) else [chosen]
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    if len(values) != len(items) or not all(isinstance(value, str) for value in values):
        raise IntakeError(Note("source_literal", path=path, line=chosen.lineno))
    single = len(values) == 1
    return {"const" if single else "enum": values[0] if single else values, "type": "string"}


def _read_field(value: ast.expr | None) -> tuple[str, ast.expr | None]:
    """The description of a field, and its default, None where it has none."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return "", value
    words = {word.arg: word.value for word in value.keywords}
    text = words.get("description")
    default = value.args[0] if value.args else words.get("default", words.get("default_factory"))
    if isinstance(default, ast.Constant) and default.value is ...:
        default = None
    return (str(text.value) if isinstance(text, ast.Constant) else ""), default


def _title(name: str, schema: Schema, description: str) -> Schema:
    """The schema as a property has it, keys in pydantic's order."""
    titled = schema if "$ref" in schema else schema | {"title": name.title().replace("_", " ")}
    titled = titled | ({"description": description} if description else {})
    return {key: titled[key] for key in sorted(titled)}


def read_tool_schemas(source: str, models: str, path: str, owner: str = "") -> list[Schema]:
    """The tools of the classes of a module, or of its `owner`, as OpenAI's API takes them;
    annotations may name what the source or `models` defines. Raises IntakeError for source of
    another form."""
    try:
        tree, types = ast.parse(source), ast.parse(models)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise IntakeError(Note("source_no_python", path=path, problem=error)) from None
    schemas = [
        _build_tool(method, _Types((types, tree), path))
        for node in tree.body
        if isinstance(node, ast.ClassDef) and owner in ("", node.name)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and _is_tool(method)
    ]
    if not schemas:
        raise IntakeError(Note("source_no_tool", path=path))
    return schemas


def find_tool_class(source: str, path: str) -> str:
    """The first class of a module that has tools. Raises IntakeError where there is none."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and any(
            isinstance(method, ast.FunctionDef) and _is_tool(method) for method in node.body
        ):
            return node.name
    raise IntakeError(Note("source_no_tool", path=path))


def _is_tool(method: ast.FunctionDef) -> bool:
    calls = (mark.func if isinstance(mark, ast.Call) else mark for mark in method.decorator_list)
    return any(isinstance(call, ast.Name) and call.id == _DECORATOR for call in calls)


def _build_tool(method: ast.FunctionDef, types: _Types) -> Schema:
    short, long, descriptions = _read_docstring(ast.get_docstring(method, clean=True) or "")
    arguments = method.args.args[1:]
    if method.args.kwonlyargs or method.args.vararg or method.args.kwarg:
        raise IntakeError(Note("source_arguments", path=types.path, name=method.name))
    first = len(arguments) - len(method.args.defaults)
    defaults = {
        argument.arg: types.read_default(default)
        for argument, default in zip(arguments[first:], method.args.defaults, strict=True)
    }
    properties = {}
    for argument in arguments:
        name = argument.arg
        if argument.annotation is None:
            raise IntakeError(Note("source_no_type", path=types.path, name=f"{method.name}.{name}"))
        schema = types.describe(argument.annotation)
        if name in defaults:
            schema = schema | {"default": defaults[name]}
        properties[name] = _title(name, schema, descriptions.get(name, ""))
    required = [name for name in properties if name not in defaults]
    parameters: Schema = {"properties": properties}
    if types.definitions:
        ordered = sorted(types.definitions)
        parameters = {"$defs": {name: types.definitions[name] for name in ordered}} | parameters
    if required:
        parameters["required"] = required
    parameters |= {"title": "parameters", "type": "object"}
    text = f"{short}\n\n{long}" if long else short or method.name
    function = {"name": method.name, "description": text, "parameters": parameters}
    return {"type": "function", "function": function}


def _read_docstring(text: str) -> tuple[str, str, Mapping[str, str]]:
    """The first line, what follows it before the sections, and the descriptions of arguments."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    head = "\n".join(lines[: starts[0]] if starts else lines)
    short, _, rest = head.partition("\n")
    descriptions: dict[str, str] = {}
    for start, end in pairwise([*starts, len(lines)]):
        if lines[start].startswith(("Args", "Arguments", "Param")):
            descriptions |= _read_arguments(lines[start + 1 : end])
    return short.strip(), rest.strip(), descriptions


def _read_arguments(lines: Sequence[str]) -> dict[str, str]:
    """The descriptions of a section of arguments; a line that is indented further goes on."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return {}
    depth = len(filled[0]) - len(filled[0].lstrip())
    entries: list[list[str]] = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) == depth:
            entries.append([line.strip()])
        elif entries:
            entries[-1].append(line)
    descriptions = {}
    for first, *more in entries:
        match = _ARGUMENT.match(first)
        if match:
            rest = inspect.cleandoc("\n".join(more)).strip()
            descriptions[match[1]] = f"{match[3]}\n{rest}" if rest else match[3]
    return descriptions
