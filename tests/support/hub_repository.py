"""A server on the loopback that stands for the Hub where data set repositories are written.

It speaks what `huggingface_hub` asks when it makes a repository, looks at it, uploads and commits:
small texts come within the commit, archives by the protocol for large files.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support import quiet_server
from tests.support.hub_server import listed

TOKEN = "hf_" + "writerOfThisBoard" * 2
REPO = "lab/board"

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Store:
    """The repositories, and what was asked of the server.

    `refusals` are statuses for the next requests whose method and path begin with a text;
    `before_commit` is called once, before the next commit is looked at. `proposals` are the pull
    requests, which change nothing: what each says and adds.
    """

    repo: str = REPO
    kind: str = "datasets"
    proposals: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    private: bool = True
    exists: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=lambda: ["0" * 40])
    asked: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[tuple[str, int]] = field(default_factory=list)
    before_commit: Any = None
    address: str = ""

    @property
    def head(self) -> str:
        return self.commits[-1]

    def add(self, files: dict[str, bytes]) -> None:
        """A commit, named by its content as git does: clients remember the files of a commit at an
        address, and a later server may be given the same port."""
        self.files |= files
        self.exists = True
        self.commits.append(hashlib.sha1(f"{self.commits} {self.files}".encode()).hexdigest())

    def count(self, method: str, part: str = "") -> int:
        return sum(asked == method and part in path for asked, path in self.asked)

    def reply(self, method: str, path: str, body: bytes, token: str, query: str = "") -> Answer:
        for refusal in self.refusals:
            if f"{method} {path}".startswith(refusal[0]):
                self.refusals.remove(refusal)
                return refusal[1], {}, b'{"error": "refused"}'
        if method == "PUT":
            self.large[path.rpartition("/")[2]] = body
            return 200, {}, b""
        if token != f"Bearer {TOKEN}":
            return 401, {}, b'{"error": "Invalid username or password."}'
        if path == "/api/validate-yaml":
            return _json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if not self.exists or self.repo not in path:
            return 404, {"X-Error-Code": "RepoNotFound"}, b'{"error": "Repository not found"}'
        return self._of_repository(method, path, body, query)

    def _create(self, asked: dict[str, Any]) -> Answer:
        assert asked["type"] == "dataset"
        assert f"{asked['organization']}/{asked['name']}" == self.repo
        self.exists, self.private = True, asked.get("visibility") == "private"
        return _json({"url": f"{self.address}/datasets/{self.repo}", "id": self.repo})

    def _of_repository(self, method: str, path: str, body: bytes, query: str) -> Answer:
        api = f"/api/{self.kind}/{self.repo}"
        if path == api:
            return _json(
                {"id": self.repo, "sha": self.head, "private": self.private, "siblings": []}
            )
        revision, _, rest = path.removeprefix(f"{api}/").partition("/")[2].partition("/")
        if path.startswith((f"{api}/tree/", f"{api}/revision/", f"{api}/paths-info/")):
            if revision not in ("main", *self.commits):
                return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
            if path.startswith(f"{api}/revision/"):
                return _json({"id": self.repo, "sha": self.head, "siblings": []})
            entries = self._entries()
            if path.startswith(f"{api}/tree/"):
                return _json([entry for entry in entries if _is_below(entry, rest, query)])
            names = parse_qs(body.decode())["paths"]
            return _json([entry for entry in entries if entry["path"] in names])
        if path.startswith(f"{api}/preupload/"):
            return self._modes(json.loads(body))
        if path == f"/datasets/{self.repo}.git/info/lfs/objects/batch":
            return self._batch(json.loads(body))
        if path.startswith(f"{api}/commit/"):
            return self._commit(body, query)
        name = path.partition(f"/datasets/{self.repo}/resolve/")[2].partition("/")[2]
        if name in self.files:
            content = self.files[name]
            etag = hashlib.sha256(content).hexdigest()
            return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": self.head}, content
        return 404, {"X-Error-Code": "EntryNotFound"}, b""

    def _entries(self) -> list[dict[str, object]]:
        """Folders and files, as the Hub lists them."""
        parents = {str(parent) for name in self.files for parent in PurePosixPath(name).parents}
        return [
            *({"type": "directory", "path": path, "oid": "0" * 40} for path in parents - {"."}),
            *(listed(name, content) for name, content in self.files.items()),
        ]

    def _modes(self, asked: dict[str, Any]) -> Answer:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".zip") else "regular",
                "shouldIgnore": False,
            }
            for file in asked["files"]
        ]
        return _json({"files": files})

    def _batch(self, asked: dict[str, Any]) -> Answer:
        objects = []
        for item in asked["objects"]:
            params = {"href": f"{self.address}/large/{item['oid']}"}
            actions = {} if item["oid"] in self.large else {"actions": {"upload": params}}
            objects.append({"oid": item["oid"], "size": item["size"], **actions})
        return _json({"transfer": "basic", "objects": objects})

    def _commit(self, body: bytes, query: str) -> Answer:
        if self.before_commit:
            before, self.before_commit = self.before_commit, None
            before()
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        if header.get("parentCommit", self.head) != self.head:
            return 412, {}, b'{"error": "A commit has happened since. Please refresh."}'
        files = {}
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
            else:
                assert line["key"] == "file", "nothing is ever taken away"
                files[value["path"]] = base64.b64decode(value["content"])
        assert not set(files) & set(self.files), "nothing is ever changed"
        if "create_pr=1" in query:
            self.proposals.append((header["summary"], files))
            url = f"{self.address}/{self.repo}/discussions/{len(self.proposals)}"
            commit = f"{self.address}/{self.repo}/commit/{'1' * 40}"
            done = {"success": True, "commitOid": "1" * 40, "commitUrl": commit}
            return _json(done | {"pullRequestUrl": url})
        self.add(files)
        url = f"{self.address}/datasets/{self.repo}/commit/{self.head}"
        return _json({"success": True, "commitOid": self.head, "commitUrl": url})


def _is_below(entry: dict[str, object], folder: str, query: str) -> bool:
    path = PurePosixPath(str(entry["path"]))
    if "recursive=true" in query.lower():
        return not folder or PurePosixPath(folder) in path.parents
    return path.parent == PurePosixPath(folder)


def _json(value: object) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


@contextmanager
def serving(store: Store) -> Iterator[Store]:
    """The store behind an address of the loopback, for as long as the block lasts."""

    class Handler(quiet_server.Handler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            path = unquote(parts.path)
            store.asked.append((self.command, path))
            body = self._body()
            token = self.headers.get("Authorization", "")
            status, headers, content = store.reply(self.command, path, body, token, parts.query)
            self.send(status, headers, content)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.content()
            pieces = b""
            while size := int(self.rfile.readline(), 16):
                pieces += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return pieces

        do_GET = do_HEAD = do_POST = do_PUT = _answer

    with quiet_server.listening(Handler) as port:
        store.address = f"http://127.0.0.1:{port}"
        yield store
