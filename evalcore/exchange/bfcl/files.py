"""The official files of BFCL that are fetched, as paths within their data folder."""

from __future__ import annotations

from evalcore.benchmarks.bfcl.categories import (
    DECODE_ONLY,
    MULTI_TURN,
    SINGLE_TURN,
    V3_ALIASES,
)
from evalcore.benchmarks.bfcl.multi_turn.apis import DOCUMENTS, OFFICIAL_APIS, OFFICIAL_SOURCES

_V3_NAMES = {today: earlier for earlier, today in V3_ALIASES.items()}


def list_official_files(version: str) -> tuple[str, ...]:
    """Every file of the single-turn and multi-turn categories, for the version `v3` or `v4`."""
    question_files, answer_files = [], []
    for category in (*SINGLE_TURN, *MULTI_TURN):
        name = _V3_NAMES.get(category, category) if version == "v3" else category
        question_files.append(f"BFCL_{version}_{name}.json")
        if category not in DECODE_ONLY:
            answer_files.append(f"possible_answer/BFCL_{version}_{name}.json")
    docs = [f"{DOCUMENTS}/{name}.json" for name in OFFICIAL_APIS.values()]
    return (*question_files, *answer_files, *docs)


def wheel_members() -> dict[str, str]:
    """The files to take out of the wheel: their names in it by their paths in the folder."""
    data = {name: f"bfcl_eval/data/{name}" for name in list_official_files("v4")}
    return data | {name: name for name in OFFICIAL_SOURCES}
