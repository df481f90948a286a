"""`app:` targets against a loopback service: what is sent, what is an answer, every error."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import asynccontextmanager

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import Completion, GenerationRequest, TargetSpec
from evalcore.runner import client
from evalcore.runner.jobs import TaskContext
from evalcore.runner.jobs import run_service as service_verbs
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.targets import application, registry
from tests.support.task_service import serve

KEY = "canary-Zq7x-0123456789-KEY"
DESCRIPTION = """
title: Loopback
base_url: $env:LOOP_URL
headers: {Authorization: Bearer $env:LOOP_KEY}
max_in_flight: 2
branches:
  - benchmark: dialect_conversion
    submit: {url: /submit, form: {sql: $sql, to: $target_dialect, tables: $schema, id: $case_id}}
    rename: {target_dialect: {PostgreSQL: PG, MySQL: MY}}
    error: [{path: code, not_in: [0]}]
    take: {task: data.task_id}
    poll:
      url: /tasks/$task
      interval: 0.01
      timeout: 0.5
      done: [{path: data.state, in: [done]}]
      failed: [{path: data.state, in: [failed]}]
    extract: data.steps[-1].optimized_sql
    say: [{when: [{path: data.steps, in: [[]]}], text: Nothing to improve.}]
  - metrics: [index_advice]
    submit: {url: /now, json: {word: "<$sql>", list: $schema}, query: {kind: $metric}}
    extract: out
    error: [{path: code, in: [9], kind: retryable}]
"""


SETTINGS = Settings(request_timeout=0.6, max_reply_bytes=4_000_000)


@pytest.fixture
async def service():
    async with serve() as running:
        yield running


@asynccontextmanager
async def opened(tmp_path, service, description):
    described = tmp_path / "loop.yaml"
    described.write_text(description)
    secrets = Secrets({"LOOP_URL": service.base_url, "LOOP_KEY": KEY})
    made = registry.create_target(TargetSpec(f"app:{described}"), SETTINGS, secrets)
    await made.open(lambda line: None)
    yield made
    await made.close()


@pytest.fixture
async def target(service, tmp_path):
    async with opened(tmp_path, service, DESCRIPTION) as made:
        yield made


def ask(sql="do select 1", **more):
    options = {
        "benchmark": "dialect_conversion",
        "metric": "logical_equivalence",
        "source_dialect": "Oracle",
        "target_dialect": "PostgreSQL 9.2",
        "schema": ["CREATE TABLE a (x INT)", "CREATE TABLE b (y INT)"],
        "sql": sql,
    }
    return GenerationRequest(messages=(), input=options | more)


async def failure_of(target, request):
    with pytest.raises(TargetFailure) as caught:
        await target.generate(request)
    return caught.value.failure


async def test_a_case_is_submitted_with_its_fields_and_the_service_words(service, target):
    done = await target.generate(ask())
    assert (done.text, done.attempts, done.model) == ("SELECT 1", 1, "Loopback")
    assert done.latency > 0
    method, path, headers, body = service.seen[0]
    assert (method, path, headers["Authorization"]) == ("POST", "/submit", f"Bearer {KEY}")
    assert body["to"] == "PG"
    assert body["tables"] == "CREATE TABLE a (x INT);\nCREATE TABLE b (y INT);"
    assert len(body["id"]) == 16
    assert service.seen[1][1] == "/tasks/t0"


async def test_a_slow_task_is_waited_for_and_polls_are_no_attempts(service, target):
    done = await target.generate(ask("slow select 2"))
    assert (done.text, done.attempts) == ("SELECT 2", 1)
    assert service.polls == {"t0": 3}


async def test_polls_that_are_lost_on_the_way_are_made_up_for(service, target):
    assert (await target.generate(ask("flaky select 3"))).text == "SELECT 3"
    assert service.polls == {"t0": 3}
    failure = await failure_of(target, ask("down select 3"))
    assert (failure.kind, failure.status) == ("retryable", 503)
    assert service.polls["t1"] == 5
    assert (await target.generate(ask("garbled select 4"))).text == "SELECT 4"


async def test_polls_keep_the_pace_that_the_description_sets(service, tmp_path):
    described = DESCRIPTION.replace("interval: 0.01", "interval: 0.12")
    async with opened(tmp_path, service, described) as target:
        assert (await target.generate(ask("slow select 5"))).latency > 0.24
    pauses = [b - a for a, b in itertools.pairwise(service.polled_at)]
    assert len(pauses) == 2
    assert all(0.11 < pause < 0.3 for pause in pauses)


async def test_the_other_branch_answers_at_once_in_json(service, target):
    done = await target.generate(ask("do", metric="index_advice", benchmark="sql_optimization"))
    assert done.text == "<do>!\nsecond"
    method, path, _, body = service.seen[0]
    assert (method, path) == ("POST", "/now?kind=index_advice")
    assert body["list"] == ["CREATE TABLE a (x INT)", "CREATE TABLE b (y INT)"]


@pytest.mark.parametrize(
    ("sql", "kind", "part"),
    [
        ("refuse", "permanent", "reports an error: no such plan"),
        ("lost x", "permanent", "worker died"),
        ("empty x", "malformed", "no answer at data.steps[-1].optimized_sql"),
        ("do", "malformed", "no answer"),
        ("page", "malformed", "malformed JSON"),
        ("half", "malformed", "malformed JSON"),
        ("deep", "malformed", "malformed JSON"),
        ("list", "permanent", "reports an error without a message"),
        ("deaf x", "timeout", "no result within 0.5 s"),
        ("huge", "malformed", "max_reply_bytes"),
        ("away", "permanent", "another host"),
        ("path", "permanent", "not an id"),
        ("hang", "retryable", "within the time limit"),
        ("endless", "timeout", "no result within 0.5 s"),
        ("status 401", "permanent", "LOOP_KEY"),
        ("status 404", "permanent", "HTTP 404"),
        ("status 429", "rate_limited", "HTTP 429"),
        ("status 500", "retryable", "HTTP 500"),
    ],
)
async def test_what_is_no_answer_is_a_failure_of_its_kind(target, sql, kind, part):
    failure = await failure_of(target, ask(sql))
    assert failure.kind == kind
    assert part in failure.message
    assert KEY not in failure.message


async def test_the_server_is_heard_when_it_asks_to_wait(target):
    assert (await failure_of(target, ask("status 429"))).retry_after == 3.0


async def test_a_redirect_on_the_same_host_is_followed_with_its_body(service, target):
    await failure_of(target, ask("here"))  # /again answers without a task
    assert service.seen[1][0:2] == ("POST", "/again")
    assert service.seen[1][3]["sql"] == "here"


async def test_an_unchanged_statement_is_an_answer_only_if_the_service_gives_it(target):
    assert (await target.generate(ask("same select 4"))).text == "same select 4"
    assert (await failure_of(target, ask("empty select 4"))).kind == "malformed"
    assert (await failure_of(target, ask("lost select 4"))).kind == "permanent"


async def test_a_service_with_nothing_to_offer_is_quoted_in_words(target):
    assert (await target.generate(ask("idle select 4"))).text == "Nothing to improve."


async def test_an_answer_that_repeats_the_key_goes_without_it(target):
    assert (await target.generate(ask("leak"))).text == "-- Bearer [key removed]"


async def test_a_cancelled_request_ends_at_once(target):
    waiting = asyncio.create_task(target.generate(ask("hang")))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, 60)


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"target_dialect": "Sybase"}, "no word for target_dialect 'Sybase'"),
        ({"benchmark": "sql_understanding"}, "no branch for sql_understanding"),
    ],
)
async def test_a_case_that_the_description_does_not_know_is_a_failure(target, more, part):
    failure = await failure_of(target, ask(**more))
    assert failure.kind == "permanent"
    assert part in failure.message


def test_neither_the_target_nor_its_info_shows_a_key(target):
    assert KEY not in f"{target!r} {target.info}"


def test_what_is_missing_is_named_before_anything_starts(tmp_path, monkeypatch):
    described = tmp_path / "loop.yaml"
    described.write_text(DESCRIPTION)
    key = f"app:{described}"
    monkeypatch.delenv("LOOP_KEY", raising=False)
    monkeypatch.delenv("LOOP_URL", raising=False)
    assert client.missing_keys(key, {}, Settings()) == ("LOOP_URL", "LOOP_KEY")
    address = {"base_url": "http://127.0.0.1:9"}
    assert client.missing_keys(key, address, Settings()) == ("LOOP_KEY",)
    made = registry.create_target(TargetSpec(key), Settings(), Secrets())
    with pytest.raises(UsageError, match="LOOP_URL, LOOP_KEY"):
        asyncio.run(made.open(lambda line: None))


def test_the_key_of_a_fixed_host_goes_nowhere_else(tmp_path):
    described = tmp_path / "fixed.json"
    fixed = {
        "title": "Fixed",
        "base_url": "https://service.example",
        "headers": {"X-Key": "$env:FIXED_KEY"},
        "branches": [{"submit": {"url": "/a"}, "extract": "b"}],
    }
    described.write_text(json.dumps(fixed))

    def opened(**options):
        spec = TargetSpec(f"app:{described}", options)
        made = registry.create_target(spec, Settings(), Secrets({"FIXED_KEY": KEY}))
        asyncio.run(made.open(lambda line: None))

    opened()
    opened(base_url="http://127.0.0.1:7")
    with pytest.raises(UsageError, match=r"sent only to https://service\.example"):
        opened(base_url="https://other.example")
    with pytest.raises(UsageError, match="a password or key"):
        opened(base_url="https://u:p@service.example")
    with pytest.raises(UsageError, match="end with a path"):
        opened(base_url="http://127.0.0.1:7/?a=b")


def test_a_key_goes_to_the_host_that_the_environment_names_and_to_this_machine(monkeypatch):
    monkeypatch.setenv("SQLSHIFT_BASE_URL", "https://ours.example")
    monkeypatch.setenv("SQLSHIFT_API_KEY", KEY)

    def open_at(address):
        spec = TargetSpec("app:sqlshift", {"base_url": address})
        made = registry.create_target(spec, Settings(), Secrets())
        asyncio.run(made.open(lambda line: None))

    open_at("http://127.0.0.1:7")
    with pytest.raises(UsageError, match=r"sent only to https://ours\.example") as caught:
        open_at("https://theirs.example")
    assert KEY not in str(caught.value)


def test_the_connection_test_asks_the_service(tmp_path):
    async def tried():
        async with serve() as service:
            described = tmp_path / "loop.yaml"
            described.write_text(DESCRIPTION)
            keys = {"LOOP_URL": service.base_url, "LOOP_KEY": KEY}
            return await asyncio.to_thread(
                client.test_connection,
                f"app:{described}",
                {},
                keys,
                Settings(),
                visitor=OPERATOR,
            )

    report = asyncio.run(tried())
    assert (report.ok, report.reply) == (True, "ID FROM T WHERE ID = 1")


def test_the_connection_test_is_content_with_a_task_that_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(service_verbs, "_POLL_TIMEOUT", 0.05)

    async def tried(word):
        async with serve() as running:
            described = tmp_path / "loop.yaml"
            described.write_text(DESCRIPTION.replace("sql: $sql", f"sql: {word} $sql"))
            keys = Secrets({"LOOP_URL": running.base_url, "LOOP_KEY": KEY})
            request = RunRequest(target=f"app:{described}", benchmarks=())
            return await asyncio.to_thread(
                service_verbs.test_connection, TaskContext(Settings(), keys), request
            )

    report = asyncio.run(tried("endless"))
    assert (report.ok, report.latency) == (True, None)
    assert "working on it" in report.message
    report = asyncio.run(tried("lost"))
    assert (report.ok, "worker died" in report.message) == (False, True)


def test_options_are_checked():
    with pytest.raises(UsageError, match="known: base_url"):
        application.read_application_options(TargetSpec("app:sqlflash", {"temperature": 0}))


async def test_the_time_of_a_connection_test_is_that_of_the_request_alone(monkeypatch):
    class Slow:
        """A target that takes long to open, by a clock that only it moves."""

        now = 0.0

        async def open(self, progress):
            self.now += 100.0

        async def generate(self, request):
            self.now += 2.0
            return Completion(text="ready")

        async def close(self):
            self.now += 100.0

    target = Slow()
    monkeypatch.setattr(service_verbs.time, "monotonic", lambda: target.now)
    report = await service_verbs._test_target(target, GenerationRequest(messages=()))
    assert (report.ok, report.latency) == (True, 2.0)
