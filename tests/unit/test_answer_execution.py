"""Tasks of lm-evaluation-harness whose scoring would run answers: told by what their functions do,
in the forms that tasks have."""

from __future__ import annotations

import functools
import math
import os
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from evalcore.benchmarks.academic import task_metrics
from evalcore.benchmarks.academic.answer_execution import find_answer_execution
from evalcore.benchmarks.academic.code_results import CodeResults
from evalcore.benchmarks.academic.harness_records import CODE_METRIC
from evalcore.benchmarks.academic.harness_samples import HarnessError, refuse_answer_execution

programs = CodeResults()


def make_task(unsafe: bool = False, **config: Any) -> Any:
    return SimpleNamespace(config=SimpleNamespace(**config), UNSAFE_CODE=unsafe)


def compare_texts(doc, results):
    return {"exact": float(results[0].strip() == doc["answer"]), "size": math.sqrt(4)}


def run_text(doc, results):
    return {"right": float(eval(results[0]) == doc["answer"])}


def run_text_later(doc, results):
    def check(text):
        exec(text, {})

    return [check(text) for text in results]


def call_helper(doc, results):
    return run_text(doc, results)


def start_program(doc, results):
    return {"right": subprocess.run(results, check=False).returncode}


def start_shell(doc, results):
    return {"right": os.system(results[0])}


def import_and_start(doc, results):
    from subprocess import check_output

    return {"right": check_output(results)}


def unpack_object(doc, results):
    import pickle

    return {"right": pickle.loads(results[0])}


def parse_expression(doc, results):
    from sympy.parsing.sympy_parser import parse_expr

    return {"right": parse_expr(results[0])}


def ask_for_programs(doc, results):
    passed, _ = programs.compute(references=[doc["test"]], predictions=[results])
    return passed


def join_texts(doc, results):
    return {"right": float(os.fspath(results[0]) == doc["answer"]), "frame": results.eval}


class Checker:
    """A filter with a function of its own."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def apply(self, responses, docs):
        return [self.read(text) for text in responses]

    def read(self, text):
        return compile(text, "answer", "exec")


class Reader(Checker):
    def read(self, text):
        return text.strip()


@pytest.mark.parametrize(
    ("config", "execution"),
    [
        ({"process_results": run_text}, "eval in test_answer_execution.py, run_text"),
        ({"process_results": run_text_later}, "exec in test_answer_execution.py, check"),
        ({"process_results": call_helper}, "eval in"),
        ({"process_results": start_program}, "subprocess in"),
        ({"process_results": start_shell}, "os.system in"),
        ({"process_results": import_and_start}, "subprocess in"),
        ({"process_results": unpack_object}, "pickle.loads in"),
        ({"process_results": parse_expression}, "sympy.parsing.sympy_parser.parse_expr in"),
        ({"process_results": functools.partial(run_text, {})}, "eval in"),
        ({"metric_list": [{"metric": run_text}]}, "eval in"),
        ({"metric_list": [{"metric": "exact", "aggregation": start_shell}]}, "os.system in"),
        ({"metric_list": [{"metric": "other/code_eval_fast"}]}, "metric other/code_eval_fast in"),
        ({"filter_list": [{"filter": [{"function": "custom", "filter_fn": run_text}]}]}, "eval in"),
        ({"filter_list": [{"filter": [{"function": Checker()}]}]}, "compile in"),
        ({"filter_list": [{"filter": [{"function": Reader(run_text)}]}]}, "eval in"),
    ],
)
def test_what_runs_answers_is_found_and_refused(config, execution):
    task = make_task(**config)
    assert find_answer_execution(task).runs.startswith(execution)
    with pytest.raises(HarnessError, match="task sums is not available: its scoring would run"):
        refuse_answer_execution(task, "sums")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"process_results": compare_texts},
        {"process_results": join_texts},
        {"metric_list": [{"metric": "exact_match", "aggregation": "mean"}, 3, None]},
        {"metric_list": [{"metric": task_metrics.instructions_followed}]},
        {"filter_list": [{"filter": [{"function": "regex", "regex_pattern": "eval"}]}]},
    ],
)
def test_what_compares_texts_is_asked(config):
    scoring = find_answer_execution(make_task(**config))
    assert (scoring.runs, scoring.uses_sandbox) == ("", False)
    refuse_answer_execution(make_task(**config), "sums")


@pytest.mark.parametrize(
    "config",
    [
        {"process_results": ask_for_programs},
        {"metric_list": [{"metric": CODE_METRIC}]},
        {"metric_list": [{"metric": task_metrics.tests_passed}]},
        {"metric_list": [{"metric": programs.compute}]},
    ],
)
def test_programs_that_run_in_the_sandbox_are_asked(config):
    scoring = find_answer_execution(make_task(**config))
    assert (scoring.runs, scoring.uses_sandbox) == ("", True)
    refuse_answer_execution(make_task(unsafe=True, **config), "sums")


def test_code_that_is_declared_and_not_seen_is_refused():
    for task in (make_task(unsafe=True), make_task(unsafe_code=True)):
        with pytest.raises(HarnessError, match="it declares `unsafe_code`"):
            refuse_answer_execution(task, "sums")


def test_methods_of_a_task_of_its_own_class_are_followed():
    class Task:
        config = SimpleNamespace()

        def process_results(self, doc, results):
            return self.check(results[0])

        def check(self, text):
            return eval(text)

    assert find_answer_execution(Task()).runs.startswith("eval in")
