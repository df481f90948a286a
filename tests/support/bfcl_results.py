"""Small official folders of BFCL: data, results and scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.bfcl import function

OFFERED = [function("city.weather", {"city": "string"}, ("city",))]
TRUTH = [{"city.weather": {"city": ["Oslo"]}}]
RIGHT, WRONG = "[city.weather(city='Oslo')]", "[city.weather(city='Rome')]"
NATIVE = [{"city_weather": '{"city": "Oslo"}'}]
FAILED = "Error during inference: Request timed out."
_V3 = {"simple_python": "simple", "simple_java": "java", "simple_javascript": "javascript"}


def write_lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def data_folder(folder: Path, counts: dict[str, int], version: str = "v4") -> Path:
    """An official data folder with that many entries per (v4) category, named as the version is."""
    for category, number in counts.items():
        name = _V3.get(category, category) if version == "v3" else category
        ids = [f"{name}_{i}" for i in range(number)]
        question = [[{"role": "user", "content": "How is the weather in Oslo?"}]]
        asked = [{"id": item, "question": question, "function": OFFERED} for item in ids]
        write_lines(folder / f"BFCL_{version}_{name}.json", *asked)
        if "relevance" not in category:
            answers = [{"id": item, "ground_truth": TRUTH} for item in ids]
            write_lines(folder / "possible_answer" / f"BFCL_{version}_{name}.json", *answers)
    return folder


def result_line(sample_id: str, result: Any, **more: Any) -> dict[str, Any]:
    numbers = {"input_token_count": 100, "output_token_count": 7, "latency": 0.5}
    return {"id": sample_id, "result": result, **numbers, **more}


def result_file(model: Path, category: str, *answers: Any, version: str = "v4") -> Path:
    """A result file with the answers to the first entries of a category, named as the version."""
    group = "" if version == "v3" else "live" if category.startswith("live") else "non_live"
    rows = [result_line(f"{category}_{i}", answer) for i, answer in enumerate(answers)]
    return write_lines(model / group / f"BFCL_{version}_{category}_result.json", *rows)


def score_file(model: Path, category: str, right: int, total: int) -> Path:
    header = {"accuracy": right / total, "correct_count": right, "total_count": total}
    wrong = [{"id": f"{category}_{i}", "valid": False} for i in range(total - right)]
    return write_lines(model / "non_live" / f"BFCL_v4_{category}_score.json", header, *wrong)
