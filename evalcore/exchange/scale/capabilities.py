"""SCALE's words for what we have too: its capabilities are our benchmarks, its indicators metrics.

Its weights stand here and not in the catalogue: they are facts about what it published, whatever
ours are today. Source: `evaluator/config/dataset_config.py` of actiontech/sql-llm-benchmark, 2026.
"""

from __future__ import annotations

from evalcore.catalog import BenchmarkCard, MetricCard

#: The weight of each metric, by capability.
WEIGHTS: dict[str, dict[str, float]] = {
    "sql_understanding": {
        "execution_accuracy": 4,
        "sql_identification": 3,
        "explain_detection": 2,
        "syntax_error_detection": 1,
    },
    "dialect_conversion": {
        "logical_equivalence": 4,
        "syntax_error_detection": 2,
        "domestic_database": 3,
        "big_sql_conversion": 4,
    },
    "sql_optimization": {
        "logical_equivalence": 3,
        "syntax_error_detection": 3,
        "optimization_depth": 2,
        "index_advice": 2,
    },
}
CAPABILITIES = tuple(WEIGHTS)
SUFFIX = ".jsonl"
_RENAMED = {"China-made_database": "domestic_database"}
_SCALE = {ours: theirs for theirs, ours in _RENAMED.items()}
#: How an indicator is decided there; what is not listed is left to judges.
_OBJECTIVE = frozenset({"sql_understanding"})
SUBJECTIVE = "optimization_depth"


def metric_of(indicator: str) -> str:
    """Our metric for an indicator, which is named after its file of cases."""
    name = indicator.removesuffix(SUFFIX)
    return _RENAMED.get(name, name)


def indicator_of(metric: str) -> str:
    """The indicator for a metric of ours, without the suffix of its file."""
    return _SCALE.get(metric, metric)


def evaluation_type(capability: str, metric: str) -> str:
    """`objective`, `hybrid` or `subjective`, as its reports call the ways to a verdict."""
    if capability in _OBJECTIVE:
        return "objective"
    return "subjective" if metric == SUBJECTIVE else "hybrid"


def build_scale_card(capability: str) -> BenchmarkCard:
    """What scoring needs to know of a capability of CAPABILITIES."""
    metrics = tuple(MetricCard(key, weight) for key, weight in WEIGHTS[capability].items())
    return BenchmarkCard(key=capability, suite="sql", implementation="", metrics=metrics)
