"""What a target must be to be chosen: folded into one button, in the URL by code."""

from __future__ import annotations

from contextlib import nullcontext

import streamlit as st

from evalcore.views.decision import DecisionLimits, DecisionTable
from evalcore.views.decision_payloads import (
    list_filter_values,
    list_known_costs,
    title_filter_value,
)
from pages.shared import url_state
from pages.shared.wording import (
    current_language,
    escape_markdown,
    format_fact,
    join_names,
    to_plain_line,
    tr,
)

_MENU = "decide.limits"
#: Field of the limits -> its name in the URL and the key of its text.
_NUMBERS = {"max_cost_per_case": "maxcase", "max_cost_per_run": "maxrun"}
_CHOICES = {"kinds": "kind", "organizations": "org", "licences": "licence", "weights": "weights"}
_LABELS = {"weights": "decide.weights_open"}


def draw_requirements(table: DecisionTable) -> DecisionLimits:
    """The button and what it unfolds, and a tag for each requirement that is on."""
    options = {field: list_filter_values(table, field) for field in _CHOICES}
    limits = _read_limits(options)
    prices = list_known_costs(table)
    is_asked = any(options.values()) or prices or limits.active_fields
    if not is_asked:  # nothing on this board to require
        return limits
    count = len(limits.active_fields)
    label = tr("decide.limits_on", count=count) if count else tr("decide.limits")
    menu = url_state.draw_menu(label, "filter_list", _MENU)
    with menu.container(width=380) if menu.open else nullcontext():
        limits = _draw_limits(options, prices, drawn=menu.open)
        if menu.open:
            st.button(
                tr("decide.clear"),
                icon=":material/filter_list_off:",
                on_click=_clear_limits,
                disabled=not limits.active_fields,
            )
    _draw_tags(limits)
    return limits


def _read_limits(options: dict[str, list[str]]) -> DecisionLimits:
    numbers = {field: url_state.read_number(f"decide.{name}") for field, name in _NUMBERS.items()}
    chosen = {
        field: tuple(url_state.read_selected_codes(options[field], f"decide.{name}"))
        for field, name in _CHOICES.items()
    }
    return DecisionLimits(**numbers, **chosen)  # type: ignore[arg-type]


def _draw_limits(
    options: dict[str, list[str]], prices: list[str], *, drawn: bool
) -> DecisionLimits:
    """Limits of cost where the board has costs, or a link asks for one; what targets differ in."""
    language = current_language()
    numbers = {
        field: url_state.draw_number(
            tr(f"decide.{field}"),
            f"decide.{name}",
            drawn=drawn,
            placeholder=tr("decide.max_hint"),
            help=tr("decide.max_help"),
            format="%g",
        )
        for field, name in _NUMBERS.items()
        if field.removeprefix("max_") in prices or url_state.read_number(f"decide.{name}")
    }
    chosen = {}
    for field, name in _CHOICES.items():
        if options[field] or url_state.read_selected_codes([], f"decide.{name}"):
            chosen[field] = tuple(
                url_state.draw_multiselect(
                    tr(_LABELS.get(field, f"decide.{field}")),
                    options[field],
                    f"decide.{name}",
                    lambda value, field=field: title_filter_value(field, value, language),
                    drawn=drawn,
                    placeholder=tr("decide.any"),
                )
            )
    return DecisionLimits(**numbers, **chosen)  # type: ignore[arg-type]


def _draw_tags(limits: DecisionLimits) -> None:
    """What is on, each with a click that takes it back."""
    if not limits.active_fields:
        return
    language = current_language()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for field in limits.active_fields:
            value = getattr(limits, field)
            text = (
                f"{value:.12g}"
                if field in _NUMBERS
                else join_names(title_filter_value(field, each, language) for each in value)
            )
            label = tr(_LABELS.get(field, f"decide.{field}"))
            st.button(
                format_fact(label, escape_markdown(to_plain_line(text, 40))),
                key=f"decide.tag.{field}",
                icon=":material/close:",
                help=tr("board.take_back"),
                on_click=url_state.clear_filters,
                args=((_NUMBERS | _CHOICES)[field],),
            )


def _clear_limits() -> None:
    url_state.clear_filters(*_NUMBERS.values(), *_CHOICES.values())
