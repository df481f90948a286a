"""What a target is told of a task: the issue, and as much of the code as its style gives.

Styles: `issue_only` shows no code, `files` the places that the true patch touches (they are given,
which a board has to say), `text` the prompt that the data set brings, `agent` tools over a
checkout. `auto` is `files` where a repository is available, else `text` or `issue_only`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalcore.benchmarks.swe_bench import Task
from evalcore.benchmarks.swe_bench.diff import FileDiff, parse_diff
from evalcore.intake.python_source import SLOT
from evalcore.records import Message, Record

# Under the official protocol the prompt is upstream's `style-3`, whose words a fetch read: the
# issue, the README files and the files of the true patch with numbered lines; or the data set's
# own text, which was made so.

STYLES = ("auto", "files", "issue_only", "text", "agent")
AUTO, FILES, ISSUE, TEXT, AGENT = STYLES

_SYSTEM = (
    "You repair software. You are given an issue of a repository and answer with a patch that "
    "resolves it. The patch is tested; it must not change tests."
)
_FORM = """Answer with one patch as a unified diff, as `git diff` writes it, in a block fenced so:
```diff
--- a/package/module.py
+++ b/package/module.py
@@ -10,3 +10,3 @@
 a line that stays
-a line that goes
+a line that comes
 a line that stays
```
Paths are relative to the repository. Nothing after the block is read."""
_AGENT = (
    "You repair software. A checkout of the repository is before you; look at it and change it "
    "with the tools until the issue is resolved, then call `submit`. What counts is the difference "
    "between the checkout as you leave it and as it was. Do not change tests, nor the "
    "configuration of tests: the result is tested with others. There is no network."
)


def build_swe_messages(
    task: Task, style: str, files: Mapping[str, str], context_lines: int
) -> list[Message]:
    """The prompt. `files` are the old texts of the files of the true patch, for the style `files`;
    of each, `context_lines` around the places of the patch are shown, or all of it for 0."""
    if style == TEXT:
        head, _, rest = task.text.partition("\n")
        return [Message("system", head), Message("user", rest)]
    issue = f"Repository: {task.repo}\n\n<issue>\n{task.problem_statement.strip()}\n</issue>"
    if style == AGENT:
        return [Message("system", _AGENT), Message("user", issue)]
    shown = "".join(_format_code_windows(task, files, context_lines)) if style == FILES else ""
    return [Message("system", _SYSTEM), Message("user", f"{issue}\n\n{shown}{_FORM}")]


class SweTexts(Record, frozen=True):
    """What upstream's code says: the parts of its prompt, parted by `issue`, `readmes` and `code`
    between `SLOT`s, what ends it, and how its answers are sampled."""

    template: str
    ending: str
    temperature: float
    top_p: float


def build_official_messages(
    task: Task, texts: SweTexts, readmes: Mapping[str, str], files: Mapping[str, str]
) -> list[Message]:
    """The prompt, whose first line is the system message."""
    text = task.text
    if not text:
        parts = {"issue": task.problem_statement}
        parts |= {"readmes": _format_numbered(readmes), "code": _format_numbered(files)}
        pieces = texts.template.split(SLOT)
        text = "".join(
            parts.get(piece, piece) if at % 2 else piece for at, piece in enumerate(pieces)
        )
    head, _, rest = text.partition("\n")
    return [Message("system", head), Message("user", rest + texts.ending)]


def _format_numbered(files: Mapping[str, str]) -> str:
    """Files by name, their lines numbered from 1."""
    shown = ""
    for name, content in sorted(files.items()):
        lines = "\n".join(f"{number} {line}" for number, line in enumerate(content.split("\n"), 1))
        shown += f"[start of {name}]\n{lines}\n[end of {name}]\n"
    return shown.strip("\n")


def resolve_auto_style(tasks: Sequence[Task]) -> str:
    """What `auto` is for some tasks: the most that all of them can show."""
    if all(task.repository for task in tasks):
        return FILES
    return TEXT if all(task.text for task in tasks) else ISSUE


def list_touched_files(task: Task) -> list[str]:
    """The files that the true patch changes and that were there before."""
    return [file.old_path for file in parse_diff(task.patch) if file.old_path]


def _format_code_windows(task: Task, files: Mapping[str, str], context_lines: int) -> Iterator[str]:
    yield "The code to be changed is in these places:\n\n"
    for file in parse_diff(task.patch):
        if file.old_path not in files:
            continue
        lines = files[file.old_path].splitlines()
        for first, last in _compute_windows(file, len(lines), context_lines):
            label = f"{file.old_path}, lines {first} to {last} of {len(lines)}"
            body = "\n".join(lines[first - 1 : last])
            yield f"[start of {label}]\n{body}\n[end of {label}]\n\n"


def _compute_windows(file: FileDiff, length: int, context_lines: int) -> list[tuple[int, int]]:
    """First and last lines to be shown, from 1; places that meet are one."""
    if context_lines == 0:
        return [(1, length)]
    windows: list[tuple[int, int]] = []
    for hunk in sorted(file.hunks, key=lambda hunk: hunk.old_start):
        first = max(1, hunk.old_start - context_lines)
        last = min(length, hunk.old_start + max(hunk.old_count, 1) - 1 + context_lines)
        if windows and first <= windows[-1][1] + 1:
            first, last = windows[-1][0], max(windows[-1][1], last)
            windows.pop()
        windows.append((first, last))
    return windows
