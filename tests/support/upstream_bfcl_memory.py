"""Holds BFCL's memory conversations as upstream does and prints, of every question, the hashes of
its requests, those of the conversations before it, and the official verdict.

`python -m tests.support.upstream_bfcl_memory CHECKOUT` with {"category", "mode", "scenarios",
"truths"} on standard input, run by the Python that has `bfcl_eval`.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from evalcore.benchmarks.bfcl.simulated.memory import compare_pieces
from tests.support.bfcl_memory_script import answer_request
from tests.support.tau_script import hash_request
from tests.support.upstream_bfcl import replace_clients


def to_object(value: Any) -> Any:
    if isinstance(value, dict):
        return types.SimpleNamespace(**{key: to_object(item) for key, item in value.items()})
    return [to_object(item) for item in value] if isinstance(value, list) else value


def replace_network() -> None:
    """Our stand-in for the network and its index: a vector is the number of its text."""
    import numpy as np

    embedded: list[str] = []

    class Network:
        def __init__(self, name: str, device: str) -> None:
            pass

        def get_sentence_embedding_dimension(self) -> int:
            return 1

        def encode(self, texts: list[str], normalize_embeddings: bool) -> Any:
            embedded.extend(texts)
            return np.arange(len(embedded) - len(texts), len(embedded)).reshape(-1, 1)

    class Index:
        def __init__(self, inner: Any) -> None:
            self.reset()

        def reset(self) -> None:
            self.rows: list[tuple[int, str]] = []

        def add_with_ids(self, vectors: Any, ids: Any) -> None:
            texts = [embedded[int(vector[0])] for vector in vectors]
            self.rows += zip(ids.tolist(), texts, strict=True)

        def remove_ids(self, ids: Any) -> None:
            self.rows = [row for row in self.rows if row[0] not in ids.tolist()]

        def search(self, vectors: Any, count: int) -> Any:
            if count < 1:
                raise AssertionError
            likeness = compare_pieces(embedded[int(vectors[0][0])], [text for _, text in self.rows])
            pairs = zip(likeness, (number for number, _ in self.rows), strict=True)
            best = sorted(pairs, reverse=True)[:count]
            return [[score for score, _ in best]], [[number for _, number in best]]

    library = types.ModuleType("sentence_transformers")
    library.SentenceTransformer = Network
    index = types.ModuleType("faiss")
    index.IndexFlatIP = lambda dimension: None
    index.IndexIDMap = Index
    sys.modules |= {"sentence_transformers": library, "faiss": index}


def main() -> None:
    asked = json.load(sys.stdin)
    replace_clients()
    replace_network()
    sys.modules.setdefault("soundfile", types.ModuleType("soundfile"))
    from bfcl_eval import utils
    from bfcl_eval.eval_checker import eval_runner
    from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

    requests: list[str] = []

    def answer(**request: Any) -> Any:
        body = {key: request[key] for key in ("messages", "tools", "temperature") if key in request}
        body["messages"] = [getattr(each, "source", each) for each in body["messages"]]
        requests.append(hash_request(body))
        reply = answer_request(body, asked["truths"])
        if reply is None:
            raise OverflowError("too long")
        message = to_object({"tool_calls": None, **reply})
        message.source = {"role": "assistant", **reply}
        usage = types.SimpleNamespace(prompt_tokens=0, completion_tokens=0)
        choices = [types.SimpleNamespace(message=message)]
        return types.SimpleNamespace(choices=choices, usage=usage), 0.0

    def run_category(category: str, mode: str) -> dict[str, Any]:
        handler = OpenAICompletionsHandler("m", 0.001, f"m_{mode}", mode == "native")
        handler.generate_with_backoff = answer
        entries = utils.clean_up_memory_prereq_entries(utils.load_dataset_entry(category))
        entries = utils.populate_initial_settings_for_memory_test_cases(
            entries, Path(tempfile.mkdtemp())
        )
        truths = {
            row["id"].replace("memory", category): row["ground_truth"]
            for row in utils.load_ground_truth_entry(category)
        }
        written: dict[str, list[str]] = {}
        answers = {}
        for entry in sorted(entries, key=utils.sort_key):
            if entry["scenario"] not in asked["scenarios"]:
                continue
            requests.clear()
            try:
                result, _ = handler.inference(entry, False, exclude_state_log=True)
            except OverflowError as error:  # as upstream's runner catches whatever is raised
                result = f"Error during inference: {error}"
            if utils.is_memory_prereq(entry["id"]):
                written.setdefault(entry["scenario"], []).extend(requests)
                continue
            verdict = eval_runner._evaluate_single_agentic_entry(
                handler, entry["id"], result, truths[entry["id"]], entry, "m", category
            )
            answers[entry["id"]] = {
                "written": written[entry["scenario"]],
                "asked": list(requests),
                "error": verdict.get("error", {}).get("error_type", ""),
            }
        return answers

    with contextlib.redirect_stdout(io.StringIO()):
        answers = run_category(asked["category"], asked["mode"])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
