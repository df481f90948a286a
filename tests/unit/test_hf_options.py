"""Options of local models: what is taken, and that what is not is named."""

from __future__ import annotations

import pytest

from evalcore.errors import UsageError
from evalcore.records import Sampling, TargetSpec
from evalcore.targets.huggingface.messages import HuggingFaceOptions, read_huggingface_options


def read(**args) -> HuggingFaceOptions:
    return read_huggingface_options(TargetSpec("hf:some/model", args))


def test_numbers_and_truths_may_come_as_text():
    options = read(batch_size="1", temperature="0.5", trust_remote_code="true", seed="7")
    assert (options.batch_size, options.temperature, options.seed) == (1, 0.5, 7)
    assert options.trust_remote_code is True
    assert options.allow_pickle is False


def test_nothing_given_is_greedy_safe_and_automatic():
    options = read()
    assert (options.device, options.dtype) == ("auto", "auto")
    assert not options.trust_remote_code
    assert not options.allow_pickle
    assert options.requested == Sampling()


def test_sampling_knows_the_other_name_of_the_limit():
    assert read(max_new_tokens=9).requested.max_tokens == 9
    assert read(max_tokens=8, stop='["a", "b"]').requested == Sampling(
        max_tokens=8, stop=("a", "b")
    )
    assert read(stop="END").requested.stop == ("END",)


def test_reasoning_is_switched_by_its_effort_or_by_the_name_of_templates():
    assert read(reasoning_effort="low").requested.reasoning_effort == "low"
    assert read(enable_thinking="false").requested.reasoning_effort == "none"
    assert read(enable_thinking=True).requested.reasoning_effort == "medium"


@pytest.mark.parametrize(
    ("args", "dtype"),
    [("fp16", "float16"), ("torch.bfloat16", "bfloat16"), ("bf16", "bfloat16"), ("int4", "int4")],
)
def test_common_names_of_dtypes_are_known(args, dtype):
    assert read(dtype=args).dtype == dtype


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"temprature": 1}, "temprature"),
        ({"dtype": "int3"}, "dtype"),
        ({"device": "gpu"}, "device"),
        ({"device": "cuda:x"}, "device"),
        ({"batch_size": -1}, "batch_size"),
        ({"threads": "-2"}, "threads"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1, "max_new_tokens": 2}, "max_new_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"min_p": 1.5}, "min_p"),
        ({"min_p": "nan"}, "min_p"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"repetition_penalty": "inf"}, "repetition_penalty"),
        ({"stop": ["x", ""]}, "stop"),
        ({"asking": "nicely"}, "asking"),
        ({"reasoning_effort": "lots"}, "reasoning_effort"),
        ({"reasoning_effort": "low", "enable_thinking": False}, "enable_thinking"),
    ],
)
def test_what_is_wrong_is_named(args, word):
    with pytest.raises(UsageError, match=word):
        read(**args)
