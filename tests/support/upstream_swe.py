"""Builds prompts with upstream's SWE-bench and prints the hash of the messages of each task.

`python -m tests.support.upstream_swe CHECKOUT` with [{"problem_statement", "readmes",
"file_contents"}] on standard input. The module is loaded alone; what it imports is not needed.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path

from tests.support.tau_script import hash_request

_NAMES = {
    "unidiff": (),
    "tqdm": (),
    "tqdm.auto": ("tqdm",),
    "swebench": (),
    "swebench.inference": (),
    "swebench.inference.make_datasets": (),
    "swebench.inference.make_datasets.tokenize_dataset": ("TOKENIZER_FUNCS",),
    "swebench.inference.make_datasets.utils": ("AutoContextManager", "ingest_directory_contents"),
}


def main(checkout: str) -> None:
    for name, attributes in _NAMES.items():
        module = types.ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, None)
        sys.modules[name] = module
    path = Path(checkout) / "swebench/inference/make_datasets/create_instance.py"
    spec = importlib.util.spec_from_file_location("create_instance", path)
    assert spec is not None
    assert spec.loader is not None
    upstream = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(upstream)
    hashes = []
    for instance in json.load(sys.stdin):
        text = f"{upstream.prompt_style_3(instance)}\n\n"
        system, user = text.split("\n", 1)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        hashes.append(hash_request({"messages": messages, "temperature": 0.2, "top_p": 0.95}))
    print(json.dumps(hashes))


if __name__ == "__main__":
    main(sys.argv[1])
