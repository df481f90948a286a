"""The conversation of an agent with a simulated user, its calls of tools folded with their results.

All of it was written by models or stands in data: it is drawn with `st.text` and `st.code`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from evalcore.records import Episode, Message
from pages.components import case_badges, evidence
from pages.components.language import Translate
from pages.components.text import escape

#: Begins each result of a tool where tools are described in the prompt.
_OUTPUT = "API output: "
_ERRORS = ("Error", "Unknown action")
_NAMED, _LONGEST = 4, 60  # tools named in a title, characters of a name


class Step(NamedTuple):
    """A user's line, an agent's line (`said` as the user read it), or a call with its results.

    `kind` is `user`, `agent` or `calls`; `tools` are the names of what was called, and `line`
    counts the agent's lines from 0.
    """

    kind: str
    message: Message
    said: str = ""
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    line: int = 0


def is_chat(episode: Episode | None) -> bool:
    """Whether an episode is a conversation with a simulated user."""
    return bool(episode and episode.messages and isinstance(episode.state.get("user"), Mapping))


def briefing(episode: Episode, tr: Translate) -> None:
    """What the agent is told before the user speaks; nothing of what it has to find out."""
    for message in episode.messages[:1]:
        if message.role == "system":
            with st.expander(tr("case.chat.told"), icon=":material/policy:"):
                evidence.prose(message.content)
    st.caption(tr("case.chat.hidden"))


def draw(episode: Episode, tr: Translate) -> None:
    """The conversation from the user's first line to its end, and why it ended."""
    st.subheader(tr("case.conversation"), anchor=False)
    trace = episode.state["user"].get("trace") or ()
    for step in steps(episode):
        if step.kind == "calls":
            calls(step, tr)
        elif step.kind == "agent":
            _agent(step, trace, tr)
        else:
            with st.chat_message("user", avatar=":material/person:"):
                st.caption(tr("case.chat.user"))
                words(step.said, tr)
    if ended := _end(episode):
        st.caption(tr("case.chat.ended", reason=escape(case_badges.end_title(ended))))


def _end(episode: Episode) -> str:
    """Why it ended; a user who stops may be content or have given up."""
    ended = str(episode.state.get("ended") or "")
    gave_up = ended == "user_stop" and episode.state["user"].get("ending") == "given_up"
    return "given_up" if gave_up else ended


def steps(episode: Episode) -> Iterator[Step]:
    """The messages after the system's, each call together with its results."""
    said = iter(episode.state.get("says") or ())
    made = episode.state.get("actions") or episode.state.get("calls") or ()
    called = [str(one["name"]) for one in made]
    messages = [message for message in episode.messages if message.role != "system"]
    at = line = 0
    while at < len(messages):
        message, at = messages[at], at + 1
        if message.role != "assistant":
            yield Step("user", message, said=message.content)
            continue
        results, at = _results(messages, at)
        if message.tool_calls:
            names = tuple(call.name for call in message.tool_calls)
            yield Step("calls", message, tools=names, results=results)
        elif results:
            names = _taken(called, message.content, len(results))
            yield Step("calls", message, tools=names, results=results)
        else:
            yield Step("agent", message, said=next(said, message.content), line=line)
            line += 1


def _results(messages: Sequence[Message], at: int) -> tuple[tuple[str, ...], int]:
    """The results that follow an agent's message, and where the messages go on after them."""
    found = []
    while at < len(messages) and messages[at].role == "tool":
        found.append(messages[at].content)
        at += 1
    if not found and at < len(messages) and messages[at].content.startswith(_OUTPUT):
        told = f"\n{messages[at].content}".split(f"\n{_OUTPUT}")
        return tuple(told[1:]), at + 1
    return tuple(found), at


def _taken(called: list[str], text: str, most: int) -> tuple[str, ...]:
    """The next of the actions that an agent's text names, taken from the list."""
    count = 0
    while count < min(most, len(called)) and called[count] in text:
        count += 1
    names = tuple(called[:count])
    del called[:count]
    return names


def _agent(step: Step, trace: Sequence[Mapping[str, Any]], tr: Translate) -> None:
    with st.chat_message("assistant", avatar=":material/smart_toy:"):
        st.caption(tr("case.chat.agent"))
        reasoning(step.message, tr)
        words(step.said, tr)
        if step.said.strip() != step.message.content.strip():
            with st.expander(tr("case.chat.as_written"), icon=":material/notes:"):
                evidence.prose(step.message.content)
        if step.line < len(trace) and not trace[step.line].get("recognised", True):
            st.badge(tr("case.chat.unrecognised"), color="orange")


def words(text: str, tr: Translate) -> None:
    """A line as it was said: long ones in a scroll area."""
    if not text.strip():
        st.caption(tr("case.chat.silent"))
    elif len(text) > evidence.LONG:
        evidence.prose(text)
    else:
        st.text(text)


def calls(step: Step, tr: Translate, silent: str = "case.chat.no_result") -> None:
    """The calls folded under the names of the tools, each with what came back; `silent` is the text
    where nothing did."""
    failed = any(text.startswith(_ERRORS) for text in step.results)
    icon = ":material/error:" if failed else ":material/build:"
    with st.expander(_title(step, tr, failed=failed), icon=icon):
        reasoning(step.message, tr)
        if step.message.content:
            evidence.prose(step.message.content)
        for call in step.message.tool_calls:
            evidence.verbatim(f"{call.name}({call.arguments})", None)
        if not step.results:
            st.caption(tr(silent))
        for text in step.results:
            st.caption(tr("case.chat.result"))
            evidence.verbatim(text, "json" if text[:1] in ("{", "[") else None)


def _title(step: Step, tr: Translate, *, failed: bool) -> str:
    if not step.tools:
        return tr("case.chat.unreadable")
    names = ", ".join(name[:_LONGEST] for name in step.tools[:_NAMED])
    names = escape(names + ", …" * (len(step.tools) > _NAMED), _NAMED * (_LONGEST + 2))
    count = len(step.tools)
    key = "case.chat.tools" if count > 1 else "case.chat.tools_one"
    title = tr(key, count=count, names=names)
    return f"{title} · {tr('case.chat.tools_failed')}" if failed else title


def reasoning(message: Message, tr: Translate) -> None:
    if message.reasoning:
        with st.expander(tr("case.reasoning"), icon=":material/psychology:"):
            evidence.prose(message.reasoning)
