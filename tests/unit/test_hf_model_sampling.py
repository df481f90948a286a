"""`sampling=model`: what nobody set is as the model's own generation_config says."""

from __future__ import annotations

import json

import pytest

from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.targets.huggingface.messages import HuggingFaceOptions, read_huggingface_options
from evalcore.targets.huggingface.model_files import adopt_model_sampling

STATED = {"do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "max_length": 9}


def read(**options: object) -> HuggingFaceOptions:
    return read_huggingface_options(TargetSpec("hf:x", {"sampling": "model", **options}))


def write(folder, content) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "generation_config.json").write_text(text, encoding="utf-8")


def test_the_models_sampling_is_taken_where_nobody_set_any(tmp_path):
    write(tmp_path, STATED)
    adopted = adopt_model_sampling(read(), tmp_path)
    assert (adopted.temperature, adopted.top_p, adopted.top_k) == (0.7, 0.8, 20)
    assert (adopted.min_p, adopted.repetition_penalty) == (0.0, 1.0)
    own = adopt_model_sampling(read(temperature="0.1", top_k=5), tmp_path)
    assert (own.temperature, own.top_p, own.top_k) == (0.1, 0.8, 5)


def test_a_model_that_does_not_sample_is_greedy(tmp_path):
    write(tmp_path, {"temperature": 0.7, "top_p": 0.8, "repetition_penalty": 1.1})
    adopted = adopt_model_sampling(read(), tmp_path)
    assert (adopted.temperature, adopted.top_p, adopted.repetition_penalty) == (0.0, None, 1.1)
    write(tmp_path, {"do_sample": True})
    assert adopt_model_sampling(read(), tmp_path).temperature == 1.0


def test_greedy_reads_no_file(tmp_path):
    options = HuggingFaceOptions()
    assert adopt_model_sampling(options, tmp_path) is options
    assert adopt_model_sampling(options, None) is options


@pytest.mark.parametrize(
    "content",
    ["", "[1]", "{", *({**STATED, "temperature": odd} for odd in ("hot", -1, 1e9, True, [1]))],
)
def test_an_unusable_file_is_named(tmp_path, content):
    write(tmp_path, content)
    with pytest.raises(UsageError, match="generation_config"):
        adopt_model_sampling(read(), tmp_path)


def test_a_model_that_is_not_here_is_refused(tmp_path):
    for folder in (None, tmp_path):
        with pytest.raises(UsageError, match=r"generation_config\.json in the model's folder"):
            adopt_model_sampling(read(), folder)
