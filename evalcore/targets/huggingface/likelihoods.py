"""How likely given texts are after their contexts, by a loaded model: several in one forward pass.

The tokens are those that lm-evaluation-harness takes: white space at the end of a context belongs
to what follows, both are encoded together, and where they do not fit into the model's context the
beginning is left out.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Completion, GenerationRequest, Usage
from evalcore.targets.base import bound_logprob
from evalcore.targets.huggingface.chat import encode_text
from evalcore.targets.huggingface.generate import is_out_of_memory
from evalcore.targets.huggingface.load import LoadedModel

#: Bytes that the logits of one forward pass may take.
_LOGIT_BYTES = {"cpu": 1 << 28, "cuda": 1 << 31}


#: A log-probability, and whether every token is the likeliest.
Likelihood = tuple[float, bool]


class TokenPair(NamedTuple):
    """The tokens before a continuation, and its own."""

    context: tuple[int, ...]
    text: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.context) + len(self.text)


def encode_pair(tokenizer: Any, context_text: str, continuation: str) -> TokenPair:
    """The tokens of a context and of what follows; raises UsageError where nothing follows."""
    stripped = context_text.rstrip()
    text = context_text[len(stripped) :] + continuation
    if context_text:
        context = encode_text(tokenizer, stripped) if stripped else ()
        whole = encode_text(tokenizer, stripped + text)
        pair = TokenPair(whole[: len(context)], whole[len(context) :])
    else:
        pair = TokenPair((), tuple(tokenizer(text, add_special_tokens=False)["input_ids"]))
    if not pair.context and pair.text:
        pair = _add_first_token(tokenizer, pair)
    if not pair.text:
        raise UsageError(Note("text_no_token"))
    return pair


def _add_first_token(tokenizer: Any, pair: TokenPair) -> TokenPair:
    """The pair behind the token that begins every text."""
    ids = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    first = next((number for number in ids if number is not None), None)
    if first is None or pair.text[0] == first:
        return TokenPair(pair.text[:1], pair.text[1:])
    return TokenPair((first,), pair.text)


def compute_likelihoods(loaded: LoadedModel, pairs: Sequence[TokenPair]) -> list[Likelihood]:
    """The likelihoods of encoded continuations, in their order, the longest computed first. Raises
    what the library raises where not even one fits into memory."""
    order = sorted(range(len(pairs)), key=lambda number: -pairs[number].length)
    results: dict[int, Likelihood] = {}
    rows = 1 if loaded.single_rows else len(order)
    while order:
        batch = order[: min(rows, _count_rows(loaded, pairs[order[0]]))]
        try:
            computed = _compute_batch(loaded, [pairs[number] for number in batch])
        except Exception as error:
            if not is_out_of_memory(error) or len(batch) == 1:
                raise
            error.__traceback__ = None  # its frames hold the tensors of the pass that failed
            gc.collect()
            rows = len(batch) // 2
            continue
        results.update(zip(batch, computed, strict=True))
        order = order[len(batch) :]
    return [results[number] for number in range(len(pairs))]


def answer_continuations(
    loaded: LoadedModel, requests: Sequence[GenerationRequest]
) -> list[Completion]:
    """The completions of requests for likelihoods, computed together."""
    encoded = [
        [encode_pair(loaded.tokenizer, *continuation) for continuation in request.continuations]
        for request in requests
    ]
    likelihoods = iter(compute_likelihoods(loaded, [pair for pairs in encoded for pair in pairs]))
    return [
        Completion(
            likelihoods=tuple(next(likelihoods) for _ in pairs),
            usage=Usage(input_tokens=sum(pair.length for pair in pairs), output_tokens=0),
        )
        for pairs in encoded
    ]


def _count_rows(loaded: LoadedModel, longest: TokenPair) -> int:
    """How many rows of the longest of them may be computed at once."""
    vocabulary = int(loaded.model.get_input_embeddings().weight.shape[0])
    limit = _LOGIT_BYTES.get(loaded.model.device.type, _LOGIT_BYTES["cpu"])
    return max(1, limit // (4 * vocabulary * longest.length))


def _compute_batch(loaded: LoadedModel, pairs: Sequence[TokenPair]) -> list[Likelihood]:
    """One forward pass; rows are padded at their end, which no token before it sees."""
    texts = [pair.text[-loaded.report.context :] for pair in pairs]
    rows = [(*pair.context, *pair.text)[-loaded.report.context - 1 :][:-1] for pair in pairs]
    longest = max(map(len, rows))
    padded = [[*row, *([0] * (longest - len(row)))] for row in rows]
    with torch.inference_mode():
        tokens = torch.tensor(padded, device=loaded.model.device)
        logits = loaded.model(input_ids=tokens, use_cache=False).logits
        return [
            _read_likelihood(logits[number, len(row) - len(text) : len(row)], text)
            for number, (row, text) in enumerate(zip(rows, texts, strict=True))
        ]


def _read_likelihood(logits: torch.Tensor, text: Sequence[int]) -> Likelihood:
    """The likelihood of tokens by the logits (tokens, vocabulary) at their places."""
    targets = torch.tensor(text, device=logits.device)
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    chosen = logprobs.gather(1, targets[:, None])
    is_greedy = bool((logprobs.argmax(-1) == targets).all())
    return bound_logprob(float(chosen.sum())), is_greedy
