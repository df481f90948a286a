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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import Any

from evalcore.benchmarks.agents import Tool
from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.checkout import ACTIVATE, Interpreter, checkout_task, run_git
from evalcore.records import Completion, Message, ToolCall
from evalcore.sandbox.filesystem import remove_tree
from evalcore.sandbox.program import Bind, Limits, Program, run_program

SUBMIT = "submit"
TREE = "/testbed"
_RUN = Limits(seconds=60.0, cpu_seconds=60, output_bytes=1 << 20)
_MAX_RESULT_CHARS = 12_000  # characters of a result
_MAX_MATCHES = 100  # places that a search shows
_MAX_FILE_BYTES = 2 << 20  # bytes of a file that is read, searched or written
#: Left by running programs; no part of a patch.
_CACHES = frozenset({".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
#: Times differ from run to run; without them a repeated episode sends the same words.
_TIMES = re.compile(r"\bin \d+\.\d+s\b")


def _build_tool(
    name: str, description: str, optional: int = 0, **properties: str | dict[str, str]
) -> Tool:
    """A tool whose last `optional` arguments may be left out; a text describes one that is text."""
    schemas = {
        key: {"type": "string", "description": value} if isinstance(value, str) else value
        for key, value in properties.items()
    }
    required = list(properties)[: len(properties) - optional]
    schema = {"type": "object", "properties": schemas, "required": required}
    return Tool(name, description, schema)


_LINE = {"type": "integer", "description": "a line number, from 1"}
_PATH = "a path in the repository"
TOOLS = (
    _build_tool("list_files", "Lists the files below a folder.", 1, folder=_PATH),
    _build_tool(
        "read_file", "Shows a text file with line numbers.", 2, path=_PATH, first=_LINE, last=_LINE
    ),
    _build_tool(
        "search", "Shows the lines that hold a text.", 1, text="what to find", folder=_PATH
    ),
    _build_tool(
        "replace",
        "Replaces a text that stands exactly once in a file.",
        path=_PATH,
        old="the present text, whole lines are safest",
        new="the text in its place",
    ),
    _build_tool("write_file", "Writes a whole file.", path=_PATH, content="all of it"),
    _build_tool(
        "run", "Runs a bash command in the repository, at most 60 s.", command="what to run"
    ),
    _build_tool(SUBMIT, "Ends the work; the checkout as it is now is tested."),
)


class AgentWorkspace(AbstractContextManager["AgentWorkspace"]):
    """The checkout of one episode; a context manager. Raises EnvironmentFailure where there is no
    repository or no sandbox."""

    def __init__(self, task: Task, python: Interpreter) -> None:
        self._task, self._python = task, python
        self._home = Path(tempfile.mkdtemp(prefix="evalcore-swe-"))
        try:
            self._tree = checkout_task(task, self._home / "tree")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the checkout; safe to call twice."""
        remove_tree(self._home)

    def __exit__(self, *error: object) -> None:
        self.close()

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What a tool says; a text that begins with `Error: ` for whatever does not fit."""
        problem = _find_call_problem(name, arguments)
        if problem:
            return f"Error: {problem}"
        try:
            # Only the names of TOOLS come here: `_find_call_problem` knows no others.
            return _truncate_result(getattr(self, f"_tool_{name}")(**arguments))
        except (OSError, ValueError) as error:
            return f"Error: {error.strerror if isinstance(error, OSError) else error}"

    def build_patch(self) -> str:
        """The difference between the tree and its commit, as git writes it."""
        clean = checkout_task(self._task, self._home / "clean")
        try:
            for path in _iter_tree_files(clean):
                (clean / path).unlink()
            for path in _iter_tree_files(self._tree):
                source, copy = self._tree / path, clean / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                # A link is copied as a link; what is neither file nor link is no part of a patch.
                if source.is_symlink() or source.is_file():
                    shutil.copy2(source, copy, follow_symlinks=False)
            run_git("add", "-A", "--force", folder=clean)
            return run_git("diff", "--cached", "--no-renames", "--no-ext-diff", folder=clean)
        finally:
            remove_tree(clean)

    def _tool_list_files(self, folder: str = "") -> str:
        names = [str(path) for path in _iter_tree_files(self._resolve_tree_path(folder or "."))]
        return "\n".join(sorted(names)) or "(no files)"

    def _tool_read_file(self, path: str, first: int = 1, last: int = 0) -> str:
        lines = self._read_contents(path).splitlines()
        shown = lines[max(first, 1) - 1 : last or len(lines)]
        numbered = [f"{n}\t{line}" for n, line in enumerate(shown, max(first, 1))]
        return "\n".join(numbered) or f"(no such lines; the file has {len(lines)})"

    def _tool_search(self, text: str, folder: str = "") -> str:
        start = self._resolve_tree_path(folder or ".")
        matches: list[str] = []
        for path in sorted(_iter_tree_files(start)):
            file_path = start / path
            if file_path.is_symlink() or file_path.stat().st_size > _MAX_FILE_BYTES:
                continue
            lines = file_path.read_text(encoding="utf-8", errors="replace").splitlines()
            name = file_path.relative_to(self._tree)
            matches += [f"{name}:{n}: {line}" for n, line in enumerate(lines, 1) if text in line]
            if len(matches) > _MAX_MATCHES:
                return "\n".join([*matches[:_MAX_MATCHES], "(more places were found)"])
        return "\n".join(matches) or "(nothing found)"

    def _tool_replace(self, path: str, old: str, new: str) -> str:
        present = self._read_contents(path)
        times = present.count(old) if old else 0
        if times != 1:
            raise ValueError(f"the old text stands {times} times in {path}; it has to be once")
        return self._tool_write_file(path, present.replace(old, new))

    def _tool_write_file(self, path: str, content: str) -> str:
        data = content.encode(errors="replace")
        if len(data) > _MAX_FILE_BYTES:
            raise ValueError("the file would be too large")
        file_path = self._resolve_tree_path(path)
        file_path.parent.mkdir(parents=True, exist_ok=True)
        file_path.write_bytes(data)
        return f"wrote {path}, {len(content.splitlines())} lines"

    def _tool_run(self, command: str) -> str:
        tree = Bind(source=str(self._tree), target=TREE, writable=True)
        binds = (*self._python.binds, self._python.write_activate_shim(self._home), tree)
        argv = ("bash", "-c", f"source {ACTIVATE}; cd {TREE}; {command}")
        finished = run_program(Program(argv=argv, binds=binds, cwd=TREE), _RUN)
        limit = finished.ended_by
        ended = f"ended by the limit on {limit}" if limit else f"exit {finished.exit_code}"
        return f"{_TIMES.sub('in a moment', _truncate_result(finished.output))}\n({ended})"

    def _read_contents(self, path: str) -> str:
        file_path = self._resolve_tree_path(path)
        if not file_path.is_file():
            raise ValueError(f"{path} is no file")
        if file_path.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(f"{path} is too large")
        return file_path.read_bytes().decode("utf-8", "replace")

    def _resolve_tree_path(self, path: str) -> Path:
        """A path of the tree. Raises ValueError for one that leaves it or goes through a link."""
        inside = PurePosixPath(path.removeprefix(f"{TREE}/"))
        if inside.is_absolute() or ".." in inside.parts or "\0" in path or ".git" in inside.parts:
            raise ValueError(f"{path[:200]} is no path in the repository")
        tree_path = self._tree
        for part in inside.parts:
            tree_path = tree_path / part
            if tree_path.is_symlink():
                raise ValueError(f"{path[:200]} goes through a link")
        return tree_path


def _find_call_problem(name: str, arguments: Mapping[str, Any]) -> str:
    schema = next((tool.parameters for tool in TOOLS if tool.name == name), None)
    if schema is None or name == SUBMIT:
        return f"there is no tool {name}; there are: {', '.join(tool.name for tool in TOOLS)}"
    for argument in schema["required"]:
        if argument not in arguments:
            return f"{name} needs {argument}"
    for argument, value in arguments.items():
        property_schema = schema["properties"].get(argument)
        if property_schema is None:
            return f"{name} has no argument {argument}"
        kind = {"string": str, "integer": int}[property_schema["type"]]
        if not isinstance(value, kind) or isinstance(value, bool):
            return f"{argument} has to be of type {property_schema['type']}"
    return ""


def _iter_tree_files(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, without caches and git's own folders."""
    for parent, below, names in os.walk(folder):
        inside = Path(parent).relative_to(folder)
        links = [name for name in below if (Path(parent) / name).is_symlink()]
        below[:] = sorted(name for name in below if name not in _CACHES)
        yield from (inside / name for name in (*names, *links) if name not in _CACHES)


def _truncate_result(text: str) -> str:
    if len(text) <= _MAX_RESULT_CHARS:
        return text
    half = _MAX_RESULT_CHARS // 2
    return f"{text[:half]}\n({len(text) - _MAX_RESULT_CHARS} characters left out)\n{text[-half:]}"


def build_reference_step(task: Task, transcript: Sequence[Message]) -> Completion:
    """The agent that knows the true patch: it applies it with the tools of git, and submits."""
    made = sum(len(message.tool_calls) for message in transcript)
    if made:
        call = ToolCall(f"call_{made}", SUBMIT, "{}")
    else:
        patch = task.patch if task.patch.endswith("\n") else f"{task.patch}\n"
        command = f"git apply - <<'EOF_PATCH'\n{patch}EOF_PATCH"
        call = ToolCall("call_0", "run", json.dumps({"command": command}))
    return Completion(tool_calls=(call,), finish_reason="tool_calls")
