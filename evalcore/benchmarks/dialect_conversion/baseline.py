"""How the baselines convert a statement: sqlglot transpiles it."""

from __future__ import annotations

from evalcore.records import GenerationRequest
from evalcore.sqlkit import syntax
from evalcore.sqlkit.dialects import parse_server
from evalcore.targets.baseline import CONSTANT_SQL, Baseline


def answer_sample(request: GenerationRequest, baseline: Baseline) -> str:
    """The answer of a baseline; see `BenchmarkCard.baselines`."""
    if baseline.is_constant:
        return CONSTANT_SQL
    question = request.input
    source, target = (
        parse_server(question[name]).dialect for name in ("source_dialect", "target_dialect")
    )
    return syntax.transpile_sql(question["sql"], source, target)
