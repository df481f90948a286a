"""A decision in words and as plain data, for the page, the API and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from evalcore.errors import UsageError
from evalcore.i18n import DEFAULT, Note, lookup_text, name_term, t
from evalcore.plain_text import DASH, align_columns, to_single_line
from evalcore.records import Record
from evalcore.settings import Settings
from evalcore.views import board_titles, boards, stored_boards
from evalcore.views.decision import (
    COST,
    LATENCY,
    LEVELS,
    MAX_WEIGHT,
    UNKNOWN,
    Decision,
    DecisionLimits,
    DecisionTable,
    Level,
    Ranked,
    Rejection,
    WeightChange,
    parse_bounded,
    parse_weights,
)
from evalcore.views.decision_sources import (
    NO_DIALECT,
    build_published_table,
    load_decision,
    load_decision_table,
)
from evalcore.views.payloads import Data
from evalcore.views.published_boards import load_published_board

_NAMED = 3  # criteria in one reason


class DecisionQuery(Record, frozen=True):
    """What the API and the command line ask for: a board of runs by suite and key, or with
    `published` that of a publisher; weights as `parse_weights` reads them; limits as texts."""

    suite: str = ""
    board: str = ""
    published: str = ""
    month: str = ""
    setup: str = ""
    level: str = ""
    weights: tuple[str, ...] = ()
    max_cost_per_case: str = ""
    max_cost_per_run: str = ""
    kinds: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    open_weights: tuple[str, ...] = ()


def load_query_table(settings: Settings, query: DecisionQuery) -> tuple[str, DecisionTable]:
    """The key of the board that a query means, and what can be weighed on it. Raises UsageError
    for a board or a level that is not there, naming those that are."""
    if query.level not in ("", *LEVELS):
        raise UsageError(Note("decide_level", level=query.level[:40], names=", ".join(LEVELS)))
    level: Level = next((each for each in LEVELS if each == query.level), LEVELS[0])
    if query.published:
        source = load_published_board(settings, query.published, query.month, query.setup)
        key, table = source.board.key, build_published_table(source, level)
    else:
        headers = stored_boards.load_run_headers(settings)
        board = _find_board(headers, query)
        key, table = board.key, load_decision_table(settings, headers, board, level)
    if query.level and table.level != query.level:
        levels = ", ".join(table.levels)
        raise UsageError(Note("decide_other_level", level=query.level, names=levels))
    return key, table


def _find_board(headers: stored_boards.Headers, query: DecisionQuery) -> boards.Board:
    suites = boards.list_suites(headers)
    if not suites:
        raise UsageError(Note("decide_no_board"))
    if query.suite not in ("", *suites):
        raise UsageError(Note("decide_no_suite", suite=query.suite[:40], names=", ".join(suites)))
    candidates = boards.list_boards(headers, query.suite or suites[0])
    keys = [board.key for board in candidates]
    if query.board not in ("", *keys):
        raise UsageError(Note("decide_board", board=query.board[:60], names=", ".join(keys)))
    return boards.find_board(candidates, query.board)


def decide_query(settings: Settings, query: DecisionQuery) -> tuple[str, DecisionTable, Decision]:
    """The decision of a query. Raises UsageError naming what cannot be understood."""
    key, table = load_query_table(settings, query)
    limits = DecisionLimits(
        max_cost_per_case=_parse_limit(query.max_cost_per_case, "max_cost_per_case"),
        max_cost_per_run=_parse_limit(query.max_cost_per_run, "max_cost_per_run"),
        kinds=query.kinds,
        organizations=query.organizations,
        licences=query.licences,
        weights=query.open_weights,
    )
    weights = parse_weights(query.weights, table.criteria)
    return key, table, load_decision(table, weights, limits)


def _parse_limit(text: str, name: str) -> float | None:
    return parse_bounded(text, name) if text else None


# As data.


def build_decision_payload(board: str, table: DecisionTable, decision: Decision) -> Data:
    """All of a decision: board, level, criteria with their weights, ranked, excluded, leader with
    its certainty, changes; null is unknown or not run."""
    leader = decision.leader
    return {
        "board": board,
        "level": table.level,
        "levels": list(table.levels),
        "criteria": [
            {**asdict(criterion), "weight": decision.weights[criterion.key]}
            for criterion in table.criteria
        ],
        "limits": asdict(decision.limits),
        "tested": decision.tested,
        "cases": decision.cases,
        "resamples": decision.resamples if decision.tested else 0,
        "leader": leader.candidate.identity if leader else None,
        "leads": leader.leads if leader else None,
        "tied": decision.tied_count if leader else None,
        "items": [build_ranked_row(row) for row in decision.ranked],
        "excluded": [
            {
                "identity": excluded.candidate.identity,
                "name": excluded.candidate.name,
                "reasons": [asdict(reason) for reason in excluded.reasons],
            }
            for excluded in decision.excluded
        ],
        "changes": [asdict(change) for change in decision.changes],
        "text": describe_decision(table, decision, "en"),
    }


def build_ranked_row(row: Ranked) -> Data:
    """A ranked target: the facts of its candidate, then its standing."""
    standing = asdict(row)
    return {**asdict(standing.pop("candidate")), **standing}


# In words.


def title_criteria(table: DecisionTable, language: str, *, short: bool = False) -> dict[str, str]:
    """What the criteria are called: metrics of one name go with their benchmark, unless `short`."""
    titles = {
        criterion.key: _title_criterion(table, criterion.key, language)
        for criterion in table.criteria
    }
    counts = Counter(titles.values())
    return {
        key: title
        if short or counts[title] == 1 or "/" not in key
        else f"{board_titles.benchmark_title(key.partition('/')[0], language)} · {title}"
        for key, title in titles.items()
    }


def _title_criterion(table: DecisionTable, key: str, language: str) -> str:
    if key in (COST, LATENCY):
        return t(f"decide.criterion.{key}", language)
    if table.level != "dialects":
        return board_titles.part_title(key, language)
    return t("decide.criterion.no_dialect", language) if key == NO_DIALECT else key


def explain_answer(
    table: DecisionTable, decision: Decision, language: str
) -> tuple[str, dict[str, str]]:
    """The text that answers who is best, and its values; `first` and `second` are names, hostile
    and unescaped."""
    ranked = decision.ranked
    if not decision.has_weights:
        return "decide.answer.no_weights", {}
    if not ranked:
        return "decide.answer.nobody", {}
    first = ranked[0]
    values = {"first": first.candidate.name, "score": f"{first.score:.1f}"}
    if len(ranked) == 1:
        return "decide.answer.single", values
    second = ranked[1]
    values |= {
        "second": second.candidate.name,
        "lead": f"{first.score - second.score:.1f}",
        "certainty": _explain_certainty(decision, language),
    }
    if first.rank == second.rank or (decision.tested and second.group == 1):
        return "decide.answer.tie", values
    return "decide.answer.leader", values


def _explain_certainty(decision: Decision, language: str) -> str:
    if not decision.tested:
        code = "claims" if _rests_on_claims(decision) else "spending"
        return t(f"decide.certainty.{code}", language)
    tied = decision.tied_count
    values = {
        "count": tied,
        "share": format_lead_share(decision.ranked[0].leads or 0.0),
        "resamples": f"{decision.resamples:,}",
    }
    code = "significant" if not tied else "tied_one" if tied == 1 else "tied"
    return t(f"decide.certainty.{code}", language, **values)


def format_lead_share(share: float) -> str:
    """A share of resamples in percent; what is not all is never told as all, nor little as none."""
    if 0 < share < 0.005:
        return "< 1%"
    return "> 99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


def _rests_on_claims(decision: Decision) -> bool:
    """Whether a score counts that is no cost and no latency."""
    return any(
        weight > 0 and key not in (COST, LATENCY) for key, weight in decision.weights.items()
    )


def describe_decision(table: DecisionTable, decision: Decision, language: str) -> str:
    """The answer in a sentence or two of plain text."""
    key, values = explain_answer(table, decision, language)
    return t(key, language, **{name: to_single_line(value, 80) for name, value in values.items()})


def describe_change(change: WeightChange, titles: Mapping[str, str], language: str) -> str:
    """Which weight would have to change to what for whom to lead; plain text."""
    values: Data = {
        "criterion": titles[change.criterion],
        "weight": f"{change.weight:g}",
        "changed": change.changed,
        "name": to_single_line(change.name, 60),
    }
    code = "raise" if change.changed > change.weight else "lower"
    return t(f"decide.change.{code}", language, **values)


def describe_reasons(
    table: DecisionTable,
    identity: str,
    reasons: Sequence[Rejection],
    titles: Mapping[str, str],
    language: str,
) -> str:
    """Why a target is not ranked; plain text."""
    candidate = next(each for each in table.candidates if each.identity == identity)
    by_reason: dict[str, list[Rejection]] = {}
    for reason in reasons:
        by_reason.setdefault(reason.reason, []).append(reason)
    texts = []
    for code, group in by_reason.items():
        names = [titles[each.criterion] for each in group if each.criterion]
        more = f" +{len(names) - _NAMED}" if len(names) > _NAMED else ""
        field = {"kinds": "kind", "organizations": "organization", "licences": "licence"}.get(code)
        value = getattr(candidate, field or code.removeprefix("max_"), "")
        if code == "kinds":
            value = t(f"decide.kind.{value}", language)
        if code == "weights":
            value = t(f"board.weights.{value}", language) if value else ""
        unknown = f"decide.reason.{code}_unknown"
        is_unknown = group[0].unknown and lookup_text(unknown, language) is not None
        texts.append(
            t(
                unknown if is_unknown else f"decide.reason.{code}",
                language,
                names=t("decide.separator", language).join(names[:_NAMED]) + more,
                value=f"{value:.6g}" if isinstance(value, float) else to_single_line(value, 60),
            )
        )
    return t("decide.reasons_separator", language).join(texts)


def title_filter_value(field: str, value: str, language: str) -> str:
    """A value of a filter in words; hostile where people typed it."""
    if value == UNKNOWN:
        return t("decide.unknown", language)
    if field == "kinds":
        return t(f"decide.kind.{value}", language)
    if field == "weights":
        return t(f"board.weights.{value}", language)
    return to_single_line(value, 60)


def list_filter_values(table: DecisionTable, field: str) -> list[str]:
    """What there is of a filter on the board, what is not on record last; nothing where all have
    the same."""
    name = field if field == "weights" else field.removesuffix("s")
    values = {
        getattr(candidate, name) or UNKNOWN
        for candidate in table.candidates
        if candidate.kind != "control"
    }
    usable = sorted(value for value in values if "," not in value)
    return sorted(usable, key=lambda value: value == UNKNOWN) if len(values) > 1 else []


def list_known_costs(table: DecisionTable) -> list[str]:
    """Which costs a limit can tell targets apart by: those that cost something on the board."""
    return [
        name
        for name in ("cost_per_case", "cost_per_run")
        if any(getattr(each, name) for each in table.candidates if each.kind != "control")
    ]


# For a terminal.


def format_decision(table: DecisionTable, decision: Decision, language: str = DEFAULT) -> str:
    """The answer, the weights, the ranking, what would change it, and who is left out."""
    titles = title_criteria(table, language)
    parts = [
        describe_decision(table, decision, language),
        _format_criteria(table, decision, titles, language),
    ]
    if decision.ranked:
        parts.append(_format_ranking(decision, language))
    if len(decision.ranked) > 1:
        parts.append(
            "\n".join(describe_change(change, titles, language) for change in decision.changes[:5])
            or t("decide.change.never", language, most=MAX_WEIGHT)
        )
    if decision.excluded:
        lines = [
            [
                to_single_line(name_term(excluded.candidate.name, language), 60),
                describe_reasons(
                    table, excluded.candidate.identity, excluded.reasons, titles, language
                ),
            ]
            for excluded in decision.excluded
        ]
        heads = [name_term(head, language) for head in ("not ranked", "reason")]
        parts.append(align_columns([heads, *lines]))
    return "\n\n".join(parts)


def _format_criteria(
    table: DecisionTable, decision: Decision, titles: Mapping[str, str], language: str
) -> str:
    heads = ("criterion", "weight", "preset", "cases", "title")
    rows = [[name_term(head, language) for head in heads]]
    for criterion in table.criteria:
        weight = f"{decision.weights[criterion.key]:g}"
        cases = str(criterion.cases) if criterion.cases else DASH
        key = criterion.key
        rows.append([key, weight, str(criterion.default), cases, titles[key]])
    return align_columns(rows)


def _format_ranking(decision: Decision, language: str) -> str:
    heads = ("rank", "range", "target", "score", "95% interval", "leads in", "USD per case")
    rows = [[name_term(head, language) for head in heads]]
    for row in decision.ranked:
        has_range = row.rank_low is not None and row.rank_low != row.rank_high
        cost = row.candidate.cost_per_case
        rows.append(
            [
                str(row.rank),
                f"{row.rank_low}-{row.rank_high}" if has_range else "",
                to_single_line(name_term(row.candidate.name, language), 60),
                f"{row.score:.1f}",
                DASH
                if row.low is None
                else t(
                    "cli.report.interval", language, low=f"{row.low:.1f}", high=f"{row.high:.1f}"
                ),
                DASH if row.leads is None else format_lead_share(row.leads),
                DASH if cost is None else f"{cost:.6g}",
            ]
        )
    return align_columns(rows)
