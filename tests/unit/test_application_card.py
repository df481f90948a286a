"""Descriptions of services: read, refused with their place, and what they make of replies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.records import TargetSpec
from evalcore.settings import Settings
from evalcore.targets import application_card, registry
from evalcore.targets import application_card as values
from evalcore.targets.application_card import Condition
from evalcore.targets.registry import same_host

KEY = "canary-Zq7x-0123456789-KEY"
EXAMPLE = Path(__file__).parents[2] / "examples" / "application.yaml"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("url: /submit, method: DELETE", "branches"),
        ("url: http://other.example/x", "must be a path"),
        ("url: /submit, form: {a: $env:SECRET}", "only in base_url and headers"),
        ("url: /submit, form: {a: b}, json: {c: d}", "not both"),
        ("url: /submit, unknown: 1", "`$.branches[0].submit`"),
        ("url: /submit, timeout: -1", "branches[0].submit.timeout"),
        ("url: /submit, query: {api_key: abcdefghijklmnop}", "contains a key"),
    ],
)
def test_a_wrong_request_is_refused_with_the_place(tmp_path, change, part):
    refused(tmp_path, f"branches: [{{submit: {{{change}}}, extract: a}}]", part)


@pytest.mark.parametrize(
    ("rest", "part"),
    [
        ("branches: []", "branches: at least one"),
        ("branches: [{submit: {url: /a}, extract: ''}]", "branches[0].extract"),
        ("branches: [{submit: {url: /a}, extract: a, error: [{path: b}]}]", "condition on 'b'"),
        ("branches: [{submit: {url: /a}, extract: a, say: [{when: [], text: x}]}]", "say[0]"),
        ("branches: [{submit: {url: /a}, extract: a, poll: {url: /b, done: []}}]", "poll.done"),
        (
            "branches: [{submit: {url: /a}, extract: a, "
            "poll: {url: /b, interval: 0, done: [{path: c, present: true}]}}]",
            "branches[0].poll",
        ),
        ("max_in_flight: 0\nbranches: [{submit: {url: /a}, extract: a}]", "max_in_flight"),
        ("requests_per_minute: 0\nbranches: [{submit: {url: /a}, extract: a}]", "per_minute"),
        (
            "headers: {Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l}\n"
            "branches: [{submit: {url: /a}, extract: a}]",
            "headers.Authorization: write $env:NAME",
        ),
    ],
)
def test_a_wrong_description_is_refused_with_the_field(tmp_path, rest, part):
    refused(tmp_path, rest, part)


def refused(tmp_path, rest, part):
    path = tmp_path / "bad.yaml"
    path.write_text(f"title: Bad\nbase_url: http://x.example\n{rest}")
    with pytest.raises(UsageError, match=r"bad\.yaml") as caught:
        application_card.load_description(f"app:{path}", Settings())
    assert part in str(caught.value)
    assert "YWxhZGRpbjpvcGVuc2VzYW1l" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [("a: &x [1]\nb: *x", "aliases"), ("- 1", "must contain fields"), ("{", "is not valid YAML")],
)
def test_a_hostile_description_is_refused(tmp_path, content, part):
    path = tmp_path / "hostile.yaml"
    path.write_text(content)
    with pytest.raises(UsageError, match=part):
        application_card.load_description(f"app:{path}", Settings())


def test_an_unknown_service_is_answered_with_the_known():
    with pytest.raises(UsageError, match="app:sqlflash, app:sqlshift"):
        application_card.load_description("app:nothing", Settings())


def test_a_description_in_the_data_folder_has_a_name_and_a_broken_one_says_so(tmp_path):
    own = tmp_path / "applications"
    own.mkdir()
    (own / "ours.yaml").write_text(EXAMPLE.read_text())
    (own / "broken.json").write_text("{")
    settings = Settings(data=str(tmp_path))
    assert application_card.load_description("app:ours", settings).title == "Example service"
    cards = application_card.build_application_cards(settings)
    assert list(cards) == ["app:broken", "app:ours", "app:sqlflash", "app:sqlshift"]
    assert "broken.json cannot be read as JSON" in cards["app:broken"].problem
    assert cards["app:ours"].variables == ("EXAMPLE_BASE_URL", "EXAMPLE_API_KEY")
    assert cards["app:sqlflash"].can_answer("sql_optimization", "index_advice")
    assert not cards["app:sqlshift"].can_answer("sql_optimization", "index_advice")


def test_paths_find_what_they_say_and_nothing_else():
    reply = {"data": {"steps": [{"sql": "a"}, {"sql": "b"}, 3], "": 1}, "n": None}
    assert values.find_value(reply, "data.steps[0].sql") == "a"
    assert values.find_value(reply, "$.data.steps.1.sql") == "b"
    assert values.find_value(reply, "data.steps[-1]") == 3
    assert values.find_value(reply, "data.steps[*].sql") == ["a", "b", None]
    for nowhere in ("data.steps[3]", "data.steps[-4]", "data.steps.sql", "n.x", "data[0]"):
        assert values.find_value(reply, nowhere) is None


def test_conditions_tell_true_from_one_and_count_missing_as_null():
    assert values.is_condition_met(Condition(path="a", any_of=(1,)), {"a": 1})
    assert not values.is_condition_met(Condition(path="a", any_of=(1,)), {"a": True})
    assert values.is_condition_met(Condition(path="a", none_of=(0,)), {})
    assert values.is_condition_met(Condition(path="a", any_of=(None,)), {})
    assert values.is_condition_met(Condition(path="a", present=False), {"a": None})


def test_same_host_counts_the_port():
    assert same_host("https://a.example/x", "https://a.example:443")
    assert not same_host("https://a.example", "https://a.example:444")


REPLIES = {
    "indexes": (
        {"code": 0, "data": {"indexes": [{"index_stmt": "CREATE INDEX i ON t (a);"}]}},
        "CREATE INDEX i ON t (a);",
    ),
    "none needed": (
        {"code": 0, "data": {"requires_index": False, "other_advice": ""}},
        "No index is needed.",
    ),
    "none helps": (
        {"code": 0, "data": {"requires_index": False, "other_advice": "rewrite it"}},
        "No index can help.",
    ),
    "nothing said": ({"code": 0, "data": {"origin_sql": "SELECT 1"}}, ""),
}


@pytest.mark.parametrize("name", REPLIES)
def test_sqlflash_index_advice_is_read_in_each_of_its_forms(name):
    reply, expected = REPLIES[name]
    branch = application_card.load_description("app:sqlflash", Settings()).find_branch(
        "sql_optimization", "index_advice"
    )
    assert values.extract_service_answer(branch, reply) == expected


def test_sqlflash_without_steps_offers_nothing_although_the_original_is_there():
    branch = application_card.load_description("app:sqlflash", Settings()).find_branch(
        "sql_optimization", "optimization_depth"
    )
    done = {"state": "done", "steps": []}
    reply = {"code": 0, "data": {"origin_sql": "SELECT 1", "optimize": done}}
    assert values.extract_service_answer(branch, reply) == "The service found nothing to improve."
    done["steps"] = [{"optimized_sql": "a"}, {"optimized_sql": "b"}]
    assert values.extract_service_answer(branch, reply) == "b"
    del done["steps"]
    assert values.extract_service_answer(branch, reply) == ""


@pytest.mark.parametrize("name", ["sqlflash", "sqlshift", str(EXAMPLE)])
def test_every_description_that_comes_along_can_be_opened(name, monkeypatch):
    described = application_card.load_description(f"app:{name}", Settings())
    for variable in (*described.address_variables, *described.key_variables):
        monkeypatch.setenv(variable, "http://127.0.0.1:9" if "URL" in variable else KEY)
    made = registry.create_target(TargetSpec(f"app:{name}"), Settings(), Secrets())
    asyncio.run(made.open(lambda line: None))
    branch = described.branches[0]
    filled = values.fill_template(
        branch.submit.form, values.build_template_values(made.build_example_input(), branch)
    )
    assert "SELECT id" in json.dumps(filled)


def test_sqlshift_is_told_the_words_that_scale_uses():
    branch = application_card.load_description("app:sqlshift", Settings()).find_branch(
        "dialect_conversion", "x"
    )
    options = {"source_dialect": "SQL Server", "target_dialect": "OceanBase (Oracle mode) 4.2.5"}
    template_values = values.build_template_values(options, branch)
    assert (template_values["source_dialect"], template_values["target_dialect"]) == (
        "SQLServer",
        "OceanBase的Oracle模式-4.2.5",
    )
    with pytest.raises(values.MissingValue, match="no word for target_dialect 'DuckDB'"):
        values.build_template_values(options | {"target_dialect": "DuckDB"}, branch)
