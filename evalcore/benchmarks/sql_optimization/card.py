"""The card of `sql_optimization`: metrics and weights as SCALE, two scoring modes."""

from __future__ import annotations

from evalcore.catalog import (
    CONTROLS,
    COSMETIC_CONTROLS,
    BenchmarkCard,
    UploadForm,
    build_metric,
    build_option,
)

CARD = BenchmarkCard(
    key="sql_optimization",
    suite="sql",
    implementation="evalcore.benchmarks.sql_optimization.benchmark:SqlOptimization",
    dataset="sql_optimization",
    answer_tokens=2048,  # expected answers have up to 2,300 characters
    upload_form=UploadForm(parts=("rewrite", "index_advice")),
    cases_are_data=True,
    baselines=dict.fromkeys(
        ("sqlglot", "sqlite", "duckdb", "constant"),
        "evalcore.benchmarks.sql_optimization.baseline:answer_sample",
    ),
    prompt_version="1",
    scorer_version="14",
    judged=True,
    evidence_by_mode={"scale": "judged"},
    controls=(*CONTROLS, *COSMETIC_CONTROLS),
    title={"en": "SQL optimization", "zh": "SQL 优化"},
    about={
        "en": "Rewrite slow statements and advise indexes; results are compared and the engine's "
        "work is counted, so a rewrite that saves nothing scores nothing.",
        "zh": "改写慢语句并给出索引建议；比较结果并统计引擎实际工作量，没有节省就得不到分。",
    },
    metrics=(
        build_metric(
            "logical_equivalence",
            3,
            "executed",
            ("Logical equivalence", "逻辑等价"),
            "The rewrite returns the same rows on every generated database, paid by how "
            "much of the reference's saving in the engine's work it reaches.",
            "改写在每个生成的数据库上结果一致；按其节省的引擎工作量占参考改写节省量的比例计分。",
        ),
        build_metric(
            "syntax_error_detection",
            3,
            "executed",
            ("Runs", "可执行"),
            "The rewrite is valid on the engine; counted only if it is equivalent, by "
            "the share of work it saves, because any valid statement runs.",
            "改写可在引擎上执行；仅当结果等价时按节省工作量的比例计分，因为任何合法语句都能执行。",
        ),
        build_metric(
            "optimization_depth",
            2,
            "executed",
            ("Optimization depth", "优化深度"),
            "Each improvement listed for the case, by its own weight: visible in the "
            "parse tree or in fewer rows read, and only in an equivalent rewrite.",
            "逐条检查可做的优化，各有权重：须见于语法树或更少的读取量，且改写等价。",
        ),
        build_metric(
            "index_advice",
            2,
            "executed",
            ("Index advice", "索引建议"),
            "The advised index is created and its effect measured; a wrong column "
            "order does not pass.",
            "真实创建所建议的索引并测量效果；列顺序错误不能通过。",
        ),
    ),
    options=(
        build_option(
            "mode",
            "verified: engines decide, judges only what engines cannot; scale: only judges, by "
            "the published rule",
            "verified：由引擎裁决，其余才交评审；scale：按公布规则仅由评审裁决",
            default="verified",
            choices=("verified", "scale"),
        ),
    ),
    draft_parts=("rewrite",),
)
