"""Small random models in memory, for tests of generation; they need no files."""

from __future__ import annotations

import random
from types import SimpleNamespace

VOCABULARY = 400
_COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "initializer_range": 0.2,
}
#: One of each way to keep the past: grouped heads, learned positions, biases by distance, windows
#: over some layers, two states in one model, states alone.
SETTINGS: dict[str, dict[str, object]] = {
    "qwen3": {**_COMMON, "head_dim": 16},
    "gpt2": {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4},
    "bloom": {"vocab_size": VOCABULARY, "hidden_size": 64, "n_layer": 2, "n_head": 4},
    "gemma3_text": {**_COMMON, "head_dim": 16, "sliding_window": 16, "num_hidden_layers": 6},
    "qwen3_next": {
        **_COMMON,
        "head_dim": 16,
        "num_hidden_layers": 4,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
    },
    "mamba": {"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2},
}
#: Models whose rows change each other: behind a shared beginning, beyond a window, when padded.
_LATENT = {
    **_COMMON,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "index_topk": 16,
    "index_n_heads": 2,
    "index_head_dim": 16,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
SINGLE: dict[str, dict[str, object]] = {
    "mpt": {"vocab_size": VOCABULARY, "d_model": 64, "n_layers": 2, "n_heads": 4},
    "gpt_neo": {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 32,
    },
    "deepseek_v32": _LATENT,
    "glm_moe_dsa": _LATENT,
}
#: Models that keep what they have read in a way of their own.
FOREIGN: dict[str, dict[str, object]] = {
    "rwkv": {"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2},
    "openai-gpt": {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4},
    "xlnet": {"vocab_size": VOCABULARY, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 96},
    "xlm": {"n_words": VOCABULARY, "emb_dim": 64, "n_layers": 2, "n_heads": 4},
}
_DENSE = {**_COMMON, "head_dim": 16, "pad_token_id": 0}
_WINDOWED = {**_DENSE, "sliding_window": 16}
_OLDER = {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4}
_EXPERTS = {
    **_DENSE,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
FOREIGN["minimax"] = _EXPERTS
_ROUTED = {
    **_EXPERTS,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
_STATES = {
    "mamba_n_heads": 8,
    "mamba_d_head": 16,
    "mamba_d_state": 16,
    "mamba_n_groups": 1,
}
_UNWINDOWED = (
    *("llama", "qwen2", "phi", "phi3", "gemma", "granite", "olmo", "olmo2", "cohere", "gpt_neox"),
    *(
        "stablelm",
        "persimmon",
        "smollm3",
        "glm",
        "glm4",
        "ernie4_5",
        "hunyuan_v1_dense",
        "nemotron",
    ),
    *("seed_oss", "apertus", "arcee", "helium", "biogpt", "bitnet", "xlm-roberta"),
)
#: Families of which a small random model is asked as people ask it.
FAMILIES: dict[str, dict[str, object]] = {
    **dict.fromkeys(_UNWINDOWED, _DENSE),
    **dict.fromkeys(("mistral", "gemma2", "olmo3"), _WINDOWED),
    **dict.fromkeys(("mixtral", "qwen2_moe", "qwen3_moe", "granitemoe"), _EXPERTS),
    **dict.fromkeys(("glm4_moe", "dots1"), _ROUTED),
    **{key: {**_OLDER, "rotary_dim": 16} for key in ("gptj", "codegen")},
    **{
        key: {name: value for name, value in _LATENT.items() if not name.startswith("index_")}
        for key in ("deepseek_v2", "deepseek_v3")
    },
    "gpt_bigcode": _OLDER,
    "opt": {**_DENSE, "ffn_dim": 96, "word_embed_proj_dim": 64},
    "starcoder2": {**_DENSE, "sliding_window": None},
    "cohere2": {**_WINDOWED, "num_hidden_layers": 4},
    "exaone4": {**_WINDOWED, "sliding_window_pattern": 2},
    "gpt_oss": {**_EXPERTS, "sliding_window": 16},
    "llama4_text": {**_EXPERTS, "intermediate_size_mlp": 96, "attention_chunk_size": 16},
    "lfm2": {**_DENSE, "layer_types": ["conv", "full_attention"]},
    "falcon_h1": {**_DENSE, **_STATES, "mamba_d_ssm": 128},
    "bamba": {**_DENSE, **_STATES, "attn_layer_indices": [1]},
    "granitemoehybrid": {**_EXPERTS, **_STATES, "layer_types": ["mamba", "attention"]},
    "recurrent_gemma": {**_DENSE, "attention_window_size": 16, "num_hidden_layers": 3},
}


class Letters:
    """A tokenizer of one letter for each token."""

    @staticmethod
    def decode(ids, **how) -> str:
        return "".join(chr(0x4E00 + number) for number in ids)


def loaded(kind: str = "qwen3", ends: frozenset[int] = frozenset()):
    """A float32 model with what the engine needs of a loaded one."""
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    settings = {"initializer_range": 0.2, "eos_token_id": None, "bos_token_id": None}
    own = (SETTINGS | SINGLE | FOREIGN | FAMILIES)[kind]
    config = transformers.AutoConfig.for_model(kind, **settings | own)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return SimpleNamespace(model=model, tokenizer=Letters(), end_ids=ends)


def tokens(count: int, seed: int) -> tuple[int, ...]:
    dice = random.Random(seed)
    return tuple(dice.randrange(VOCABULARY) for _ in range(count))


def greedy(item, ids: tuple[int, ...], new: int) -> tuple[int, ...]:
    """What the library's own loop makes of a prompt alone."""
    import torch

    prompt = torch.tensor([ids])
    mask = torch.ones_like(prompt)
    made = item.model.generate(prompt, attention_mask=mask, max_new_tokens=new, do_sample=False)
    return tuple(made[0, len(ids) :].tolist())
