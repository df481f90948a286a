"""Small finished runs of `gaia` and `swe_bench` in a store, with verdicts by the real scorers.

The answers of `swe_bench` are examined by hand: executions are made up here, and what is said of
them is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalcore.benchmarks.base import Benchmark, check_options
from evalcore.benchmarks.gaia import score as gaia_verdict
from evalcore.benchmarks.gaia.benchmark import Gaia
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench import verdict as swe_verdict
from evalcore.benchmarks.swe_bench.benchmark import SweBench
from evalcore.benchmarks.swe_bench.dataset import to_swe_task
from evalcore.benchmarks.swe_bench.evaluate_patch import (
    HardenedResult,
    PatchEvaluation,
    SubmittedAnswer,
)
from evalcore.benchmarks.swe_bench.grade import (
    Execution,
    build_grading_spec,
    grade_log,
    sha256_text,
)
from evalcore.benchmarks.swe_bench.measures import measure_patch
from evalcore.benchmarks.swe_bench.patches import RepairedPatch
from evalcore.records import (
    BenchmarkSpec,
    Episode,
    Message,
    RunSpec,
    Sample,
    TargetSpec,
    ToolCall,
    Usage,
    Verdict,
)
from evalcore.results import RunSummary
from evalcore.settings import Settings
from evalcore.store.index import record_run
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict

GAIA_RUN, SWE_RUN = "20260301-100000-dddddd", "20260302-100000-eeeeee"
TARGET = "openai:worker"
HOSTILE = "![x](http://evil.invalid/i.png) :red[**boo**] [go](http://evil.invalid)"
SCORING = "s1"

#: A case of the kind of the official set; its texts are words that stand nowhere else.
#: Of the form of the official ids, none of which stands in the project.
GATED = "-".join(("0f1e2d3c", "4b5a", "6978", "8796", "a5b4c3d2e1f0"))
SECRETS = ("zebrawood", "quicksilver", "hollyhock", "marzipan", "periwinkle")


class Case(NamedTuple):
    sample: Sample
    episode: Episode
    verdict: Verdict


def gaia(settings: Settings, *names: str) -> RunFolder:
    """A run over the cases of these names, all of GAIA_CASES without any."""
    made = [make(name) for name, make in GAIA_CASES.items() if not names or name in names]
    return _store(settings, Gaia(check_options(Gaia.card, {"tool_mode": "local"})), made, GAIA_RUN)


def swe(settings: Settings, *names: str) -> RunFolder:
    """A run over the cases of these names, all of SWE_CASES without any."""
    made = [make(name) for name, make in SWE_CASES.items() if not names or name in names]
    options = check_options(SweBench.card, {"prompt_style": "issue_only"})
    return _store(settings, SweBench(options), made, SWE_RUN)


# ---- gaia ------------------------------------------------------------------------------------


def _asked(name: str, answer: str, **more: Any) -> Sample:
    return Sample(
        metric="level_1",
        id=name,
        input={"question": f"What is it, then? {HOSTILE}", "level": 1, "file_name": "prices.xlsx"},
        reference={"answer": answer, **more.pop("reference", {})},
        meta=more,
    )


def _replied(sample: Sample, text: str, **more: Any) -> Case:
    message = (Message("system", "Be brief."), Message("user", "What is it?"))
    episode = Episode(
        key=sample.key,
        epoch=0,
        answer=text,
        messages=(*message, Message("assistant", text)),
        **{"finish_reason": "stop", "latency": 1.5, "usage": Usage(120, 8), **more},
    )
    return Case(sample, episode, gaia_verdict.build_gaia_verdict(sample, episode, bare=False))


def _right(name: str) -> Case:
    return _replied(_asked(name, "17"), "Thus.\nFINAL ANSWER: 17")


def _loose(name: str) -> Case:
    return _replied(_asked(name, "Oslo"), "ANSWER: Oslo")


def _list(name: str) -> Case:
    return _replied(_asked(name, "1, b, 3"), f"FINAL ANSWER: 1, {HOSTILE}, 3")


def _test_split(name: str) -> Case:
    return _replied(_asked(name, "?", hidden=True), "FINAL ANSWER: 4")


def _worked(name: str) -> Case:
    """Three calls of tools, one of them refused, and the answer by the last."""
    steps = [{"tool": "python", "arguments": {"code": "print(6 * 7)"}}]
    sample = _asked(name, "42", reference={"derivation": steps}, needs_web=True)
    made = [
        _call(0, "list_files", "{}", "prices.xlsx"),
        _call(1, "read_file", '{"path": "../secret"}', "Error: there is no such file"),
        _call(2, "python", '{"code": "print(6 * 7)"}', HOSTILE),
    ]
    opening = (Message("system", "Work with tools."), Message("user", "What is it?"))
    last = ToolCall("call_3", "final_answer", '{"answer": "42"}')
    messages = (*opening, *(item for pair in made for item in pair))
    calls = [
        {"name": asked.tool_calls[0].name, "arguments": "{}", "result": message.content}
        for asked, message in made
    ]
    episode = Episode(
        key=sample.key,
        epoch=0,
        messages=(*messages, Message("assistant", tool_calls=(last,))),
        finish_reason="tool_calls",
        state={"calls": calls, "answer": "42"},
    )
    return Case(sample, episode, gaia_verdict.build_gaia_verdict(sample, episode, bare=False))


def _call(number: int, name: str, arguments: str, result: str) -> tuple[Message, Message]:
    call = ToolCall(f"call_{number}", name, arguments)
    message = Message("tool", result, tool_call_id=call.id)
    return Message("assistant", f"Step {number}.", tool_calls=(call,)), message


def _endless(name: str) -> Case:
    made = _call(0, "python", "{}", "1")
    sample = _asked(name, "7")
    state = {"calls": [{"name": "python", "arguments": "{}", "result": "1"}]}
    opening = (Message("system", "Work."), Message("user", "What is it?"))
    episode = Episode(
        key=sample.key, epoch=0, messages=opening + made, termination="max_steps", state=state
    )
    return Case(sample, episode, gaia_verdict.build_gaia_verdict(sample, episode, bare=False))


def _gated(name: str) -> Case:
    """Question, answer, reference, reasoning and note each hold one of SECRETS."""
    asked, right, text, thought, file = SECRETS
    sample = Sample(
        metric="level_2",
        id=name,
        input={"question": f"Why {asked}?", "level": 2, "file_name": f"{file}.csv"},
        reference={"answer": right, "files": {f"{file}.csv": "0"}},
        meta={"gated": True, "tools": file, "file": f"2023/validation/{file}.csv"},
    )
    case = _replied(sample, f"It was {asked}.\nFINAL ANSWER: {text}")
    wrote = Message("assistant", text, reasoning=thought)
    episode = Episode(key=sample.key, epoch=0, answer=text, messages=(wrote,), latency=2.5)
    return Case(sample, episode, case.verdict)


GAIA_CASES = {
    "right": _right,
    "loose": _loose,
    "list": _list,
    "worked": _worked,
    "endless": _endless,
    "test_split": _test_split,
    GATED: _gated,
}

# ---- swe_bench -------------------------------------------------------------------------------

_GOLD = """diff --git a/box/core.py b/box/core.py
--- a/box/core.py
+++ b/box/core.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
_OTHER = _GOLD.replace("a + b", "b + a")
_TESTS = _GOLD.replace("box/core.py", "tests/test_core.py")
FIXED = ("tests/test_core.py::test_add", "tests/test_core.py::test_zero")
STORED = (
    "tests/test_core.py::test_import",
    "tests/test_core.py::test_odd[![x](http://evil.invalid/i.png)]",
)


def _task(name: str, repository: str = "somewhere") -> Sample:
    return Sample(
        metric="under_15_min",
        id=name,
        input={
            "repo": "authors/box",
            "base_commit": "a" * 40,
            "version": "1.0",
            "problem_statement": f"add(1, 2) gives -1.\nIt should give 3. {HOSTILE}",
        },
        reference={
            "patch": _GOLD,
            "test_patch": _TESTS,
            "fail_to_pass": FIXED,
            "pass_to_pass": STORED,
            "eval_script": "#!/bin/bash\npytest -rA",
            "log_parser": "parse_log_pytest",
        },
        meta={"repository": repository} if repository else {},
    )


def _ran(task: Task, failing: Sequence[str] = (), missing: Sequence[str] = ()) -> Execution:
    """An execution whose log says how the tests came out."""
    status = {
        test: "FAILED" if test in failing else "PASSED"
        for test in (*FIXED, *STORED)
        if test not in missing
    }
    lines = [f"{word} {test}" for test, word in status.items()]
    begin, end = ">>>>> Start Test Output", ">>>>> End Test Output"
    log = "\n".join([begin, *lines, "==== 4 tests in 0.10s ====", end, ""])
    report = grade_log(build_grading_spec(task), log)
    return Execution(
        instance_id=task.instance_id,
        patch_sha256="1" * 64,
        applied="apply",
        log=log,
        log_sha256=sha256_text(log),
        exit_code=0,
        means="bubblewrap",
        python="3.11",
        seconds=1.25,
        report=report,
        tests=status,
    )


def _examined(sample: Sample, patch: str, **result: Any) -> Case:
    task = to_swe_task(sample)
    answer = SubmittedAnswer(patch, text=f"Here:\n```diff\n{patch}\n```")
    examination = PatchEvaluation(answer, **result)
    text = (Message("user", "Repair it."), Message("assistant", answer.text))
    episode = Episode(
        key=sample.key,
        epoch=0,
        answer=answer.text if patch else "",
        messages=text,
        finish_reason="stop",
        latency=3.0,
        usage=Usage(900, 60),
    )
    return Case(sample, episode, swe_verdict.build_swe_verdict(sample, episode, task, examination))


def _tested(name: str, run: Execution, hard: HardenedResult, **more: Any) -> Case:
    patch = more.pop("patch", _OTHER)
    measures = measure_patch(_GOLD, patch, run.applied)
    return _examined(_task(name), patch, execution=run, hardened=hard, measures=measures, **more)


def _resolved(name: str) -> Case:
    run = _ran(to_swe_task(_task(name)))
    return _tested(name, run, HardenedResult(True, control=run), patch=_GOLD)


def _forged(name: str) -> Case:
    flags = ("machinery", "suspicious_lines", "passes_inverted")
    run = _ran(to_swe_task(_task(name)))
    return _tested(name, run, HardenedResult(False, flags, control=run, forged=FIXED))


def _remarked(name: str) -> Case:
    return _tested(name, _ran(to_swe_task(_task(name))), HardenedResult(True, ("no_control",)))


def _failing(name: str) -> Case:
    """Its repaired form passes."""
    task = to_swe_task(_task(name))
    run = _ran(task, FIXED[:1], STORED[:1])
    repaired = RepairedPatch(_GOLD, ("extract", "recount"))
    return _tested(
        name,
        run,
        HardenedResult(False),
        repaired=repaired,
        rerun=_ran(task),
        rerun_hardened=HardenedResult(True),
    )


def _unapplied(name: str) -> Case:
    text = f"error: patch does not apply\n{HOSTILE}"
    run = Execution(name, "2" * 64, apply_log=text)
    return _tested(name, run, HardenedResult(False))


def _unexecuted(name: str) -> Case:
    return _examined(_task(name, ""), _OTHER, measures=measure_patch(_GOLD, _OTHER))


def _unusable(name: str) -> Case:
    why = "the reference patch does not solve it here: it does not apply"
    return _examined(_task(name), _OTHER, unusable=why)


def _empty(name: str) -> Case:
    return _examined(_task(name), "")


def _by_agent(name: str) -> Case:
    """Resolved by an agent with tools that are told in the prompt."""
    case = _resolved(name)
    call = '{"name": "run", "arguments": {"command": "ls"}}'
    text = (
        Message("system", "You repair software."),
        Message("user", "Repair it."),
        Message("assistant", call),
        Message("user", "API output: box\n(exit 0)"),
        Message("assistant", '{"name": "submit", "arguments": {}}'),
    )
    state = {"patch": _GOLD, "calls": [{"name": "run", "arguments": "{}", "result": "box"}]}
    return case._replace(episode=Episode(case.sample.key, 0, messages=text, state=state))


SWE_CASES = {
    "resolved": _resolved,
    "forged": _forged,
    "remarked": _remarked,
    "failing": _failing,
    "unapplied": _unapplied,
    "unexecuted": _unexecuted,
    "unusable": _unusable,
    "empty": _empty,
    "by_agent": _by_agent,
}

# ---- both ------------------------------------------------------------------------------------


def _store(settings: Settings, benchmark: Benchmark, cases: Sequence[Case], run: str) -> RunFolder:
    card = benchmark.card
    samples, episodes, verdicts = (list(column) for column in zip(*cases, strict=True))
    spec = RunSpec(
        run,
        f"{run[:4]}-{run[4:6]}-{run[6:8]}T10:00:00.000+00:00",
        TargetSpec(TARGET),
        (_declared(benchmark, len(samples), card.weights),),
    )
    folder = RunFolder(settings.runs_dir / run)
    folder.create(spec, [(card.key, sample) for sample in samples])
    with (
        Journal(folder.path / "generations" / "w1.jsonl") as generations,
        Journal(folder.path / "verdicts" / SCORING / "w1.jsonl") as scored,
    ):
        for episode, verdict in zip(episodes, verdicts, strict=True):
            generations.append(StoredEpisode(benchmark=card.key, episode=episode))
            scored.append(StoredVerdict(benchmark=card.key, verdict=verdict))
    label = f"{card.key} · {len(samples)} samples"
    score = benchmark.aggregate(
        samples, verdicts, card.weights, column="c1", full=True, label=label
    )
    state = "done" if score.complete else "incomplete"
    folder.write_summary(
        RunSummary(run, spec.target, state, SCORING, {card.key: score}, created_at=spec.created_at)
    )
    record_run(settings, folder)
    return folder


def _declared(benchmark: Benchmark, count: int, weights: Mapping[str, float]) -> BenchmarkSpec:
    card = benchmark.card
    return BenchmarkSpec(
        key=card.key,
        suite=card.suite,
        dataset=card.dataset,
        dataset_hash="d1",
        options=benchmark.options,
        weights=dict(weights),
        prompt_version="1",
        scorer_version="1",
        column="c1",
        samples=count,
    )
