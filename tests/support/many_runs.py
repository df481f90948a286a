"""A large store in a short time: many targets, a run of each a month, for what must stay fast.

Every run folder has the real form and is read by the real code; only the making is cheap. Runs draw
on a few `Sheet`s of answers that are scored once by the real rules, and journals of equal content
are one file under many names: read them, never write into one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from evalcore.catalog import BenchmarkCard, benchmark_cards
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Message,
    Record,
    RunSpec,
    Sample,
    TargetSpec,
    Usage,
    Verdict,
    content_hash,
    to_json,
)
from evalcore.results import BenchmarkScore, RunSummary, Totals
from evalcore.scoring.aggregation import score_benchmark
from evalcore.settings import Settings
from evalcore.store import case_tables
from evalcore.store.index import open_index
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredSample, StoredVerdict
from evalcore.store.tinydb_storage import AtomicStorage
from evalcore.target_cards import FILE, TABLE, TargetCard

SUITE = "sql"
SCORING = "s1"
CONTROLS = ("control:null", "control:noop", "control:reference")
#: Would load an image, draw a link or break a table wherever it is not shown as plain text.
HOSTILE = (
    "![x](http://evil.invalid/i.png)",
    "<b onmouseover=alert(1)>bold</b>",
    "| a | b | :red[**c**] $x^2$",
    "=HYPERLINK(1)",
    "模型-7b",
)
_SHEETS = 64
_KINDS = ("openai", "openai", "openai", "hf", "app", "baseline")
_SIZES = (0.5, 1.5, 7.0, 32.0, 70.0, None)
_YEAR, _MONTH = 2026, 10  # of the newest runs
_ODD = {"hostile": 97, "incomplete": 50, "partly": 40, "variant": 10, "unpriced": 8}  # every n-th


class Sheet(Record, frozen=True):
    """What one run answered: where its journals lie, and its scores by benchmark."""

    generations: Path
    verdicts: Path
    scores: dict[str, BenchmarkScore]


def make_store(
    settings: Settings,
    targets: int = 1_000,
    months: int = 1,
    *,
    per_metric: int = 2,
    tables: bool = False,
) -> None:
    """Fill an empty store with `targets` targets, each with a run in each of the last `months`.

    Every metric of the SQL suite has `per_metric` cases. The controls ran in the newest month. Some
    targets have hostile names, some newest runs are incomplete or lack benchmarks, and every target
    has a card. With `tables` the newest month has its Parquet caches, as after a first visit.
    """
    declared = _declared(per_metric)
    shared = settings.data_dir / "shared"
    shared.mkdir(parents=True)
    sheets = [_sheet(shared, declared, n / (_SHEETS - 1)) for n in range(_SHEETS)]
    broken = _sheet(shared, declared, 0.5, failing=1)
    for spec, number in _runs(targets, months, declared):
        sheet = broken if _odd(number, "incomplete") else sheets[_level(spec, number)]
        samples = _samples(shared, declared, tuple(benchmark.key for benchmark in spec.benchmarks))
        folder = _write(settings.runs_dir, samples, spec, sheet, number)
        if tables and spec.created_at.startswith(f"{_YEAR}-{_MONTH}"):
            case_tables.ensure_samples_table(folder)
    cards = {name_of(number): msgspec.to_builtins(_card(number)) for number in range(targets)}
    AtomicStorage(settings.data_dir / FILE).write({TABLE: cards})
    open_index(settings).rebuild()


def name_of(number: int) -> str:
    """The key of a target."""
    hostile = f" {HOSTILE[number // 97 % len(HOSTILE)]}" if _odd(number, "hostile") else ""
    return f"{_KINDS[number % len(_KINDS)]}:lab-{number % 23}/model-{number:04d}{hostile}"


def _odd(number: int, what: str) -> bool:
    return number >= 0 and number % _ODD[what] == _ODD[what] - 1


def _declared(per_metric: int) -> list[tuple[str, Sample]]:
    """(benchmark, sample): the cases of every run."""
    return [
        (card.key, Sample(metric.key, str(n), {"dialect": "sqlite"}, difficulty=1 + n % 3))
        for card in _cards()
        for metric in card.metrics
        for n in range(per_metric)
    ]


def _samples(shared: Path, declared: list[tuple[str, Sample]], keys: tuple[str, ...]) -> Path:
    """The declared cases of some benchmarks as a file."""
    path = shared / f"samples-{len(keys)}.jsonl"
    if not path.exists():
        lines = (to_json(StoredSample(key, case)) for key, case in declared if key in keys)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def _cards() -> list[BenchmarkCard]:
    return [card for card in benchmark_cards().values() if card.suite == SUITE]


def _sheet(
    shared: Path, declared: list[tuple[str, Sample]], skill: float, failing: int = 0
) -> Sheet:
    """Answers of a skill from 0 to 1; the first `failing` cases have none."""
    chance = random.Random(f"{skill} {failing}")
    verdicts = [
        (key, _verdict(sample, chance.random() < skill, number < failing))
        for number, (key, sample) in enumerate(declared)
    ]
    episodes = (to_json(StoredEpisode(key, _episode(sample))) for key, sample in declared)
    scored = (to_json(StoredVerdict(key, verdict)) for key, verdict in verdicts)
    name = f"{skill:.3f}-{failing}.jsonl"
    paths = shared / f"generations-{name}", shared / f"verdicts-{name}"
    for path, lines in zip(paths, (episodes, scored), strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    scores = {
        card.key: score_benchmark(
            card,
            own := [sample for key, sample in declared if key == card.key],
            [verdict for key, verdict in verdicts if key == card.key],
            card.weights,
            column=_column(card.key, own),
            label=f"{card.dataset} · verified · {len(own)} samples",
        )
        for card in _cards()
    }
    return Sheet(*paths, scores)


def _column(key: str, own: list[Sample]) -> str:
    return content_hash([key, [sample.case_hash for sample in own]], 12)


def _verdict(sample: Sample, passed: bool, failing: bool) -> Verdict:
    if failing:
        return Verdict(sample.metric, sample.id, outcome="target_error", reason="server")
    return Verdict(
        metric=sample.metric,
        id=sample.id,
        outcome="passed" if passed else "failed",
        score=float(passed),
        evidence_kind="executed",
        reason="" if passed else "wrong_result",
    )


def _episode(sample: Sample) -> Episode:
    return Episode(
        key=sample.key,
        epoch=0,
        answer=f"answer to {sample.key}",
        messages=(Message(role="user", content=f"What does case {sample.id} return?"),),
        finish_reason="stop",
        usage=Usage(input_tokens=300, output_tokens=80),
        cost=0.001,
        latency=0.8,
        attempts=1,
    )


def _runs(
    targets: int, months: int, declared: list[tuple[str, Sample]]
) -> Iterator[tuple[RunSpec, int]]:
    """The declarations of all runs, oldest first, each with the number of its target; controls
    count from -1 downwards."""
    specs = {card.key: _benchmark(card, declared) for card in _cards()}
    for back in range(months - 1, -1, -1):
        year, month = divmod(12 * _YEAR + _MONTH - 1 - back, 12)
        controls = range(-len(CONTROLS), 0) if not back else range(0)
        for number in (*controls, *range(targets)):
            key = name_of(number) if number >= 0 else CONTROLS[-number - 1]
            options = {"temperature": 0.7} if _odd(number, "variant") else {}
            chosen = list(specs.values())[: 1 if _odd(number, "partly") else None]
            spec = RunSpec(
                run_id=f"{year}{month + 1:02d}15-{number + 100_000:06d}",
                created_at=f"{year}-{month + 1:02d}-15T{number % 24:02d}:00:00.000+00:00",
                target=TargetSpec(key, options),
                benchmarks=tuple(chosen),
            )
            yield spec, number


def _benchmark(card: BenchmarkCard, declared: list[tuple[str, Sample]]) -> BenchmarkSpec:
    own = [sample for key, sample in declared if key == card.key]
    return BenchmarkSpec(
        key=card.key,
        suite=card.suite,
        dataset=card.dataset,
        dataset_hash=content_hash([sample.case_hash for sample in own]),
        options={"mode": "verified"},
        weights=card.weights,
        prompt_version="1",
        scorer_version="1",
        column=_column(card.key, own),
        samples=len(own),
    )


def _level(spec: RunSpec, number: int) -> int:
    """Which sheet a run answered with: a target's skill is its own and drifts over the months."""
    if number < 0:
        return (0, 2, _SHEETS - 1)[-number - 1]
    skill = random.Random(number).betavariate(3, 2)
    drift = random.Random(spec.run_id).gauss(0, 0.04)
    return round(min(1.0, max(0.0, skill + drift)) * (_SHEETS - 1))


def _write(root: Path, samples: Path, spec: RunSpec, sheet: Sheet, number: int) -> RunFolder:
    """A finished run folder. Files are not synced to disk: a store of a test needs no power cut."""
    folder = RunFolder(root / spec.run_id)
    verdicts = folder.verdicts_dir(SCORING)
    generations = folder.path / "generations"
    verdicts.mkdir(parents=True)
    generations.mkdir()
    os.link(samples, folder.path / "samples.jsonl")
    os.link(sheet.generations, generations / "w1.jsonl")
    os.link(sheet.verdicts, verdicts / "w1.jsonl")
    (folder.path / "spec.json").write_bytes(to_json(spec))
    folder.summary_path.write_bytes(to_json(_summary(spec, sheet, number)))
    return folder


def _summary(spec: RunSpec, sheet: Sheet, number: int) -> RunSummary:
    scores = {benchmark.key: sheet.scores[benchmark.key] for benchmark in spec.benchmarks}
    cases = sum(score.samples for score in scores.values())
    price = random.Random(-number).lognormvariate(-7, 1.5)
    return RunSummary(
        run_id=spec.run_id,
        target=spec.target,
        state="done" if all(score.complete for score in scores.values()) else "incomplete",
        scoring=SCORING,
        benchmarks=scores,
        totals=Totals(
            input_tokens=300 * cases,
            output_tokens=80 * cases,
            cost=None if _odd(number, "unpriced") else price * cases,
            latency_p50=0.2 + number % 17 / 10,
            latency_p95=2.5,
            requests=cases,
        ),
        created_at=spec.created_at,
        finished_at=spec.created_at,
    )


def _card(number: int) -> TargetCard:
    hostile = HOSTILE[number % len(HOSTILE)] if _odd(number, "hostile") else ""
    return TargetCard(
        name=f"Model {number} {hostile}".strip(),
        organization=f"Lab {number % 23}",
        type="chat",
        parameters=_SIZES[number % len(_SIZES)],
        open_weights=None if number % 5 == 4 else number % 2 == 0,
        released=f"2026-{1 + number % 10:02d}",
    )
