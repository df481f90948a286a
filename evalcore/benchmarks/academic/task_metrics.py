"""Metrics of the bundled tasks, which their files name as `!function`; lm-eval imports this module.

A metric is called as lm-eval calls those of a task: with one reference and one prediction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from evalcore.benchmarks.academic.harness_records import CODE_METRIC

_BLOCK = re.compile(r"```(?:[A-Za-z0-9_+-]*)[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9']+")


def tests_passed(references: Sequence[str], predictions: Sequence[str], **_: Any) -> float:
    """1 where the program in the answer passes the tests of the reference."""
    import evaluate

    program = extract_program(str(predictions[0]))
    if not program.strip():
        return 0.0
    code = evaluate.load(CODE_METRIC)
    return float(
        code.compute(references=[references[0]], predictions=[[program]], k=[1])[0]["pass@1"]
    )


def extract_program(answer: str) -> str:
    """The first fenced block of an answer, the whole where there is none."""
    block = _BLOCK.search(answer)
    return block[1] if block else answer


def instructions_followed(references: Sequence[str], predictions: Sequence[str], **_: Any) -> float:
    """1 where the answer follows every instruction of the reference, JSON of names and values."""
    answer = str(predictions[0]).strip()
    instructions = json.loads(references[0])
    return float(
        bool(answer) and all(_CHECKS[name](answer, wanted) for name, wanted in instructions.items())
    )


def _is_json_with(answer: str, keys: Sequence[str]) -> bool:
    block = _BLOCK.search(answer)
    try:
        value = json.loads(block[1] if block else answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and sorted(value) == sorted(keys)


def _count_bullets(answer: str) -> int:
    return sum(line.lstrip().startswith(("- ", "* ")) for line in answer.splitlines())


_CHECKS: dict[str, Callable[[str, Any], bool]] = {
    "words_at_most": lambda answer, count: len(_WORD.findall(answer)) <= int(count),
    "words_at_least": lambda answer, count: len(_WORD.findall(answer)) >= int(count),
    "words": lambda answer, count: len(_WORD.findall(answer)) == int(count),
    "lines": lambda answer, count: len(answer.splitlines()) == int(count),
    "bullets": lambda answer, count: _count_bullets(answer) == int(count),
    "lower_case": lambda answer, _: answer == answer.lower(),
    "upper_case": lambda answer, _: answer == answer.upper(),
    "starts_with": lambda answer, text: answer.startswith(str(text)),
    "ends_with": lambda answer, text: answer.endswith(str(text)),
    "contains": lambda answer, words: all(str(word) in answer for word in words),
    "without": lambda answer, words: not any(str(word) in answer for word in words),
    "json_keys": _is_json_with,
}
