"""The card of `dialect_conversion`: metrics and weights as SCALE, two scoring modes."""

from __future__ import annotations

from evalcore.catalog import BenchmarkCard, build_metric, build_option

CARD = BenchmarkCard(
    key="dialect_conversion",
    suite="sql",
    implementation="evalcore.benchmarks.dialect_conversion.benchmark:DialectConversion",
    dataset="dialect_conversion",
    answer_tokens=4096,  # expected answers have up to 8,200 characters
    cases_are_data=True,
    baselines=dict.fromkeys(
        ("sqlglot", "sqlite", "duckdb", "constant"),
        "evalcore.benchmarks.dialect_conversion.baseline:answer_sample",
    ),
    prompt_version="1",
    scorer_version="14",
    judged=True,
    evidence_by_mode={"scale": "judged"},
    title={"en": "Dialect conversion", "zh": "方言转换"},
    about={
        "en": "Rewrite a statement for another database; both sides are executed on generated "
        "databases and compared.",
        "zh": "将语句改写为另一种数据库方言；在自动生成的数据库上执行双方并比较结果。",
    },
    metrics=(
        build_metric(
            "logical_equivalence",
            4,
            "executed",
            ("Logical equivalence", "逻辑等价"),
            "The converted statement does the same as a written reference on every "
            "generated database.",
            "转换后的语句在每个生成的数据库上都与人工编写的参考语句效果一致。",
        ),
        build_metric(
            "syntax_error_detection",
            2,
            "executed",
            ("Valid in the target", "目标方言语法"),
            "Constructs that the target dialect lacks: the conversion must run there "
            "and keep the meaning.",
            "针对目标方言缺少的写法：转换结果必须能在目标数据库执行且含义不变。",
        ),
        build_metric(
            "domestic_database",
            3,
            "executed",
            ("Chinese databases", "国产数据库"),
            "Conversion to openGauss, GaussDB and OceanBase, executed on the database "
            "whose kernel dialect they share.",
            "转换到 openGauss、GaussDB 与 OceanBase，在内核方言相同的数据库上执行。",
        ),
        build_metric(
            "big_sql_conversion",
            4,
            "executed",
            ("Long statements", "大型 SQL 转换"),
            "Procedures and queries of many lines; procedures are called, then the "
            "tables are compared.",
            "长达数十行的存储过程与查询；调用存储过程后比较表的状态。",
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
    draft_parts=("logical_equivalence", "big_sql_conversion", "domestic_database"),
    draft_target=True,
)
