"""How functions are described to a target, and that nothing of a description is lost on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.benchmarks.bfcl.categories import find_category_language
from evalcore.benchmarks.bfcl.entry import load_folder
from evalcore.benchmarks.bfcl.tool_prompts import (
    add_language_hint,
    build_call_messages,
    build_function_tools,
    select_decode_mode,
    to_wire_name,
)
from evalcore.benchmarks.call_decoding import MODES
from evalcore.records import Message

BUNDLED = Path(__file__).parents[2] / "datasets" / "bfcl"
JSON_SCHEMA_TYPES = {"object", "array", "string", "integer", "number", "boolean"}
SCHEMA = {
    "type": "dict",
    "properties": {
        "ratio": {"type": "float", "description": "A share."},
        "box": {"type": "tuple", "items": {"type": "integer"}},
        "anything": {"type": "any"},
        "options": {"type": "dict", "properties": {"deep": {"type": "float", "optional": True}}},
        "names": {"type": "array"},
    },
    "required": ["ratio"],
}
FUNCTION = {"name": "shop.find", "description": "Finds a shop.", "parameters": SCHEMA}


def types_in(schema: object) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    own = {schema["type"]} if isinstance(schema.get("type"), str) else set()
    inner = [*(schema.get("properties") or {}).values(), schema.get("items")]
    return own.union(*map(types_in, inner))


def test_a_schema_becomes_json_schema():
    [tool] = build_function_tools([FUNCTION], "simple_python")
    parameters = tool["function"]["parameters"]
    kinds = {name: schema["type"] for name, schema in parameters["properties"].items()}
    assert kinds == {
        "ratio": "number",
        "box": "array",
        "anything": "string",
        "options": "object",
        "names": "array",
    }
    assert parameters["required"] == ["ratio"]
    assert parameters["properties"]["box"]["items"] == {"type": "integer"}
    assert parameters["properties"]["names"]["items"] == {"type": "string"}  # servers demand some
    assert parameters["properties"]["options"]["properties"]["deep"] == {"type": "number"}


def test_every_bundled_function_is_offered_in_json_schema_by_a_name_that_servers_take():
    for entry in load_folder(BUNDLED):
        for tool in build_function_tools(entry.functions, entry.category):
            assert types_in(tool["function"]["parameters"]) <= JSON_SCHEMA_TYPES, entry.id
            assert tool["function"]["name"] == to_wire_name(tool["function"]["name"])


@pytest.mark.parametrize(
    ("name", "sent"), [("a.b.c", "a_b_c"), ("plain", "plain"), ("sp ace:x", "sp_ace_x")]
)
def test_names_lose_what_servers_refuse(name: str, sent: str):
    assert to_wire_name(name) == sent


def test_java_values_are_asked_as_source_and_the_original_is_untouched():
    before = json.dumps(FUNCTION)
    hint = add_language_hint(FUNCTION, "java")
    ratio = hint["parameters"]["properties"]["ratio"]
    assert ratio["type"] == "string"
    assert "float" in ratio["description"]
    assert "A share." in ratio["description"]
    assert "integer" in hint["parameters"]["properties"]["box"]["description"]
    assert json.dumps(FUNCTION) == before


def test_the_prompt_goes_before_a_system_message_that_is_there():
    text = [Message("system", "Speak like a pirate."), Message("user", "Where?")]
    system, user = build_call_messages(text, [FUNCTION], "simple_python", "prompt")
    assert system.role == "system"
    assert system.content.endswith("Speak like a pirate.")
    assert "shop.find" in system.content
    assert user.content == "Where?"


def test_native_asking_leaves_the_messages_alone():
    text = [Message("user", "Where?")]
    assert build_call_messages(text, [FUNCTION], "simple_python", "native") == text


def test_the_order_of_parameters_is_kept():
    [system, _] = build_call_messages([Message("user", "x")], [FUNCTION], "live_simple", "json")
    places = [system.content.index(f'"{name}"') for name in SCHEMA["properties"]]
    assert places == sorted(places)


@pytest.mark.parametrize("asking", ["native", "prompt", "json"])
@pytest.mark.parametrize("category", ["simple_python", "simple_java", "simple_javascript"])
def test_every_way_of_asking_is_read_in_a_known_mode(asking, category):
    mode = select_decode_mode(asking, category)
    assert mode in MODES
    if asking == "prompt":
        assert mode.endswith(find_category_language(category))
