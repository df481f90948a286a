"""Replies, streams, model texts, seals, Hub archives and foreign logs, distorted: only the
documented errors come out, and what is taken can be written again.

The other readers of the gate are in `test_intake_fuzz.py`.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st

from evalcore.access.signing import (
    SigningKey,
    generate_key,
    load_public_key,
    load_signing_key,
)
from evalcore.call_formats import read_calls
from evalcore.errors import IntakeError, RunFolderError, UsageError
from evalcore.exchange.hub_store import archives
from evalcore.exchange.logs.importer import import_logs
from evalcore.intake.json_text import parse_json
from evalcore.records import Completion, Episode, Failure, to_json
from evalcore.settings import Endpoint
from evalcore.store import chain, journal, seal
from evalcore.store.run_folder import RunFolder, StoredEpisode
from evalcore.targets import failures
from evalcore.targets.endpoint.select import create_dialect
from tests.support import stored_runs
from tests.support.boards import settings_in
from tests.support.call_spellings import SPELLINGS
from tests.support.call_writers import ONE, TOOLS, TWO
from tests.support.fuzz import distorted, fuzz, lines, mangled, refusal, written
from tests.support.log_fixtures import FIXTURES
from tests.support.provider_exchanges import EXCHANGES

pytestmark = pytest.mark.slow

EPISODE = Episode(key="a/1", epoch=0, answer='"chain":"0123456789abcdef"}', state={"a": [1]})
APIS = ("chat", "responses", "anthropic", "gemini")
ENDPOINT = Endpoint(base_url="https://provider.example/v1")


@cache
def scratch() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="evalcore-fuzz-")


#: Whole replies of the other APIs, with every part that their documents name.
REPLIES: dict[str, list[Any]] = {
    "responses": [
        {
            "id": "resp_1",
            "status": "completed",
            "model": "m",
            "incomplete_details": {"reason": "max_output_tokens"},
            "error": None,
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thought"}]},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "ok", "annotations": []}],
                },
                {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
            ],
            "usage": {
                "input_tokens": 3,
                "output_tokens": 2,
                "input_tokens_details": {"cached_tokens": 1},
                "output_tokens_details": {"reasoning_tokens": 1},
            },
        }
    ],
    "anthropic": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
            "content": [
                {"type": "thinking", "thinking": "thought", "signature": "s"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "c", "name": "add", "input": {"a": [1]}},
            ],
            "usage": {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 1},
        },
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ],
    "gemini": [
        {
            "candidates": [
                {
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "thought", "thought": True},
                            {"text": "ok"},
                            {"functionCall": {"name": "add", "args": {"a": 1}}},
                        ],
                    },
                }
            ],
            "promptFeedback": {"blockReason": "SAFETY"},
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
            "modelVersion": "m",
        }
    ],
}
#: Events of their streams, in the order in which they come.
EVENTS: dict[str, list[Any]] = {
    "responses": [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "o"},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{"},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message"}},
        {"type": "response.completed", "response": REPLIES["responses"][0]},
        {"type": "error", "code": "server_error", "message": "gone"},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "o"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c", "name": "add", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
    "gemini": REPLIES["gemini"],
}


@cache
def list_recorded() -> tuple[list[Any], list[Any]]:
    """The JSON bodies of all recorded exchanges, and the data of their events."""
    request = {"model": "m", "messages": [], "stream": True}
    bodies, events = [], []
    for exchange in EXCHANGES:
        try:
            body = exchange.respond(request)[1]
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # it answers only the request of its own test
        if isinstance(body, dict):
            bodies.append(body)
        for line in body.splitlines() if isinstance(body, bytes) else ():
            if isinstance(event := json_of(line.removeprefix(b"data: ")), dict):
                events.append(event)
    assert len(bodies) > 50
    assert len(events) > 5
    return bodies, events


def json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def list_replies(api: str) -> list[Any]:
    return list_recorded()[0] if api == "chat" else REPLIES[api]


def list_stream_events(api: str) -> list[Any]:
    return list_recorded()[1] if api == "chat" else EVENTS[api]


# Replies of providers.


@pytest.mark.parametrize("api", APIS)
def test_replies(api: str) -> None:
    dialect = create_dialect(api, ENDPOINT, "m", {})

    @fuzz(distorted(list_replies(api)))
    def check(content: bytes) -> None:
        try:
            reply = parse_json(content, drop=True)
        except IntakeError:
            return
        outcome = dialect.parse_reply(reply, {})
        assert isinstance(outcome, Completion | Failure)
        written(outcome)

    check()


@pytest.mark.parametrize("api", APIS)
def test_streams(api: str) -> None:
    dialect = create_dialect(api, ENDPOINT, "m", {})
    names = st.sampled_from(["", "message", "content_block_delta", "response.completed", "\x00"])

    @fuzz(st.lists(st.tuples(names, distorted(list_stream_events(api))), max_size=6))
    def check(events: list[tuple[str, bytes]]) -> None:
        stream = dialect.start_stream()
        for name, data in events:
            try:
                stream.add_event(name, data)
            except IntakeError:
                break
        reply = stream.build_reply()
        if reply is not None:
            outcome = dialect.parse_reply(reply, {})
            assert isinstance(outcome, Completion | Failure)
            written(outcome)
        assert stream.is_complete in (True, False)

    check()


HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-requests", "date"]),
    st.text(max_size=12) | st.sampled_from(["1e999", "-1", "nan", "9" * 40, "Fri, 99 Foo 2026"]),
)
ERRORS = [{"error": {"message": "slow down", "code": "rate_limit", "param": None}}, {"detail": []}]


@fuzz(st.integers(100, 999), HEADERS, distorted(ERRORS))
def test_refusals(status: int, headers: dict[str, str], body: bytes) -> None:
    failure = failures.from_status(status, headers, body.decode("utf-8", "replace"), "API_KEY")
    written(failure)
    assert failure.retry_after is None or failure.retry_after >= 0


# What models write.


@cache
def list_spelled() -> list[str]:
    return [spelling.write(calls) for spelling in SPELLINGS.values() for calls in (ONE, TWO)]


@fuzz(
    st.sampled_from(list_spelled()).flatmap(lambda text: mangled(text.encode())),
    st.booleans(),
)
def test_calls_in_texts(content: bytes, lenient: bool) -> None:
    text = content.decode("utf-8", "replace")
    reading = read_calls(text, TOOLS, lenient=lenient)
    assert len(reading.rest) <= len(text) + 10
    to_json([[call.name, call.arguments] for call in reading.calls])


# Journals and seals.


@fuzz(lines([json.loads(to_json(StoredEpisode("b", EPISODE)))]))
def test_chains(content: bytes) -> None:
    path = Path(scratch().name) / "chain.jsonl"
    path.write_bytes(content)
    for line in content.splitlines(keepends=True):
        payload, link = chain.split_line(line)
        assert payload in line + b"}"
        assert len(link) in (0, 16)
    refusal(RunFolderError, lambda: chain.find_chain_break(journal.read_journal_lines(path)))
    journal.repair_journal(path)
    before = path.read_bytes()
    with journal.Journal(path) as writer:
        writer.append(StoredEpisode("b", EPISODE))
    assert path.read_bytes().startswith(before)


@cache
def make_sealed() -> tuple[RunFolder, SigningKey, bytes]:
    root = Path(scratch().name)
    generate_key(root / "k.pem")
    key = load_signing_key(root / "k.pem")
    folder = stored_runs.finish(root / "runs", "run-1")
    seal.seal_run_folder(folder, key)
    return folder, key, (folder.path / seal.SEAL).read_bytes()


@fuzz(st.data())
def test_seals(data: st.DataObject) -> None:
    folder, _, sealed = make_sealed()
    content = data.draw(distorted([json.loads(sealed)]) | mangled(sealed))
    (folder.path / seal.SEAL).write_bytes(content)
    report = seal.verify_run_folder(folder)
    written(report)
    if json_of(content) != json_of(sealed):
        assert report.state == "broken"
    assert seal.verify_bundle_files(content, {}).state == "broken"


@fuzz(st.data())
def test_keys(data: st.DataObject) -> None:
    make_sealed()
    root = Path(scratch().name)
    for name, load in (("k.pem", load_signing_key), ("k.pem.pub", load_public_key)):
        path = root / f"mangled-{name}"
        path.write_bytes(data.draw(mangled((root / name).read_bytes())))
        path.chmod(0o600)
        message = refusal(UsageError, lambda load=load, path=path: bool(load(path)))
        assert not message or str(path) in message


# The Hub.

VERSION = archives.seal_version("runs/run-1", 3, "ab" * 32, b"key")


@fuzz(mangled(VERSION.path.encode()), st.integers(-5, 2**70))
def test_names_of_versions(name: bytes, size: int) -> None:
    path = name.decode("utf-8", "replace")
    version = archives.parse_version_path(path, size)
    assert version is None or version.path == path
    if version is not None:
        history = archives.group_versions([version], b"key")[version.subject]
        assert bool(history.own) == (path == VERSION.path)


@fuzz(st.data())
def test_hub_archives(data: st.DataObject) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in data.draw(
            st.lists(
                st.sampled_from(["spec.json", "calls/a.jsonl", "../x.json", "a.py"]), unique=True
            )
        ):
            archive.writestr(name, data.draw(st.binary(max_size=20)))
    path = Path(scratch().name) / "hub.zip"
    path.write_bytes(data.draw(mangled(packed.getvalue())))
    with TemporaryDirectory() as folder:
        unpack = partial(archives.unpack_archive, path, Path(folder) / "x", "runs/run-1", "ab" * 32)
        assert refusal(UsageError, lambda: sorted(unpack()))
        assert {each.name for each in Path(folder).iterdir()} <= {"x"}


# Logs of other frameworks.

LOGS = sorted(path for path in FIXTURES.rglob("*") if path.suffix in (".json", ".jsonl", ".eval"))


@pytest.mark.parametrize(
    "framework", sorted({path.relative_to(FIXTURES).parts[0] for path in LOGS})
)
def test_logs_of_frameworks(framework: str) -> None:
    files = [path for path in LOGS if path.is_relative_to(FIXTURES / framework)]
    contents = {path.relative_to(FIXTURES / framework): path.read_bytes() for path in files}

    @fuzz(st.data())
    def check(data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(contents)))
        content = contents[chosen]
        documents = [json_of(content)]
        hostile = distorted(documents) if isinstance(documents[0], dict) else mangled(content)
        with TemporaryDirectory() as folder:
            for name, whole in contents.items():
                path = Path(folder) / "logs" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data.draw(hostile) if name == chosen else whole)
            store = settings_in(Path(folder) / "store")
            refusal(
                UsageError,
                lambda: import_logs(Path(folder) / "logs", store, framework, len),
            )

    check()
