"""How likely given texts are by a local model: as a pass over each alone says, whatever their
lengths and their company."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evalcore.errors import UsageError
from evalcore.records import GenerationRequest
from tests.support import tiny_models
from tests.support.hf_models import local_libraries
from tests.support.tiny_models import TinyModel, tiny  # noqa: F401

local_libraries()

import torch  # noqa: E402 - only where it is installed

from evalcore.targets.huggingface.likelihoods import (  # noqa: E402
    TokenPair,
    answer_continuations,
    compute_likelihoods,
    encode_pair,
)

CONTEXT = 48


@pytest.fixture(scope="module")
def loaded(tiny: TinyModel) -> SimpleNamespace:  # noqa: F811
    model, tokenizer = tiny_models.load(tiny)
    report = SimpleNamespace(context=CONTEXT)
    return SimpleNamespace(model=model, tokenizer=tokenizer, report=report, single_rows=False)


def compute_alone(loaded: SimpleNamespace, pair: TokenPair) -> float:
    """The plain sum over one text, without padding."""
    ids = torch.tensor([[*pair.context, *pair.text]])
    with torch.inference_mode():
        logprobs = loaded.model(input_ids=ids).logits[0].log_softmax(-1)
    start = len(pair.context)
    return float(sum(logprobs[start + n - 1, token] for n, token in enumerate(pair.text)))


def test_texts_computed_together_get_what_each_gets_alone(loaded: SimpleNamespace) -> None:
    texts = [("SELECT", " 1"), ("SELECT a FROM", " t WHERE a > 1"), ("", "SELECT 1"), ("x ", "y")]
    pairs = [encode_pair(loaded.tokenizer, *text) for text in texts]
    together = compute_likelihoods(loaded, pairs)
    for pair, (logprob, _) in zip(pairs, together, strict=True):
        assert logprob == pytest.approx(compute_alone(loaded, pair), abs=1e-3)
    loaded.single_rows = True
    try:
        alone = compute_likelihoods(loaded, pairs)
    finally:
        loaded.single_rows = False
    assert [value for value, _ in alone] == pytest.approx([value for value, _ in together], 1e-4)
    assert [greedy for _, greedy in alone] == [greedy for _, greedy in together]


def test_white_space_before_a_continuation_belongs_to_it(loaded: SimpleNamespace) -> None:
    assert encode_pair(loaded.tokenizer, "SELECT ", "a") == encode_pair(
        loaded.tokenizer, "SELECT", " a"
    )
    blank = encode_pair(loaded.tokenizer, "  ", "a")
    assert len(blank.context) == 1
    assert blank.text


def test_what_is_too_long_loses_its_beginning(loaded: SimpleNamespace) -> None:
    pair = encode_pair(loaded.tokenizer, "SELECT a, b FROM t WHERE a > 1 AND " * 9, "b < 2")
    assert pair.length > CONTEXT + 1
    kept = TokenPair(
        (*pair.context, *pair.text)[-CONTEXT - 1 :][: CONTEXT + 1 - len(pair.text)], pair.text
    )
    ((logprob, _),) = compute_likelihoods(loaded, [pair])
    assert logprob == pytest.approx(compute_alone(loaded, kept), abs=1e-3)


def test_the_likeliest_text_is_greedy(loaded: SimpleNamespace) -> None:
    ids = loaded.tokenizer("SELECT a FROM", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        following = int(loaded.model(input_ids=ids).logits[0, -1].argmax())
    pair = TokenPair(tuple(ids[0].tolist()), (following,))
    other = TokenPair(pair.context, ((following + 1) % 300,))
    assert [greedy for _, greedy in compute_likelihoods(loaded, [pair, other])] == [True, False]


def test_requests_are_answered_in_their_order_and_an_empty_text_is_refused(
    loaded: SimpleNamespace,
) -> None:
    requests = [
        GenerationRequest((), continuations=(("a", " b"), ("a", " c d e"))),
        GenerationRequest((), continuations=(("a", " b"),)),
    ]
    first, second = answer_continuations(loaded, requests)
    assert len(first.likelihoods) == 2
    assert second.likelihoods[0][0] == pytest.approx(first.likelihoods[0][0], abs=1e-3)
    assert first.usage.input_tokens > second.usage.input_tokens
    assert answer_continuations(loaded, []) == []
    with pytest.raises(UsageError, match="has no token"):
        encode_pair(loaded.tokenizer, "a", "")
