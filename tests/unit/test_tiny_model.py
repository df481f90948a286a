"""The tiny model learns its tasks, and is asked only what it was not taught."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.registry import instantiate_benchmark
from evalcore.sqlkit.engines.registry import open_engine
from evalcore.sqlkit.syntax import classify_statement
from tests.support.tiny_models import TRAINED, TinyModel, load, share_right, tiny
from tools.tiny_models.tasks import (
    CLASS,
    CLASSES,
    RIGHT,
    SYNTAX,
    TOOLS,
    WRONG,
    build_call_rows,
    build_statement_rows,
)

pytestmark = pytest.mark.slow

__all__ = ["tiny"]


def requests(split, seed):
    actual_rows = build_call_rows(split, 400, seed)
    return {row["question"][0][0]["content"] for rows in actual_rows.values() for row in rows}


def statements(metric, split, seed):
    return {row["sql"] for row in build_statement_rows(metric, split, 200, seed)}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_request_is_both_taught_and_held_out_whatever_the_seed(seed):
    assert requests("train", 0).isdisjoint(requests("held_out", seed))
    for metric in (SYNTAX, CLASS):
        taught = statements(metric, "train", 0)
        assert taught.isdisjoint(statements(metric, "held_out", seed))


def test_every_kind_of_request_is_held_out_too():
    held_out = build_call_rows("held_out", 200, 0)
    asked = json.dumps(held_out)

    assert set(held_out) == {"simple_python", "multiple"}
    assert all(f'"{tool.name}": {{' in asked for tool in TOOLS)
    assert {
        row["expected"]["sql_type"] for row in build_statement_rows(CLASS, "held_out", 60, 0)
    } == {
        "DML",
        "DDL",
        "DCL",
        "TCL",
    }


VALUES = {"t": "orders", "a": "price", "b": "weight", "c": "speed", "n": 12}


def test_sqlite_agrees_with_every_label_of_syntax():
    with closing(open_engine("sqlite")) as engine:
        right = {sql: engine.check_syntax(sql.format(**VALUES)).status for sql in RIGHT}
        wrong = {sql: engine.check_syntax(sql.format(**VALUES)).status for sql in WRONG}

    assert set(right.values()) == {"ok"}, right
    assert "ok" not in wrong.values(), wrong


def test_the_parser_agrees_with_every_class():
    for sql, named in CLASSES.items():
        assert classify_statement(sql.format(**VALUES), "postgres") == named


def test_the_stored_model_was_asked_nothing_else_than_the_tool_holds_out(tmp_path):
    pytest.importorskip("peft", reason="needs the extra local: pip install -e '.[dev,local]'")
    from tools.tiny_models.train import write_held_out_cases

    write_held_out_cases(tmp_path, 0)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    stored = TRAINED / "cases"
    assert made == {path.relative_to(stored): path.read_bytes() for path in stored.rglob("*.jsonl")}


@pytest.mark.full
def test_the_reference_of_every_held_out_case_passes(tiny: TinyModel):
    for name, benchmark in (("bfcl", "bfcl"), ("sql_understanding", "sql_understanding")):
        made = instantiate_benchmark(benchmark)
        samples = made.load_dataset(DatasetSource(path=str(tiny.cases / name)))

        claims = [(sample, made.reference_episode(sample)) for sample in samples]
        verdicts = [asyncio.run(made.evaluate_sample(*claim)) for claim in claims]
        wrong = [verdict.id for verdict in verdicts if verdict.outcome != "passed"]

        assert len(samples) >= 60
        assert wrong == []


def test_it_is_small_and_its_prompts_are_short(tiny: TinyModel):
    from tools.tiny_models.conversations import load_conversations, render_texts

    model, tokenizer = load(tiny)
    cases = (
        ("bfcl", "bfcl"),
        ("sql_understanding", "sql_understanding"),
        ("sql_understanding", "lora"),
    )
    prompts = [
        render_texts(tokenizer, conversation)[0]
        for key, name in cases
        for conversation in load_conversations(key, tiny.cases / name)
    ]

    assert model.num_parameters() < 1_000_000
    assert max(len(tokenizer.encode(prompt)) for prompt in prompts) <= 400
    assert sorted(path.name for path in tiny.base.glob("*.safetensors")) == ["model.safetensors"]
    assert not list(tiny.base.glob("*.bin"))


@pytest.mark.sampled(4)  # a whole run in float32 is in test_hf_run
@pytest.mark.parametrize(
    ("dtype", "least"), [("int4", 0.9), ("int8", 0.9), ("bfloat16", 0.9), ("float32", 0.97)]
)
def test_it_answers_what_it_was_not_taught(tiny: TinyModel, dtype, least):
    model, tokenizer = load(tiny, dtype)

    for benchmark in ("bfcl", "sql_understanding"):
        assert share_right(model, tokenizer, tiny.cases / benchmark, benchmark) >= least


def test_the_adapter_puts_right_what_the_base_does_wrong_and_keeps_the_rest(tiny: TinyModel):
    base, tokenizer = load(tiny)
    assert share_right(base, tokenizer, tiny.cases / "lora", "sql_understanding") <= 0.2

    adapted, _ = load(tiny, adapter=True)
    assert share_right(adapted, tokenizer, tiny.cases / "lora", "sql_understanding") >= 0.95
    for benchmark in ("bfcl", "sql_understanding"):
        assert share_right(adapted, tokenizer, tiny.cases / benchmark, benchmark) >= 0.9


def test_training_lowers_the_loss_and_is_the_same_for_the_same_seed(tiny: TinyModel):
    import torch

    from tools.tiny_models.conversations import build_training_example, load_conversations
    from tools.tiny_models.train import TrainingPlan, fit_model, new_model

    _, tokenizer = load(tiny)
    lessons = [
        build_training_example(tokenizer, conversation)
        for conversation in load_conversations("bfcl", tiny.cases / "bfcl")
    ]

    def trained(seed):
        model = new_model(len(tokenizer), tokenizer.eos_token_id, tokenizer.pad_token_id, seed)
        losses = fit_model(model, lessons, TrainingPlan(steps=12, batch=4), seed)
        return torch.cat([p.detach().flatten() for p in model.parameters()]), losses

    (first, losses), (again, _), (other, _) = trained(0), trained(0), trained(1)

    assert losses[-1] < losses[0] / 2
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
