"""What benchmarks share whose answers are SQL that engines execute."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks import sql_evidence
from evalcore.benchmarks.base import Benchmark, DatasetIssue
from evalcore.benchmarks.sql_verdict import ScoringResult
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.records import MEASURED, Sample, Verdict
from evalcore.sqlkit.engines.pool import EnginePool
from evalcore.sqlkit.equivalence.decide import Decider
from evalcore.sqlkit.equivalence.records import Equivalence, EquivalenceQuestion
from evalcore.sqlkit.products import missing_feature, replace_minus
from evalcore.sqlkit.rewrite import transpile_within

_NO_ENGINE = "no engine here runs this dialect"
_NO_PRODUCT = "{title} has {feature}, which its stand-in lacks; give a real server in {engine}_dsn"


class ExecutedBenchmark(Benchmark):
    """Keeps engines and prepared databases while it lives; nothing of a verdict depends on that."""

    confirms_gold = True
    confirms_by_engines = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.engines = EnginePool()
        self.decider = Decider(self.engines.get)

    def close(self) -> None:
        self.engines.close()

    @property
    def is_judged_only(self) -> bool:
        """Whether the published rule is asked for, by which a panel decides everything."""
        return bool(self.options.get("mode") == "scale")

    async def decide_equivalence(
        self, question: EquivalenceQuestion, answer: str, title: str = ""
    ) -> Equivalence:
        """The decision, made beside the event loop; `undecided` where the engine is missing, or
        lacks what the product `title` has. Where the answer can be said without that and then gives
        other rows, it is different all the same."""
        decision = await self._run_decider(question, answer)
        if decision.cause == "reference_fails":
            return _attribute_to_product(decision, question, title)
        feature = decision.status == "error" and missing_feature(answer, title, decision.message)
        if not feature:
            return decision
        standard = replace_minus(answer) if question.engine == "postgres" else answer
        retried = await self._run_decider(question, standard) if standard != answer else decision
        if retried.status == "error" and not missing_feature(standard, title, retried.message):
            return retried
        plain = transpile_within(standard, question.engine)
        retried = await self._run_decider(question, plain) if plain != standard else retried
        if retried.status == "different":
            return retried
        return _build_undecided_feature(feature, question, title)

    async def _run_decider(self, question: EquivalenceQuestion, answer: str) -> Equivalence:
        if not question.engine:
            return Equivalence(status="undecided", cause="no_engine", message=_NO_ENGINE)
        try:
            return await asyncio.to_thread(self.decider.decide, question, answer)
        except (MissingDependency, EnvironmentFailure) as error:
            return Equivalence(status="undecided", cause="no_engine", message=str(error))

    def validate_references(
        self, samples: Sequence[Sample]
    ) -> tuple[list[DatasetIssue], dict[str, str]]:
        """Execution confirmed everything; the engines are those that decided."""
        return [], self.engines.collect_versions()


def _attribute_to_product(
    decision: Equivalence, question: EquivalenceQuestion, title: str
) -> Equivalence:
    """A reference that fails, unless only the stand-in of the product `title` refuses it."""
    feature = missing_feature(question.reference, title, decision.message)
    return _build_undecided_feature(feature, question, title) if feature else decision


def _build_undecided_feature(
    feature: str, question: EquivalenceQuestion, title: str
) -> Equivalence:
    return Equivalence(
        status="undecided",
        cause="product_feature",
        message=_NO_PRODUCT.format(feature=feature, title=title, engine=question.engine),
    )


def merge_judged_and_executed(judged: Verdict, executed: Verdict) -> Verdict:
    """A judged verdict that also says what execution found, where it found anything."""
    if executed.evidence_kind != "executed" or executed.outcome not in MEASURED:
        return judged
    details = {**judged.details, "executed": executed.outcome}
    return msgspec.structs.replace(judged, details=details)


def score_execution(decision: Equivalence, reference: str) -> ScoringResult:
    """The ruling on a decision: undecided is not executed, everything else is measured."""
    outcomes = {"equivalent": "passed", "different": "failed", "error": "failed"}
    reasons = {"equivalent": "", "different": "wrong_answer", "error": "invalid_sql"}
    return ScoringResult(
        outcome=outcomes.get(decision.status, "not_executed"),  # type: ignore[arg-type]
        evidence_kind="executed",
        reason=reasons.get(decision.status, decision.cause),
        note=sql_evidence.describe_decision(decision),
        details=sql_evidence.build_decision_details(decision),
        evidence=sql_evidence.build_decision_sections(decision, reference),
    )
