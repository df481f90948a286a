"""Runs the official package on files of answers, or its memories on calls; for an environment of
its own, in which nothing of ours is imported.

    python bfcl_official.py score MODEL RESULT_FOLDER SCORE_FOLDER
    python bfcl_official.py memory < {"kv": [call, ...], ...}

Only the registry of models is replaced, whose import brings every vendor's client: it holds one
model, whose answers are read as upstream reads prompted ones.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any


def replace_registry(model: str) -> None:
    from bfcl_eval.model_handler import utils  # type: ignore[import-not-found]

    class Handler:
        def __init__(self, **_: Any) -> None:
            pass

        def decode_ast(self, result: Any, language: Any, has_tool_call_tag: bool) -> Any:
            return utils.default_decode_ast_prompting(result, language, has_tool_call_tag)

        def decode_execute(self, result: Any, has_tool_call_tag: bool) -> Any:
            return utils.default_decode_execute_prompting(result, has_tool_call_tag)

    config = types.SimpleNamespace(
        model_name=model,
        display_name=model,
        url="",
        org="",
        license="",
        model_handler=Handler,
        input_price=None,
        output_price=None,
        is_fc_model=False,
        underscore_to_dot=False,
    )
    registry = types.ModuleType("bfcl_eval.constants.model_config")
    registry.MODEL_CONFIG_MAPPING = {model: config}  # type: ignore[attr-defined]
    sys.modules[registry.__name__] = registry


def score(model: str, results: str, scores: str) -> None:
    replace_registry(model)
    from bfcl_eval.eval_checker import eval_runner  # type: ignore[import-not-found]
    from bfcl_eval.utils import parse_test_category_argument  # type: ignore[import-not-found]

    categories = parse_test_category_argument(["all_scoring"])
    eval_runner.runner([model], categories, Path(results), Path(scores))


def run_memories(calls: dict[str, list[str]]) -> dict[str, list[str]]:
    """The results of calls on a fresh memory, as upstream gives them to a model."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import (  # type: ignore
        execute_multi_turn_func_call,
    )

    answers = {}
    for kind, texts in calls.items():
        name = f"MemoryAPI_{kind}"
        setting = {
            "model_result_dir": Path(tempfile.mkdtemp()),
            "scenario": "customer",
            "test_id": f"memory_{kind}_prereq_0-customer-0",
            "test_category": f"memory_{kind}",
        }
        answers[kind], _ = execute_multi_turn_func_call(
            texts, {name: setting}, [name], "model", setting["test_id"]
        )
    return answers


if __name__ == "__main__":
    os.environ.setdefault("BFCL_PROJECT_ROOT", tempfile.mkdtemp())
    sys.modules.setdefault("soundfile", types.ModuleType("soundfile"))
    if sys.argv[1] == "score":
        score(*sys.argv[2:])
    else:
        sys.stdout.write("\n" + json.dumps(run_memories(json.load(sys.stdin))))
