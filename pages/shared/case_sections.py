"""The sections of a case: verdict, measures, question, evidence, transcript, facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import streamlit as st

from evalcore.plain_text import DASH
from evalcore.records import MEASURED, Episode, Verdict
from evalcore.views.cases import CaseView
from pages.shared import evidence, tables, widgets, wording
from pages.shared.widgets import OUTCOME_COLOURS
from pages.shared.wording import escape_markdown, localize_note, look_up, to_plain_line, tr

# A question that is a conversation, with the functions that it offers.
# All of it is data from outside: it is drawn with `st.text`, `st.code`, `st.json` or in cells.

_ROW, _LINE = 66, 28  # pixels of a row whose texts wrap (above 64), characters of one line
_SHORT, _NAME, _MAX_HEIGHT = 35, 12, 640  # a row of one line, a name of one line, a whole table
_MAX_ROWS, _MAX_DEPTH = 200, 4  # parameters of a function, and objects inside each other
_MAX_UNFOLDED = 3  # functions; of more of them one at a time is shown, and they are folded
# characters of a description in a cell, and above a table
_MAX_CELL_CHARS, _MAX_TEXT_CHARS = 400, 2_000


def is_turns(value: Any) -> bool:
    """Whether a field is a conversation: a list of turns, each a list of messages."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(turn, list) and all(map(_is_message, turn)) for turn in value)


def draw_question_turns(value: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """The messages, turn by turn where there are several."""
    for number, turn in enumerate(value, 1):
        if len(value) > 1:
            st.caption(tr("case.turn", number=number, total=len(value)))
        if not turn:
            st.caption(tr("case.turn_silent"))
        evidence.draw_messages(turn)


def draw_offered_functions(text: Any) -> None:
    """Name, description and parameters of every function on offer."""
    offered = evidence.parse_json_text(text)
    if not isinstance(offered, list) or not all(isinstance(function, dict) for function in offered):
        evidence.draw_raw_value(offered)
        return
    if not offered:
        st.caption(tr("case.no_functions"))
        return
    title = tr("case.functions", count=len(offered))
    if len(offered) <= _MAX_UNFOLDED:
        st.caption(title)
        for function in offered:
            _draw_function(function)
        return
    with st.expander(title, icon=":material/function:"):
        names = dict(enumerate(to_plain_line(function.get("name", "")) for function in offered))
        chosen = st.selectbox(tr("case.function"), list(names), format_func=names.__getitem__)
        _draw_function(offered[chosen or 0])


def _draw_function(function: Mapping[str, Any]) -> None:
    with st.container(border=True, gap="small"):
        st.code(str(function.get("name", "")), language=None, wrap_lines=True)
        if about := str(function.get("description") or ""):
            st.text(about[:_MAX_TEXT_CHARS])
        _draw_function_parameters(function)


def _draw_function_parameters(function: Mapping[str, Any]) -> None:
    """A row per parameter; a schema of another form is shown as it is."""
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict | None):
        evidence.draw_raw_value(schema)
        return
    if not properties:
        st.caption(tr("case.no_parameters"))
        return
    rows = list(islice(_iterate_parameter_rows(schema, ""), _MAX_ROWS))
    long = any(len(row["description"]) > _LINE or len(row["name"]) > _NAME for row in rows)
    step = _ROW if long else _SHORT
    config = {
        "name": tables.text_column("case.parameter", 100),
        "type": tables.text_column("case.type", 76),
        "required": tables.text_column("case.required", 70),
        "description": tables.text_column("case.description", 178),
    }
    look = {"row_height": step, "height": min(_SHORT + 3 + step * len(rows), _MAX_HEIGHT)}
    tables.draw_grid(rows, config, tr("case.parameters_alt"), **look)


def _iterate_parameter_rows(schema: Mapping[str, Any], prefix: str) -> Iterator[dict[str, str]]:
    """A row per parameter, those of an object under its name: `address.city`."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or prefix.count(".") >= _MAX_DEPTH:
        return
    needed = required if isinstance(required, list) else []
    for name, parameter in properties.items():
        yield {
            "name": to_plain_line(f"{prefix}{name}"),
            "type": _format_parameter_type(parameter),
            "required": tr("common.yes" if name in needed else "common.no"),
            "description": _describe_parameter(parameter),
        }
        if isinstance(parameter, dict):
            yield from _iterate_parameter_rows(parameter, f"{prefix}{name}.")


def _format_parameter_type(schema: Any) -> str:
    """The type of a parameter, with that of its elements."""
    if not isinstance(schema, dict):
        return ""
    items, inner = schema.get("items"), ""
    if isinstance(items, dict) and "type" in items:
        inner = f"[{_format_parameter_type(items)}]"
    return to_plain_line(f"{schema.get('type', '')}{inner}", 60)


def _describe_parameter(schema: Any) -> str:
    """What is said of a parameter: its description, its choices, its default."""
    if not isinstance(schema, dict):
        return ""
    parts = [str(schema.get("description") or "")]
    parts += [f"enum: {tables.format_cell(schema['enum'])}"] if "enum" in schema else []
    parts += [f"default: {tables.format_cell(schema['default'])}"] if "default" in schema else []
    return to_plain_line(" · ".join(filter(None, parts)), _MAX_CELL_CHARS)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and {"role", "content"} <= set(value)


#: What comes first in a question: where it runs, what there is, what is asked.
_FIRST = (
    *("source_dialect", "target_dialect", "dialect", "engine", "description"),
    *("level", "file_name", "repo", "base_commit", "version", "question", "problem_statement"),
)
_ORDER = {
    name: number for number, name in enumerate((*_FIRST, "source_schema", "schema", "data", "sql"))
}


def draw_case_verdict(view: CaseView) -> None:
    """Outcome and evidence kind as badges in words, then the reason and the note."""
    judged = view.verdict
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(tr(f"common.outcome.{view.outcome}"), color=OUTCOME_COLOURS[view.outcome])
        if judged is None:
            return
        if judged.outcome in MEASURED:  # else nothing was found out by any means
            kind = "published" if view.taken_over else judged.evidence_kind
            st.badge(
                tr(f"common.evidence.{kind}"),
                color="violet",
                icon=":material/verified:",
                help=tr(f"common.evidence.{kind}.about"),
            )
        if view.engine:
            st.badge(escape_markdown(view.engine), color="gray", icon=":material/database:")
        if judged.reason:
            reason = look_up(f"common.reason.{judged.reason}") or judged.reason
            st.markdown(escape_markdown(reason, 120), width="content")
        evidence.draw_verdict_badges(judged.details)
        _draw_shield_badge(judged.details)
    if judged.note:
        st.text(localize_note(judged.localizable_note))
    _draw_shield_details(judged)
    evidence.draw_task_flag(judged.details)
    if judged.outcome not in MEASURED:
        draw_remedy(judged.reason, judged.outcome)


def draw_remedy(*codes: str) -> None:
    """What a reader does about a case without a measurement, by the first code that has a text."""
    text = next(filter(None, (look_up(f"case.remedy.{code}") for code in codes if code)), "")
    if text:
        names = {page: tr(f"common.nav.{page}") for page in ("runs", "launch")}
        st.caption(f":material/build: {escape_markdown(text.format(**names), 400)}")


def draw_case_measures(view: CaseView) -> None:
    """Score and difficulty, then time, tokens and cost once there is an answer."""
    score = view.verdict.score if view.verdict else None
    cells = [
        ("common.score", DASH if score is None else f"{100 * score:.0f} / 100"),
        ("common.difficulty", str(view.sample.difficulty)),
    ]
    declared = next((spec for spec in view.spec.benchmarks if spec.key == view.benchmark), None)
    weight = declared.case_weight(view.sample) if declared else None
    if weight is not None and weight != view.sample.difficulty:
        cells.append(("common.case_weight", f"{weight:g}"))
    episode = view.episode
    if episode is not None:
        if episode.latency:
            cells.append(("common.latency", wording.format_duration(episode.latency)))
        tokens = (episode.usage.input_tokens, episode.usage.output_tokens)
        cells += wording.build_usage_cells(*tokens, episode.cost)
    widgets.draw_figures((tr(key), value) for key, value in cells)
    if episode is not None and (source := wording.format_cost_sources(episode.cost_sources)):
        st.caption(source)
    if episode is not None and episode.cached:
        st.caption(tr("case.cached"))


def draw_sample_input(sample_input: Mapping[str, Any]) -> None:
    """The structured input of a sample: statements as SQL, the rest by its kind."""
    for name in sorted(sample_input, key=lambda name: _ORDER.get(name, len(_ORDER))):
        value = sample_input[name]
        if is_turns(value):
            draw_question_turns(value)
        elif name == "functions":
            draw_offered_functions(value)
        elif name == "question" and isinstance(value, str):  # the heading says it already
            evidence.draw_prose(value)
        else:
            evidence.draw_fields({name: value})


def draw_evidence_sections(view: CaseView) -> None:
    """Every section of evidence of the verdict, but for one that only repeats the answer."""
    answered = view.episode.answer if view.episode else None
    evidence_sections = view.verdict.evidence if view.verdict else ()
    shown = [section for section in evidence_sections if section.body not in ("", answered)]
    if shown:
        st.subheader(tr("case.evidence"), anchor=False)
    for section in shown:
        evidence.draw_evidence_section(section)


def draw_case_transcript(episode: Episode | None) -> None:
    """The conversation as it went over the wire, folded."""
    if episode is None or not episode.messages:
        return
    with st.expander(tr("case.transcript", count=len(episode.messages)), icon=":material/forum:"):
        evidence.draw_messages(msgspec.to_builtins(episode.messages))


def draw_case_facts(view: CaseView) -> None:
    """What machines read: details and views of the verdict, and the sample's origin."""
    judged = view.verdict
    shown = {
        "details": judged.details if judged else {},
        "views": judged.views if judged else {},
        "meta": view.sample.meta,
    }
    with st.expander(tr("case.facts"), icon=":material/data_object:"):
        st.json(shown, expanded=2)


# What a stricter second look says of a result, and what nothing was run for: near the verdict.


def _draw_shield_badge(details: Mapping[str, Any]) -> None:
    """A shield in the row of the verdict where the second look does not agree with the first."""
    if _has_shield_mismatch(details):
        st.badge(tr("case.shield"), color="orange", icon=":material/gpp_maybe:")


def _draw_shield_details(verdict: Verdict) -> None:
    """The second look in words; that nothing was run; that a mended form would have passed."""
    details = verdict.details
    flags = _format_shield_flags(details)
    if _has_shield_mismatch(details):
        st.warning(tr("case.shield_differs", flags=flags), icon=":material/gpp_maybe:")
    elif flags:
        st.info(tr("case.shield_remarks", flags=flags), icon=":material/shield:")
    if verdict.views.get("repaired", 0.0) > (verdict.score or 0.0):
        st.info(tr("case.shield_repaired"), icon=":material/build:")
    if "resolved" in details and details["resolved"] is None:
        st.caption(tr("case.not_executed"))


def _has_shield_mismatch(details: Mapping[str, Any]) -> bool:
    """Runs of scorer version 1 hold the official result as `resolved`, which decided then."""
    official = details.get("resolved_official", details.get("resolved"))
    return official is True and details.get("resolved_hardened") is False


def _format_shield_flags(details: Mapping[str, Any]) -> str:
    """The flags as one list in words; those that no catalogue knows as they are."""
    names = [name for name in str(details.get("flags") or "").split(", ") if name]
    labels = [
        look_up(f"case.shield.{name}") or escape_markdown(to_plain_line(name)) for name in names
    ]
    return tr("case.shield_and").join(labels)
