"""The tools of an agent that repairs a checkout: look, search, edit, run, submit.

The agent owns its tree, `.git` and links included, so that nothing of ours trusts it: paths are
followed only where no link is on the way, git never runs in it outside of the sandbox, and the
patch is made in a second checkout, into which the files are copied.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from evalcore.benchmarks.agents.tool import Tool
from evalcore.benchmarks.swe_bench.execution.checkout import checkout
from evalcore.benchmarks.swe_bench.execution.git import git
from evalcore.benchmarks.swe_bench.execution.interpreter import ACTIVATE, Interpreter
from evalcore.benchmarks.swe_bench.task import Task
from evalcore.closing import Closing
from evalcore.records import Completion, Message, ToolCall
from evalcore.sandbox.folder import remove
from evalcore.sandbox.program import Bind, Limits, Program, run

SUBMIT = "submit"
TREE = "/testbed"
_RUN = Limits(seconds=60.0, cpu_seconds=60, output_bytes=1 << 20)
_SHOWN = 12_000  # characters of a result
_FOUND = 100  # places that a search shows
_LARGEST = 2 << 20  # bytes of a file that is read, searched or written
#: Left by running programs; no part of a patch.
_CACHES = frozenset({".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
#: Times differ from run to run; without them a repeated episode sends the same words.
_TIMES = re.compile(r"\bin \d+\.\d+s\b")


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _tool(name: str, description: str, optional: int = 0, **properties: dict[str, str]) -> Tool:
    """A tool whose last `optional` arguments may be left out."""
    required = list(properties)[: len(properties) - optional]
    return Tool(
        name, description, {"type": "object", "properties": properties, "required": required}
    )


_LINE = {"type": "integer", "description": "a line number, from 1"}
_PATH = _text("a path in the repository")
TOOLS = (
    _tool("list_files", "Lists the files below a folder.", 1, folder=_PATH),
    _tool(
        "read_file", "Shows a text file with line numbers.", 2, path=_PATH, first=_LINE, last=_LINE
    ),
    _tool(
        "search", "Shows the lines that hold a text.", 1, text=_text("what to find"), folder=_PATH
    ),
    _tool(
        "replace",
        "Replaces a text that stands exactly once in a file.",
        path=_PATH,
        old=_text("the present text, whole lines are safest"),
        new=_text("the text in its place"),
    ),
    _tool("write_file", "Writes a whole file.", path=_PATH, content=_text("all of it")),
    _tool(
        "run", "Runs a bash command in the repository, at most 60 s.", command=_text("what to run")
    ),
    _tool(SUBMIT, "Ends the work; the checkout as it is now is tested."),
)


class Workbench(Closing):
    """The checkout of one episode; a context manager. Raises EnvironmentFailure where there is no
    repository or no sandbox."""

    def __init__(self, task: Task, python: Interpreter) -> None:
        self._task, self._python = task, python
        self._home = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
        self._calls: dict[str, Callable[..., str]] = {
            "list_files": self._list,
            "read_file": self._read,
            "search": self._search,
            "replace": self._replace,
            "write_file": self._write,
            "run": self._run,
        }
        try:
            self._tree = checkout(task, self._home / "tree")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the checkout; safe to call twice."""
        remove(self._home)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What a tool says; a text that begins with `Error: ` for whatever does not fit."""
        problem = _problem(name, arguments)
        if problem:
            return f"Error: {problem}"
        try:
            return _cut(self._calls[name](**arguments))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            return f"Error: {reason}"

    def patch(self) -> str:
        """The difference between the tree and its commit, as git writes it."""
        clean = checkout(self._task, self._home / "clean")
        try:
            for path in _files(clean):
                (clean / path).unlink()
            for path in _files(self._tree):
                _copy(self._tree / path, clean / path)
            git("add", "-A", "--force", folder=clean)
            return git("diff", "--cached", "--no-renames", "--no-ext-diff", folder=clean)
        finally:
            remove(clean)

    def _list(self, folder: str = "") -> str:
        names = [str(path) for path in _files(self._place(folder or "."))]
        return "\n".join(sorted(names)) or "(no files)"

    def _read(self, path: str, first: int = 1, last: int = 0) -> str:
        lines = self._contents(path).splitlines()
        shown = lines[max(first, 1) - 1 : last or len(lines)]
        numbered = [f"{n}\t{line}" for n, line in enumerate(shown, max(first, 1))]
        return "\n".join(numbered) or f"(no such lines; the file has {len(lines)})"

    def _search(self, text: str, folder: str = "") -> str:
        start = self._place(folder or ".")
        found: list[str] = []
        for path in sorted(_files(start)):
            place = start / path
            if place.is_symlink() or place.stat().st_size > _LARGEST:
                continue
            lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
            name = place.relative_to(self._tree)
            found += [f"{name}:{n}: {line}" for n, line in enumerate(lines, 1) if text in line]
            if len(found) > _FOUND:
                return "\n".join([*found[:_FOUND], "(more places were found)"])
        return "\n".join(found) or "(nothing found)"

    def _replace(self, path: str, old: str, new: str) -> str:
        present = self._contents(path)
        times = present.count(old) if old else 0
        if times != 1:
            raise ValueError(f"the old text stands {times} times in {path}; it has to be once")
        return self._write(path, present.replace(old, new))

    def _write(self, path: str, content: str) -> str:
        data = content.encode(errors="replace")
        if len(data) > _LARGEST:
            raise ValueError("the file would be too large")
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return f"wrote {path}, {len(content.splitlines())} lines"

    def _run(self, command: str) -> str:
        shim = self._python.shim(self._home)
        binds = (
            *self._python.binds,
            shim,
            Bind(source=str(self._tree), target=TREE, writable=True),
        )
        argv = ("bash", "-c", f"source {ACTIVATE}; cd {TREE}; {command}")
        done = run(Program(argv=argv, binds=binds, cwd=TREE), _RUN)
        ended = (
            f"ended by the limit on {done.ended_by}" if done.ended_by else f"exit {done.exit_code}"
        )
        return f"{_TIMES.sub('in a moment', _cut(done.output))}\n({ended})"

    def _contents(self, path: str) -> str:
        place = self._place(path)
        if not place.is_file():
            raise ValueError(f"{path} is no file")
        if place.stat().st_size > _LARGEST:
            raise ValueError(f"{path} is too large")
        return place.read_bytes().decode("utf-8", "replace")

    def _place(self, path: str) -> Path:
        """A path of the tree. Raises ValueError for one that leaves it or goes through a link."""
        inside = PurePosixPath(path.removeprefix(f"{TREE}/"))
        if inside.is_absolute() or ".." in inside.parts or "\0" in path or ".git" in inside.parts:
            raise ValueError(f"{path[:200]} is no path in the repository")
        place = self._tree
        for part in inside.parts:
            place = place / part
            if place.is_symlink():
                raise ValueError(f"{path[:200]} goes through a link")
        return place


def _problem(name: str, arguments: Mapping[str, Any]) -> str:
    """What is wrong with a call; "" for nothing."""
    schema = next((tool.parameters for tool in TOOLS if tool.name == name), None)
    if schema is None or name == SUBMIT:
        return f"there is no tool {name}; there are: {', '.join(tool.name for tool in TOOLS)}"
    for argument in schema["required"]:
        if argument not in arguments:
            return f"{name} needs {argument}"
    for argument, value in arguments.items():
        wanted = schema["properties"].get(argument)
        if wanted is None:
            return f"{name} has no argument {argument}"
        kind = {"string": str, "integer": int}[wanted["type"]]
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"{argument} has to be of type {wanted['type']}"
    return ""


def _files(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, without caches and git's own folders."""
    for place, below, names in os.walk(folder):
        inside = Path(place).relative_to(folder)
        links = [name for name in below if (Path(place) / name).is_symlink()]
        below[:] = sorted(name for name in below if name not in _CACHES)
        yield from (inside / name for name in (*names, *links) if name not in _CACHES)


def _copy(source: Path, place: Path) -> None:
    """Copy a file, or a link as a link; what is neither is no part of a patch."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink() or source.is_file():
        shutil.copy2(source, place, follow_symlinks=False)


def _cut(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n({len(text) - _SHOWN} characters left out)\n{text[-half:]}"


def reference_step(task: Task, transcript: Sequence[Message]) -> Completion:
    """The agent that knows the true patch: it applies it with the tools of git, and submits."""
    made = sum(len(message.tool_calls) for message in transcript)
    if made:
        call = ToolCall(f"call_{made}", SUBMIT, "{}")
    else:
        patch = task.patch if task.patch.endswith("\n") else f"{task.patch}\n"
        command = f"git apply - <<'EOF_PATCH'\n{patch}EOF_PATCH"
        call = ToolCall("call_0", "run", json.dumps({"command": command}))
    return Completion(tool_calls=(call,), finish_reason="tool_calls")
