"""What benchmarks share whose answers are SQL that engines execute."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalcore.benchmarks import sql_evidence
from evalcore.benchmarks.base import Benchmark, Finding
from evalcore.benchmarks.sql_verdict import Ruling
from evalcore.errors import EnvironmentFailure, MissingDependency
from evalcore.records import MEASURED, Sample, Verdict
from evalcore.sqlkit.engines.pool import EnginePool
from evalcore.sqlkit.equivalence.decide import Decider
from evalcore.sqlkit.equivalence.records import Equivalence, Question
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
    def by_judges_alone(self) -> bool:
        """Whether the published rule is asked for, by which a panel decides everything."""
        return bool(self.options.get("mode") == "scale")

    async def decide(self, question: Question, answer: str, title: str = "") -> Equivalence:
        """The decision, made beside the event loop; `undecided` where the engine is missing, or
        lacks what the product `title` has. Where the answer can be said without that and then gives
        other rows, it is different all the same."""
        found = await self._decide(question, answer)
        if found.cause == "reference_fails":
            return _within_product(found, question, title)
        feature = found.status == "error" and missing_feature(answer, title, found.message)
        if not feature:
            return found
        standard = replace_minus(answer) if question.engine == "postgres" else answer
        rest = await self._decide(question, standard) if standard != answer else found
        if rest.status == "error" and not missing_feature(standard, title, rest.message):
            return rest
        plain = transpile_within(standard, question.engine)
        rest = await self._decide(question, plain) if plain != standard else rest
        if rest.status == "different":
            return rest
        return _lacking(feature, question, title)

    async def _decide(self, question: Question, answer: str) -> Equivalence:
        if not question.engine:
            return Equivalence(status="undecided", cause="no_engine", message=_NO_ENGINE)
        try:
            return await asyncio.to_thread(self.decider.decide, question, answer)
        except (MissingDependency, EnvironmentFailure) as error:
            return Equivalence(status="undecided", cause="no_engine", message=str(error))

    def confirm(self, samples: Sequence[Sample]) -> tuple[list[Finding], dict[str, str]]:
        """Execution confirmed everything; the engines are those that decided."""
        return [], self.engines.collect_versions()


def _within_product(found: Equivalence, question: Question, title: str) -> Equivalence:
    """A reference that fails, unless only the stand-in of the product `title` refuses it."""
    feature = missing_feature(question.reference, title, found.message)
    return _lacking(feature, question, title) if feature else found


def _lacking(feature: str, question: Question, title: str) -> Equivalence:
    return Equivalence(
        status="undecided",
        cause="product_feature",
        message=_NO_PRODUCT.format(feature=feature, title=title, engine=question.engine),
    )


def beside_execution(judged: Verdict, executed: Verdict) -> Verdict:
    """A judged verdict that also says what execution found, where it found anything."""
    if executed.evidence_kind != "executed" or executed.outcome not in MEASURED:
        return judged
    details = {**judged.details, "executed": executed.outcome}
    return msgspec.structs.replace(judged, details=details)


def by_execution(found: Equivalence, reference: str) -> Ruling:
    """The ruling on a decision: undecided is not executed, everything else is measured."""
    outcomes = {"equivalent": "passed", "different": "failed", "error": "failed"}
    reasons = {"equivalent": "", "different": "wrong_answer", "error": "invalid_sql"}
    return Ruling(
        outcome=outcomes.get(found.status, "not_executed"),  # type: ignore[arg-type]
        evidence_kind="executed",
        reason=reasons.get(found.status, found.cause),
        note=sql_evidence.note(found),
        details=sql_evidence.details(found),
        evidence=sql_evidence.sections(found, reference),
    )
