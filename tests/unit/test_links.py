"""A link to a case has one spelling and survives any name."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from pages.components.state import CaseLink


def test_defaults_stay_out_of_the_link():
    link = CaseLink(run="r", benchmark="", metric="m", id="1")
    assert link.params == {"run": "r", "metric": "m", "id": "1"}


def test_everything_else_is_in_it():
    link = CaseLink(run="r", benchmark="b", metric="m", id="1", epoch=2, outcome="failed")
    assert link.params["epoch"] == "2"
    assert link.params["outcome"] == "failed"


def test_a_hostile_name_stays_one_parameter():
    name = "a&run=other#x?y=/..%2F 你好"
    query = parse_qs(urlsplit(CaseLink("r", "b", "m", name).url).query)
    assert query == {"run": ["r"], "benchmark": ["b"], "metric": ["m"], "id": [name]}
