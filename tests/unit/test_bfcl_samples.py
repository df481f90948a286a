"""Entries as samples: order kept, nothing told to the target, weights that give official means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.benchmarks import registry
from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.bfcl.answers import reference_calls
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.categories import (
    AGENTIC,
    MULTI_TURN,
    SINGLE_TURN,
    Tally,
    compute_entry_weights,
    group_scores,
)
from evalcore.benchmarks.bfcl.dataset import sample_to_entry
from evalcore.benchmarks.bfcl.entry import load_folder
from evalcore.errors import UsageError
from evalcore.records import Episode, Sample, Verdict, from_json, to_json
from tests.support.bfcl_results import data_folder

BUNDLED = Path(__file__).parents[2] / "datasets" / "bfcl"
SOURCE = DatasetSource(path=str(BUNDLED))


def bfcl(**options: object):
    return registry.instantiate_benchmark("bfcl", options)


def test_a_journaled_sample_gives_back_the_entry_with_its_order():
    samples = {s.id: s for s in bfcl().load_dataset(SOURCE)}
    for entry in load_folder(BUNDLED):
        stored = sample_to_entry(from_json(Sample, to_json(samples[entry.id])))
        assert json.dumps(stored.ground_truth) == json.dumps(entry.ground_truth)
        if entry.category in MULTI_TURN:
            config = entry.extra["initial_config"]
            assert json.dumps(stored.extra["initial_config"]) == json.dumps(config)
            assert stored.functions
        elif entry.category in AGENTIC:
            assert stored.functions
            assert stored.extra["involved_classes"]
        else:
            assert json.dumps(stored.functions) == json.dumps(entry.functions)


def test_no_request_holds_a_reference_or_a_scenario():
    benchmark = bfcl()
    for sample in benchmark.load_dataset(SOURCE):
        asked = to_json([benchmark.build_prompt(sample), benchmark.request_input(sample)]).decode()
        for secret in ("ground_truth", "counterexamples", "scenario", "missed_function"):
            assert f'"{secret}"' not in asked


def test_held_back_functions_are_not_described_at_first():
    benchmark = bfcl()
    for sample in benchmark.load_dataset(SOURCE):
        if sample.metric != "multi_turn_miss_func":
            continue
        [missing] = next(iter(sample.reference["missed_function"].values()))[:1]
        assert f'"{missing}"' not in benchmark.build_prompt(sample)[0].content, sample.id


def test_categories_take_todays_and_earlier_names():
    picked = bfcl(categories="java,parallel").load_dataset(SOURCE)
    assert {s.metric for s in picked} == {"simple_java", "parallel"}
    with pytest.raises(UsageError, match="no metric 'cooking'"):
        bfcl(categories=["cooking"]).load_dataset(SOURCE)


def test_flagged_entries_are_marked_and_can_be_left_out(tmp_path):
    folder = data_folder(tmp_path, {"simple_java": 40})
    dataset = bfcl().load_dataset(DatasetSource(path=str(folder)))
    left = bfcl(exclude_flagged=True).load_dataset(DatasetSource(path=str(folder)))
    flagged = {s.id for s in dataset if "flagged" in s.meta}
    assert "simple_java_35" in flagged
    assert {s.id for s in dataset} - {s.id for s in left} == flagged


def samples_of(counts: dict[str, int]) -> list[Sample]:
    return [Sample(name, f"{name}_{i}", {}) for name, n in counts.items() for i in range(n)]


def test_the_weighted_score_is_the_official_mean():
    """Categories of very different sizes, each with its own share of right answers."""
    counts = {name: 3 + 7 * i for i, name in enumerate((*SINGLE_TURN, *MULTI_TURN))}
    right = {name: (i * 5) % (n + 1) for i, (name, n) in enumerate(counts.items())}
    samples = samples_of(counts)
    verdicts = [
        Verdict(s.metric, s.id, "passed" if ok else "failed", score=float(ok))
        for s in samples
        for ok in [int(s.id.rsplit("_", 1)[1]) < right[s.metric]]
    ]
    benchmark = bfcl()
    weights = benchmark.compute_point_weights(samples, CARD.weights)
    score = benchmark.aggregate(samples, verdicts, weights)
    groups = group_scores({name: Tally(right[name], counts[name]) for name in counts})
    parts = {"non_live": 10, "live": 10, "hallucination": 10, "multi_turn": 30}
    official = sum(points * groups[name].score for name, points in parts.items()) / 60
    assert score.score == pytest.approx(official)
    assert score.groups["live"] == pytest.approx(groups["live"].score)
    assert score.groups["overall"] is None  # the agentic categories were not measured


def test_what_is_missing_is_left_out_and_not_nought():
    weights = compute_entry_weights(
        samples_of({"simple_python": 4, "irrelevance": 2}), CARD.weights
    )
    assert set(weights) == {"simple_python", "irrelevance"}
    assert weights["irrelevance"] * 2 == pytest.approx(5)


@pytest.mark.parametrize(
    ("strict", "view"), [("", "official"), ("true", "strict"), ("false", "fuzzy")]
)
def test_slm_evals_option_chooses_what_ranks(strict: str, view: str):
    assert bfcl(strict=strict).ranked_view == view


def test_a_boolean_of_a_configuration_file_is_understood():
    assert bfcl(strict=False).ranked_view == "fuzzy"
    assert bfcl(strict=True).ranked_view == "strict"


@pytest.mark.parametrize("mode", ["fc", "prompt_python"])
async def test_a_withheld_answer_is_no_abstention(mode):
    """An empty answer is what irrelevance asks for, but not where the provider withheld one."""
    benchmark = bfcl()
    samples = benchmark.load_dataset(SOURCE)
    sample = next(item for item in samples if item.metric == "irrelevance")
    ends = {}
    for reason in ("stop", "content_filter"):
        episode = Episode(key="k", epoch=0, finish_reason=reason, state={"mode": mode})
        verdict = await benchmark.evaluate_sample(sample, episode)
        ends[reason] = (verdict.outcome, verdict.reason)
    assert ends["content_filter"] == ("failed", "content_filter")
    assert mode != "fc" or ends["stop"][0] == "passed"


@pytest.mark.parametrize(
    ("metric", "quoted", "tolerant", "reading"),
    [
        ("simple_python", True, 1.0, "rescued"),
        ("simple_python", False, 0.0, "lost"),
        ("irrelevance", False, 0.0, "lost"),
    ],
)
async def test_what_a_server_quotes_is_read_tolerantly_only(metric, quoted, tolerant, reading):
    """Groq answers 400 with the text of a call that it cannot read."""
    benchmark = bfcl()
    sample = next(item for item in benchmark.load_dataset(SOURCE) if item.metric == metric)
    text = ""
    if quoted:
        [call] = reference_calls(sample_to_entry(sample))
        [(name, arguments)] = call.items()
        text = f"<function={name}>{json.dumps(arguments)}</function>"
    episode = Episode(
        key="k", epoch=0, answer=text, finish_reason="unparsable", state={"mode": "fc"}
    )
    verdict = await benchmark.evaluate_sample(sample, episode)
    assert (verdict.outcome, verdict.views["tolerant"]) == ("failed", tolerant)
    assert verdict.views["official"] == 0.0
    assert verdict.details["call_reading"] == reading
