"""What a target is asked: the official words or bare ones, and what is said of tools and files.

Modes: `none` (one reply, the files as text), `describe` (one reply, tools are told of and none is
run), `local` and `web` (an agent that works with tools until it answers). Answers asked for in
different styles or modes do not compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evalcore.records import Message, Record

Mode = Literal["none", "describe", "local", "web"]
Style = Literal["official", "bare"]
MODES: tuple[Mode, ...] = ("none", "describe", "local", "web")
STYLES: tuple[Style, ...] = ("official", "bare")

#: The system message of GAIA's authors, as they publish it.
OFFICIAL = (
    "You are a general AI assistant. I will ask you a question. Report your thoughts, and finish "
    "your answer with the following template: FINAL ANSWER: [YOUR FINAL ANSWER]. YOUR FINAL ANSWER "
    "should be a number OR as few words as possible OR a comma separated list of numbers and/or "
    "strings. If you are asked for a number, don't use comma to write your number neither use "
    "units such as $ or percent sign unless specified otherwise. If you are asked for a string, "
    "don't use articles, neither abbreviations (e.g. for cities), and write the digits in plain "
    "text unless specified otherwise. If you are asked for a comma separated list, apply the above "
    "rules depending of whether the element to be put in the list is a number or a string."
)
_BARE = (
    "Answer the question with a number, a few words, or a list with commas, whichever is asked "
    "for: a number without unit and without separators, words without articles. Give nothing but "
    "the answer."
)
_STYLE_TEXTS: dict[str, str] = {"official": OFFICIAL, "bare": _BARE}

_TOOL_SUMMARIES = (
    ("web_search", "find pages of the web for some words"),
    ("visit_page", "read a page of the web"),
    ("read_file", "read a file that comes with the question"),
    ("calculator", "work out an expression"),
    ("python", "run a program and see what it prints"),
)
_DESCRIBE = "\n".join(
    [
        "These tools would be of use for such questions:",
        *(f"- {name}: {what}" for name, what in _TOOL_SUMMARIES),
        "Here none of them can be called, and nothing you write is run. Reason about which of "
        "them you would use and for what, get as far as you can without them, and commit to an "
        "answer in the form above.",
    ]
)
_AGENT = (
    "You work on your own, with tools; nobody can answer a question of yours. Work step by step: "
    "call a tool, look at its result, go on. Compute with the tools and not in your head. Once you "
    "are sure, call final_answer with the answer alone, by the rules above and without words "
    "around it; a reply without a call counts as your final one."
)
_MODE_TEXTS: dict[str, str] = {
    "none": "",
    "describe": _DESCRIBE,
    "local": f"{_AGENT} There is no access to the web: work from the question and its files.",
    "web": f"{_AGENT} Facts that you do not know for certain are to be looked up in the web.",
}


class PromptFile(Record, frozen=True):
    """A file of a question: its name, what it is, and as much of its text as is to be shown, None
    where it has none."""

    name: str
    kind: str
    text: str | None = None


def build_gaia_messages(
    question: str, mode: str, style: str, files: Sequence[PromptFile]
) -> list[Message]:
    """The system message and the question with its files, for one of `MODES` and `STYLES`."""
    system = "\n\n".join(filter(None, [_STYLE_TEXTS[style], _MODE_TEXTS[mode]]))
    user_text = "\n\n".join([question, *(_format_prompt_file(file, mode) for file in files)])
    return [Message("system", system), Message("user", user_text)]


def _format_prompt_file(file: PromptFile, mode: str) -> str:
    """A file as text where nobody can open it, else its name."""
    label = f"{file.name} ({file.kind})" if file.kind else file.name
    if mode in ("local", "web"):
        return f"File of this question: {label}. Read it with the tools."
    if mode == "describe":
        return f"File of this question: {label}. You cannot open it."
    if file.text is None:
        return f"File of this question: {label}. It cannot be shown as text."
    return (
        f"File of this question: {label}.\n"
        f"--- begin of {file.name} ---\n{file.text}\n--- end of {file.name} ---"
    )
