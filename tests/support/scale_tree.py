"""Small folders in the form of SCALE's public data, with any peculiarity wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CAPABILITY = "sql_understanding"
INDICATORS = {"execution_accuracy": 4, "explain_detection": 2, "syntax_error_detection": 1}


def row(number: int, passed: bool = True, weight: int = 1, **more: Any) -> dict[str, Any]:
    """A graded case; `more` overrides its fields."""
    content = {
        "case_id": str(number),
        "difficulty_level": str(weight),
        "sql": f"SELECT {number}",
        "expected": {"has_syntax_error": "no"},
    }
    return {
        "case_id": str(number),
        "case_weight": weight,
        "case_content": json.dumps(content),
        "case_eval_result": "Pass" if passed else "Fail",
        "mode_question": f"Is this right? SELECT {number}",
        "model_answers": [{"case_evaluation_count": 1, "model_answer": {"has_syntax_error": "no"}}],
    } | more


def indicator(
    name: str, rows: list[dict[str, Any]], weight: float | None = None, **more: Any
) -> Any:
    passed = sum(item["case_eval_result"] == "Pass" for item in rows)
    return {
        "indicator_name": f"{name}.jsonl",
        "indicator_weight": INDICATORS.get(name, 1) if weight is None else weight,
        "evaluation_type": "objective",
        "case_pass_count": passed,
        "case_wrong_count": len(rows) - passed,
        "correct_rate": round(passed / len(rows), 2),
        "case_datas": rows,
    } | more


def report(wins: int = 1, of: int = 2) -> list[Any]:
    """A consistent report: of `of` cases of each indicator the first `wins` pass."""
    return [
        indicator(name, [row(n, n <= wins, 1 + n % 3) for n in range(1, of + 1)])
        for name in INDICATORS
    ]


def claim(score: float, indicators: dict[str, float] | None = None) -> dict[str, Any]:
    message = [
        {"indicator_name": f"{name}.jsonl", "indicator_actual_score": value}
        for name, value in (indicators or {}).items()
    ]
    return {"ability_score": score, "indicator_score": message}


def model(id: str, scores: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "name": None,
        "real_model_namne": id.upper(),
        "type": "Chat",
        "parameters": 25624,
        "website": "",
        "description": "",
        "organization": "Org",
        "releaseDate": "2026/02/19",
        "scores": scores,
    } | more


class TreeBuilder:
    """Writes a folder file by file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def board(self, month: str, *models: dict[str, Any]) -> None:
        self._write(f"eval_reports/models-{month}.json", json.dumps({"models": models}))

    def report(self, month: str, id: str, content: Any, capability: str = CAPABILITY) -> None:
        text = f"evaluation_case_reports/eval_run_case_{month}/{capability}/{id}.json"
        self._write(text, json.dumps(content))

    def log(self, month: str, id: str, name: str, text: str, capability: str = CAPABILITY) -> Path:
        folder = f"eval_run_logs_{month}/{id}/{capability}/{name}.log"
        return self._write(f"evaluation_process_detail_logs/{folder}", text)

    def _write(self, folder: str, text: str) -> Path:
        path = self.root / folder
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
