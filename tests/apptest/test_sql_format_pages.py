"""What the form of SQL answers cost, on the pages of a target and of a case."""

from __future__ import annotations

import pytest

from evalcore.benchmarks.answer_scoring import ScoringResult, build_no_answer_verdict, to_verdict
from evalcore.benchmarks.dialect_conversion.card import CARD
from evalcore.records import Episode, Sample, TargetSpec
from tests.support.judged_runs import METRIC, write_scored_run
from tests.support.pages import open_page, store, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

RUN, TARGET = "20260201-100000-dddddd", "openai:fencer"
#: Extraction and outcome by case: one of four right answers is in the form that was asked for.
CASES = {"bare": ("strict", "passed"), "fenced": ("lenient", "passed")}
CASES |= {"wrong": ("lenient", "failed"), "silent": ("none", "failed")}
STAND_IN = {"product": "GaussDB", "stand_in": "postgres 18.4"}


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
    target = TargetSpec(key=TARGET)
    write_scored_run(
        settings, RUN, target, samples, verdicts, episodes, column="c1", scorer_version="3"
    )


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
