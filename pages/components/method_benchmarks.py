"""Methodology, third part: how a benchmark decides, in words, where its rules take some telling."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from pages.components.board import benchmark_title
from pages.components.language import Translate

#: The rules by benchmark, in the order of reading; each has a title and its words.
_RULES = {
    "gaia": ("weights", "number", "list", "string", "extraction", "modes", "hidden"),
    "swe_bench": (
        *("weights", "official", "repaired", "hardened"),
        *("unusable", "not_executed"),
    ),
}


def draw_benchmark_rules(benchmarks: Iterable[str], tr: Translate) -> None:
    """The rules of those of the benchmarks that have some to tell."""
    for benchmark in benchmarks:
        if benchmark not in _RULES:
            continue
        name = benchmark_title(benchmark)
        st.subheader(tr("methodology.rules", benchmark=name), anchor=False)
        keys = [f"methodology.rules.{benchmark}.{rule}" for rule in _RULES[benchmark]]
        st.markdown("\n".join(f"- **{tr(key)}.** {tr(f'{key}.words')}" for key in keys))
