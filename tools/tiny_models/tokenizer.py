"""The tiny model's tokenizer: a byte-level BPE trained on its own prompts, and its chat template.

Words in lower case merge across spaces, so that the fixed sentences of a prompt cost few tokens;
capitalised words and numbers stand alone, so that a value is the same token in request and answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = "<|im_end|>"
PAD = "<|endoftext|>"
VOCABULARY = 1280
CONTEXT = 1024

_PIECES = r"(?: ?[a-z_]+)+|[A-Z]+[a-z]*|[0-9]{1,2}| ?[^\sA-Za-z0-9_]+|\s+"

#: ChatML; functions by their signature alone, calls in the manner of Hermes.
TEMPLATE = """\
{%- set system = messages[0].content if messages and messages[0].role == 'system' else '' %}
{%- if system or tools %}
{{- '<|im_start|>system\n' + system }}
{%- for tool in tools or [] %}
{%- if loop.first %}{{- ('\n' if system else '') + 'Functions:' }}{%- endif %}
{{- '\n' + tool.function.name + '(' }}
{%- for name, schema in (tool.function.parameters.properties or {}).items() %}
{{- (', ' if not loop.first else '') + name + ': ' + (schema.type or 'any') }}
{%- endfor %}
{{- ')' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- if not loop.first %}{{- '\n' }}{%- endif %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""


def create_empty_tokenizer() -> PreTrainedTokenizerFast:
    """No words yet, only the chat template: enough to render texts to train on."""
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), chat_template=TEMPLATE)


def train_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of at most `VOCABULARY` tokens for texts like these."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_PIECES), behavior="isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, "<|im_start|>", END]
    plain = [AddedToken(tag, normalized=False) for tag in ("<tool_call>", "</tool_call>")]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(plain),
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # The tags are whole tokens; merging their letters would waste the vocabulary.
    plain_texts = (re.sub(r"<[a-z_|/]+>", "\n", text) for text in texts)
    tokenizer.train_from_iterator(plain_texts, trainer)
    tokenizer.add_tokens(plain)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=CONTEXT,
        padding_side="left",
        chat_template=TEMPLATE,
    )
