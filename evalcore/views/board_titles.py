"""What boards, benchmarks, metrics, targets and dialects are called where people read of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from evalcore.catalog import FRAMEWORKS, benchmark_cards, localize_text, suite_cards, target_kinds
from evalcore.i18n import lookup_text, t
from evalcore.plain_text import to_single_line
from evalcore.sqlkit import dialects
from evalcore.store.headers import RunHeader, memoize_on_snapshot
from evalcore.target_cards import NO_CARD, TargetCard
from evalcore.views.boards import PUBLICATION_PREFIX, Board, Column, is_bundled
from evalcore.views.comparability import describe_comparability
from evalcore.views.ranking import SUITE

_OPTION = re.compile(r", (?=\w+=)")
_UNUSABLE = re.compile(r"(\d+) unusable")
_VERSION = re.compile(r"v(\d+)")  # the key of a board by a declared version of the members
_LONGEST = 40  # characters of a data set's name
_NAME = 80  # characters of a name that no card knows
_NAMED = 3  # of a tie; the others are counted
#: Text about a board -> what must hold of it, the first that does.
_ABOUT = {
    "ranking.about_bundles": "handed_in",
    "ranking.about_rescored": "rescored",
    "ranking.about_published": "published",
}
#: The kinds of published and imported targets, under their proper names.
_PUBLISHERS = {"scale": "SCALE", "tau2": "τ²-bench", **FRAMEWORKS}


def board_title(board: Board, language: str) -> str:
    """The columns of a board in words; of a published one its publication."""
    if board.published:
        column = next(iter(board.columns.values()))
        if board.key == column.key:  # a further column of a publication, on a board of its own
            return (
                f"{benchmark_title(column.benchmark, language)} · {column_title(column, language)}"
            )
        label = column.label
        publication = to_single_line(label.split(" · ")[0], _LONGEST)
        kind = "published.source.published" if board.is_publication else "ranking.imported"
        return f"{publication} · {t(kind, language)}"
    return _with_members(board, list(board.columns), language)


def _with_members(board: Board, keys: Sequence[str], language: str) -> str:
    """Some columns in words, behind the membership where it is not that of the suite's board."""
    columns = " + ".join(column_title(board.columns[key], language) for key in keys)
    if board.key.startswith("own-"):
        names = ", ".join(benchmark_title(key, language) for key in board.members)
        return f"{t('ranking.own_members', language, names=names)} · {columns}"
    if number := _VERSION.fullmatch(board.key):
        return f"{t('ranking.members_version', language, version=number[1])} · {columns}"
    return columns


def ranked_title(board: Board, by: str, language: str) -> str:
    """What a ranking by SUITE or a benchmark rests on: the columns that it counts and no other."""
    if by not in board.columns and not board.published:
        return _with_members(board, board.counted_benchmarks, language)
    counted = [by] if by in board.columns else list(board.counted_benchmarks)
    if set(counted) == set(board.columns):
        return board_title(board, language)
    if board.published:
        titles = [benchmark_title(key, language) for key in counted]
        return " · ".join([board_title(board, language), *titles])
    return " + ".join(column_title(board.columns[key], language) for key in counted)


def board_about(
    board: Board, by: str, language: str, render_title: Callable[[str], str] = str
) -> str:
    """A ranking in a few sentences: what it rests on, who decided, and whether it compares with the
    official boards; `render_title` makes of the title what is to stand there."""
    key = next((key for key, holds in _ABOUT.items() if getattr(board, holds)), "ranking.about")
    about = t(key, language, board=render_title(ranked_title(board, by, language)))
    return f"{about} {describe_comparability(board, by, language)}"


def metric_about(board: Board, benchmark: str, metric: str, language: str) -> str:
    """What a metric asks and how it is decided; of verdicts that were taken over, that they were,
    and in a mode that decides otherwise, how it does. Empty for a metric without a description."""
    card = benchmark_cards().get(benchmark)
    abouts = {part.key: part.about for part in card.metrics} if card else {}
    if board.taken_over:
        return t("common.evidence.published.about", language)
    if card and metric in abouts and benchmark in board.columns:
        evidence = board.columns[benchmark].evidence(metric)
        if evidence != card.find_metric(metric).evidence:
            return t(f"common.evidence.{evidence}.about", language)
    return localize_text(abouts.get(metric, {}), language)


def column_title(column: Column, language: str) -> str:
    """Data set, mode and size of one column."""
    if column.dataset.startswith(PUBLICATION_PREFIX):
        publication = to_single_line(column.label.split(" · ")[0], _LONGEST)
        size = t("ranking.cases", language, count=column.samples)
        size = size if column.samples else t("published.claims_only", language)
        return " · ".join([benchmark_title(column.benchmark, language), publication, size])
    title = describe_score(msgspec.structs.asdict(column), language)
    return title if column.executed else f"{title} · {t('ranking.imported', language)}"


def describe_score(score: Mapping[str, Any], language: str) -> str:
    """What a score rests on, from its benchmark, dataset, label, samples and full: the label's last
    part, the size, is said anew with the number of tasks that were set aside, and the bundled cases
    go by the title of their benchmark."""
    label_parts = score["label"].split(" · ")
    unusable = _UNUSABLE.fullmatch(label_parts[-1])
    parts = (label_parts[:-2] if unusable else label_parts[:-1]) or [score["dataset"]]
    options = (_format_label_options(part, score["benchmark"]) for part in parts[1:])
    parts = [parts[0], *filter(None, options)]
    if is_bundled(score["benchmark"], score["dataset"]):
        parts[0] = benchmark_title(score["benchmark"], language)
    size = "ranking.cases" if score["full"] else "ranking.subset"
    pieces = [to_single_line(part, _LONGEST) for part in parts]
    pieces.append(t(size, language, count=score["samples"]))
    pieces += [t("ranking.unusable", language, count=unusable[1])] if unusable else []
    return " · ".join(pieces)


def _format_label_options(part: str, benchmark: str) -> str:
    """Options "name=value, name=value" of a label, or a mode alone, without what is the default."""
    card = benchmark_cards().get(benchmark)
    options = card.options if card else ()
    usual = {f"{option.name}={option.default}" for option in options}
    usual |= {str(option.default) for option in options if option.name == "mode"}
    chosen = (setting for setting in _OPTION.split(part) if setting not in usual)
    return ", ".join(setting.replace("_", " ").replace("=", ": ", 1) for setting in chosen)


def suite_title(suite: str, language: str) -> str:
    """The title that the suite's card gives it, else its key."""
    return _find_title(suite, suite_cards(), language)


def benchmark_title(benchmark: str, language: str) -> str:
    return _find_title(benchmark, benchmark_cards(), language)


def metric_title(benchmark: str, metric: str, language: str) -> str:
    card = benchmark_cards().get(benchmark)
    cards = {metric_card.key: metric_card for metric_card in card.metrics} if card else {}
    return _find_title(metric, cards, language)


def part_title(part: str, language: str) -> str:
    """The title of a benchmark or of a "benchmark/metric"."""
    benchmark, slash, metric = part.partition("/")
    return metric_title(benchmark, metric, language) if slash else benchmark_title(part, language)


def order_title(order: str, language: str) -> str:
    """What a board is ranked by."""
    if order == SUITE:
        return t("ranking.suite_score", language)
    return benchmark_title(order, language)


def kind_title(kind: str, language: str) -> str:
    return _find_title(kind, target_kinds(), language, _PUBLISHERS.get(kind, ""))


class _Titled(Protocol):
    @property
    def title(self) -> dict[str, str]: ...


def _find_title(key: str, cards: Mapping[str, _Titled], language: str, other: str = "") -> str:
    """What the card of a key calls it, else `other`, else its name as a part of what others
    published, else the key."""
    title = localize_text(cards[key].title, language) if key in cards else ""
    published = "" if title or other else lookup_text(f"published.part.{key}", language)
    return title or other or published or to_single_line(key, _NAME)


def format_standing(row: Mapping[str, Any], total: int, language: str) -> str:
    """Score, interval and rank of a row of `machine.ranking_data` in one line, as on a badge;
    `total` is how many are ranked."""
    if row["score"] is None:
        return t("badge.unmeasured" if row["status"] == "incomplete" else "badge.not_run", language)
    score = f"{row['score']:.1f}"
    if row["low"] is not None and row["high"] is not None:
        score += f" [{row['low']:.1f}–{row['high']:.1f}]"
    if row["rank"] is None:
        return t(f"badge.{row['status']}", language, score=score)
    low, high = row["rank_low"], row["rank_high"]
    rank = f"{low}–{high}" if low != high else f"{row['rank']}"
    return t("badge.ranked", language, score=score, rank=rank, total=total)


def describe_ranking(
    groups: Iterable[Iterable[str]], language: str, render_name: Callable[[str], str] = str
) -> str:
    """What a ranking decides, in one or two sentences, from its groups of ties (names, the best
    group first); `render_name` makes of a name what is to stand there. Empty where nobody is
    ranked."""
    tie_groups = [list(group) for group in groups]
    names = [name for group in tie_groups for name in group]
    if not names:
        return ""
    if len(names) == 1:
        return t("ranking.words.single", language, first=render_name(names[0]))
    if len(tie_groups[0]) > 1:
        tied = _join_names(tie_groups[0], language, render_name)
        first = t("ranking.words.tie", language, names=tied)
    else:
        pair = {"first": render_name(names[0]), "second": render_name(names[1])}
        first = t("ranking.words.leader", language, **pair)
    second = ""
    if len(tie_groups) > 1:
        second = t("ranking.words.groups", language, targets=len(names), groups=len(tie_groups))
    elif len(names) > _NAMED:
        second = t("ranking.words.one_group", language, targets=len(names))
    return t("ranking.words.two", language, first=first, second=second).strip()


def _join_names(names: list[str], language: str, render_name: Callable[[str], str]) -> str:
    rendered, more = [render_name(name) for name in names[:_NAMED]], len(names) - _NAMED
    separator = t("ranking.words.separator", language)
    if more > 0:
        return t("ranking.words.and_more", language, names=separator.join(rendered), count=more)
    return t("ranking.words.and", language, names=separator.join(rendered[:-1]), last=rendered[-1])


# What a target is called where people read of it: the name on its card, else its key, and what sets
# the variant apart.

Options = Mapping[str, Any]
_MOST_OPTIONS, _LONGEST_VALUE = 3, 24
#: Values of `dtype` that name no precision of their own.
_PLAIN_DTYPES = ("", "auto")


def describe_variant(options: Options) -> str:
    """What sets a variant apart, `+ lora · int8 · temperature=0.7`; "" where nothing short does."""
    adapter = str(options.get("adapter") or "").rstrip("/").rpartition("/")[2]
    dtype = str(options.get("dtype") or "")
    others = [
        f"{name}={value}"
        for name, value in sorted(options.items())
        if name not in ("adapter", "dtype", "api_key_env") and _is_short(value)
    ]
    more = [f"+{len(others) - _MOST_OPTIONS}"] if len(others) > _MOST_OPTIONS else []
    parts = [] if dtype in _PLAIN_DTYPES else [dtype]
    parts += others[:_MOST_OPTIONS] + more
    return "".join([f"+ {adapter} " if adapter else "", *(f"· {part} " for part in parts)]).strip()


def _is_short(value: Any) -> bool:
    """Whether an option can stand in a name: no address, no path, no text of any length."""
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST_VALUE and "/" not in value
    return isinstance(value, bool | int | float)


def display_name(
    identity: str, target_key: str, cards: Mapping[str, TargetCard], options: Options | None = None
) -> str:
    """The card's name or the key, followed by what the identity adds to the key, so that the
    variants of a target stay told apart: their `options` where these say it, else the hash. It is
    typed by people, as hostile as any text from outside."""
    if not identity.startswith(target_key):
        return identity
    name = cards.get(target_key, NO_CARD).name.strip()
    suffix = identity.removeprefix(target_key)
    variant = describe_variant(options or {}) if suffix else ""
    if not name and not variant:
        return identity
    return " ".join(filter(None, (name or target_key, variant or suffix)))


def display_names(
    targets: Mapping[str, str],
    cards: Mapping[str, TargetCard],
    options: Mapping[str, Options] = MappingProxyType({}),
) -> dict[str, str]:
    """The display name of every identity, from the target keys and the options by identity, letter
    case kept.

    Names that read alike are followed by the identity: two rows, bars or options of one name would
    be taken for one, and a card must not pass for another target.
    """
    names = {
        identity: display_name(identity, key, cards, options.get(identity))
        for identity, key in targets.items()
    }
    counts = Counter(_normalize_name(name) for name in names.values())
    return {
        identity: name
        if name == identity or counts[_normalize_name(name)] == 1
        else f"{name} ({identity})"
        for identity, name in names.items()
    }


def collect_options(headers: Iterable[RunHeader]) -> Mapping[str, Options]:
    """The options of every variant of a target by identity, worked out once for a snapshot."""

    def collect() -> dict[str, Options]:
        return {run.identity: run.target_options for run in headers if run.target_options}

    return memoize_on_snapshot(headers, "options of variants", collect)


def _normalize_name(name: str) -> str:
    return " ".join(name.casefold().split())


# The names by which people know the SQL dialects of cases.

DIALECT_TITLES: dict[str, str] = dialects.TITLES
