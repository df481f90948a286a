"""`import evalcore`: evaluate, read, compare, decide and rank from Python."""

from __future__ import annotations

import asyncio
import doctest
import re
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

import evalcore
from evalcore.benchmarks.functions import remove_benchmark
from evalcore.records import Completion
from evalcore.store.run_folder import RunFolder
from tests.support.rows import each_row

SHIPPED = "shipped-baseline-sqlglot"
CASES = (
    {"id": "yes", "input": "Say yes", "reference": "yes"},
    {"id": "no", "input": "Say no", "reference": "no", "difficulty": 2},
)


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def words():
    """A benchmark of this process, forgotten afterwards."""

    @evalcore.benchmark(CASES, name="test_words")
    def score_word(answer, case):
        """Right words."""
        return answer.strip() == case["reference"]

    yield score_word
    remove_benchmark("test_words")


@evalcore.target(name="test_last_word")
def last_word(prompt: str) -> str:
    return prompt.split()[-1]


def test_a_function_is_evaluated_on_a_benchmark_of_ones_own(words, data):
    run = evalcore.evaluate(last_word, words, data=data)
    assert run.state == "done"
    scores = run.scores().set_index("metric")
    assert scores.loc["", "score"] == scores.loc["score", "score"] == 100
    assert scores.loc["", "low"] < 100  # two cases say little
    assert list(run.samples()["id"]) == ["yes", "no"]
    verdicts = run.verdicts()
    assert list(verdicts["outcome"]) == ["passed", "passed"]
    assert list(verdicts["difficulty"]) == [1, 2]
    sample, episode, verdict = run.case("test_words", "score", "no")
    assert (sample.reference["answer"], episode.answer, verdict.outcome) == ("no", "no", "passed")
    assert run.spec["target"]["key"] == "function:test_last_word"
    assert run.summary["run_id"] == run.id
    assert "<table" in run._repr_html_()


def test_runs_are_compared_listed_and_ranked(words, data):
    nothing = evalcore.evaluate("control:null", words, data=data)
    right = evalcore.evaluate(last_word, words, data=data)
    [row] = evalcore.compare(nothing, right, data=data).to_dict("records")
    assert (row["first"], row["second"], row["difference"]) == (0, 100, 100)
    assert (row["wins"], row["losses"], row["common"]) == (2, 0, 2)
    listed = evalcore.list_runs(data=data)
    assert {nothing.id, right.id} <= set(listed["run"])
    ranking = evalcore.board("own", data=data).set_index("identity")
    assert ranking.loc["function:test_last_word", "rank"] == 1
    assert ranking.loc["control:null", "status"] == "control"
    assert evalcore.load_run(right.id, data=data).state == "done"


def test_a_run_that_is_incomplete_is_compared_with_none(words, data):
    @evalcore.target(name="test_down")
    def down(prompt: str) -> str:
        raise RuntimeError("out of order")

    right = evalcore.evaluate(last_word, words, data=data)
    failed = evalcore.evaluate(down, words, data=data)
    for pair, measured in (((failed, right), "second"), ((right, failed), "first")):
        [row] = evalcore.compare(*pair, data=data).to_dict("records")
        assert not row["complete"]
        assert row[measured] == 100
        missing = ("difference", "p", "wins", {"second": "first", "first": "second"}[measured])
        assert all(pd.isna(row[name]) for name in missing)


def test_controls_of_ones_own_benchmark(words, data):
    scores = {
        kind: evalcore.evaluate(f"control:{kind}", words, data=data).scores()["score"][0]
        for kind in ("reference", "null", "noop")
    }
    assert scores == {"reference": 100, "null": 0, "noop": 0}


async def test_evaluate_works_inside_an_event_loop_as_in_a_notebook(words, data):
    assert evalcore.evaluate(last_word, words, data=data).state == "done"
    first, second = await asyncio.gather(
        evalcore.aevaluate(last_word, words, data=data),
        evalcore.aevaluate("control:noop", words, data=data),
    )
    assert (first.state, second.state) == ("done", "done")


async def test_a_cancelled_task_cancels_its_own_run_which_can_be_resumed(words, data):
    asked, go_on = threading.Event(), threading.Event()

    @evalcore.target(name="test_waiting")
    def wait_for_word(prompt: str) -> str:
        asked.set()
        go_on.wait(300)
        return prompt.split()[-1]

    task = asyncio.create_task(evalcore.aevaluate(wait_for_word, words, data=data))
    while not asked.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
    [folder] = [RunFolder(path) for path in (data / "runs").iterdir()]
    while folder.read_summary() is None:  # the call that began cannot be taken back
        await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert folder.current_state() == "cancelled"
    resumed = await asyncio.to_thread(evalcore.resume, folder.run_id, data=data)
    assert resumed.state == "done"
    assert resumed.scores()["score"][0] == 100


def test_what_a_function_raises_is_no_wrong_answer(words, data):
    @evalcore.target(name="test_broken")
    def broken(prompt: str) -> str:
        raise RuntimeError("out of order, api_key=sk-abcdefghijklmnop1234")

    run = evalcore.evaluate(broken, words, data=data)
    assert run.state == "incomplete"
    verdicts = run.verdicts()
    assert set(verdicts["outcome"]) == {"target_error"}
    _, episode, _ = run.case("test_words", "score", "yes")
    assert "out of order" in episode.failure.message
    assert "sk-abcdef" not in (run.folder.path / "generations" / "main.jsonl").read_text()


def test_a_scoring_function_that_fails_says_so_and_scores_nothing(data):
    @evalcore.benchmark(CASES, name="test_faulty")
    def score_faultily(answer):
        return {"not": "a number"}

    try:
        run = evalcore.evaluate(last_word, score_faultily, data=data)
        assert run.state == "incomplete"
        assert set(run.verdicts()["outcome"]) == {"environment_error"}
        assert "scoring function of test_faulty" in run.verdicts()["note"][0]
    finally:
        remove_benchmark("test_faulty")


@pytest.mark.parametrize(
    ("answer", "text", "calls"),
    [
        ("plain", "plain", 0),
        (Completion(text="whole"), "whole", 0),
        ({"content": "said"}, "said", 0),
        ({"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}, "", 1),
    ],
)
def test_what_a_function_may_return(words, data, answer, text, calls):
    @evalcore.target(name="test_returns")
    def returns(messages, tools):
        assert messages[0]["role"] == "user"
        return answer

    run = evalcore.evaluate(returns, words, data=data)
    _, episode, _ = run.case("test_words", "score", "yes")
    assert episode.answer == text
    assert len(episode.messages[-1].tool_calls) == calls


def test_an_answer_that_is_none_is_a_failure_of_the_target(words, data):
    @evalcore.target(name="test_none")
    def says_nothing(prompt):
        return None

    run = evalcore.evaluate(says_nothing, words, data=data)
    assert set(run.verdicts()["outcome"]) == {"target_error"}


def test_options_fill_parameters_with_a_default_and_set_rows_apart(words, data):
    @evalcore.target(name="test_loud")
    def loud(prompt: str, suffix: str = "") -> str:
        return prompt.split()[-1] + suffix

    right = evalcore.evaluate(loud, words, data=data)
    wrong = evalcore.evaluate(loud, words, target_options={"suffix": "!"}, data=data)
    assert right.scores()["score"][0] == 100
    assert wrong.scores()["score"][0] == 0
    assert right.spec["target"] != wrong.spec["target"]
    with pytest.raises(evalcore.UsageError, match="unknown option 'pitch'"):
        evalcore.evaluate(loud, words, target_options={"pitch": "9"}, data=data)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda prompt, pitch: "", "'pitch' of a target has no default"),
        (lambda *prompts: "", "named parameters"),
        (lambda prompt: "", "is not a valid target name"),
    ],
)
def test_a_function_that_cannot_be_a_target_says_why(function, problem):
    with pytest.raises(evalcore.UsageError, match=problem):
        evalcore.target(function)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        ([], "has no case"),
        ([{"question": "?"}], "case 0 needs a field 'input'"),
        ([{"input": "?", "difficulty": 4}], "field difficulty: 4"),
        ([{"id": "a", "input": "?"}, {"id": "a", "input": "!"}], "two cases have the id 'a'"),
        ([{"input": "?", "own": object()}], "not JSON"),
    ],
)
def test_a_case_that_cannot_be_used_says_why(cases, problem):
    with pytest.raises(evalcore.UsageError, match=problem):
        evalcore.benchmark(cases, name="test_refused")(lambda answer: True)


@each_row(
    ("arguments", "problem"),
    [
        ({"target": None}, "target must be text, not nothing"),
        ({"target": len}, "mark len with @evalcore.target"),
        ({"target": "opena:x"}, "(did you mean openai?)"),
        ({"target": "baseline:sqlit"}, "(did you mean baseline:sqlite?)"),
        ({"benchmarks": None}, "benchmarks[0] must be text"),
        ({"benchmarks": []}, "no benchmark chosen"),
        ({"benchmarks": "sql_understandin"}, "(did you mean sql_understanding?)"),
        ({"max_samples": "8"}, "max_samples must be a whole number, not text"),
        ({"max_samples": 0}, "max_samples must be at least 1"),
        ({"options": {"mode": "scale"}}, "options must be a mapping of names to values, not text"),
        ({"options": {"sql_understanding": {"mod": 1}}}, "(did you mean mode?)"),
        ({"judges": "me"}, "judge 'me'"),
        ({"metrics": "speed"}, "no metric 'speed'"),
        ({"metrics": "explain_detectio"}, "(did you mean explain_detection?)"),
        ({"dataset": 5}, "dataset must be text, not a whole number"),
        ({"dataset": "sql_understandin"}, "(did you mean sql_understanding?)"),
        ({"keys": ["secret"]}, "keys must be a mapping of names to values, not a list of values"),
        ({"keys": {"NAME": 5}}, "keys['NAME'] must be text"),
        ({"data": 5}, "data must be text, not a whole number"),
        ({"data": "/dev/null/data"}, "Not a directory"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"budget": "much"}, "budget must be a number, not text"),
    ],
)
def test_an_argument_that_cannot_be_used_says_why(data, arguments, problem):
    usual = {"target": "control:null", "benchmarks": "sql_understanding", "data": data}
    with pytest.raises(evalcore.UsageError) as refusal:
        evalcore.evaluate(**usual | arguments)
    assert problem in str(refusal.value)


@each_row(
    ("call", "problem"),
    [
        (lambda: evalcore.load_run(None), "run must be text, not nothing"),
        (lambda: evalcore.resume(5), "run must be text, not a whole number"),
        (lambda: evalcore.compare(None, SHIPPED), "first must be text"),
        (lambda: evalcore.compare(SHIPPED, SHIPPED), "the two runs are the same"),
        (lambda: evalcore.load_run(SHIPPED).case(1, "", ""), "benchmark must be text"),
        (lambda: evalcore.board("sq"), "(did you mean sql?)"),
        (lambda: evalcore.board(None), "suite must be text"),
        (lambda: evalcore.board("sql", by="suit"), "no order 'suit'"),
        (lambda: evalcore.equivalent(1, "", engine="sqlite", schema=""), "reference must be text"),
        (lambda: evalcore.equivalent("", "", engine="sqlit", schema=""), "(did you mean sqlite?)"),
        (lambda: evalcore.target(5), "not a callable object"),
        (
            lambda: evalcore.target(last_word.function, name="x", concurrency="8"),
            "concurrency of x is 8",
        ),
        (lambda: evalcore.benchmark(lambda answer: True), "takes a list of cases"),
        (lambda: evalcore.benchmark(pd.DataFrame(CASES)), "frame.to_dict('records')"),
        (lambda: evalcore.benchmark(CASES, suite=5), "suite must be text"),
        (lambda: evalcore.benchmark(CASES, name="b")(5), "5 cannot score answers"),
    ],
)
def test_every_argument_that_cannot_be_used_is_named(call, problem):
    with pytest.raises(evalcore.UsageError) as refusal:
        call()
    assert problem in str(refusal.value)


def test_errors_speak_the_language_of_the_environment(data, monkeypatch):
    monkeypatch.setenv("EVALBOARD_LANG", "zh")
    for call, problem in (
        (lambda: evalcore.evaluate("control:null", "gai", data=data), "是否想写 gaia？"),
        (lambda: evalcore.load_run(None), "run 必须是文本，而不是空值"),
        (lambda: evalcore.evaluate("control:null", "gaia", data="/dev/null/x"), "不是文件夹"),
        (lambda: evalcore.benchmark([], name="b")(lambda answer: True), "没有用例"),
    ):
        with pytest.raises(evalcore.UsageError) as refusal:
            call()
        assert problem in str(refusal.value)


def test_a_run_in_a_thread_with_a_loop_of_its_own(words, data):
    async def work() -> str:
        return (await evalcore.aevaluate(last_word, words, data=data)).state

    states: list[str] = []
    thread = threading.Thread(target=lambda: states.append(asyncio.run(work())))
    thread.start()
    thread.join()
    assert states == ["done"]


@pytest.mark.parametrize("is_notebook", [False, True])
def test_an_interrupted_program_is_told_how_to_go_on(data, is_notebook):
    """A call that is running when SIGINT comes ends; the run stays and asks no answer twice. In a
    notebook an event loop runs, and the run in a thread."""
    program = f"""
import asyncio, os, signal, time, evalcore
@evalcore.target(name="answers")
def answers(prompt):
    if "2" in prompt:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    return "yes"
cases = [{{"input": f"Say yes {{n}}", "reference": "yes"}} for n in range(60)]
@evalcore.benchmark(cases, name="interrupted", version="1")
def score(answer, case):
    return answer == case["reference"]
async def run_cell():
    evalcore.evaluate(answers, score, data={str(data)!r}, concurrency=1)
try:
    if {is_notebook}:
        asyncio.new_event_loop().run_until_complete(run_cell())
    else:
        evalcore.evaluate(answers, score, data={str(data)!r}, concurrency=1)
except KeyboardInterrupt:
    pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
[run] = [each for each in evalcore.list_runs(data={str(data)!r})["run"] if "shipped" not in each]
print(run, evalcore.load_run(run, data={str(data)!r}).state)
done = evalcore.resume(run, data={str(data)!r})
print(done.state, sum(1 for _ in (done.folder.path / "calls" / "main.jsonl").open()))
"""
    script = data.parent / "interrupted.py"
    script.write_text(program, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    run, state = done.stdout.split()[:2]
    assert f"evalcore.resume('{run}') continues the run" in done.stderr
    assert state in ("cancelled", "interrupted", "incomplete")
    assert done.stdout.splitlines()[1].split()[0] == "done"


def test_frames_have_types_to_count_with(words, data):
    run = evalcore.evaluate(last_word, words, data=data)
    verdicts, scores = run.verdicts(), run.scores()
    for frame, columns in ((verdicts, ("score", "latency")), (scores, ("score", "low", "high"))):
        assert {str(frame[name].dtype) for name in columns} == {"float64"}
    assert {str(verdicts[name].dtype) for name in ("epoch", "difficulty")} == {"int64"}
    assert str(scores["complete"].dtype) == "bool"
    assert evalcore.list_runs(data=data)["created_at"].dtype.kind in "MOU"


def test_a_benchmark_cannot_take_the_key_of_a_built_in_one():
    with pytest.raises(evalcore.UsageError, match="is taken"):
        evalcore.benchmark(CASES, name="gaia")(lambda answer: True)


def test_other_rules_make_another_column(data):
    columns = []
    for version in ("1", "2"):
        defined = evalcore.benchmark(CASES, name="test_ruled", version=version)(lambda answer: True)
        run = evalcore.evaluate("control:null", defined, data=data)
        columns.append(run.folder.read_spec().benchmarks[0].column)
    remove_benchmark("test_ruled")
    assert columns[0] != columns[1]


def test_a_run_of_a_function_of_another_process_says_what_to_do(words, data):
    with pytest.raises(evalcore.UsageError, match=r"define it with @evalcore\.target"):
        evalcore.evaluate("function:nobody", words, data=data)


def test_statements_are_decided():
    decision = evalcore.equivalent(
        "SELECT a FROM t WHERE a > 1",
        "SELECT a FROM t WHERE a >= 1",
        engine="sqlite",
        schema="CREATE TABLE t(a INTEGER)",
    )
    assert decision.status == "different"
    assert decision.counterexample is not None


def test_public_names_are_all_there_and_loaded_late():
    code = (
        "import sys, evalcore; assert 'evalcore.api' not in sys.modules; "
        "assert all(getattr(evalcore, name) is not None for name in evalcore.__all__); "
        "assert 'torch' not in sys.modules and 'streamlit' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert dir(evalcore) == sorted(evalcore.__all__)
    with pytest.raises(AttributeError):
        _ = evalcore.no_such_name


def test_the_document_says_what_happens(tmp_path, monkeypatch):
    """docs/python.md, as a doctest."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    path = Path(__file__).parents[2] / "docs" / "python.md"
    try:
        text = re.sub(r"^```.*$", "", path.read_text(), flags=re.MULTILINE)
        examples = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
        assert len(examples.examples) > 15
        assert doctest.DocTestRunner().run(examples).failed == 0
    finally:
        remove_benchmark("says")
