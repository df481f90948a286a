"""What a local model wrote can be sent to the parent, whatever its calls hold."""

from __future__ import annotations

import pytest

from evalcore.records import Completion, ToolCall, to_json

pytest.importorskip("torch", reason="the extra `local` is not installed")


def test_half_a_surrogate_pair_in_a_call_ends_no_process() -> None:
    from evalcore.targets.huggingface.service import _replace_surrogate_halves

    call = ToolCall("c", "f\ud800", '{"a": "\udfff"}')
    done = _replace_surrogate_halves(
        Completion(text="a\ud800", reasoning="\udc00", tool_calls=(call,))
    )
    assert done.text == "a\ufffd"
    assert done.tool_calls == (ToolCall("c", "f\ufffd", '{"a": "\ufffd"}'),)
    to_json(done)
