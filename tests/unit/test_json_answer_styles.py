"""Ways in which models answer the questions of SQL understanding, as data: see
`json_answer_styles/*.toml`. Each is read as its one answer, or as none where there is none."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from evalcore.benchmarks.sql_understanding.answers import read_answer
from evalcore.benchmarks.sql_understanding.extraction import extract_json_answer
from evalcore.records import Sample
from tests.support.rows import each_row

FOLDER = Path(__file__).parent / "json_answer_styles"
SETS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.toml")}
STYLES = [(stem, style) for stem, styles in sorted(SETS.items()) for style in styles["styles"]]
METRICS = {
    "table": "execution_accuracy",
    "class": "sql_identification",
    "plan": "explain_detection",
    "syntax": "syntax_error_detection",
    "ok": "syntax_error_detection",
    "one": "execution_accuracy",
    "class2": "sql_identification",
    "table2": "execution_accuracy",
    "plan2": "explain_detection",
    "ddl": "sql_identification",
    "bool": "execution_accuracy",
    "flags": "execution_accuracy",
    "text": "execution_accuracy",
}


def is_read(style: dict[str, Any], question: dict[str, Any]) -> bool | None:
    """Whether the reply is read as the expected answer, None where nothing is read."""
    expected = json.loads(question["json"]) if "json" in question else question["expected"]
    value = extract_json_answer(style["reply"].lstrip("\n"), list(expected)).value
    if value is None:
        return None
    reference = {"expected": expected, "ordered": True}
    sample = Sample(metric=METRICS[style["question"]], id="s", input={}, reference=reference)
    return read_answer(sample, value).right


def test_each_set_is_as_large_as_its_name_says() -> None:
    for stem, styles in SETS.items():
        assert len(styles["styles"]) == int(stem.split("_")[1])


@each_row(("stem", "style"), STYLES)
def test_a_style_is_read_as_its_answer(stem: str, style: dict[str, Any]) -> None:
    read = is_read(style, SETS[stem]["questions"][style["question"]])
    assert read is (None if style.get("none") else True)
