"""Who joins the next batch of a local model."""

from __future__ import annotations

import random

import pytest

from evalcore.targets.huggingface.batches import (
    MIN_SHARED_TOKENS,
    BatchBudget,
    WaitingPrompt,
    count_batch_tokens,
    hash_prefix,
    is_joining_worthwhile,
    select_next_batch,
    select_overgrown_rows,
)

ROOMY = BatchBudget(tokens=100_000, rows=4)


def prompts(*lengths: int, prefix: str = "", **more) -> list[WaitingPrompt]:
    return [WaitingPrompt(f"{prefix}{n}", n, prefix, **more) for n in lengths]


def test_the_longest_go_first_and_together():
    assert select_next_batch(prompts(5, 300, 10, 290, 280, 8, 270), ROOMY) == [
        "300",
        "290",
        "280",
        "270",
    ]


def test_places_are_counted_with_padding_and_new_tokens():
    waiting = prompts(100, 90, 80, max_new=20)
    assert count_batch_tokens(waiting) == 3 * 120
    assert select_next_batch(waiting, BatchBudget(tokens=359, rows=9)) == ["100", "90"]
    assert select_next_batch(waiting, BatchBudget(tokens=360, rows=9)) == ["100", "90", "80"]


def test_a_long_limit_of_the_answer_does_not_empty_the_batch():
    waiting = prompts(100, 99, 98, 97, max_new=100_000)
    assert len(select_next_batch(waiting, BatchBudget(tokens=4000, rows=9))) == 4


def test_a_prompt_over_the_budget_runs_alone():
    assert select_next_batch(prompts(500, 10), BatchBudget(tokens=100, rows=4)) == ["500"]


def test_rows_join_only_where_there_is_room():
    running = prompts(100, 100)
    assert select_next_batch(prompts(90, 80, 70), BatchBudget(tokens=300, rows=9), running) == [
        "90"
    ]
    assert select_next_batch(prompts(90), BatchBudget(tokens=200, rows=9), running) == []
    assert select_next_batch(prompts(200, 20), BatchBudget(tokens=300, rows=9), running) == ["20"]
    assert select_next_batch([], ROOMY, running) == []


def test_prompts_that_begin_alike_go_together():
    waiting = [*prompts(400, 200, prefix="a"), *prompts(390, 380, 370)]
    assert select_next_batch(waiting, ROOMY) == ["a400", "a200"]
    lonely = [*prompts(400, prefix="a"), *prompts(390, 380, 370)]
    assert select_next_batch(lonely, ROOMY) == ["a400", "390", "380", "370"]


def test_prefixes_are_equal_for_equal_beginnings_and_none_for_short_prompts():
    long = list(range(MIN_SHARED_TOKENS + 1))
    assert hash_prefix(long) == hash_prefix([*long, 7]) != hash_prefix([9, *long])
    assert hash_prefix(long[:MIN_SHARED_TOKENS]) == ""


def test_nobody_waits_for_ever_behind_longer_prompts():
    short = WaitingPrompt("short", 5)
    for _ in range(100):
        chosen = select_next_batch([short, *prompts(600, 590, 580, 570)], ROOMY)
        if "short" in chosen:
            break
        short = WaitingPrompt("short", 5, passed=short.passed + 1)
    assert 0 < short.passed < 100


def test_who_was_passed_over_too_often_is_waited_for():
    running = prompts(50, 50, 50)
    starved = WaitingPrompt("starved", 900, passed=99)
    assert (
        select_next_batch([starved, *prompts(10)], BatchBudget(tokens=1000, rows=8), running) == []
    )


def test_a_halved_budget_is_below_what_failed():
    budget = BatchBudget(tokens=1000, rows=8)
    assert budget.halve_tokens(400).tokens == 200
    assert budget.halve_tokens(4000).tokens == 500
    assert BatchBudget(tokens=1, rows=8).halve_tokens(1).tokens == 1


def test_the_latest_rows_are_put_back_when_answers_outgrow_the_budget():
    running = prompts(10, 100, 20, 30)
    assert select_overgrown_rows(running, BatchBudget(tokens=400, rows=8)) == []
    assert select_overgrown_rows(running, BatchBudget(tokens=399, rows=8)) == ["30"]
    assert select_overgrown_rows(running, BatchBudget(tokens=1, rows=8)) == ["30", "20", "100"]


@pytest.mark.parametrize(
    ("running", "waiting", "worth"),
    [(0, 1, True), (0, 0, False), (4, 9, False), (3, 9, True), (15, 9, False), (12, 9, True)],
)
def test_joining_waits_until_a_quarter_is_free(running, waiting, worth):
    rows = 4 if running <= 4 else 16
    assert is_joining_worthwhile(running, waiting, BatchBudget(tokens=1, rows=rows)) is worth


def test_every_prompt_is_chosen_once_and_no_batch_is_over_the_budget():
    dice = random.Random(3)
    for _ in range(50):
        left = {
            str(n): WaitingPrompt(str(n), dice.randint(1, 900), dice.choice(["", "a", "b"]), 64)
            for n in range(40)
        }
        budget = BatchBudget(tokens=dice.randint(10, 9000), rows=dice.randint(1, 16))
        while left:
            chosen = select_next_batch(list(left.values()), budget)
            assert chosen
            assert len(set(chosen)) == len(chosen)
            assert budget.can_hold([left.pop(name) for name in chosen])
