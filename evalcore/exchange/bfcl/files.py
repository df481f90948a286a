"""The official files of BFCL that are fetched, as paths within their data folder."""

from __future__ import annotations

from evalcore.benchmarks.bfcl.categories import (
    DECODE_ONLY,
    MULTI_TURN,
    SINGLE_TURN,
    V3_ALIASES,
)

#: The descriptions of the functions that multi-turn entries name by class; equal in v3 and v4.
FUNCTION_DOCS = (
    "gorilla_file_system",
    "math_api",
    "message_api",
    "posting_api",
    "ticket_api",
    "trading_bot",
    "travel_booking",
    "vehicle_control",
)

_V3_NAMES = {today: earlier for earlier, today in V3_ALIASES.items()}


def names(version: str) -> tuple[str, ...]:
    """Every file of the single-turn and multi-turn categories, for the version `v3` or `v4`."""
    asked, answered = [], []
    for category in (*SINGLE_TURN, *MULTI_TURN):
        name = _V3_NAMES.get(category, category) if version == "v3" else category
        asked.append(f"BFCL_{version}_{name}.json")
        if category not in DECODE_ONLY:
            answered.append(f"possible_answer/BFCL_{version}_{name}.json")
    docs = [f"multi_turn_func_doc/{name}.json" for name in FUNCTION_DOCS]
    return (*asked, *answered, *docs)
