"""Services that take multipart forms, and services that answer in plain text."""

from __future__ import annotations

from email.parser import BytesParser

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from evalcore.access.secrets import Secrets
from evalcore.errors import TargetFailure, UsageError
from evalcore.records import GenerationRequest, TargetSpec
from evalcore.settings import Settings
from evalcore.targets.application import ServiceRequest, create_application
from evalcore.targets.application_card import load_description

DESCRIPTION = """
title: Old service
base_url: {url}
branches:
  - submit:
      url: /convert
      multipart: {{to: $target_dialect}}
      files: {{statement: $sql}}
      reply: text
    extract: text
"""
HOSTILE = "SELECT 'é\r\n--boundary'; -- \"x\""


@pytest.fixture
async def service():
    """A service that answers with what it was sent, as text of a charset that is none."""
    seen = []

    async def convert(request: web.Request) -> web.Response:
        parts = {}
        async for part in await request.multipart():
            parts[part.name] = (part.filename, (await part.read()).decode())
        seen.append(parts)
        text = parts["statement"][1]
        words = b"" if "nothing" in text else f"-- converted\n{text}".encode()
        return web.Response(body=words, content_type="text/plain", charset="zlib_codec")

    app = web.Application()
    app.router.add_post("/convert", convert)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/"), seen


async def ask(folder, url: str, sql: str) -> str:
    path = folder / "old.yaml"
    path.write_text(DESCRIPTION.format(url=url))
    target = create_application(TargetSpec(f"app:{path}"), Settings(), Secrets())
    await target.open(lambda line: None)
    try:
        fields = {"sql": sql, "target_dialect": "MySQL"}
        return (await target.generate(GenerationRequest(messages=(), input=fields))).text
    finally:
        await target.close()


async def test_a_case_goes_as_a_multipart_form_and_comes_back_as_text(tmp_path, service):
    url, seen = service
    assert await ask(tmp_path, url, HOSTILE) == f"-- converted\n{HOSTILE}"
    assert seen == [{"to": (None, "MySQL"), "statement": ("case.sql", HOSTILE)}]


async def test_an_empty_text_is_no_answer(tmp_path, service):
    with pytest.raises(TargetFailure, match="empty body"):
        await ask(tmp_path, service[0], "nothing")


def test_the_boundary_is_no_part_of_what_is_sent():
    fields = {"a": "x", "b": HOSTILE}
    body = ServiceRequest("POST", "http://h/", multipart=fields).build_body()
    head = f"Content-Type: {body['headers']['Content-Type']}\r\n\r\n".encode()
    parts = BytesParser().parsebytes(head + body["data"]).get_payload()
    assert [part.get_payload(decode=True).decode() for part in parts] == list(fields.values())


def test_one_kind_of_body_is_given(tmp_path):
    path = tmp_path / "two.yaml"
    text = DESCRIPTION.format(url="http://127.0.0.1:1").replace("reply: text", "form: {a: b}")
    path.write_text(text)
    with pytest.raises(UsageError, match="not both"):
        load_description(f"app:{path}", Settings())
