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
from pages.components.text import escape_markdown

#: Begins each result of a tool where tools are described in the prompt.
_OUTPUT = "API output: "
_ERRORS = ("Error", "Unknown action")
_NAMED, _LONGEST = 4, 60  # tools named in a title, characters of a name


class ChatStep(NamedTuple):
    """A user's line, an agent's line (`spoken_text` as the user read it), or a call with its
    results.

    `kind` is `user`, `agent` or `draw_tool_calls`; `tools` are the names of what was called, and
    `line` counts the agent's lines from 0.
    """

    kind: str
    message: Message
    spoken_text: str = ""
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    line: int = 0


def is_chat(episode: Episode | None) -> bool:
    """Whether an episode is a conversation with a simulated user."""
    return bool(episode and episode.messages and isinstance(episode.state.get("user"), Mapping))


def draw_agent_briefing(episode: Episode, tr: Translate) -> None:
    """What the agent is told before the user speaks; nothing of what it has to find out."""
    for message in episode.messages[:1]:
        if message.role == "system":
            with st.expander(tr("case.chat.told"), icon=":material/policy:"):
                evidence.draw_prose(message.content)
    st.caption(tr("case.chat.hidden"))


def draw_conversation(episode: Episode, tr: Translate) -> None:
    """The conversation from the user's first line to its end, and why it ended."""
    st.subheader(tr("case.conversation"), anchor=False)
    trace = episode.state["user"].get("trace") or ()
    for step in iterate_chat_steps(episode):
        if step.kind == "calls":
            draw_tool_calls(step, tr)
        elif step.kind == "agent":
            _draw_agent_turn(step, trace, tr)
        else:
            with st.chat_message("user", avatar=":material/person:"):
                st.caption(tr("case.chat.user"))
                draw_chat_text(step.spoken_text, tr)
    if ended := _find_end_reason(episode):
        st.caption(
            tr("case.chat.ended", reason=escape_markdown(case_badges.termination_title(ended)))
        )


def _find_end_reason(episode: Episode) -> str:
    """Why it ended; a user who stops may be content or have given up."""
    ended = str(episode.state.get("ended") or "")
    gave_up = ended == "user_stop" and episode.state["user"].get("ending") == "given_up"
    return "given_up" if gave_up else ended


def iterate_chat_steps(episode: Episode) -> Iterator[ChatStep]:
    """The messages after the system's, each call together with its results."""
    agent_lines = iter(episode.state.get("says") or ())
    actions = episode.state.get("actions") or episode.state.get("calls") or ()
    action_names = [str(action["name"]) for action in actions]
    messages = [message for message in episode.messages if message.role != "system"]
    index = line = 0
    while index < len(messages):
        message, index = messages[index], index + 1
        if message.role != "assistant":
            yield ChatStep("user", message, spoken_text=message.content)
            continue
        results, index = _collect_tool_results(messages, index)
        if message.tool_calls:
            names = tuple(call.name for call in message.tool_calls)
            yield ChatStep("calls", message, tools=names, results=results)
        elif results:
            names = _take_matching_actions(action_names, message.content, len(results))
            yield ChatStep("calls", message, tools=names, results=results)
        else:
            yield ChatStep(
                "agent", message, spoken_text=next(agent_lines, message.content), line=line
            )
            line += 1


def _collect_tool_results(messages: Sequence[Message], index: int) -> tuple[tuple[str, ...], int]:
    """The results that follow an agent's message, and where the messages go on after them."""
    results = []
    while index < len(messages) and messages[index].role == "tool":
        results.append(messages[index].content)
        index += 1
    if not results and index < len(messages) and messages[index].content.startswith(_OUTPUT):
        outputs = f"\n{messages[index].content}".split(f"\n{_OUTPUT}")
        return tuple(outputs[1:]), index + 1
    return tuple(results), index


def _take_matching_actions(action_names: list[str], text: str, limit: int) -> tuple[str, ...]:
    """The next of the actions that an agent's text names, taken from the list."""
    count = 0
    while count < min(limit, len(action_names)) and action_names[count] in text:
        count += 1
    names = tuple(action_names[:count])
    del action_names[:count]
    return names


def _draw_agent_turn(step: ChatStep, trace: Sequence[Mapping[str, Any]], tr: Translate) -> None:
    with st.chat_message("assistant", avatar=":material/smart_toy:"):
        st.caption(tr("case.chat.agent"))
        draw_reasoning(step.message, tr)
        draw_chat_text(step.spoken_text, tr)
        if step.spoken_text.strip() != step.message.content.strip():
            with st.expander(tr("case.chat.as_written"), icon=":material/notes:"):
                evidence.draw_prose(step.message.content)
        if step.line < len(trace) and not trace[step.line].get("recognised", True):
            st.badge(tr("case.chat.unrecognised"), color="orange")


def draw_chat_text(text: str, tr: Translate) -> None:
    """A line as it was said: long ones in a scroll area."""
    if not text.strip():
        st.caption(tr("case.chat.silent"))
    elif len(text) > evidence.LONG:
        evidence.draw_prose(text)
    else:
        st.text(text)


def draw_tool_calls(step: ChatStep, tr: Translate, silent: str = "case.chat.no_result") -> None:
    """The calls folded under the names of the tools, each with what came back; `silent` is the text
    where nothing did."""
    failed = any(text.startswith(_ERRORS) for text in step.results)
    icon = ":material/error:" if failed else ":material/build:"
    with st.expander(_format_calls_title(step, tr, failed=failed), icon=icon):
        draw_reasoning(step.message, tr)
        if step.message.content:
            evidence.draw_prose(step.message.content)
        for call in step.message.tool_calls:
            evidence.draw_verbatim(f"{call.name}({call.arguments})", None)
        if not step.results:
            st.caption(tr(silent))
        for text in step.results:
            st.caption(tr("case.chat.result"))
            evidence.draw_verbatim(text, "json" if text[:1] in ("{", "[") else None)


def _format_calls_title(step: ChatStep, tr: Translate, *, failed: bool) -> str:
    if not step.tools:
        return tr("case.chat.unreadable")
    names = ", ".join(name[:_LONGEST] for name in step.tools[:_NAMED])
    names = escape_markdown(names + ", …" * (len(step.tools) > _NAMED), _NAMED * (_LONGEST + 2))
    count = len(step.tools)
    key = "case.chat.tools" if count > 1 else "case.chat.tools_one"
    title = tr(key, count=count, names=names)
    return f"{title} · {tr('case.chat.tools_failed')}" if failed else title


def draw_reasoning(message: Message, tr: Translate) -> None:
    if message.reasoning:
        with st.expander(tr("case.reasoning"), icon=":material/psychology:"):
            evidence.draw_prose(message.reasoning)
