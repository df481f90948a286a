"""What the form of SQL answers cost, on the pages of a target and of a case."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.answer_scoring import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.records import BenchmarkSpec, Episode, RunSpec, Sample, TargetSpec
from evalcore.results import RunSummary, Totals
from evalcore.scoring.aggregation import score_benchmark
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from tests.support.pages import open_page, store, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

RUN, TARGET = "20260201-100000-dddddd", "openai:fencer"
METRIC = "logical_equivalence"
#: Extraction and outcome by case: one of four right answers is in the form that was asked for.
CASES = {"bare": ("strict", "passed"), "fenced": ("lenient", "passed")}
CASES |= {"wrong": ("lenient", "failed"), "silent": ("none", "failed")}
STAND_IN = {"product": "GaussDB", "stand_in": "postgres 18.4"}
_WHEN = "2026-02-01T10:00:00.000+00:00"


def make_run(settings):
    samples = [Sample(metric=METRIC, id=name, input={"sql": "SELECT 1"}) for name in CASES]
    episodes = [Episode(key=f"{METRIC}/{name}", epoch=0, answer="SELECT 1") for name in CASES]
    verdicts = [
        build_no_answer_verdict(sample, episode, "executed")
        if extraction == "none"
        else to_verdict(
            sample,
            episode,
            extraction,
            ScoringResult(
                outcome=outcome,
                evidence_kind="executed",
                details=STAND_IN if sample.id == "fenced" else {},
            ),
        )
        for sample, episode, (extraction, outcome) in zip(
            samples, episodes, CASES.values(), strict=True
        )
    ]
    benchmark = BenchmarkSpec(
        key=CARD.key,
        suite=CARD.suite,
        dataset="own",
        dataset_hash="d1",
        options={},
        weights={METRIC: 4.0},
        prompt_version="1",
        scorer_version="3",
        column="c1",
        samples=len(samples),
    )
    target = TargetSpec(key=TARGET)
    folder = RunFolder(settings.runs_dir / RUN)
    spec = RunSpec(run_id=RUN, created_at=_WHEN, target=target, benchmarks=(benchmark,))
    folder.create(spec, [(CARD.key, sample) for sample in samples])
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / "s1" / "w1.jsonl") as journal,
    ):
        for episode, verdict in zip(episodes, verdicts, strict=True):
            generations.append(StoredEpisode(benchmark=CARD.key, episode=episode))
            journal.append(StoredVerdict(benchmark=CARD.key, verdict=verdict))
    score = score_benchmark(
        CARD, samples, verdicts, {METRIC: 4.0}, column="c1", full=True, label="own"
    )
    folder.write_summary(
        RunSummary(
            run_id=RUN,
            target=target,
            state="done",
            scoring="s1",
            benchmarks={CARD.key: score},
            totals=Totals(),
            created_at=_WHEN,
            finished_at=_WHEN,
        )
    )
    record_run(settings, folder)


@pytest.mark.parametrize(("language", "said"), [("en", "Lost to format: 25.0"), ("zh", "25.0")])
def test_a_target_says_what_the_form_cost(store, language, said):
    make_run(store)
    shown = words(open_page("target", language, key=TARGET)).replace("\\", "")
    assert said in shown


@pytest.mark.parametrize(("name", "lost"), [("fenced", True), ("bare", False), ("wrong", False)])
def test_a_case_says_that_its_right_answer_is_lost_to_format(store, name, lost):
    make_run(store)
    app = open_page("case", "en", run=RUN, benchmark=CARD.key, metric=METRIC, id=name)
    badges = " ".join(str(element.value) for element in app.main.markdown)
    assert ("Lost to format" in badges) == lost


@pytest.mark.parametrize(
    ("language", "badge"), [("en", "GaussDB by postgres 18.4"), ("zh", "由 postgres 18.4 代替")]
)
def test_a_case_says_which_engine_stood_in_for_its_product(store, language, badge):
    make_run(store)
    shown = {}
    for name in ("fenced", "bare"):
        app = open_page("case", language, run=RUN, benchmark=CARD.key, metric=METRIC, id=name)
        text = " ".join(str(element.value) for element in app.main.markdown)
        shown[name] = badge in text.replace("\\", "").replace("\u2060", "")
    assert shown == {"fenced": True, "bare": False}
