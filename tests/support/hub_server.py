"""A server on the loopback that stands for the Hugging Face Hub: data sets, some of them gated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from tests.support import quiet_server

COMMIT = "c0ffee" * 6 + "c0ff"
TOKEN = "hf_" + "loopbackToken123" * 2
NOT_GRANTED = "hf_" + "anotherAccount45" * 2


class Hub:
    """What the server knows and what it was asked: `asked` holds method, path and authorization."""

    def __init__(self, dataset: str, files: Mapping[str, bytes], *, gated: bool) -> None:
        self.dataset, self.files, self.gated = dataset, dict(files), gated
        self.commits = {COMMIT, "main"}
        self.asked: list[tuple[str, str, str]] = []
        self.listing: list[object] | None = None
        self.refusal: tuple[int, dict[str, str]] | None = None
        self.address = ""

    def reply(self, path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a path."""
        if self.refusal:
            return *self.refusal, b""
        api, files = f"/api/datasets/{self.dataset}/", f"/datasets/{self.dataset}/resolve/"
        if not path.startswith((api, files)):
            return 404, {"X-Error-Code": "RepoNotFound"}, b""
        kind, _, rest = path.removeprefix(api).removeprefix(files).partition("/")
        if path.startswith(api):
            if rest.partition("/")[0] not in self.commits:
                return 404, {"X-Error-Code": "RevisionNotFound"}, b""
            results: object = {"id": self.dataset, "sha": COMMIT, "siblings": []}
            return 200, {}, json.dumps(results if kind == "revision" else self._tree()).encode()
        return self._file(kind, rest, authorization)

    def _file(
        self, commit: str, name: str, authorization: str
    ) -> tuple[int, dict[str, str], bytes]:
        if commit not in self.commits:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if self.gated and authorization != f"Bearer {TOKEN}":
            status = 403 if authorization else 401
            return status, {"X-Error-Code": "GatedRepo", "X-Error-Message": "restricted"}, b""
        if name not in self.files:
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        content = self.files[name]
        etag = hashlib.sha256(content).hexdigest()
        return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, content

    def _tree(self) -> list[object]:
        if self.listing is not None:
            return self.listing
        return [
            {"type": "directory", "path": "2023", "oid": "0" * 40},
            *(listed(name, content) for name, content in self.files.items()),
        ]


def listed(name: str, content: bytes) -> dict[str, object]:
    """A file as the Hub lists it."""
    oid = hashlib.sha256(content).hexdigest()
    lfs = {"oid": oid, "size": len(content), "pointerSize": 130}
    return {"type": "file", "path": name, "size": len(content), "oid": oid[:40], "lfs": lfs}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """The hub behind an address of the loopback, for as long as the block lasts."""

    class Handler(quiet_server.Handler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            authorization = self.headers.get("Authorization", "")
            hub.asked.append((self.command, path, authorization))
            status, headers, body = hub.reply(path, authorization)
            self.send(status, headers, body)

        do_HEAD = do_GET

    with quiet_server.listening(Handler) as port:
        hub.address = f"http://127.0.0.1:{port}"
        yield hub
