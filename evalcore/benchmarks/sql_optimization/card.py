"""The card of `sql_optimization`: metrics and weights as SCALE, two scoring modes."""

from __future__ import annotations

from evalcore.catalog import BenchmarkCard, MetricCard, OptionCard

CARD = BenchmarkCard(
    key="sql_optimization",
    suite="sql",
    implementation="evalcore.benchmarks.sql_optimization.benchmark:SqlOptimization",
    dataset="sql_optimization",
    prompt_version="1",
    scorer_version="1",
    judged=True,
    title={"en": "SQL optimization", "zh": "SQL 优化"},
    about={
        "en": "Rewrite slow statements and advise indexes; results are compared and the work of "
        "the engine is counted, so returning the input earns nothing.",
        "zh": "改写慢语句并给出索引建议；比较结果并统计引擎实际工作量，原样返回得不到分。",
    },
    metrics=(
        MetricCard(
            key="logical_equivalence",
            weight=3,
            evidence="executed",
            title={"en": "Logical equivalence", "zh": "逻辑等价"},
            about={
                "en": "The rewrite differs from the original, gives the same rows on every "
                "generated database and reads no more.",
                "zh": "改写与原语句不同，在每个生成的数据库上结果一致，且读取的数据不增加。",
            },
        ),
        MetricCard(
            key="syntax_error_detection",
            weight=3,
            evidence="executed",
            title={"en": "Runs", "zh": "可执行"},
            about={
                "en": "The rewrite differs from the original and runs on the engine, with the "
                "same columns.",
                "zh": "改写与原语句不同，可在引擎上执行，且返回相同的列。",
            },
        ),
        MetricCard(
            key="optimization_depth",
            weight=2,
            evidence="executed",
            title={"en": "Optimization depth", "zh": "优化深度"},
            about={
                "en": "Each improvement that the case knows, by its own weight: seen in the parse "
                "tree or in fewer rows read, and only in an equivalent rewrite.",
                "zh": "逐条检查可做的优化，各有权重：须见于语法树或更少的读取量，且改写等价。",
            },
        ),
        MetricCard(
            key="index_advice",
            weight=2,
            evidence="executed",
            title={"en": "Index advice", "zh": "索引建议"},
            about={
                "en": "The advised index is created and its effect measured; a wrong order of "
                "columns does not pass.",
                "zh": "真实创建所建议的索引并测量效果；列顺序错误不能通过。",
            },
        ),
    ),
    options=(
        OptionCard(
            name="mode",
            default="verified",
            choices=("verified", "scale"),
            about={
                "en": "verified: engines decide, judges only the rest; scale: judges alone, by "
                "the published rule",
                "zh": "verified：由引擎裁决，其余才交评审；scale：按公布规则仅由评审裁决",
            },
        ),
    ),
)
