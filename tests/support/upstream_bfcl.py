"""Asks a stand-in for a server as upstream's BFCL does and prints the hash of every request.

`python -m tests.support.upstream_bfcl CHECKOUT` with {"categories", "every", "modes"} on standard
input, run by the Python that has `bfcl_eval`. The model answers words, so that each turn of a
conversation is one request.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import types
from typing import Any

from tests.support.tau_script import hash_request


def replace_clients() -> None:
    """A folder of results for the package, and nothing in place of the clients of vendors."""
    os.environ["BFCL_PROJECT_ROOT"] = tempfile.mkdtemp()
    os.environ["OPENAI_API_KEY"] = "none"
    library = types.ModuleType("openai")
    library.OpenAI = lambda **options: None
    library.RateLimitError = type("RateLimitError", (Exception,), {})
    sys.modules["openai"] = library
    registry = types.ModuleType("model_config")
    registry.MODEL_CONFIG_MAPPING = {}
    sys.modules["bfcl_eval.constants.model_config"] = registry


def main() -> None:
    asked = json.load(sys.stdin)
    replace_clients()
    from bfcl_eval.model_handler import base_handler
    from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler
    from bfcl_eval.utils import load_dataset_entry

    base_handler.execute_multi_turn_func_call = lambda *values, **options: ([], {})
    requests: list[str] = []

    def answer(**request: Any) -> Any:
        request.pop("model")
        request.pop("store")
        messages = [
            each if isinstance(each, dict) else {"role": "assistant", "content": each.content}
            for each in request["messages"]
        ]
        requests.append(hash_request({**request, "messages": messages}))
        message = types.SimpleNamespace(content="Done.", tool_calls=None)
        usage = types.SimpleNamespace(prompt_tokens=0, completion_tokens=0)
        choices = [types.SimpleNamespace(message=message)]
        return types.SimpleNamespace(choices=choices, usage=usage), 0.0

    answers = {}
    for category in asked["categories"]:
        for mode in asked["modes"]:
            handler = OpenAICompletionsHandler("m", 0.001, "m", mode == "native")
            handler.generate_with_backoff = answer
            for entry in load_dataset_entry(category)[:: asked["every"]]:
                requests.clear()
                with contextlib.redirect_stdout(io.StringIO()):
                    handler.inference(entry, include_input_log=False, exclude_state_log=True)
                answers[f"{entry['id']} {mode}"] = list(requests)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
