"""The tokenizer of a model, refused where it is none: transformers makes an empty one silently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalcore.targets.huggingface.load_error_causes import classify_load_error
from evalcore.targets.huggingface.load_errors import LoadError

_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
#: A tokenizer knows nearly all tokens that a model embeds; the rest pads to a round number.
_MIN_SHARE = 0.5
_PROBE = "weather_of_the_probe"


def load_tokenizer(folder: Path, config: Any, trust_remote_code: bool) -> Any:
    """The tokenizer of a folder, padding on the left. Raises LoadError no_tokenizer,
    empty_tokenizer or remote_code."""
    import transformers

    what = f"the tokenizer of {folder} cannot be loaded"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(folder), trust_remote_code=trust_remote_code, local_files_only=True
        )
        empty = not tokenizer("a b", add_special_tokens=False)["input_ids"]
    except Exception as error:  # of many kinds; the words tell
        problem = classify_load_error(error, "no_tokenizer", what)
        expected = problem.kind in ("remote_code", "no_tokenizer")
        raise (problem if expected else LoadError("no_tokenizer", str(problem))) from None
    embedded = getattr(config.get_text_config(), "vocab_size", None) or 0
    if empty or len(tokenizer) < max(2, embedded * _MIN_SHARE):
        raise _build_size_error(folder, len(tokenizer), embedded)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    return tokenizer


def _build_size_error(folder: Path, size: int, embedded: int) -> LoadError:
    if not any((folder / name).is_file() for name in _FILES):
        return LoadError(
            "no_tokenizer",
            f"{folder} holds no tokenizer (tokenizer.json or tokenizer.model); copy the files of "
            "the base model's tokenizer into it",
        )
    return LoadError(
        "empty_tokenizer",
        f"the tokenizer of {folder} knows {size} tokens, the model embeds {embedded}; copy the "
        "files of the right tokenizer",
    )


def takes_tools(tokenizer: Any) -> bool:
    """Whether the chat template shows the tools it is given."""
    if not tokenizer.chat_template:
        return False
    about = {"type": "object", "properties": {}, "required": []}
    tool = {"name": _PROBE, "description": "", "parameters": about}
    try:
        shown = tokenizer.apply_chat_template(
            [{"role": "user", "content": "x"}],
            tools=[{"type": "function", "function": tool}],
            tokenize=False,
            add_generation_prompt=True,
        )
    except Exception:  # templates raise whatever they like
        return False
    return _PROBE in shown


def find_turn_end(tokenizer: Any) -> int | None:
    """The special token with which the chat template closes an answer, None if there is none.

    Settings of fine-tuned models often name the base's end of text only, after which nothing would
    stop an answer.
    """
    if not tokenizer.chat_template:
        return None
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _PROBE}]
    try:
        shown = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception:  # templates raise whatever they like
        return None
    after = tokenizer(shown.rpartition(_PROBE)[2], add_special_tokens=False)["input_ids"]
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    return after[0] if after and after[0] in special else None
