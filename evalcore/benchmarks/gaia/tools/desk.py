"""The desk of one episode: the tools over a question's files, called by name.

with Desk(files) as desk:
    text = desk.call("read_file", {"path": "prices.xlsx"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalcore.benchmarks.gaia.attachments import Asked, Unreadable, clean, content_of
from evalcore.benchmarks.gaia.tools import calculator, python_tool, web
from evalcore.benchmarks.gaia.tools import files as file_tools
from evalcore.benchmarks.gaia.tools.python_tool import middle_cut
from evalcore.benchmarks.gaia.tools.tool import Refusal, Tool, checked, text_tool
from evalcore.closing import Closing
from evalcore.errors import UsageError

#: The longest result of a tool, in characters.
MOST_CHARACTERS = 20_000
ERROR = "Error: "
#: Room left within a result for what is said of a text that was cut.
_NOTES = 500
_LONGEST_NAME = 60
FINAL = text_tool(
    "final_answer",
    "Gives the final answer and ends the task.",
    {"answer": "the answer alone: a number, few words, or a list separated by commas"},
)


class Desk(Closing):
    """The tools of mode `local`, and of mode `web` where a `browser` is given.

    Raises UsageError for two files of one name. Usable from several threads.
    """

    def __init__(
        self,
        files: Sequence[Path],
        *,
        browser: web.Browser | None = None,
        most: int = MOST_CHARACTERS,
    ) -> None:
        self._files = {path.name: path for path in files}
        if len(self._files) < len(files):
            raise UsageError("two attachments of a question have the same name; rename one")
        self._most = most
        offers: list[tuple[Tool, Callable[[dict[str, str]], str]]] = [
            (file_tools.LIST, lambda _: file_tools.list_files(self._files)),
            (file_tools.READ, self._read),
            (calculator.TOOL, lambda given: calculator.calculate(given["expression"])),
            (python_tool.TOOL, self._python),
        ]
        if browser is not None:
            offers += [
                (web.SEARCH, lambda given: browser.search(given["query"])),
                (web.VISIT, lambda given: browser.visit(given["url"], self._asked(given))),
            ]
        offers.append((FINAL, lambda given: given["answer"]))
        self._offers = {tool.name: (tool, act) for tool, act in offers}
        self.tools: tuple[Tool, ...] = tuple(tool for tool, _ in offers)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The result as text. What a model did wrong is a text that begins with "Error: ".

        Raises EnvironmentFailure where our side fails: the readers' process, the sandbox, a search
        that is down.
        """
        try:
            if name not in self._offers:
                known = ", ".join(self._offers)
                raise Refusal(f'there is no tool "{name[:_LONGEST_NAME]}"; there are: {known}')
            tool, act = self._offers[name]
            result = act(checked(tool, arguments))
        except Refusal as refusal:
            result = f"{ERROR}{refusal}"
        return middle_cut(clean(result), self._most)

    def close(self) -> None:
        """Nothing of the episode is left behind; the process of the readers serves the others."""

    def _read(self, given: dict[str, str]) -> str:
        return file_tools.read_file(self._files, given["path"], self._asked(given))

    def _asked(self, given: dict[str, str]) -> Asked:
        parts = {name: given.get(name, "") for name in ("sheet", "range", "pages")}
        name = given.get("path", "").strip().rpartition("/")[2]
        return Asked(name=name, limit=self._most - _NOTES, **parts)

    def _python(self, given: dict[str, str]) -> str:
        copies = {}
        for name, path in self._files.items():
            try:
                copies[name] = content_of(path)
            except Unreadable as problem:
                raise Refusal(f'the attachment "{name}" cannot be copied: {problem}') from None
        return python_tool.run_python(given["code"], copies, self._most - _NOTES)
