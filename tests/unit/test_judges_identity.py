"""A target that is a judge of itself."""

from __future__ import annotations

import pytest

from evalcore.judges import is_same_model
from evalcore.records import TargetSpec


@pytest.mark.parametrize(
    ("judge", "target", "same"),
    [
        ("openai:m-1?base_url=http://a&temperature=0", "openai:m-1", True),
        ("openai:m-1", TargetSpec(key="openai:m-1", options={"temperature": 1}), True),
        ("openai:m-1", TargetSpec(key="openai:m-1", options={"temperature": 1}).identity, True),
        ("openai:Org/Model", "huggingface:org/model", True),  # the same weights elsewhere
        ("openai:m-1", "openai:m-10", False),
        ("openai:m-1", "baseline:sqlglot", False),
        ("openai:a:7b", "openai:a:8b", False),
    ],
)
def test_the_model_counts_and_nothing_else(judge, target, same):
    assert is_same_model(judge, target) == same
