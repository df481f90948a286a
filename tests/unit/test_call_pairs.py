"""Calls beside the accepted ones: who belongs to whom, and what is marked."""

from __future__ import annotations

import pytest

from evalcore.views.cases import MAX_CALLS, pair_calls


def call(name="f", **arguments):
    return {"name": name, "arguments": arguments}


def body(answer, accepted, output=None, expected=None, argument=()):
    return {
        "answer": answer,
        "accepted": accepted,
        "output": output,
        "expected": expected,
        "argument": list(argument),
    }


def marks(pair):
    return {line.name: line.mark for line in pair.lines}


def test_the_argument_of_the_finding_is_the_mismatch_and_the_rest_is_held_by_equality():
    [pair] = pair_calls(body([call(a=1, b=[2])], [call(a=[1], b=[[3]])], 0, 0, ("b", 0)))
    assert marks(pair) == {"a": "accepted", "b": "mismatch"}
    assert [line.mismatch_path for line in pair.lines] == [(), ("0",)]


def test_missing_extra_and_omitted_arguments_are_told_apart():
    accepted = [call(a=[1], b=[2, ""], c=[3])]
    [pair] = pair_calls(body([call(a=1, d=4)], accepted, 0, 0, ("c",)))
    assert marks(pair) == {"a": "accepted", "b": "omitted", "c": "missing", "d": "extra"}
    assert [line.is_present for line in pair.lines] == [True, False, False, True]


def test_where_the_scorer_found_no_fault_another_spelling_is_accepted_too():
    [pair] = pair_calls(body([call(city="oslo ")], [call(city=["Oslo"])]))
    assert marks(pair) == {"city": "accepted"}


def test_a_difference_that_no_finding_is_about_is_only_called_one():
    [pair, _] = pair_calls(body([call(a=2, b=1)], [call(a=[1], b=[1]), call(a=[9], b=[9])]))
    assert marks(pair) == {"a": "differs", "b": "accepted"}


def test_an_accepted_object_holds_alternatives_by_key():
    accepted = [call(a=[{"x": [1, 2], "y": [3, ""]}], b=[[{"x": [1]}]])]
    right = call(a={"x": 2}, b=[{"x": 1}])
    wrong = call(a={"x": 3}, b=[{"x": 1}, {"x": 1}])
    [pair] = pair_calls(body([right], accepted, 0, 0, ("c",)))
    assert marks(pair) == {"a": "accepted", "b": "accepted"}
    [pair] = pair_calls(body([wrong], accepted, 0, 0, ("c",)))
    assert marks(pair) == {"a": "differs", "b": "differs"}


def test_names_are_equal_as_servers_write_them():
    [same] = pair_calls(body([call("a_b")], [call("a.b")]))
    [other] = pair_calls(body([call("a_c")], [call("a.b")], 0, 0))
    assert (same.same_name, other.same_name) == (True, False)


def test_parallel_calls_are_joined_by_likeness_whatever_their_order():
    accepted = [call(n=[1]), call(n=[2]), call(n=[3])]
    calls = pair_calls(body([call(n=3), call(n=1)], accepted))
    joined = {(p.answered, p.lines[0].value, p.lines[0].accepted) for p in calls}
    assert joined == {("f", 3, (3,)), ("f", 1, (1,)), ("", None, (2,))}


def test_the_pair_of_the_finding_stands_first():
    accepted = [call(n=[1]), call(n=[2])]
    calls = pair_calls(body([call(n=1), call(n=7)], accepted, 1, 1, ("n",)))
    assert [pair.lines[0].mark for pair in calls] == ["mismatch", "accepted"]


@pytest.mark.parametrize("answer", [None, []])
def test_without_an_answer_the_accepted_calls_stand_alone(answer):
    [pair] = pair_calls(body(answer, [call(n=[1])]))
    assert (pair.answered, pair.accepted) == ("", "f")
    assert marks(pair) == {"n": "unmarked"}


def test_without_accepted_calls_the_answer_stands_alone():
    [pair] = pair_calls(body([call(n=1)], None))
    assert (pair.answered, pair.accepted) == ("f", "")


def test_an_answer_of_any_length_is_cut():
    assert len(pair_calls(body([call(n=1)] * 5_000, [call(n=[1])]))) == MAX_CALLS


@pytest.mark.parametrize(
    "wrong", [{}, body([1], [2]), body([{"name": "f"}], [call()]), body(7, None)]
)
def test_another_form_is_an_error_that_the_page_expects(wrong):
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        pair_calls(wrong)
