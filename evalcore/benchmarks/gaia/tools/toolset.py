"""The tools of one episode over a question's files, called by name.

with Toolset(files) as toolset:
    text = toolset.call("read_file", {"path": "prices.xlsx"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from evalcore.benchmarks.gaia.attachments import (
    ReadRequest,
    Unreadable,
    read_attachment_bytes,
    sanitize_text,
)
from evalcore.benchmarks.gaia.tools import (
    Tool,
    local_tools,
    text_tool,
    validate_arguments,
    web_tools,
)
from evalcore.benchmarks.gaia.tools import local_tools as file_tools
from evalcore.benchmarks.gaia.tools.local_tools import cut_middle, evaluate_expression
from evalcore.benchmarks.http_client import ToolError
from evalcore.errors import UsageError
from evalcore.i18n import Note

#: The longest result of a tool, in characters.
MAX_RESULT_CHARS = 20_000
ERROR = "Error: "
#: Room left within a result for what is said of a text that was cut.
_NOTE_CHARS = 500
_LONGEST_NAME = 60
FINAL = text_tool(
    "final_answer",
    "Gives the final answer and ends the task.",
    {"answer": "the answer alone: a number, few words, or a list separated by commas"},
)


class Toolset(AbstractContextManager["Toolset"]):
    """The tools of mode `local`, and of mode `web` where a `browser` is given. Raises UsageError
    for two files of one name. Usable from several threads."""

    def __init__(
        self,
        files: Sequence[Path],
        *,
        browser: web_tools.Browser | None = None,
        max_chars: int = MAX_RESULT_CHARS,
    ) -> None:
        self._files = {path.name: path for path in files}
        if len(self._files) < len(files):
            raise UsageError(Note("gaia_same_attachment"))
        self._max_chars = max_chars
        handlers: list[tuple[Tool, Callable[[dict[str, str]], str]]] = [
            (file_tools.LIST, lambda _: file_tools.list_files(self._files)),
            (file_tools.READ, self._read_attachment),
            (
                local_tools.CALCULATOR_TOOL,
                lambda arguments: evaluate_expression(arguments["expression"]),
            ),
            (local_tools.PYTHON_TOOL, self._run_python_tool),
        ]
        if browser is not None:
            handlers += [
                (web_tools.WEB_SEARCH_TOOL, lambda arguments: browser.search(arguments["query"])),
                (web_tools.VISIT_PAGE_TOOL, partial(self._visit_page, browser)),
            ]
        handlers.append((FINAL, lambda arguments: arguments["answer"]))
        self._handlers = {tool.name: (tool, act) for tool, act in handlers}
        self.tools: tuple[Tool, ...] = tuple(tool for tool, _ in handlers)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The result as text. What a model did wrong is a text that begins with "Error: ". Raises
        EnvironmentFailure where our side fails: the readers' process, the sandbox, a search that is
        down."""
        try:
            if name not in self._handlers:
                available = ", ".join(self._handlers)
                raise ToolError(
                    f'there is no tool "{name[:_LONGEST_NAME]}"; there are: {available}'
                )
            tool, act = self._handlers[name]
            result = act(validate_arguments(tool, arguments))
        except ToolError as error:
            result = f"{ERROR}{error}"
        return cut_middle(sanitize_text(result), self._max_chars)

    def close(self) -> None:
        """Nothing of the episode is left behind; the process of the readers serves the others."""

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read_attachment(self, arguments: dict[str, str]) -> str:
        request = self._build_read_request(arguments)
        return file_tools.read_file(self._files, arguments["path"], request)

    def _visit_page(self, browser: web_tools.Browser, arguments: dict[str, str]) -> str:
        return browser.visit(arguments["url"], self._build_read_request(arguments))

    def _build_read_request(self, arguments: dict[str, str]) -> ReadRequest:
        parts = {name: arguments.get(name, "") for name in ("sheet", "range", "pages")}
        name = arguments.get("path", "").strip().rpartition("/")[2]
        return ReadRequest(name=name, limit=self._max_chars - _NOTE_CHARS, **parts)

    def _run_python_tool(self, arguments: dict[str, str]) -> str:
        copies = {}
        for name, path in self._files.items():
            try:
                copies[name] = read_attachment_bytes(path)
            except Unreadable as problem:
                raise ToolError(f'the attachment "{name}" cannot be copied: {problem}') from None
        return local_tools.run_python(arguments["code"], copies, self._max_chars - _NOTE_CHARS)
