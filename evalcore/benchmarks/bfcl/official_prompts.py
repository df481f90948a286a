"""BFCL as upstream asks: its system prompt, tool schemas and hints, by texts that a fetch read."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from evalcore.benchmarks.answer_scoring import Language
from evalcore.benchmarks.base import ToolCallMode
from evalcore.benchmarks.bfcl.categories import find_category_language
from evalcore.benchmarks.bfcl.format_sensitivity import list_functions, split_form
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.intake.python_source import SLOT
from evalcore.records import Message, Record

#: The parts of upstream's name of a form of the prompt, such as `ret_fmt=python&style=classic`.
_FORM_PARTS = ("ret_fmt", "tool_call_tag", "func_doc_fmt", "prompt_fmt", "style")


#: Names of upstream's texts of agentic entries, and ours for what it says of an empty memory.
_ANSWER_FORM = "ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT"
_SETTINGS = "MEMORY_AGENT_SETTINGS"
_TWO_PARTS = "MEMORY_BACKEND_INSTRUCTION_CORE_ARCHIVAL"
_ONE_TEXT = "MEMORY_BACKEND_INSTRUCTION_UNIFIED"
_EMPTY = "empty_memory"


class LanguageTexts(Record, frozen=True):
    """What is added to descriptions for a language: to a function's, and to those of parameters of
    any type, of a type, of a list and of a dict. A `SLOT` stands for the type."""

    function: str
    any_type: str = ""
    typed: str = ""
    listed: str = ""
    mapped: str = ""


class BfclTexts(Record, frozen=True):
    """What upstream's code says. `forms` are the texts of a call's form by `ret_fmt`, `param_types`
    a word on its types, `styles` the sentences of a prompt by style, `templates` what they are put
    into by `prompt_fmt`, `default_form` the parts of the usual prompt. `json_types` are the types
    of JSON Schema by those of the data. `agentic` holds the texts of memory and web search."""

    forms: dict[str, str]
    param_types: dict[str, str]
    styles: dict[str, dict[str, str]]
    templates: dict[str, str]
    default_form: str
    functions_added: str
    functions_added_prompt: str
    languages: dict[str, LanguageTexts]
    float_type: str
    json_types: dict[str, str]
    temperature: float
    max_steps: int
    agentic: dict[str, Any] = {}


def describe_functions(
    functions: Sequence[dict[str, Any]], category: str, texts: BfclTexts
) -> list[dict[str, Any]]:
    """The functions with the hints of their language, Java's and JavaScript's parameters as
    texts."""
    language = find_category_language(category)
    return [_describe_function(function, language, texts) for function in functions]


def _describe_function(
    function: Mapping[str, Any], language: Language, texts: BfclTexts
) -> dict[str, Any]:
    described = copy.deepcopy(dict(function))
    words = texts.languages[language]
    described["description"] = str(described.get("description", "")) + words.function
    if language == "python":
        return described
    for schema in (described.get("parameters") or {}).get("properties", {}).values():
        _describe_parameter(schema, words)
    return described


def _describe_parameter(schema: dict[str, Any], words: LanguageTexts) -> None:
    kind = str(schema.get("type"))
    added = words.any_type if kind == "any" else words.typed.replace(SLOT, kind)
    if kind in ("array", "Array", "ArrayList") and "items" in schema and words.listed:
        added += words.listed.replace(SLOT, str(schema.pop("items").get("type")))
    if kind == "dict" and "properties" in schema and words.mapped:
        added += words.mapped.replace(SLOT, json.dumps(schema.pop("properties")))
    schema["description"] = str(schema.get("description", "")) + added
    schema["type"] = "string"


def build_official_tools(
    functions: Sequence[dict[str, Any]], texts: BfclTexts
) -> tuple[dict[str, Any], ...]:
    """Described functions as a server takes them, the dots of their names underscores."""
    tools = []
    for function in functions:
        tool = copy.deepcopy(function)
        tool["name"] = str(tool["name"]).replace(".", "_")
        parameters = tool.setdefault("parameters", {})
        parameters["type"] = "object"
        parameters["properties"] = _convert_properties(parameters.get("properties", {}), texts)
        tools.append({"type": "function", "function": tool})
    return tuple(tools)


def _convert_properties(properties: dict[str, Any], texts: BfclTexts) -> dict[str, Any]:
    for schema in properties.values():
        kind = schema.get("type")
        if kind == "float":
            schema["format"] = "float"
            schema["description"] = str(schema.get("description", "")) + texts.float_type
        schema["type"] = texts.json_types.get(str(kind), "string")
        if schema["type"] not in ("array", "object"):
            continue
        if "properties" in schema:
            schema["properties"] = _convert_properties(schema["properties"], texts)
        elif "items" in schema:
            _convert_items(schema["items"], texts)
    return properties


def _convert_items(items: dict[str, Any], texts: BfclTexts) -> None:
    """The items of a list, and what they hold one level below; deeper ones stay as they are."""
    items["type"] = texts.json_types.get(str(items.get("type")), "string")
    if items["type"] == "array" and "items" in items:
        inner = items["items"]
        inner["type"] = texts.json_types.get(str(inner.get("type")), "string")
    elif items["type"] == "object" and "properties" in items:
        items["properties"] = _convert_properties(items["properties"], texts)


def build_official_messages(
    messages: Sequence[Message],
    functions: Sequence[dict[str, Any]],
    mode: ToolCallMode,
    texts: BfclTexts,
    form: str = "",
) -> list[Message]:
    """The messages of a turn; but natively under a system message that lists the described
    functions, before the entry's own. An empty `form` is upstream's usual one."""
    if mode == "native":
        return list(messages)
    form = form or texts.default_form
    try:
        listed = list_functions(functions, split_form(form)["func_doc_fmt"])
    except KeyError:
        raise UsageError(Note("bfcl_no_form", form=repr(form))) from None
    text = build_system_prompt(listed, texts, form)
    first, *rest = messages or [Message("user")]
    if first.role == "system":
        return [Message("system", f"{text}\n\n{first.content}"), *rest]
    return [Message("system", text), *messages]


def build_system_prompt(listed: str, texts: BfclTexts, form: str) -> str:
    """Upstream's prompt in one of its forms (`_FORM_PARTS`), with the functions as listed. Raises
    UsageError for a form that the texts do not have."""
    parts = split_form(form)
    try:
        return_format, tagged, listing, template, style = (parts[name] for name in _FORM_PARTS)
        words = texts.styles[style]
        tag = "tool_call_with_tag" if tagged == "True" else "tool_call_no_tag"
        call_form = words[tag].format(
            output_format=texts.forms[return_format], param_types=texts.param_types[return_format]
        )
        tools = words["available_tools"].format(format=listing, functions=listed)
        return texts.templates[template].format(
            persona=words["persona"],
            task=words["task"],
            tool_call_format=call_form,
            multiturn_behavior=words["multiturn_behavior"],
            available_tools=tools,
        )
    except (KeyError, IndexError, ValueError) as error:
        raise UsageError(Note("bfcl_bad_form", form=repr(form), problem=error)) from None


def build_agentic_text(
    category: str, material: str, texts: BfclTexts, memory: Any, asks: bool
) -> str:
    """The system message of an agentic entry, whose scenario its material is named after: how its
    memory works and what it holds, and, where a question is to be answered, in which form. Raises
    UsageError where the texts lack one."""
    words, scenario = texts.agentic, PurePath(material).stem.removeprefix("memory_")
    try:
        answer = str(words[_ANSWER_FORM]) if asks else ""
        if not category.startswith("memory"):
            return answer
        one_text = category == "memory_rec_sum"
        template = str(words[_ONE_TEXT if one_text else _TWO_PARTS])
        if category == "memory_vector":  # never empty to upstream
            memory = {row["id"]: row["text"] for row in memory or ()}
        content = memory if isinstance(memory, str) else json.dumps(memory, indent=4)
        shown = content if memory or category == "memory_vector" else words[_EMPTY][category]
        text = template.format(scenario_setting=words[_SETTINGS][scenario], memory_content=shown)
    except (KeyError, IndexError, ValueError) as error:
        raise UsageError(
            Note("bfcl_no_words", category=category, scenario=repr(scenario), problem=error)
        ) from None
    return f"{text}\n\n{answer}" if asks else text


def announce_official_functions(
    documents: Sequence[dict[str, Any]], native: bool, texts: BfclTexts
) -> str:
    """What a user's message says where functions are added."""
    if native:
        return texts.functions_added
    return texts.functions_added_prompt.replace("{functions}", str(list(documents)))
