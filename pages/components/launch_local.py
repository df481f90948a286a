"""The part of the launch form that names a model of this machine, and what is known of it before
it is loaded. Nothing heavy: only JSON and headers of weights are read, by the runner's client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from evalcore import access
from evalcore.access import Visitor
from evalcore.catalog import TargetKindCard
from evalcore.i18n import lookup_text, t
from evalcore.runner import client
from evalcore.runner.local_models import ModelInspection
from evalcore.settings import Settings
from pages.components import numbers, visitor
from pages.components.language import Translate, current
from pages.components.launch_rules import Problem
from pages.components.text import escape, plain

PREFIX = "hf:"
#: Options with a widget of their own.
OWN_FIELDS = ("device", "dtype", "adapter", "batch_size", "trust_remote_code", "allow_pickle")
_TIGHT = 0.85  # of the free memory: more than that leaves little for long prompts


def draw(
    card: TargetKindCard, tr: Translate, slot: str, first: str = ""
) -> tuple[str, dict[str, Any]]:
    """Draw model, adapter, precision, device and trust; returns the key and the options given.

    `first` is the model to begin with, empty for none.
    """
    machine, seen = client.local_machine(), visitor.seen()
    if access.is_restricted(seen):
        reference, adapter, trust = _listed(seen.allow_models, tr, slot), "", {}
    else:
        reference = _model(card, machine.models, tr, slot, first.removeprefix(PREFIX))
        adapter, trust = _adapter(tr, slot), _trust(tr, slot)
    columns = st.columns(3)
    with columns[0]:
        dtype = _choice("dtype", machine.dtypes, tr, slot)
    with columns[1]:
        device = _choice("device", machine.devices, tr, slot)
    with columns[2]:
        batch = st.number_input(
            tr("launch.local.batch_size"),
            min_value=0,
            value=0,
            help=tr("launch.local.batch_size_help"),
            key=f"{slot}.local.batch_size",
            persist_state="session",
        )
    given: dict[str, Any] = {"adapter": adapter, "batch_size": batch, **trust}
    given |= {"dtype": dtype, "device": device}
    return f"{PREFIX}{reference}", {
        name: value for name, value in given.items() if value not in ("", 0, False, "auto")
    }


def _listed(models: Sequence[str], tr: Translate, slot: str) -> str:
    """A model of those that this board allows."""
    chosen = st.selectbox(
        tr("launch.local.model"),
        models,
        key=f"{slot}.target.hf.listed",
        help=tr("access.listed_models"),
        persist_state="session",
    )
    return str(chosen or "")


def _adapter(tr: Translate, slot: str) -> str:
    return st.text_input(
        tr("launch.local.adapter"),
        key=f"{slot}.local.adapter",
        placeholder=tr("launch.local.adapter_placeholder"),
        help=tr("launch.local.adapter_help"),
        persist_state="session",
    ).strip()


def _model(
    card: TargetKindCard, cached: Mapping[str, int], tr: Translate, slot: str, first: str
) -> str:
    """A model of the local cache, or a folder or id that is typed."""
    name = f"{slot}.target.hf"
    own = str(st.session_state.get(name) or "")  # what was typed stays among the choices
    choices = list(dict.fromkeys(filter(None, [first, own.strip(), *cached])))

    def label(reference: str) -> str:
        size = cached.get(reference)
        return plain(reference, 120) if size is None else f"{reference} · {numbers.size(size)}"

    typed = st.selectbox(
        tr("launch.local.model"),
        choices,
        index=0 if first else None,
        format_func=label,
        accept_new_options=True,
        placeholder=tr("launch.local.model_placeholder"),
        key=name,
        help=tr("launch.local.model_help", form=card.form),
        persist_state="session",
    )
    if not cached and not typed:
        st.caption(tr("launch.local.no_cache"))
    return str(typed or "").strip().removeprefix(PREFIX)


def _choice(name: str, values: tuple[str, ...], tr: Translate, slot: str) -> str:
    return str(
        st.selectbox(
            tr(f"launch.local.{name}"),
            values,
            format_func=lambda value: tr("launch.local.auto") if value == "auto" else value,
            help=tr(f"launch.local.{name}_help"),
            key=f"{slot}.local.{name}",
            persist_state="session",
        )
    )


def _trust(tr: Translate, slot: str) -> dict[str, bool]:
    """What lets a model's files run code, each off and said to be dangerous."""
    found = {}
    with st.expander(tr("launch.local.trust"), icon=":material/shield:"):
        st.caption(tr("launch.local.trust_about"))
        for name in ("trust_remote_code", "allow_pickle"):
            found[name] = st.toggle(
                tr(f"launch.local.{name}"),
                key=f"{slot}.local.{name}",
                persist_state="session",
            )
        if any(found.values()):
            st.warning(tr("launch.local.trusted"), icon=":material/gpp_maybe:")
    return found


def _look(target: str, options: Mapping[str, Any]) -> ModelInspection:
    seen, who = visitor.seen(), visitor.current()
    return _looked(target, options, seen.access, seen, who)


@st.cache_data(ttl=2, max_entries=32, show_spinner=False)
def _looked(
    target: str, options: Mapping[str, Any], mode: str, _settings: Settings, _who: Visitor
) -> ModelInspection:
    """Once for the several who ask while the page is drawn: a large model has many headers."""
    return client.inspect_model(target, options, _settings, visitor=_who)


def tell(target: str, options: Mapping[str, Any], tr: Translate) -> None:
    """What the folder says of the model and whether it fits; a problem is said beside the form."""
    if target == PREFIX:
        return
    look = _look(target, options)
    if look.where == "download":
        st.info(tr("launch.local.download"), icon=":material/download:")
    if look.about is None:
        return
    with st.container(border=True, gap="small"):
        st.caption(escape(_facts(look, tr), 400))
        _memory(look, str(options.get("dtype", "auto")), tr)
        for word, icon in _remarks(look, options):
            st.caption(f"{icon} {tr(word, base=escape(look.adapter_base, 120))}")


def _facts(look: ModelInspection, tr: Translate) -> str:
    """Architecture, size, precision and context in one line."""
    about = look.about
    assert about is not None  # noqa: S101 - the caller looked
    known = [about.architecture or about.model_type]
    if about.parameters:
        parameters = numbers.compact(about.parameters)
        known.append(tr("launch.local.parameters", count=parameters))
    stored = about.quantised or about.dtype
    known.append(tr("launch.local.stored", dtype=stored or "?", size=numbers.size(about.size)))
    if look.context:
        known.append(tr("launch.local.context", count=f"{look.context:,}"))
    return " · ".join(filter(None, known))


def _memory(look: ModelInspection, dtype: str, tr: Translate) -> None:
    """Needed against free memory, in words and as a bar."""
    if look.available is None:
        return
    values = {
        "needed": numbers.size(look.needed),
        "free": numbers.size(look.available),
        "device": escape(look.device),
    }
    share = look.needed / look.available if look.available else 2.0
    fit = "no" if share > 1 else "tight" if share > _TIGHT else "yes"
    words = tr(f"launch.local.fits.{fit}")
    st.progress(min(1.0, share), text=tr("launch.local.memory", **values))
    if fit == "yes":
        st.caption(f":material/check: {words}")
    else:
        st.warning(words, icon=":material/memory:")
    if dtype in ("int8", "int4"):
        st.caption(tr("launch.local.quantising"))


def _remarks(look: ModelInspection, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Text keys with their icons: chat template, tools, tokenizer, code beside the weights."""
    found = []
    if not look.tokenizer:
        found.append(("launch.local.no_tokenizer", ":material/warning:"))
    if look.tools:
        found.append(("launch.local.tools", ":material/build:"))
    elif look.template:
        found.append(("launch.local.no_tools", ":material/chat:"))
    else:
        found.append(("launch.local.no_template", ":material/warning:"))
    if look.own_code and not options.get("trust_remote_code"):
        found.append(("launch.local.own_code", ":material/code:"))
    if look.adapter_base:
        found.append(("launch.local.adapter_base", ":material/extension:"))
    return found


def problems(target: str, options: Mapping[str, Any]) -> list[Problem]:
    """What would stop a run on a local model; nothing for targets of other kinds.

    The cause is said in the reader's language, then in the words of the loader, which name files.
    """
    if not target.startswith(PREFIX) or target == PREFIX:
        return []
    look = _look(target, options)
    if not look.problem:
        return []
    language = current()
    title = lookup_text(f"launch.local.problem.{look.kind}", language)
    values = {"title": title or t("launch.local.problem", language), "problem": look.problem}
    return [Problem(key="launch.problem.local", values=values)]
