"""A small finished run of `bfcl` in a store: single-turn cases really scored, one of many turns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from evalcore.benchmarks.bfcl.benchmark import Bfcl
from evalcore.benchmarks.bfcl.card import CARD
from evalcore.benchmarks.bfcl.entry import BfclEntry
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Message,
    RunSpec,
    Sample,
    Section,
    TargetSpec,
    ToolCall,
    Verdict,
)
from evalcore.results import RunSummary
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from tests.support.bfcl import entry, function, weather

RUN = "20260201-100000-cccccc"
SCORING = "s1"
TARGET = "openai:caller"
HOSTILE = "![x](http://evil.invalid/i.png) :red[**boo**]"

_WAY = function("way.find", {"start": "string", "end": "string"}, ("start", "end"))
_TWO_WAYS = [
    {"way.find": {"start": ["A"], "end": ["B"]}},
    {"way.find": {"start": ["B"], "end": ["C"]}},
]
#: Answers in prompt mode by id, with the entry that each is to.
ANSWERS: Mapping[str, tuple[BfclEntry, str]] = {
    "right": (weather(), "[weather.now(city='Oslo', days=3)]"),
    "value": (weather(), "[weather.now(city='Rome', days=3)]"),
    "missing": (weather(), "[weather.now(days=3)]"),
    "extra": (weather(), "[weather.now(city='Oslo', days=3, sky='blue')]"),
    "name": (weather(), "[weather.then(city='Oslo', days=3)]"),
    "prose": (weather(), f"I will not. {HOSTILE}"),
    "fenced": (weather(), "Here:\n```python\n[weather.now(city='Oslo', days=3)]\n```\nDone."),
    "one_of_two": (entry("parallel", [_WAY], _TWO_WAYS), "[way.find(start='B', end='C')]"),
    "called": (weather("irrelevance"), "[weather.now(city='Oslo')]"),
    "abstained": (weather("irrelevance"), "None of these fits."),
}
TURNS = "multi"
NATIVE = "native"


def make_run(settings: Settings, *, failing: bool = True) -> RunFolder:
    """The run, entered into the index; without `failing` only the right answer is in it."""
    benchmark = Bfcl({"categories": [], "strict": "", "exclude_flagged": False})
    message = ANSWERS if failing else {"right": ANSWERS["right"]}
    samples = {name: _sample(item, name) for name, (item, _) in message.items()}
    episodes = {
        name: benchmark.episode_from_answer(sample, message[name][1], {"mode": "prompt_python"})
        for name, sample in samples.items()
    }
    if failing:
        samples |= {NATIVE: _sample(weather(), NATIVE), TURNS: _turns()}
        episodes |= {
            NATIVE: _native(samples[NATIVE]),
            TURNS: _build_reply_episode(samples[TURNS], "Done."),
        }
    verdicts = [
        _turns_verdict()
        if name == TURNS
        else asyncio.run(benchmark.evaluate_sample(samples[name], episodes[name]))
        for name in samples
    ]
    return _store(settings, benchmark, list(samples.values()), list(episodes.values()), verdicts)


def _store(
    settings: Settings,
    benchmark: Bfcl,
    samples: list[Sample],
    episodes: list[Episode],
    verdicts: list[Verdict],
) -> RunFolder:
    weights = benchmark.compute_point_weights(samples, CARD.weights)
    benchmark_spec = BenchmarkSpec(
        key=CARD.key,
        suite=CARD.suite,
        dataset=CARD.dataset,
        dataset_hash="d1",
        options=benchmark.options,
        weights=weights,
        prompt_version="1",
        scorer_version="1",
        column="c1",
        samples=len(samples),
    )
    created = "2026-02-01T10:00:00.000+00:00"
    spec = RunSpec(RUN, created, TargetSpec(TARGET), (benchmark_spec,))
    folder = RunFolder(settings.runs_dir / RUN)
    folder.create(spec, [(CARD.key, sample) for sample in samples])
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as scored,
    ):
        for episode, verdict in zip(episodes, verdicts, strict=True):
            generations.append(StoredEpisode(benchmark=CARD.key, episode=episode))
            scored.append(StoredVerdict(benchmark=CARD.key, verdict=verdict))
    label = f"bfcl · categories=[], exclude_flagged=False, strict= · {len(samples)} samples"
    score = benchmark.aggregate(samples, verdicts, weights, column="c1", full=True, label=label)
    folder.write_summary(
        RunSummary(RUN, spec.target, "done", SCORING, {CARD.key: score}, created_at=created)
    )
    record_run(settings, folder)
    return folder


def _sample(bfcl_entry: BfclEntry, name: str, meta: Mapping[str, Any] | None = None) -> Sample:
    truth = (
        {} if bfcl_entry.ground_truth is None else {"ground_truth": _text(bfcl_entry.ground_truth)}
    )
    flags = {"flagged": "java_list"} if name == "value" else {}
    return Sample(
        metric=bfcl_entry.category,
        id=name,
        input={"question": bfcl_entry.question, "functions": _text(bfcl_entry.functions)},
        reference=truth,
        meta={**flags, **(meta or {})},
    )


def _native(sample: Sample) -> Episode:
    call = ToolCall("1", "weather_now", '{"city": "Oslo", "days": 3}')
    text = (Message("user", "Please."), Message("assistant", tool_calls=(call,)))
    return Episode(key=sample.key, epoch=0, messages=text, state={"mode": "fc"})


def _build_reply_episode(sample: Sample, text: str) -> Episode:
    message = (Message("user", "Water it."), Message("assistant", text))
    state = {"mode": "prompt_python"}
    return Episode(key=sample.key, epoch=0, answer=text, messages=message, state=state)


def _turns() -> Sample:
    offered = [function(f"tool_{number}", {"n": "integer"}) for number in range(5)]
    question = [[{"role": "user", "content": "Water it."}], []]
    return Sample(
        metric="multi_turn_base",
        id=TURNS,
        input={"question": question, "functions": _text(offered)},
        reference={"ground_truth": '[["water(litres=6)"],[]]', "scenario": '{"Garden":{"a":1}}'},
    )


def _turns_verdict() -> Verdict:
    differs = {"expected": 6, "actual": 0}
    rows = [[1, "reference", "water(litres=6)", "{}"]]
    return Verdict(
        metric="multi_turn_base",
        id=TURNS,
        outcome="failed",
        score=0.0,
        evidence_kind="executed",
        reason="wrong_answer",
        note="after turn 1 the state differs: Garden.litres",
        views={"official": 0.0},
        details={
            "mode": "prompt_python",
            "error_group": "checker",
            "error_type": "multi_turn:instance_state_mismatch",
        },
        evidence=(
            Section(
                "tree_diff",
                "state_difference",
                {**differs, "differences": [{"path": "Garden.litres", **differs}]},
            ),
            Section("table", "missing_results", {"columns": ["result"], "rows": [["{}"]]}),
            Section("table", "turns", {"columns": ["turn", "by", "call", "result"], "rows": rows}),
        ),
    )


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
