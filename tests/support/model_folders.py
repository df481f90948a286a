"""Folders that look like a model, for what is told before loading: no library is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.runner import local_models
from evalcore.targets.huggingface import machine
from tests.support.hf_models import write_safetensors

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIB = 1024**3


def model_folder(folder: Path, *, template: str = "{{ messages }}{{ tools }}", **config) -> Path:
    """A small checkpoint of zeros with the config, the header and the template of a real one."""
    folder.mkdir(parents=True)
    about = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "max_position_embeddings": 2048,
        "num_hidden_layers": 2,
        "vocab_size": 64,
        "dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(about | config))
    (folder / "tokenizer.json").write_text("{}")
    if template:
        (folder / "chat_template.jinja").write_text(template)
    tensors = {"model.layers.0.mlp": ("F32", [100, 100]), "embed_tokens": ("F32", [64, 10])}
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def adapter_folder(folder: Path, base: str = "some/base", kind: str = "LORA") -> Path:
    folder.mkdir(parents=True)
    about = {"peft_type": kind, "base_model_name_or_path": base}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    write_safetensors(folder / "adapter_model.safetensors", {"lora": ("F32", [2, 2])})
    return folder


def cached_model(cache: Path, reference: str = "lab/small") -> Path:
    """A model as the Hub's client leaves it in its cache."""
    repo = cache / f"models--{reference.replace('/', '--')}"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(COMMIT)
    return model_folder(repo / "snapshots" / COMMIT)


def settled_machine(monkeypatch: pytest.MonkeyPatch, cache: Path, free: int = 8 * GIB) -> None:
    """A machine with the libraries, a CPU with `free` bytes, no GPU and its own cache of models."""
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(local_models, "find_spec", lambda name: object())
    monkeypatch.setattr(machine, "find_spec", lambda name: object())
    monkeypatch.setattr(machine, "list_gpus", tuple)
    monkeypatch.setattr(machine, "memory_available", lambda device: free)
