"""Batches give each prompt the tokens that it gets alone, however rows come and go."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from evalcore.records import Sampling
from tests.support import hf_loaded, hf_models

pytestmark = pytest.mark.slow

hf_models.local_libraries()

import torch  # noqa: E402 - only where it is installed
from transformers import (  # noqa: E402
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from evalcore.targets.huggingface.batches import BatchBudget  # noqa: E402
from evalcore.targets.huggingface.generate import (  # noqa: E402
    DecodeJob,
    DecodeOutput,
    GenerationEngine,
    GenerativeModel,
)
from evalcore.targets.huggingface.service import (  # noqa: E402
    LostJob,
    Scheduler,
    bytes_per_token,
    default_budget,
)
from evalcore.targets.huggingface.tensors import TokenSampler, compute_chances  # noqa: E402

PREFIX = hf_loaded.tokens(90, 99)


def generate_batch(
    loaded: GenerativeModel,
    jobs: Sequence[DecodeJob],
    on_output: Callable[[DecodeOutput], None] | None = None,
) -> list[DecodeOutput]:
    """All jobs as one batch, to their ends; outputs in the order of the jobs. `on_output` is told
    of each as soon as it is finished."""
    engine = GenerationEngine(loaded)
    outputs_by_id = {}
    fresh = engine.admit_jobs(jobs)
    while fresh or engine.rows:
        for output in fresh:
            outputs_by_id[output.id] = output
            if on_output:
                on_output(output)
        fresh = engine.step() if engine.rows else []
    return [outputs_by_id[job.id] for job in jobs]


@pytest.fixture(scope="module")
def qwen():
    return hf_loaded.loaded()


def jobs(count: int = 8, beginning: tuple[int, ...] = ()) -> list[DecodeJob]:
    dice = random.Random(7)
    return [
        DecodeJob(str(n), beginning + hf_loaded.tokens(dice.randint(3, 60), n), dice.randint(1, 16))
        for n in range(count)
    ]


def alone(item, some) -> dict[str, tuple[int, ...]]:
    return {job.id: hf_loaded.greedy(item, job.ids, job.max_new) for job in some}


def drained(scheduler: Scheduler) -> dict[str, tuple[int, ...]]:
    results = {}
    for _ in range(2000):
        for item in scheduler.advance_jobs():
            results[item.id] = item if isinstance(item, LostJob) else item.new_ids
        if scheduler.is_idle:
            return results
    raise AssertionError("the scheduler does not come to an end")


@pytest.mark.parametrize("beginning", [(), PREFIX], ids=["apart", "shared"])
@pytest.mark.parametrize("kind", hf_loaded.SETTINGS)
def test_a_batch_gives_what_each_prompt_gets_alone(kind, beginning):
    loaded, some = hf_loaded.loaded(kind), jobs(6, beginning)
    expected = alone(loaded, some)
    assert len(set(expected.values())) > 3, "a model that says one thing proves nothing"
    assert {out.id: out.new_ids for out in generate_batch(loaded, some)} == expected


def test_the_wait_for_a_batch_is_told_from_the_time_in_it(qwen):
    scheduler = Scheduler(GenerationEngine(qwen), BatchBudget(tokens=100_000, rows=1))
    first, second = jobs(2, ())
    for job in (first, second):
        scheduler.add_job(job)
    finished = []
    while not scheduler.is_idle:
        finished += [item.id for item in scheduler.advance_jobs()]
    (before, began), (after, later) = (scheduler.take_times(job_id) for job_id in finished)
    assert before <= began <= after <= later
    assert scheduler.take_times(finished[0]) == (None, None)


@pytest.mark.parametrize("beginning", [(), PREFIX], ids=["apart", "shared"])
@pytest.mark.parametrize("kind", ["qwen3", "gemma3_text", "mamba"])
def test_rows_that_join_and_leave_change_nothing(kind, beginning):
    loaded, some = hf_loaded.loaded(kind), jobs(10, beginning)
    scheduler = Scheduler(GenerationEngine(loaded), BatchBudget(tokens=100_000, rows=4))
    late = some[5:]
    for job in some[:5]:
        scheduler.add_job(job)
    results = {}
    while late or not scheduler.is_idle:
        if late:
            scheduler.add_job(late.pop())
        results |= {item.id: item.new_ids for item in scheduler.advance_jobs()}
    assert results == alone(loaded, some)


def test_a_shared_beginning_is_computed_once(qwen, monkeypatch):
    engine, widths = GenerationEngine(qwen), []
    forward = engine._run_forward

    def counted(tokens, *rest):
        widths.append(tuple(tokens.shape))
        return forward(tokens, *rest)

    monkeypatch.setattr(engine, "_run_forward", counted)
    some = [DecodeJob(str(n), PREFIX + hf_loaded.tokens(5, n), 1) for n in range(4)]
    engine.admit_jobs(some)
    engine.admit_jobs([DecodeJob("later", PREFIX + hf_loaded.tokens(9, 50), 1)])
    assert widths == [(1, 90), (4, 5), (1, 9)]


def test_exact_mode_takes_one_row_and_shares_nothing(qwen):
    engine = GenerationEngine(qwen, exact=True)
    scheduler = Scheduler(engine, BatchBudget(tokens=1, rows=1))
    some = jobs(4, PREFIX)
    for job in some:
        scheduler.add_job(job)
    results = {}
    while not scheduler.is_idle:
        results |= {item.id: item.new_ids for item in scheduler.advance_jobs()}
        assert len(engine.rows) <= 1
    assert results == alone(qwen, some)
    assert not engine._prefixes


def test_an_end_token_ends_a_row_and_is_left_out(qwen):
    job = jobs(1)[0]
    whole = hf_loaded.greedy(qwen, job.ids, 12)
    last = next(n for n in range(1, 12) if whole[n] not in whole[:n])
    ending = hf_loaded.loaded(ends=frozenset({whole[last]}))
    (output,) = generate_batch(ending, [replace(job, max_new=12)])
    assert (output.new_ids, output.stopped) == (whole[:last], "stop")


def test_stop_strings_end_a_row_across_tokens(qwen):
    job = jobs(1)[0]
    whole = hf_loaded.greedy(qwen, job.ids, 12)
    stop = hf_loaded.Letters.decode(whole[4:6])
    (output,) = generate_batch(qwen, [replace(job, max_new=12, stop=("never", stop))])
    assert (output.new_ids, output.stopped) == (whole[:6], "stop")


def test_each_row_has_its_own_limit(qwen):
    some = [replace(job, max_new=n + 1) for n, job in enumerate(jobs(4))]
    outputs = generate_batch(qwen, some)
    assert [len(out.new_ids) for out in outputs] == [1, 2, 3, 4]
    assert {out.stopped for out in outputs} == {"length"}


def test_outputs_are_told_as_soon_as_they_are_finished(qwen):
    message = []
    some = [replace(job, max_new=9 - n) for n, job in enumerate(jobs(3))]
    generate_batch(qwen, some, lambda out: message.append(out.id))
    assert message == ["2", "1", "0"]


def test_drawn_tokens_depend_on_the_seed_and_not_on_company(qwen):
    hot = Sampling(temperature=1.0, seed=11)
    job = DecodeJob("a", hf_loaded.tokens(20, 1), 12, hot)
    (single,) = generate_batch(qwen, [job])
    among = generate_batch(qwen, [*jobs(3), job])[-1]
    other = generate_batch(qwen, [replace(job, sampling=Sampling(temperature=1.0, seed=12))])[0]
    assert single.new_ids == among.new_ids != other.new_ids
    assert single.new_ids != hf_loaded.greedy(qwen, job.ids, 12)


@pytest.mark.parametrize("top_k", [0, 1, 7, 1000])
@pytest.mark.parametrize("top_p", [1.0, 0.6])
@pytest.mark.parametrize("min_p", [0.0, 0.2, 1.0])
def test_tokens_are_drawn_from_those_that_the_library_keeps(top_k, top_p, min_p):
    scores = torch.randn(1, 200, generator=torch.Generator().manual_seed(3)) * 3
    sampler = TokenSampler(0.8, top_p, torch.Generator(), top_k, min_p)
    warpers = [TemperatureLogitsWarper(0.8)]
    warpers += [TopKLogitsWarper(top_k)] if top_k else []
    warpers += [TopPLogitsWarper(top_p), MinPLogitsWarper(min_p)]
    expected = LogitsProcessorList(warpers)(torch.zeros(1, 1, dtype=torch.long), scores.clone())
    chances = compute_chances(scores[0], sampler)
    assert torch.allclose(chances / chances.sum(), expected.softmax(-1)[0], atol=1e-6)


def test_options_of_drawing_reach_every_row(qwen):
    hot = Sampling(temperature=50.0, seed=1)
    drawn = [
        generate_batch(qwen, [DecodeJob("0", hf_loaded.tokens(9, 1), 8, hot, top_k=k)])[0].new_ids
        for k in (0, 1)
    ]
    assert drawn[1] == hf_loaded.greedy(qwen, hf_loaded.tokens(9, 1), 8) != drawn[0]


@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.7])
def test_repetition_is_penalized_as_by_the_library_alone_and_in_company(qwen, penalty):
    texts = [hf_loaded.tokens(length, length) for length in (9, 20)]
    outputs = generate_batch(
        qwen,
        [DecodeJob(str(n), ids, 12, repetition_penalty=penalty) for n, ids in enumerate(texts)],
    )
    for ids, output in zip(texts, outputs, strict=True):
        expected = qwen.model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=12,
            do_sample=False,
            repetition_penalty=penalty,
            pad_token_id=0,
        )[0, len(ids) :].tolist()
        assert list(output.new_ids) == expected[: len(output.new_ids)]
        assert len(output.new_ids) == 12 or expected[len(output.new_ids)] in qwen.end_ids


def test_a_tiny_nucleus_is_greedy(qwen):
    job = DecodeJob("a", hf_loaded.tokens(20, 1), 8, Sampling(temperature=2.0, top_p=1e-6))
    (output,) = generate_batch(qwen, [job])
    assert output.new_ids == hf_loaded.greedy(qwen, job.ids, 8)


def test_withdrawn_rows_go_on_where_they_were(qwen):
    some = [replace(job, max_new=10) for job in jobs(3)]
    engine = GenerationEngine(qwen)
    engine.admit_jobs(some)
    for _ in range(3):
        engine.step()
    (first,) = engine.withdraw_jobs(["0"])
    assert len(first.begun) == 4
    rest = engine.withdraw_jobs()
    assert not engine.rows
    ids = {out.id: out.new_ids for out in generate_batch(qwen, [first, *rest])}
    assert ids == alone(qwen, some)


def failing(monkeypatch, engine, when):
    """Let the engine run out of memory for the shapes of which `when` is true."""
    forward = engine._run_forward

    def limited(tokens, mask, *rest):
        if when(mask.shape[0] * mask.shape[1]):
            raise torch.OutOfMemoryError("out of memory, as the test wants it")
        return forward(tokens, mask, *rest)

    monkeypatch.setattr(engine, "_run_forward", limited)


def test_a_batch_that_does_not_fit_is_halved_and_done(qwen, monkeypatch):
    engine = GenerationEngine(qwen)
    failing(monkeypatch, engine, lambda places: places > 250)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=16))
    some = jobs(12)
    for job in some:
        scheduler.add_job(job)
    assert drained(scheduler) == alone(qwen, some)
    assert scheduler.halved > 0
    assert scheduler.budget.tokens < 1000


def test_memory_that_runs_out_in_the_middle_costs_no_token(qwen, monkeypatch):
    engine, calls = GenerationEngine(qwen), []
    failing(monkeypatch, engine, lambda places: calls.append(places) or len(calls) == 6)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=16))
    some = [replace(job, max_new=12) for job in jobs(5)]
    for job in some:
        scheduler.add_job(job)
    assert drained(scheduler) == alone(qwen, some)
    assert scheduler.halved == 1


def test_memory_that_runs_out_as_rows_leave_costs_no_token(qwen, monkeypatch):
    engine, keep, failed = GenerationEngine(qwen), None, []
    keep = engine._select_rows

    def once(numbers):
        if not failed:
            failed.append(numbers)
            raise torch.OutOfMemoryError("out of memory, as the test wants it")
        keep(numbers)

    monkeypatch.setattr(engine, "_select_rows", once)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=16))
    some = jobs(6)
    for job in some:
        scheduler.add_job(job)
    assert drained(scheduler) == alone(qwen, some)
    assert failed


def test_new_tokens_are_counted(qwen):
    scheduler = Scheduler(GenerationEngine(qwen), BatchBudget(tokens=10_000, rows=4))
    some = jobs(9)
    for job in some:
        scheduler.add_job(job)
    drained(scheduler)
    assert scheduler.tokens == sum(job.max_new for job in some)


@pytest.mark.full
def test_a_prompt_that_never_fits_is_lost_alone(qwen, monkeypatch):
    engine = GenerationEngine(qwen)
    failing(monkeypatch, engine, lambda places: places > 100)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=16))
    some = [replace(job, max_new=4) for job in jobs(4)]
    for job in [*some, DecodeJob("huge", hf_loaded.tokens(200, 1), 4)]:
        scheduler.add_job(job)
    result = drained(scheduler)
    lost = result.pop("huge")
    assert isinstance(lost, LostJob)
    assert "not enough memory" in lost.message
    assert result == alone(qwen, some)


def test_another_error_loses_what_ran_and_nothing_else(qwen, monkeypatch):
    engine, forward, broken = GenerationEngine(qwen), None, []
    forward = engine._run_forward

    def breaks(*args):
        if not broken:
            broken.append(1)
            raise ValueError("shape")
        return forward(*args)

    monkeypatch.setattr(engine, "_run_forward", breaks)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=2))
    for job in jobs(6):
        scheduler.add_job(job)
    result = drained(scheduler)
    lost = [item for item in result.values() if isinstance(item, LostJob)]
    assert len(lost) == 2
    assert len(result) == 6


def test_an_error_of_the_device_ends_the_process(qwen, monkeypatch):
    engine = GenerationEngine(qwen)

    def breaks(*args):
        raise torch.AcceleratorError("illegal memory access")

    monkeypatch.setattr(engine, "_run_forward", breaks)
    scheduler = Scheduler(engine, BatchBudget(tokens=10_000, rows=2))
    scheduler.add_job(jobs(1)[0])
    with pytest.raises(torch.AcceleratorError):
        scheduler.advance_jobs()


def test_a_cancelled_job_is_forgotten_wherever_it_is(qwen):
    scheduler = Scheduler(GenerationEngine(qwen), BatchBudget(tokens=10_000, rows=2))
    some = [replace(job, max_new=9) for job in jobs(4)]
    for job in some:
        scheduler.add_job(job)
    scheduler.advance_jobs()
    running = scheduler.engine.rows[0].job.id
    waiting = next(job.id for job in some if all(r.job.id != job.id for r in scheduler.engine.rows))
    scheduler.drop_job(running)
    scheduler.drop_job(waiting)
    scheduler.drop_job("unknown")
    expected = alone(qwen, [job for job in some if job.id not in (running, waiting)])
    assert drained(scheduler) == expected


def test_the_budget_follows_the_device_and_the_options(qwen):
    assert bytes_per_token(qwen.model) == 2 * 2 * 2 * 16 * 4
    assert default_budget(qwen.model).rows == 16
    assert default_budget(qwen.model, 3, 77) == BatchBudget(tokens=77, rows=3)
