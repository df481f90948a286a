"""The card of `sql_understanding`: metrics and weights as SCALE, two scoring modes."""

from __future__ import annotations

from evalcore.catalog import BenchmarkCard, build_metric, build_option

CARD = BenchmarkCard(
    key="sql_understanding",
    suite="sql",
    implementation="evalcore.benchmarks.sql_understanding.benchmark:SqlUnderstanding",
    dataset="sql_understanding",
    answer_tokens=2048,  # a reason and one word
    cases_are_data=True,
    baselines=dict.fromkeys(
        ("sqlglot", "sqlite", "duckdb", "constant"),
        "evalcore.benchmarks.sql_understanding.baseline:answer_sample",
    ),
    prompt_version="1",
    scorer_version="11",
    title={"en": "SQL understanding", "zh": "SQL 理解"},
    about={
        "en": "Predict results, classify statements, read plans and spot syntax errors, "
        "without running anything.",
        "zh": "不执行任何语句：预测结果、识别语句类型、读懂执行计划、发现语法错误。",
    },
    evidence_by_mode={"scale": "checked"},
    metrics=(
        build_metric(
            "execution_accuracy",
            4,
            "executed",
            ("Execution accuracy", "执行准确性"),
            "State what a query returns, or what a table contains afterwards; the "
            "expected table was produced by a real engine.",
            "给出语句的返回结果或执行后的表状态；期望结果由真实引擎产生。",
        ),
        build_metric(
            "sql_identification",
            3,
            "parsed",
            ("SQL identification", "SQL 类型识别"),
            "Name the class of a statement (DML, DDL, DCL, TCL) and the statement.",
            "识别语句所属类别（DML、DDL、DCL、TCL）与语句类型。",
        ),
        build_metric(
            "explain_detection",
            2,
            "executed",
            ("Plan reading", "执行计划判断"),
            "State how a given engine will run a query: access path, index, table order.",
            "说明指定引擎如何执行查询：访问方式、所用索引、表的访问顺序。",
        ),
        build_metric(
            "syntax_error_detection",
            1,
            "parsed",
            ("Syntax errors", "语法错误检测"),
            "State whether a statement is valid in its dialect; two parsers agreed on the label.",
            "判断语句在其方言中是否有语法错误；标签由两个解析器一致确认。",
        ),
    ),
    options=(
        build_option(
            "mode",
            "verified: tables as multisets, tolerant numbers; scale: the published rule",
            "verified：按多重集比较并容忍数值误差；scale：按公布的原规则",
            default="verified",
            choices=("verified", "scale"),
        ),
    ),
    draft_parts=(
        *("execution_accuracy", "sql_identification"),
        *("explain_detection", "syntax_error_detection"),
    ),
)
