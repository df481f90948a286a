"""Stores for tests of pages: a run whose evidence has every form, hostile text, a broken folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalcore.records import BenchmarkSpec, Failure, Message, Sample, Section, ToolCall
from evalcore.store.run_folder import RunFolder
from tests.support.stored_runs import BENCHMARK, answer, judge, spec_of, summary_of

RUN = "20260101-100000-aaaaaa"
CORRUPT = "20260101-090000-bbbbbb"
METRIC = "execution_accuracy"
#: Would load an image, draw a badge, a link and a heading wherever Markdown is read.
CANARY = "![x](http://evil.invalid/i.png) :red[**boo**] [go](http://evil.invalid) # <b>x</b>"

SECTIONS: dict[str, Section] = {
    "table_diff": Section(
        kind="table_diff",
        title="difference",
        body={
            "columns": ["city", "count"],
            "expected": [["Oslo", 3], ["Rome", None], ["Rome", None]],
            "actual": [["Oslo", 3], ["Rome", None], ["Lima", 9]],
            "missing": [["Rome", None]],
            "extra": [["Lima", 9]],
        },
    ),
    "tree_diff": Section(
        kind="tree_diff",
        title="difference",
        body={
            "expected": {"a": 1},
            "actual": {"a": 2},
            "differences": [{"path": "a", "expected": 1, "actual": 2}],
        },
    ),
    "works": Section(
        kind="table",
        title="works",
        body={
            "columns": ["statement", "pages", "saved", "visited"],
            "rows": [["before", 90, "0.0 %", 7], ["after", 9, "90.0 %", 7], ["best", 9, "90 %", 6]],
        },
    ),
    "table": Section(kind="table", title="rows", body={"columns": ["n", "n"], "rows": [[1, 2]]}),
    "chat": Section(
        kind="chat",
        title="simulated_user",
        body=[{"role": "user", "content": CANARY}, {"role": "assistant", "content": "hello"}],
    ),
    "votes": Section(
        kind="votes",
        title="panel",
        body=[{"judge": CANARY, "vote": "pass", "reason": "equal"}],
    ),
    "log": Section(kind="log", title="engine_log", body="line 1\nline 2"),
    "json": Section(kind="json", title="provenance", body={"engine": "sqlite 3.40.1"}),
    "code": Section(kind="code", title="query", body={"language": "sql", "text": "SELECT 1"}),
    "text": Section(kind="text", title="answer", body=CANARY),
    "columns": Section(
        kind="table_diff",
        title="difference",
        body={
            "columns": ["city", "count"],
            "answer_columns": ["city"],
            "expected": [["Oslo", 3]],
            "actual": [["Oslo"]],
            "missing": [],
            "extra": [],
        },
    ),
    "true_calls": Section(
        kind="json",
        title="true_actions",
        body=[
            {"name": "cancel", "arguments": {"order_id": CANARY}},
            {"name": "reboot", "kwargs": "{}", "requestor": "user"},
        ],
    ),
    "fields": Section(
        kind="json",
        title="provenance",
        body={
            "trap": CANARY,
            "rationale": "why",
            "rationale_zh": "因为",
            "has_syntax_error": True,
            "steps": [{"table": CANARY, "access": "scan"}],
            CANARY: {"deep": {"deeper": {"deepest": [CANARY]}}},
        },
    ),
    "malformed": Section(kind="table_diff", title="difference", body={"columns": "none"}),
}


def sample_of(name: str) -> Sample:
    """A case whose id is the name of its section."""
    return Sample(
        metric=METRIC,
        id=name,
        input={
            "dialect": "sqlite",
            "schema": ["CREATE TABLE t (a INT);"],
            "sql": "SELECT * FROM t",
        },
        reference={"expected": {"columns": ["a"], "rows": [[1]]}},
        difficulty=2,
        meta={"provenance": {"engine": "sqlite 3.40.1"}},
    )


def evidence_run(root: Path, *, target: str = "openai:small") -> RunFolder:
    """A finished run with one case a section; `text` has no answer but a failure, `log` no episode.

    `table_diff` and `tree_diff` failed, the rest passed, `log` was never answered.
    """
    samples = [sample_of(name) for name in SECTIONS]
    folder = RunFolder(root / RUN)
    spec = spec_of(RUN)
    spec = msgspec.structs.replace(
        spec,
        target=msgspec.structs.replace(spec.target, key=target),
        benchmarks=(_with_count(spec.benchmarks[0], len(samples)),),
        command="evalcore run --target openai:small",
    )
    folder.create(spec, [(BENCHMARK, sample) for sample in samples])
    for sample in samples:
        if sample.id != "log":
            _case(folder, sample)
    folder.write_summary(summary_of(spec))
    return folder


def corrupt_run(root: Path) -> Path:
    """A run folder whose spec is no JSON."""
    folder = root / CORRUPT
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("{torn", encoding="utf-8")
    return folder


def _case(folder: RunFolder, sample: Sample) -> None:
    call = ToolCall(id="1", name="run_sql", arguments='{"q": "SELECT 1"}')
    text = (
        Message(role="system", content="You know SQL."),
        Message(role="user", content="What does it return?"),
        Message(role="assistant", content=CANARY, reasoning="think", tool_calls=(call,)),
    )
    failure = Failure(kind="permanent", message="no such model") if sample.id == "text" else None
    answer(folder, sample, answer=CANARY, messages=text, failure=failure)
    passed = not sample.id.endswith("_diff")
    judge(
        folder,
        sample,
        passed=passed,
        evidence_kind="executed",
        reason="" if passed else "wrong_answer",
        note=CANARY,
        evidence=(SECTIONS[sample.id],),
    )


def _with_count(benchmark: BenchmarkSpec, samples: int) -> BenchmarkSpec:
    return msgspec.structs.replace(benchmark, samples=samples)
