"""Closed task: one function call out of up to three offered functions, as entries of BFCL.

A request is a phrase filled with values; the values decide whether it is for training or held out.
"""

from __future__ import annotations

import json
import random
from typing import Any

from evalcore.records import Record
from tools.tiny_models.split import Split, assign_split

_CITIES = (
    *("Oslo", "Lima", "Cairo", "Turin", "Delhi", "Quito", "Perth", "Lyon", "Kyoto", "Porto"),
    *("Accra", "Minsk", "Sofia", "Davao", "Basel", "Natal", "Tunis", "Osaka", "Dakar", "Bonn"),
)
_MONEY = ("EUR", "USD", "JPY", "GBP", "CHF", "SEK", "INR", "BRL")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ROOMS = ("Kitchen", "Bedroom", "Hall", "Attic", "Office", "Studio", "Cellar", "Porch")
_DISHES = ("Tea", "Bread", "Rice", "Soup", "Eggs", "Pasta", "Beans", "Stew")
_NUMBERS = tuple(range(10, 100))

Value = str | int


class Tool(Record, frozen=True):
    """A function: the values of each parameter, and phrases that ask for it by their names."""

    name: str
    about: str
    values: dict[str, tuple[Value, ...]]
    phrases: tuple[str, ...]

    @property
    def description(self) -> dict[str, Any]:
        """As BFCL describes functions."""
        properties = {
            name: {
                "type": "integer" if isinstance(values[0], int) else "string",
                "description": f"The {name}.",
            }
            for name, values in self.values.items()
        }
        parameters = {"type": "dict", "properties": properties, "required": list(properties)}
        return {"name": self.name, "description": self.about, "parameters": parameters}


TOOLS = (
    Tool(
        "weather.now",
        "Weather of a city.",
        {"city": _CITIES, "day": _DAYS},
        ("What is the weather in {city} on {day}?", "How warm is it on {day} in {city}?"),
    ),
    Tool(
        "money.convert",
        "Convert an amount of money.",
        {"amount": _NUMBERS, "source": _MONEY, "target": _MONEY},
        ("Convert {amount} {source} to {target}.", "How much {target} is {amount} {source}?"),
    ),
    Tool(
        "train.book",
        "Book a seat in a train.",
        {"start": _CITIES, "end": _CITIES, "day": _DAYS},
        (
            "Book a train from {start} to {end} on {day}.",
            "On {day} I take the train to {end}, leaving {start}.",
        ),
    ),
    Tool(
        "timer.set",
        "Set a timer.",
        {"minutes": _NUMBERS, "label": _DISHES},
        ("Set a timer of {minutes} minutes for {label}.", "{label} needs {minutes} minutes."),
    ),
    Tool(
        "light.dim",
        "Dim the light of a room.",
        {"room": _ROOMS, "percent": _NUMBERS},
        ("Dim the {room} light to {percent} percent.", "Light at {percent} percent in {room}."),
    ),
)


def build_call_rows(split: Split, count: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Distinct entries of BFCL by category, as lines of its files; `count` of them altogether.

    Half offer one function, half two or three.
    """
    rng = random.Random(f"{seed} function calls {split}")  # noqa: S311 - no secret depends on it
    rows_by_category: dict[str, list[dict[str, Any]]] = {}
    seen: set[str] = set()
    while len(seen) < count:
        category = rng.choice(("simple_python", "multiple"))
        tool = rng.choice(TOOLS)
        values = {name: rng.choice(choices) for name, choices in tool.values.items()}
        if assign_split(tool.name, *values.values()) != split or _has_repeated_values(values):
            continue
        row = _build_call_row(category, tool, values, rng)
        if json.dumps(row) in seen:
            continue
        seen.add(json.dumps(row))
        rows_by_category.setdefault(category, []).append(
            {"id": f"{category}_{split}_{len(seen)}", **row}
        )
    return rows_by_category


def _build_call_row(
    category: str, tool: Tool, values: dict[str, Value], rng: random.Random
) -> dict[str, Any]:
    others = [other for other in TOOLS if other is not tool]
    rng.shuffle(others)
    offered = [tool, *others[: rng.choice((1, 2)) if category == "multiple" else 0]]
    rng.shuffle(offered)
    request = rng.choice(tool.phrases).format(**values)
    truth = [{tool.name: {name: [value] for name, value in values.items()}}]
    return {
        "question": [[{"role": "user", "content": request}]],
        "function": [offered_tool.description for offered_tool in offered],
        "ground_truth": truth,
    }


def _has_repeated_values(values: dict[str, Value]) -> bool:
    """A journey to where it begins, or money into itself."""
    return len(set(values.values())) < len(values)
