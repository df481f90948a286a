"""Tiny random checkpoints on disk, whole or broken in one way; tokens are bytes and markers.

Needs the extra `local`: a test calls `local_libraries()` first, which skips aloud without it.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

from tests.support.hf_templates import CHATML

MARKERS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|python_tag|>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "</s>",
)
#: Added as words, like Qwen's: they stay where special tokens are left out.
WORDS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
CONTEXT = 512


def local_libraries() -> None:
    """Skip the test, saying what to install, where torch and its companions are absent."""
    for name in ("torch", "transformers", "bitsandbytes", "peft"):
        if importlib.util.find_spec(name) is None:  # importing it takes seconds
            pytest.skip(f"needs {name}: pip install -e '.[local]'", allow_module_level=True)


def write_safetensors(file: Path, tensors: dict[str, tuple[str, list[int]]]) -> None:
    """A file of zeros by its format: names with dtype and shape. Needs no library."""
    header, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1}[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(at))


def byte_tokenizer(template: str = CHATML, end: str = "<|im_end|>"):
    """A tokenizer of 256 bytes and the markers above."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(MARKERS))
    inner.add_tokens([AddedToken(word, special=False, normalized=False) for word in WORDS])
    pre_trained_tokenizer_fast = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=end,
        pad_token="<|endoftext|>",
        additional_special_tokens=list(MARKERS),
    )
    pre_trained_tokenizer_fast.chat_template = template or None
    return pre_trained_tokenizer_fast


def make_model(
    folder: Path, family: str = "qwen3", template: str = CHATML, layers: int = 2, **settings
) -> Path:
    """A whole checkpoint of random weights (seed 0), family qwen3 or llama; returns its folder."""
    import torch
    import transformers

    tokenizer = byte_tokenizer(template)
    made = {"qwen3": "Qwen3", "llama": "Llama"}[family]
    config = getattr(transformers, f"{made}Config")(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        **settings,
    )
    torch.manual_seed(0)
    getattr(transformers, f"{made}ForCausalLM")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_adapter(base: Path, folder: Path, strength: float = 1.0) -> Path:
    """A LoRA adapter whose effect is visible: both of its factors are random."""
    import peft
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    lora_config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    wrapped = peft.get_peft_model(model, lora_config)
    torch.manual_seed(1)
    for name, weight in wrapped.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weight, std=strength)
    wrapped.save_pretrained(folder)
    return folder


def change_config(folder: Path, name: str = "config.json", **changes) -> None:
    """Set fields of a JSON file of a checkpoint; None removes one."""
    file = folder / name
    payload = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in payload.items() if value is not None}))


def drop_tokenizer(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    (folder / "chat_template.jinja").unlink(missing_ok=True)


def as_pickle(folder: Path) -> None:
    """The weights as pickle in place of safetensors."""
    import torch
    from safetensors.torch import load_file

    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()


def cut_weights(folder: Path, share: float = 0.5) -> None:
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[: int(len(content) * share)])
