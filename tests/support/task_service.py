"""A service on the loopback that converts SQL in the background, and misbehaves on demand.

POST /submit (form or JSON with `sql`, `to`) and GET /tasks/ID answer as SCALE's applications do:
{"code": 0, "data": {...}}. What the statement begins with decides what happens, and the rest is
echoed in capitals; for a statement in `answers` the answer stands there and the mood in `moods`.
POST /now answers at once. Every request is kept in `seen`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

HUGE = 5_000_000
PLAIN = "do"


class TaskService:
    """`seen` holds (method, path, headers, body) per request, `tasks` the statement per id,
    `polls` and `submits` count, `polled_at` has the times of all polls."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], dict[str, Any]]] = []
        self.tasks: dict[str, str] = {}
        self.polls: Counter[str] = Counter()
        self.polled_at: list[float] = []
        self.submits: Counter[str] = Counter()
        self.answers: dict[str, str] = {}
        self.moods: dict[str, str] = {}
        self.base_url = ""

    def mood(self, sql: str) -> tuple[str, str]:
        """What happens to a statement, and its answer."""
        if sql in self.answers:
            return self.moods.get(sql, PLAIN), self.answers[sql]
        word, _, rest = sql.partition(" ")
        return word, rest if word == "status" else rest.upper()

    async def submit(self, request: web.Request) -> web.StreamResponse:
        body = await self._keep(request)
        sql = str(body.get("sql", ""))
        self.submits[sql] += 1
        word, rest = self.mood(sql)
        if word == "hang":
            await asyncio.sleep(30)
        if word == "busy" and self.submits[sql] < 3:
            return web.json_response({"message": "restarting"}, status=500)
        if word == "limited" and self.submits[sql] < 3:
            return web.json_response({}, status=429, headers={"Retry-After": "0"})
        if word == "status":
            texts = {"message": f"your key was {request.headers.get('Authorization')}"}
            wait = {"Retry-After": "3"} if rest == "429" else {}
            return web.json_response(texts, status=int(rest), headers=wait)
        if word in _REPLIES:
            return _REPLIES[word]()
        name = f"t{len(self.tasks)}"
        self.tasks[name] = sql
        return web.json_response({"code": 0, "data": {"task_id": name}})

    async def task(self, request: web.Request) -> web.StreamResponse:
        await self._keep(request)
        self.polled_at.append(time.monotonic())
        name = request.match_info["name"]
        sql = self.tasks[name]
        self.polls[name] += 1
        word, answer = self.mood(sql)
        early = self.polls[name] < 3
        if word == "down" or (word == "flaky" and early):
            return web.json_response({"message": "busy"}, status=503)
        if word == "garbled" and early:
            return web.Response(text="<html>502</html>", content_type="text/html")
        if word == "deaf":
            await asyncio.sleep(30)
        if word == "endless" or (word == "slow" and early):
            return web.json_response({"code": 0, "data": {"state": "running"}})
        if word == "lost":
            failed = {"state": "failed", "origin_sql": sql}
            return web.json_response({"code": 0, "data": failed, "message": "worker died"})
        if word == "leak":
            answer = f"-- {request.headers.get('Authorization')}"
        steps = [{"optimized_sql": "first draft"}, {"optimized_sql": answer}]
        steps = {"idle": [], "same": [{"optimized_sql": sql}]}.get(word, steps)
        done: dict[str, Any] = {"state": "done", "origin_sql": sql, "steps": steps}
        if word == "empty":
            del done["steps"]
        return web.json_response({"code": 0, "data": done})

    async def now(self, request: web.Request) -> web.StreamResponse:
        body = await self._keep(request)
        return web.json_response({"out": [f"{body.get('word')}!", "", "second"], "body": body})

    async def _keep(self, request: web.Request) -> dict[str, Any]:
        kind = request.content_type
        body = await request.json() if kind == "application/json" else dict(await request.post())
        self.seen.append((request.method, request.path_qs, dict(request.headers), body))
        return body


def _away() -> web.Response:
    raise web.HTTPTemporaryRedirect("http://example.invalid/submit")


def _here() -> web.Response:
    raise web.HTTPTemporaryRedirect("/again")


_REPLIES = {
    "refuse": lambda: web.json_response({"code": 7, "message": "no such plan"}),
    "page": lambda: web.Response(text="<html>login</html>", content_type="text/html"),
    "half": lambda: web.Response(text='{"code": 0, "data": {"task_', content_type="text/json"),
    "deep": lambda: web.Response(text="[" * 100_000),
    "huge": lambda: web.Response(text=json.dumps({"code": 0, "data": "x" * HUGE})),
    "path": lambda: web.json_response({"code": 0, "data": {"task_id": "../admin"}}),
    "list": lambda: web.json_response([1, 2]),
    "away": _away,
    "here": _here,
}


@asynccontextmanager
async def serve() -> AsyncIterator[TaskService]:
    """A service that ends with the block."""
    service = TaskService()
    app = web.Application(client_max_size=50_000_000)
    app.router.add_post("/submit", service.submit)
    app.router.add_post("/again", service.now)
    app.router.add_get("/tasks/{name}", service.task)
    app.router.add_post("/now", service.now)
    async with TestServer(app) as server:
        service.base_url = str(server.make_url("/")).rstrip("/")
        yield service
