"""Read what SCALE published as rows with a verdict each, and as questions without one.

A row knows which questions its answers put, by their hashes; a question knows nothing of a verdict,
so that whoever decides it cannot see one. Three quarters of the published reports are copies of
earlier ones: a file that was read before is not read again, and equal questions are asked once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from evalcore.errors import DatasetError, UsageError
from evalcore.exchange.scale.cases import answer_text
from evalcore.exchange.scale.forms import (
    CASES,
    SUBJECTIVE,
    ScaleCaseRow,
    digest_of,
    json_object,
    metric_of,
    read_report,
)
from evalcore.exchange.scale.twins import Twin, build_rewrite_twin, hash_sql, read_statements
from evalcore.i18n import Note
from evalcore.records import Record, content_hash
from evalcore.sqlkit.dialects import TITLES, Server, parse_server

#: What is asked of an answer: does it do what the twin does, would the server take it, does it name
#: the result, the label of the parser, an index that the case asks for.
Kind = Literal["equivalence", "conversion", "rewrite", "table", "label", "index"]
CONVERSION, OPTIMIZATION, UNDERSTANDING = (
    "dialect_conversion",
    "sql_optimization",
    "sql_understanding",
)
_PUBLISHED_DIALECT = "mysql"  # of cases that name no database


class BlindQuestion(Record, frozen=True):
    """One answer and what to hold it against; nothing of its verdict or of who gave it.

    `engine` decides ("" where none can). `title` and `version` are the product as the case names
    it; `case` holds the fields of the case that the kind needs.
    """

    kind: Kind
    engine: str
    answer: str
    title: str = ""
    version: str = ""
    twin: Twin = Twin(())
    case: dict[str, Any] = {}


class PublishedRow(Record, frozen=True):
    """One graded row: `questions` are the hashes of what its answers put, in the order of its
    answers; empty where nothing of it can be decided."""

    month: str
    target: str
    capability: str
    metric: str
    row_id: str
    case_id: str
    weight: float
    passed: bool
    questions: tuple[str, ...] = ()


class PublishedData(Record, frozen=True):
    """All rows of a folder, and the questions by their hashes."""

    rows: tuple[PublishedRow, ...]
    questions: dict[str, BlindQuestion]


def read_published_data(
    data_folder: Path, twins: dict[str, Twin], month: str = ""
) -> PublishedData:
    """Every row with a verdict, in the order of month, capability and target; `month` alone if set.

    Raises UsageError for a folder without reports, DatasetError for a report of another form.
    """
    root = data_folder / CASES
    if not root.is_dir():
        raise UsageError(Note("scale_no_cases", path=data_folder, folder=CASES))
    questions: dict[str, BlindQuestion] = {}
    rows_by_digest: dict[tuple[str, str], list[PublishedRow]] = {}
    rows: list[PublishedRow] = []
    for path in sorted(root.glob(f"eval_run_case_{month or '*'}/*/*.json")):
        published = path.parent.parent.name.removeprefix("eval_run_case_")
        capability, digest = path.parent.name, digest_of(path)
        if (capability, digest) not in rows_by_digest:
            rows_by_digest[capability, digest] = list(_read_rows(path, twins, questions))
        rows += (
            msgspec.structs.replace(row, month=published, target=path.stem)
            for row in rows_by_digest[capability, digest]
        )
    return PublishedData(tuple(rows), questions)


def _read_rows(
    path: Path, twins: dict[str, Twin], questions: dict[str, BlindQuestion]
) -> Iterator[PublishedRow]:
    """The rows of a report, of each metric's first indicator; enters their questions."""
    capability, metrics = path.parent.name, set[str]()
    for indicator in read_report(path).indicators:
        metric = metric_of(indicator.indicator_name)
        if metric in metrics:
            continue  # a leftover: its rows would count twice
        metrics.add(metric)
        for row in indicator.case_datas:
            if not row.has_verdict:
                continue
            case = json_object(row.case_content)
            if case is None:
                raise DatasetError(path, None, "case_content", Note("no_json_object"))
            put = _list_questions(capability, metric, case, row, twins)
            keys = [content_hash(question) for question in put]
            questions.update(zip(keys, put, strict=True))
            yield PublishedRow(
                month="",
                target="",
                capability=capability,
                metric=metric,
                row_id=row.id,
                case_id=row.case_id,
                weight=row.case_weight,
                passed=row.passed,
                questions=tuple(keys),
            )


def _list_questions(
    capability: str, metric: str, case: dict[str, Any], row: ScaleCaseRow, twins: dict[str, Twin]
) -> list[BlindQuestion]:
    """A question per answer; none where a service failed, which is no answer."""
    builders = {
        CONVERSION: _ask_conversion,
        OPTIMIZATION: _ask_optimization,
        UNDERSTANDING: _ask_understanding,
    }
    if row.service_error or capability not in builders or metric == SUBJECTIVE:
        return []
    asked = builders[capability](metric, case, twins)
    if asked is None:
        return []
    texts = [answer_text(answer.model_answer) for answer in row.model_answers]
    return [msgspec.structs.replace(asked, answer=text) for text in texts]


def _ask_conversion(
    metric: str, case: dict[str, Any], twins: dict[str, Twin]
) -> BlindQuestion | None:
    """Equivalence where there is a twin, else whether the server would take the statement."""
    twin = twins.get(hash_sql(str(case.get("sql", ""))))
    server = _parse_server(str(case.get("target_dialect", "")))
    if metric == "logical_equivalence" and twin is not None:
        title = server.title if server else ""
        version = server.version if server else ""
        return BlindQuestion("equivalence", twin.questions[0].engine, "", title, version, twin)
    if server is None or TITLES.get(server.engine) != server.title:
        return None  # a refusal by what stands in for a server says nothing of it
    info = case.get("key_info")
    functions = info.get("sys_func") if isinstance(info, dict) else None
    names = functions if isinstance(functions, list) else []
    return BlindQuestion(
        "conversion",
        server.engine,
        "",
        title=server.title,
        version=server.version,
        # what is valid is right only where nothing but validity was asked
        case={
            "validity": metric == "syntax_error_detection",
            "functions": sorted({str(name).lower() for name in names}),
        },
    )


def _ask_optimization(
    metric: str, case: dict[str, Any], twins: dict[str, Twin]
) -> BlindQuestion | None:
    """Rewrites are held against the original on the tables of the case."""
    server = _parse_server(str(case.get("db_type") or _PUBLISHED_DIALECT))
    if server is None or not server.engine:
        return None
    twin = build_rewrite_twin(case, server.engine)
    if twin is None:
        return None
    if metric == "index_advice":
        expected = case.get("expected")
        if not isinstance(expected, str):
            return None
        fields = {"expected": expected}
        return BlindQuestion("index", server.engine, "", server.title, twin=twin, case=fields)
    kind: Kind = "equivalence" if metric == "logical_equivalence" else "rewrite"
    return BlindQuestion(kind, server.engine, "", server.title, twin=twin)


def _ask_understanding(
    metric: str, case: dict[str, Any], twins: dict[str, Twin]
) -> BlindQuestion | None:
    """The published expectation was typed by hand; the engine's own result takes its place."""
    if metric == "syntax_error_detection":
        kind: Kind = "label"
    elif metric == "execution_accuracy":
        kind = "table"
    else:
        return None
    server = _parse_server(str(case.get("dialect") or _PUBLISHED_DIALECT))
    if server is None or not server.engine:
        return None
    setup = [read_statements(case, f"{name}_statements") for name in ("create_table", "insert")]
    fields: dict[str, Any] = {"sql": str(case.get("sql", "")), "named": bool(case.get("dialect"))}
    if kind == "table":
        if None in setup:
            return None
        fields["setup"] = [statement for part in setup for statement in part or ()]
    return BlindQuestion(kind, server.engine, "", server.title, case=fields)


def _parse_server(text: str) -> Server | None:
    try:
        return parse_server(text)
    except UsageError:
        return None
