"""What the target did on a case: its answer, conversation and calls of tools; and the way to the
next case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import Any, NamedTuple

import streamlit as st

from evalcore.records import Episode, Message
from evalcore.views.cases import EVERY_CASE, MISSING, CaseView, Neighbour
from evalcore.views.targets import OUTCOMES
from pages.shared import evidence, page_links, url_state
from pages.shared.board_view import metric_title
from pages.shared.evidence import cause_title
from pages.shared.page_links import CaseLink
from pages.shared.wording import (
    escape_markdown,
    format_fact,
    join_names,
    localize_note,
    look_up,
    to_plain_line,
    tr,
)

#: Fields of a reference that a section of evidence draws.
_DRAWN = {"patch": "true_patch", "derivation": "derivation"}
#: Evidence, by kind or title, that shows already what was expected.
_REVEALING_SECTIONS = frozenset({"table_diff", "tree_diff", "calls", "turns", "true_actions"})
_REVEALING_SECTIONS |= {"goals", "answer_compared", "true_patch"}


def draw_case_answer(view: CaseView) -> None:
    """What the target said at last, and its reasoning folded away."""
    episode = view.episode
    if episode is None:
        st.info(tr("case.no_answer"), icon=":material/hourglass_empty:")
        return
    if episode.failure is not None:
        kind = look_up(f"common.error.{episode.failure.kind}") or episode.failure.kind
        st.error(escape_markdown(kind), icon=":material/error:")
        st.text(localize_note(episode.failure.localizable_message))
    elif not _draw_final_output(episode):
        _draw_last_message(episode)
    facts = []
    if episode.finish_reason:
        facts.append(format_fact(tr("case.finish_reason"), escape_markdown(episode.finish_reason)))
    if episode.attempts > max(1, episode.completions):
        facts.append(format_fact(tr("case.attempts"), episode.attempts))
    if facts:
        st.caption(" · ".join(facts))
    evidence.draw_reasoning("\n\n".join(m.reasoning for m in episode.messages if m.reasoning))


def _draw_final_output(episode: Episode) -> bool:
    """The result of an agent's work, where there is one: an answer it gave, a patch it left."""
    for name, language in (("answer", None), ("patch", "diff")):
        value = episode.state.get(name)
        if isinstance(value, str) and value.strip():
            st.caption(tr(f"case.final_{name}"))
            evidence.draw_verbatim(value, language)
            return True
    return False


def _draw_last_message(episode: Episode) -> None:
    """The text; without one the calls that the target made last by the server's own means."""
    assistant_messages = [message for message in episode.messages if message.role == "assistant"]
    calls = assistant_messages[-1].tool_calls if assistant_messages else ()
    if episode.answer:
        evidence.draw_prose(episode.answer)
    elif calls:
        evidence.draw_prose("\n".join(f"{call.name}({call.arguments})" for call in calls))
    else:
        st.caption(tr("case.empty_answer"))


def draw_case_reference(view: CaseView) -> None:
    """What was expected; folded where the evidence shows it already, and not repeated there."""
    sections = view.verdict.evidence if view.verdict else ()
    shown = {section.kind for section in sections} | {section.title for section in sections}
    remaining = {
        name: value
        for name, value in view.sample.reference.items()
        if _DRAWN.get(name) not in shown and name not in view.sample.input
    }
    if remaining:
        folded = bool(shown & _REVEALING_SECTIONS)
        with st.expander(tr("case.reference"), icon=":material/key:", expanded=not folded):
            evidence.draw_fields(remaining)


# The conversation of an agent with a simulated user, and the work of one that works alone.
# All of it was written by models or programs or stands in data: `st.text` and `st.code` draw it.

#: Begins each result of a tool where tools are described in the prompt.
_OUTPUT = "API output: "
_ERRORS = ("Error", "Unknown action")
#: What a simulated user ends a conversation with.
_STOP_SIGN = re.compile(r"###[A-Z-]+###\s*$")
_NAMED, _LONGEST = 4, 60  # tools named in a title, characters of a name


class ChatStep(NamedTuple):
    """A user's line, an agent's line (`spoken_text` as the user read it), or a call with its
    results. `kind` is `user`, `agent` or `calls`; `tools` are the names of what was called, and
    `line` counts the agent's lines from 0; a greeting is -1."""

    kind: str
    message: Message
    spoken_text: str = ""
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    line: int = 0


def is_chat(episode: Episode | None) -> bool:
    """Whether an episode is a conversation with a simulated user."""
    return bool(episode and episode.messages and isinstance(episode.state.get("user"), Mapping))


def draw_agent_briefing(episode: Episode) -> None:
    """What the agent is told before the user speaks; nothing of what it has to find out."""
    for message in episode.messages[:1]:
        if message.role == "system":
            with st.expander(tr("case.chat.told"), icon=":material/policy:"):
                evidence.draw_prose(message.content)
    st.caption(tr("case.chat.hidden"))


def draw_conversation(episode: Episode) -> None:
    """The conversation from the user's first line to its end, and why it ended; a user who stops
    may be content or have given up."""
    st.subheader(tr("case.conversation"), anchor=False)
    trace = episode.state["user"].get("trace") or ()
    for step in iterate_chat_steps(episode):
        if step.kind == "calls":
            draw_tool_calls(step)
        elif step.kind == "agent":
            _draw_agent_turn(step, "case.chat.agent", trace)
        else:
            with st.chat_message("user", avatar=":material/person:"):
                st.caption(tr("case.chat.user"))
                draw_chat_text(step.spoken_text)
    ended = str(episode.state.get("ended") or "")
    if ended == "user_stop" and episode.state["user"].get("ending") == "given_up":
        ended = "given_up"
    if ended:
        st.caption(tr("case.chat.ended", reason=escape_markdown(evidence.termination_title(ended))))


def iterate_chat_steps(episode: Episode) -> Iterator[ChatStep]:
    """The messages after the system's, each call together with its results."""
    agent_lines = list(episode.state.get("says") or ())
    actions = episode.state.get("actions") or episode.state.get("calls") or ()
    action_names = [str(action["name"]) for action in actions]
    messages = [message for message in episode.messages if message.role != "system"]
    index = line = 0
    if messages and messages[0].role == "assistant" and agent_lines[:1] != [messages[0].content]:
        line, agent_lines = -1, [messages[0].content, *agent_lines]  # a greeting nobody asked for
    while index < len(messages):
        message, index = messages[index], index + 1
        if message.role != "assistant":
            text = _STOP_SIGN.sub("", message.content).rstrip()
            yield ChatStep("user", message, spoken_text=text)
            continue
        results, index = _collect_tool_results(messages, index)
        if message.tool_calls or results:
            if message.content and message.content in agent_lines:
                _take_spoken_line(agent_lines, message.content)
            names = tuple(call.name for call in message.tool_calls)
            if not names:
                names = _take_matching_actions(action_names, message.content, len(results))
            yield ChatStep("calls", message, tools=names, results=results)
        else:
            spoken_text = _take_spoken_line(agent_lines, message.content)
            yield ChatStep("agent", message, spoken_text, line=line)
            line += 1


def _take_spoken_line(lines: list[str], written: str) -> str:
    """The agent's next line as the user read it: as `written`, else the next of `lines`, from which
    it is taken."""
    count = lines.index(written) + 1 if written in lines else 1
    spoken = lines[count - 1] if lines else written
    del lines[:count]
    return spoken


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


def _draw_agent_turn(step: ChatStep, caption: str, trace: Sequence[Mapping[str, Any]] = ()) -> None:
    with st.chat_message("assistant", avatar=":material/smart_toy:"):
        st.caption(tr(caption))
        evidence.draw_reasoning(step.message.reasoning)
        draw_chat_text(step.spoken_text)
        if step.spoken_text.strip() != step.message.content.strip():
            with st.expander(tr("case.chat.as_written"), icon=":material/notes:"):
                evidence.draw_prose(step.message.content)
        if 0 <= step.line < len(trace) and not trace[step.line].get("recognised", True):
            st.badge(tr("case.chat.unrecognised"), color="orange")


def draw_chat_text(text: str) -> None:
    """A line as it was said: long ones in a scroll area."""
    if not text.strip():
        st.caption(tr("case.chat.silent"))
    elif len(text) > evidence.LONG:
        evidence.draw_prose(text)
    else:
        st.text(text)


def draw_tool_calls(step: ChatStep, silent: str = "case.chat.no_result") -> None:
    """The calls folded under the names of the tools, each with what came back; `silent` is the text
    where nothing did."""
    failed = any(text.startswith(_ERRORS) for text in step.results)
    icon = ":material/error:" if failed else ":material/build:"
    with st.expander(_format_calls_title(step, failed=failed), icon=icon):
        evidence.draw_reasoning(step.message.reasoning)
        if step.message.content:
            evidence.draw_prose(step.message.content)
        for call in step.message.tool_calls:
            evidence.draw_verbatim(f"{call.name}({call.arguments})", None)
        if not step.results:
            st.caption(tr(silent))
        for text in step.results:
            st.caption(tr("case.chat.result"))
            evidence.draw_verbatim(text, "json" if text[:1] in ("{", "[") else None)


def _format_calls_title(step: ChatStep, *, failed: bool) -> str:
    if not step.tools:
        return tr("case.chat.unreadable")
    names = ", ".join(name[:_LONGEST] for name in step.tools[:_NAMED])
    names = escape_markdown(names + ", …" * (len(step.tools) > _NAMED), _NAMED * (_LONGEST + 2))
    count = len(step.tools)
    key = "case.chat.tools" if count > 1 else "case.chat.tools_one"
    title = tr(key, count=count, names=names)
    return f"{title} · {tr('case.chat.tools_failed')}" if failed else title


def is_agent_work(episode: Episode) -> bool:
    """Whether an agent worked with tools, and nobody spoke to it."""
    return "calls" in episode.state and not is_chat(episode)


def draw_agent_work(episode: Episode) -> None:
    """Every step after the task was given, and the limit that ended the work, if one did."""
    steps = list(dropwhile(lambda step: step.kind == "user", iterate_chat_steps(episode)))
    if not steps:
        return
    st.subheader(tr("case.work"), anchor=False)
    for step in steps:
        if step.kind == "calls":
            draw_tool_calls(step, "case.work.final")
        else:
            _draw_agent_turn(step, "case.work.said")
    if episode.termination:
        ended = evidence.termination_title(episode.termination)
        st.caption(tr("case.chat.ended", reason=escape_markdown(ended)))


# The way from case to case: the list it was opened from, its filter, previous and next.

#: With Alt, since a letter alone would get in the way of those who dictate or read by keyboard.
_STEPS = {
    "previous": (":material/chevron_left:", "left", "Alt+P"),
    "next": (":material/chevron_right:", "right", "Alt+N"),
}
_OUTCOMES = frozenset({*OUTCOMES, MISSING})


def draw_case_navigation(view: CaseView, link: CaseLink) -> None:
    """Previous and next, the outcome to step through, the place, and what else is filtered by."""
    position = view.position
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _draw_step_button("previous", position.previous)
        _draw_step_button("next", position.next)
        chosen = _select_outcome_filter(view, link)
        has_number = position.number is not None
        text = tr("case.place", number=position.number, total=position.total) if has_number else ""
        st.caption(text or tr("case.place_outside", total=position.total), width="content")
    _draw_case_filter(view, link)
    if chosen != link.outcome:
        st.rerun()  # the address has it now


def _select_outcome_filter(view: CaseView, link: CaseLink) -> str:
    """One outcome to step through, or those that the list was filtered by, or all."""
    counts = view.position.outcomes
    options = list(dict.fromkeys(["", *sorted(counts), link.outcome]))

    def format_outcome(code: str) -> str:
        ends = page_links.split_url_values(code) or tuple(counts)
        names = (tr(f"common.outcome.{e}") if e in _OUTCOMES else to_plain_line(e) for e in ends)
        name = join_names(names) if code else tr("common.all")
        return f"{name} ({sum(counts.get(end, 0) for end in ends)})"

    return url_state.draw_select(
        tr("case.filter"), options, key="case.outcome", title=format_outcome, width=240
    )


def _draw_case_filter(view: CaseView, link: CaseLink) -> None:
    """What the cases are filtered by beside their outcome, and the way to have all of them."""
    case_filter = link.case_filter
    labels = [metric_title(view.benchmark, metric) for metric in case_filter.metric]
    labels += [tr("case.within_difficulty", level=level) for level in case_filter.difficulty]
    labels += [cause_title(cause) for cause in case_filter.why]
    labels += [f"“{case_filter.text}”"] if case_filter.text else []
    if labels:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            names = " · ".join(escape_markdown(name, 60) for name in labels)
            st.caption(f":material/filter_alt: {tr('case.within', filter=names)}", width="content")
            st.button(
                tr("case.within_all"),
                key="case.within_all",
                type="tertiary",
                icon=":material/filter_alt_off:",
                on_click=page_links.go_to_case,
                args=(link.with_filter(EVERY_CASE),),
            )


def _draw_step_button(name: str, neighbour: Neighbour | None) -> None:
    """A button and no link: a link to the page one is on leaves the address bar as it was."""
    icon, side, keys = _STEPS[name]
    st.button(
        tr(f"case.{name}"),
        key=f"case.{name}",
        icon=icon,
        icon_position=side,  # type: ignore[arg-type]
        disabled=neighbour is None,
        shortcut=keys,
        on_click=page_links.step_to_case,
        args=(neighbour.metric, neighbour.id, neighbour.epoch) if neighbour else None,
    )
