"""A store whose every text is hostile: what a model, a provider or a visitor could have written.

Each canary would load something from `evil.invalid`, run a script or become an element of the page
if any page drew it as Markdown or HTML, or followed it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from evalcore.access.policy import OPERATOR
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Failure,
    Message,
    Sample,
    Section,
    ToolCall,
    Usage,
    Verdict,
)
from evalcore.results import Progress
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from evalcore.target_cards import TargetCard, save_card
from tests.support.stored_runs import BENCHMARK, SCORING, spec_of, summary_of

HOST = "evil.invalid"
CANARY = (
    f"![p](http://{HOST}/i.png) <img src=http://{HOST}/h.png onerror=window.pwned=1>"
    f"<script>window.pwned=1</script> [go](javascript:window.pwned=1) <b class=canary>x</b> "
    f"$\\href{{javascript:window.pwned=1}}{{x}}$ :red-background[r] # h"
)
SHORT = f"![p](http://{HOST}/s.png)<b class=canary>"  # where a field allows no more
RUN = "20260101-100000-cccccc"
METRIC = "execution_accuracy"
OUTCOMES = ("passed", "failed", "not_executed", "target_error", "judge_error", "environment_error")


def canary_store(settings: Settings) -> str:
    """A store of one hostile finished run and the hostile card of its target; returns the identity
    of the target."""
    spec = spec_of(RUN)
    benchmark: BenchmarkSpec = msgspec.structs.replace(
        spec.benchmarks[0], samples=len(OUTCOMES), judges=(CANARY,), dataset=CANARY
    )
    spec = msgspec.structs.replace(
        spec,
        target=msgspec.structs.replace(
            spec.target, key=f"openai:{CANARY}", options={"system": CANARY, SHORT: CANARY}
        ),
        benchmarks=(benchmark,),
        versions={"model": CANARY, SHORT: CANARY},
        command=CANARY,
        note=CANARY,
        git_commit=CANARY,
        judges=(CANARY,),
    )
    samples = [_sample(number) for number in range(len(OUTCOMES))]
    folder = RunFolder(settings.runs_dir / RUN)
    folder.create(spec, [(BENCHMARK, sample) for sample in samples])
    _journal(folder, samples)
    summary = summary_of(spec)
    score = msgspec.structs.replace(summary.benchmarks[BENCHMARK], label=f"{CANARY} · {CANARY}")
    folder.write_summary(
        msgspec.structs.replace(summary, benchmarks={BENCHMARK: score}, errors={CANARY: 2})
    )
    folder.write_progress(Progress(run_id=RUN, state="done", phase=CANARY, message=CANARY))
    folder.log_path.write_text(CANARY, encoding="utf-8")
    record_run(settings, folder)
    save_card(settings, OPERATOR, spec.target.key, _card())
    return spec.target.identity


def _sample(number: int) -> Sample:
    return Sample(
        metric=METRIC,
        id=f"{number} {CANARY}",
        input={"dialect": CANARY, "schema": [CANARY], "sql": CANARY, CANARY: CANARY},
        reference={"expected": {"columns": [CANARY], "rows": [[CANARY]]}, CANARY: CANARY},
        difficulty=2,
        meta={"provenance": {CANARY: CANARY}},
    )


def _journal(folder: RunFolder, samples: list[Sample]) -> None:
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as scored,
    ):
        for sample, outcome in zip(samples, OUTCOMES, strict=True):
            episode, verdict = _episode(sample), _verdict(sample, outcome)
            generations.append(StoredEpisode(benchmark=BENCHMARK, episode=episode))
            scored.append(StoredVerdict(benchmark=BENCHMARK, verdict=verdict))


def _episode(sample: Sample) -> Episode:
    call = ToolCall(id=CANARY, name=CANARY, arguments=CANARY)
    messages = tuple(
        Message(role=role, content=CANARY, reasoning=CANARY, tool_calls=calls, tool_call_id=CANARY)
        for role, calls in (("system", ()), ("user", ()), ("assistant", (call,)), ("tool", ()))
    )
    return Episode(
        key=sample.key,
        epoch=0,
        answer=CANARY,
        messages=messages,
        finish_reason=CANARY,
        usage=Usage(input_tokens=10, output_tokens=2),
        failure=Failure(kind="permanent", message=CANARY),
        termination=CANARY,
        state={CANARY: CANARY},
    )


def _verdict(sample: Sample, outcome: Any) -> Verdict:
    return Verdict(
        metric=METRIC,
        id=sample.id,
        outcome=outcome,
        score=1.0 if outcome == "passed" else 0.0,
        evidence_kind="judged",
        reason=CANARY,
        note=CANARY,
        views={CANARY: 1.0},
        details={CANARY: CANARY, "error_type": CANARY},
        evidence=SECTIONS,
    )


_SIDES = ("before", "after")
_TABLE = {"columns": [CANARY, "n"], "rows": [[CANARY, 1]]}
_DIFFERENCE = {
    "columns": [CANARY],
    **{name: [[CANARY]] for name in ("expected", "actual", "missing", "extra")},
}
_TREES = {
    "expected": {CANARY: CANARY},
    "actual": {CANARY: 2},
    "differences": [{"path": CANARY, "expected": CANARY, "actual": CANARY}],
}
SECTIONS: tuple[Section, ...] = (
    Section(kind="table_diff", title=CANARY, body=_DIFFERENCE),
    Section(kind="tree_diff", title=CANARY, body=_TREES),
    Section(kind="table", title=CANARY, body=_TABLE),
    Section(kind="chat", title=CANARY, body=[{"role": CANARY, "content": CANARY}]),
    Section(kind="votes", title=CANARY, body=[{"judge": CANARY, "vote": "pass", "reason": CANARY}]),
    Section(kind="log", title=CANARY, body=CANARY),
    Section(kind="json", title=CANARY, body={CANARY: CANARY}),
    Section(kind="code", title=CANARY, body={"language": CANARY, "text": CANARY}),
    Section(kind="text", title=CANARY, body=CANARY),
    Section(
        kind="database",
        title=CANARY,
        body={"profile": CANARY, "tables": [{"name": CANARY, **_TABLE}]},
    ),
    Section(
        kind="plans",
        title=CANARY,
        body={"unit": CANARY, **{side: {"amount": 3, "plan": [CANARY]} for side in _SIDES}},
    ),
    Section(
        kind="calls",
        title=CANARY,
        body={
            "answer": [{"name": CANARY, "arguments": {CANARY: CANARY}}],
            "accepted": [{"name": CANARY, "arguments": {CANARY: [CANARY]}}],
            "output": CANARY,
            "expected": CANARY,
            "argument": CANARY,
        },
    ),
)


def _card() -> TargetCard:
    """Every field that takes free text; what the checks refuse never reaches a page."""
    short = "![p](http://evil.invalid/c.png)<b class=canary>x</b>"
    return TargetCard(
        name=short,
        organization=short,
        licence=short,
        site="https://evil.invalid/?javascript:window.pwned=1",
        parameters=1.5,
        released="2026-11",
    )
