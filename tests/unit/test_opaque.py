"""What a provider wants back with its own answer: kept, redacted, and part of the next request."""

from __future__ import annotations

from evalcore.access.secrets import redact_completion
from evalcore.benchmarks.agents import build_answer_messages
from evalcore.records import (
    Completion,
    GenerationRequest,
    Message,
    content_hash,
    from_json,
    to_json,
)

OPAQUE = {"anthropic": [{"type": "thinking", "thinking": "", "signature": "EqQBCg=="}]}


def test_an_answer_of_an_agent_goes_back_with_what_its_provider_wants_to_see() -> None:
    written, sent = build_answer_messages(Completion(text="a", opaque=OPAQUE), (), ())
    assert sent.opaque == OPAQUE
    assert not written.opaque  # the journal of calls has it, the transcript is for people


def test_it_survives_the_journal() -> None:
    done = Completion(text="a", opaque=OPAQUE)
    assert from_json(Completion, to_json(done)) == done


def test_requests_without_it_keep_their_hash() -> None:
    request = GenerationRequest((Message("user", "q"), Message("assistant", "a")))
    assert b"opaque" not in to_json(request)
    other = GenerationRequest((Message("user", "q"), Message("assistant", "a", opaque=OPAQUE)))
    assert content_hash(request) != content_hash(other)


def test_a_key_in_it_is_removed() -> None:
    done = redact_completion(
        Completion(opaque={"x": [{"echo": "Bearer key-0123456789abcdef", "n": 1}]}),
        ["key-0123456789abcdef"],
    )
    assert done.opaque == {"x": [{"echo": "Bearer [key removed]", "n": 1}]}
