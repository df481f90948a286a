"""What a loaded model is checked for: whether its rows may be computed side by side, or at all."""

from __future__ import annotations

import pytest

from evalcore.targets.huggingface.messages import LoadError
from tests.support import hf_loaded, hf_models

hf_models.local_libraries()

import torch  # noqa: E402 - only where it is installed

from evalcore.targets.huggingface.generate import (  # noqa: E402
    DecodeJob,
    GenerationEngine,
    needs_single_rows,
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", hf_loaded.SETTINGS)
def test_rows_that_bear_company_stay_side_by_side(kind, dtype):
    assert not needs_single_rows(hf_loaded.loaded(kind).model.to(dtype))


@pytest.mark.parametrize("kind", hf_loaded.SINGLE)
def test_rows_that_change_each_other_are_asked_one_by_one(kind):
    loaded = hf_loaded.loaded(kind)
    assert needs_single_rows(loaded.model)
    prompt = hf_loaded.tokens(90, 99)
    engine = GenerationEngine(loaded, exact=True)
    outputs = engine.admit_jobs([DecodeJob("0", prompt, 8)])
    while engine.rows:
        outputs += engine.step()
    assert outputs[0].new_ids == hf_loaded.greedy(loaded, prompt, 8)


def answer(loaded, prompts, *, single):
    """The tokens that prompts get, one by one or side by side."""
    outputs = []
    for group in [[number] for number in range(len(prompts))] if single else [range(len(prompts))]:
        engine = GenerationEngine(loaded, exact=single)
        outputs += engine.admit_jobs([DecodeJob(str(at), prompts[at], 10) for at in group])
        while engine.rows:
            outputs += engine.step()
    return [output.new_ids for output in sorted(outputs, key=lambda output: output.id)]


@pytest.mark.slow
@pytest.mark.sampled(14)
@pytest.mark.parametrize("kind", hf_loaded.FAMILIES)
def test_every_family_is_answered_as_by_the_library(kind):
    loaded = hf_loaded.loaded(kind)
    beginning = hf_loaded.tokens(70, 1)
    short = [hf_loaded.tokens(count, count) for count in (4, 23, 45)]
    single = needs_single_rows(loaded.model)
    for prompts in (short, [beginning + prompt for prompt in short]):
        expected = [hf_loaded.greedy(loaded, prompt, 10) for prompt in prompts]
        assert answer(loaded, prompts, single=single) == expected


@pytest.mark.parametrize("kind", hf_loaded.FOREIGN)
def test_models_that_keep_their_past_elsewhere_are_refused(kind):
    with pytest.raises(LoadError, match="as an endpoint") as error:
        needs_single_rows(hf_loaded.loaded(kind).model)
    assert error.value.kind == "unknown_architecture"
    assert f"'{kind}'" in str(error.value)
