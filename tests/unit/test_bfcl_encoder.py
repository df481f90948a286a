"""A memory searched with a network of upstream's shape, in the locked process of the services."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.benchmarks.bfcl.multi_turn.simulators import open_simulators
from evalcore.errors import EnvironmentFailure
from evalcore.settings import ROOT
from tests.support import hf_models

hf_models.local_libraries()
pytestmark = pytest.mark.slow

TEXTS = ["the cart is free", "a press", "the press gives bottles " * 70, "cart"]
INVOLVED = {"involved_classes": ["MemoryAPI_vector"]}
ENTRY = BfclEntry("memory_vector_0", "memory_vector", [], [], [], INVOLVED)
NAMES = ("model.safetensors", "tokenizer.json")


def make_network(folder: Path) -> Path:
    """Random weights, and a tokenizer of words that pads as upstream's does."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel

    torch.manual_seed(3)
    shape = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    state = BertModel(shape).state_dict()
    save_file({name: value.contiguous() for name, value in state.items()}, folder / NAMES[0])
    words = {word: 999 + at for at, word in enumerate(dict.fromkeys(" ".join(TEXTS).split()))}
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 100, **words}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / NAMES[1]))
    return folder


def compute_likeness(folder: Path) -> list[float]:
    """Of each text to the first, all in one batch, with padding and a mask."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    shape = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    network = BertModel(shape).eval()
    network.load_state_dict(load_file(folder / NAMES[0]))
    tokenizer = Tokenizer.from_file(str(folder / NAMES[1]))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(TEXTS)
    mask = torch.tensor([each.attention_mask for each in encoded])
    with torch.inference_mode():
        out = network(torch.tensor([each.ids for each in encoded]), attention_mask=mask)
    hidden = (out.last_hidden_state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    vectors = torch.nn.functional.normalize(hidden, dim=1)
    return (vectors @ vectors[0]).tolist()


def test_texts_are_ranked_by_the_network(tmp_path: Path) -> None:
    folder = make_network(tmp_path)
    calls = [f"archival_memory_add(text={text!r})" for text in TEXTS]
    with open_simulators([ROOT / "datasets" / "bfcl"], encoder=str(folder)) as simulators:
        asked = f"archival_memory_retrieve(query={TEXTS[0]!r})"
        *_, result = simulators.execute(ENTRY, [], [*calls, asked])
    rows = json.loads(result)["result"]
    likeness = compute_likeness(folder)
    assert [row["id"] for row in rows] == sorted(range(4), key=lambda at: -likeness[at])
    for row in rows:
        assert row["similarity_score"] == pytest.approx(likeness[row["id"]], abs=1e-5)


def test_weights_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    (tmp_path / NAMES[0]).write_bytes(b"no weights")
    simulators = open_simulators([ROOT / "datasets" / "bfcl"], encoder=str(tmp_path))
    with simulators, pytest.raises(EnvironmentFailure, match="MemoryAPI_vector cannot be loaded"):
        simulators.check(ENTRY)
