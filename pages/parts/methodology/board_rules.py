"""Methodology, second part: outcomes, evidence, floors, prompts and versions of a board; benchmarks
and judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
import streamlit as st

from evalcore.catalog import CONTROL_KIND, FLOOR_CONTROLS, benchmark_cards, find_benchmark_text
from evalcore.plain_text import DASH
from evalcore.records import MEASURED, Message, to_json
from evalcore.settings import Settings
from evalcore.views import board_titles, methodology
from evalcore.views.boards import Board, Row
from evalcore.views.methodology import PanelReport
from evalcore.views.targets import OUTCOMES
from pages.shared import display_names, evidence, tables, url_state, widgets, wording
from pages.shared.board_view import benchmark_title, metric_title
from pages.shared.wording import current_language, escape_markdown, to_plain_line, tr


def draw_outcome_rules() -> None:
    """What becomes of a case, and what each outcome counts as."""
    st.subheader(tr("methodology.complete"), anchor=False)
    st.markdown(tr("methodology.complete_words"))
    st.markdown(tr("methodology.best_words"))
    tables.draw_word_table(
        [tr("common.outcome"), tr("methodology.outcome_meaning"), tr("methodology.outcome_counts")],
        [
            (
                tr(f"common.outcome.{name}"),
                tr(f"methodology.outcome.{name}"),
                tr(f"methodology.counts.{counted}"),
            )
            for name in OUTCOMES
            for counted in [name if name in MEASURED else "missing"]
        ],
        tr("methodology.outcomes_alt"),
    )


def draw_evidence_rules(board: Board) -> None:
    """The metrics of the board: weight, what their verdicts rest on, what they ask."""
    st.subheader(tr("methodology.evidence"), anchor=False)
    st.markdown(tr("methodology.evidence_words"))
    taken_over = "published" if board.taken_over else ""
    for benchmark, column in board.columns.items():
        card = benchmark_cards().get(benchmark)
        st.markdown(f"###### {escape_markdown(benchmark_title(benchmark))}")
        if card is None:
            st.caption(tr("methodology.absent"))
            continue
        titles = [tr("common.metric"), tr("methodology.weight")]
        titles += [tr("methodology.evidence_kind"), tr("methodology.evidence_asks")]
        rows = [
            (
                metric_title(benchmark, metric.key),
                tr("methodology.unscored")
                if metric.weight is None
                else wording.format_weight(metric.weight),
                tr(f"common.evidence.{taken_over or column.evidence(metric.key)}"),
                board_titles.metric_about(board, benchmark, metric.key, current_language()),
            )
            for metric in card.metrics
        ]
        tables.draw_word_table(titles, rows, tr("methodology.evidence_alt"))


def draw_floor_scores(scores: Mapping[str, float]) -> None:
    """The controls' scores on this board and what each means."""
    st.subheader(tr("methodology.floors"), anchor=False)
    st.markdown(tr("methodology.floors_words"))
    control_scores = {name: score for name, score in scores.items() if name in _CONTROLS}
    if not control_scores:
        st.caption(tr("methodology.floors_none"))
        return
    titles = [tr("methodology.control"), tr("common.score"), tr("methodology.outcome_meaning")]
    rows = [
        (
            display_names.resolve_target_name(*[f"{CONTROL_KIND}:{name}"] * 2),
            f"{score:.1f}",
            tr(f"methodology.floor.{name}"),
        )
        for name, score in control_scores.items()
    ]
    tables.draw_word_table(titles, rows, tr("methodology.floors_alt"))


_NATIVE = "fc"  # the mode in which functions go beside the messages
_MAX_SEGMENTS = 12
_FIRST = 2  # messages that are shown; those of later turns are folded
_CONTROLS = (*FLOOR_CONTROLS, "reference")


def draw_benchmark_prompts(row: Row, settings: Settings) -> None:
    """The questions of a run's journal, one per metric."""
    st.subheader(tr("methodology.prompts"), anchor=False)
    st.markdown(tr("methodology.prompts_words"))
    prompts_by_metric: dict[str, methodology.Prompt] = {}
    for benchmark, run in row.runs.items():
        card = benchmark_cards().get(benchmark)
        if card is None:
            continue
        with widgets.show_errors("methodology.no_numbers", icon=None, draw=st.warning):
            for prompt in methodology.list_first_prompts(
                settings.run_roots, run.run_id, card, show_gated=settings.show_gated
            ):
                prompts_by_metric[f"{benchmark}/{prompt.metric}"] = prompt
    if not prompts_by_metric:
        st.caption(tr("methodology.no_prompts"))
        return
    prompt = prompts_by_metric[_select_prompt_metric(list(prompts_by_metric))]
    if prompt.hidden:
        st.info(tr("note.gated"), icon=":material/lock:")
    first, later = prompt.messages[:_FIRST], prompt.messages[_FIRST:]
    _draw_prompt_messages(first)
    if later:
        with st.expander(tr("methodology.prompt_later", count=len(later))):
            _draw_prompt_messages(later)
    if prompt.mode:
        st.caption(escape_markdown(evidence.mode_title(prompt.mode)))
    if prompt.mode == _NATIVE:
        st.caption(tr("methodology.prompt_native"))
    names = {"run": escape_markdown(prompt.run_id), "case": escape_markdown(prompt.case)}
    st.caption(tr("methodology.prompt_of", **names))


def _draw_prompt_messages(messages: Sequence[Message]) -> None:
    for message in messages:
        st.caption(tr(f"methodology.role.{message.role}"))
        st.code(message.content, language=None, wrap_lines=True)


def _select_prompt_metric(codes: list[str]) -> str:
    """One of the metrics: from a row of them, or from a menu where a row would not do."""

    def title(code: str) -> str:
        return metric_title(*code.split("/", 1))

    label, key = tr("common.metric"), "methodology.prompt"
    if len(codes) > _MAX_SEGMENTS:
        return url_state.draw_select(label, codes, key, title, width=320)
    return url_state.draw_segments(label, codes, key, title)


def draw_column_versions(row: Row, settings: Settings) -> None:
    """What the column key of each benchmark is made from."""
    st.subheader(tr("methodology.versions"), anchor=False)
    st.markdown(tr("methodology.versions_words"))
    for benchmark, run in row.runs.items():
        spec_and_score = None
        with widgets.show_errors("methodology.no_numbers", icon=None, draw=st.warning):
            spec_and_score = methodology.load_run_score(settings.run_roots, run.run_id, benchmark)
        if spec_and_score is None:
            continue
        spec, score = spec_and_score
        facts = {
            "dataset": spec.dataset,
            "dataset_hash": spec.dataset_hash,
            "prompt": spec.prompt_version,
            "scorer": spec.scorer_version,
            "options": to_json(spec.options, ordered=False).decode(),
            "column": score.column,
        }
        rows = [
            (tr(f"methodology.version.{name}"), to_plain_line(value, 200))
            for name, value in facts.items()
        ]
        titles = [benchmark_title(benchmark), " "]
        tables.draw_word_table(titles, rows, tr("methodology.versions"))


def draw_benchmark_rules(benchmarks: Iterable[str]) -> None:
    """The rules of those of the benchmarks that have some to tell."""
    for benchmark in benchmarks:
        card = benchmark_cards().get(benchmark)
        if card is None or not card.rules:
            continue
        name, parts = benchmark_title(benchmark), ("", ".words")
        st.subheader(tr("methodology.rules", benchmark=name), anchor=False)
        language = current_language()
        texts = (
            [
                find_benchmark_text(benchmark, f"rules.{rule}{part}", language) or rule
                for part in parts
            ]
            for rule in card.rules
        )
        st.markdown("\n".join(f"- **{title}.** {words}" for title, words in texts))


def draw_judge_panel(board: Board, rows: Sequence[Row], settings: Settings) -> None:
    """The rules of a panel, then the figures of the judges who voted on this board."""
    if not any(column.card.judged for column in board.columns.values()):
        return
    st.subheader(tr("methodology.panel"), anchor=False)
    st.markdown(tr("methodology.panel_words"))
    runs = [run.run_id for row in rows for run in row.runs.values()]
    report = None
    with widgets.show_errors("methodology.no_numbers", icon=None, draw=st.warning):
        report = methodology.build_panel_report(settings.run_roots, runs)
        if report is None:
            st.caption(tr("methodology.panel_none"))
    if report is None:
        return
    cost, split = wording.format_money(report.cost), _format_vote_share(report.splits.rate)
    values = {"cost": escape_markdown(cost), "split": split, "splits": report.splits.n}
    values |= {"answers": report.answers, "requests": report.requests}
    st.markdown(tr("methodology.panel_here", **values))
    _draw_judge_profiles(report)
    _draw_judge_pairs(report)
    _draw_judge_calibration(report)


def _draw_judge_profiles(report: PanelReport) -> None:
    names = ("judge", "judge_votes", "judge_yes", "judge_milder", "judge_abstained", "judge_failed")
    rows = [
        (
            profile.judge,
            f"{profile.cast} / {profile.n}",
            _format_vote_share(profile.yes_rate),
            _format_vote_share(profile.difference, "+"),
            _format_vote_share(profile.abstained),
            _format_vote_share(profile.failed),
        )
        for profile in report.profiles
    ]
    _draw_panel_table(names, rows, "methodology.profiles_alt")


def _draw_judge_pairs(report: PanelReport) -> None:
    if not report.pairs:
        return
    st.markdown(tr("methodology.pairs_words"))
    rows = [
        (
            f"{pair.first} – {pair.second}",
            str(pair.n),
            _format_vote_share(pair.agreed),
            _format_kappa(pair.kappa),
        )
        for pair in report.pairs
    ]
    names = ("judge_pair", "judge_both", "judge_agreed", "κ")
    _draw_panel_table(names, rows, "methodology.pairs_alt")
    if (worked := methodology.find_best_kappa(report.pairs)) is not None:
        st.caption(
            tr(
                "methodology.kappa_worked",
                first=escape_markdown(worked.first),
                second=escape_markdown(worked.second),
                n=worked.n,
                agreed=_format_vote_share(worked.agreed),
                chance=_format_vote_share(worked.chance),
            )
        )
        a, c = f"{worked.agreed:.2f}", f"{worked.chance:.2f}"
        st.latex(rf"\kappa = \frac{{{a} - {c}}}{{1 - {c}}} = {worked.kappa:.2f}")


def _draw_judge_calibration(report: PanelReport) -> None:
    st.markdown(tr("methodology.calibration_words"))
    if not report.calibration:
        st.caption(tr("methodology.calibration_none"))
        return
    rows = [
        (
            calibration.judge,
            str(calibration.n),
            _format_vote_share(calibration.agreed),
            _format_kappa(calibration.kappa),
            str(calibration.false_pass),
            str(calibration.false_fail),
        )
        for calibration in report.calibration
    ]
    names = ("judge", "judge_both", "judge_agreed", "κ", "false_pass", "false_fail")
    _draw_panel_table(names, rows, "methodology.calibration_alt")


def _draw_panel_table(names: Sequence[str], rows: Sequence[tuple[str, ...]], alt: str) -> None:
    titles = [name if name == "κ" else tr(f"methodology.{name}") for name in names]
    tables.draw_grid(pd.DataFrame(rows, columns=titles), {}, tr(alt))


def _format_vote_share(rate: float | None, sign: str = "") -> str:
    return DASH if rate is None else f"{100 * rate:{sign}.0f}%"


def _format_kappa(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"
