"""Everything a site tells, read from the store once, and the names of its files. All of it comes
from `evalcore.views`, so that a site says what the app and the API say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from evalcore.access import redaction
from evalcore.access.redaction import Redactor
from evalcore.errors import EvalboardError
from evalcore.plain_text import to_single_line
from evalcore.records import RunSpec, content_hash
from evalcore.settings import Settings
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import find_run
from evalcore.target_cards import TargetCard, load_cards
from evalcore.views import boards, methodology, stored_boards, targets
from evalcore.views.board_table import RankingView
from evalcore.views.board_titles import collect_options, display_names
from evalcore.views.published_boards import (
    PUBLISHED,
    choose_default_source,
    list_setups,
    load_publishers,
    require_publication,
)
from evalcore.views.published_ranking import PublishedRanking, load_published_ranking
from evalcore.views.ranking import list_board_orders

# File names made of names from outside: short, ASCII, and different wherever the names are.

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 48
_PLAIN = re.compile(rf"[a-z0-9_]{{1,{_LONGEST}}}")


def make_file_stem(*names: str) -> str:
    """The names joined by hyphens; one that is not plain is followed by its hash."""
    return "-".join(_make_stem(name) for name in names)


def _make_stem(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    slug = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{slug or 'x'}-{content_hash(name, 8)}"


def board_page(stem: str) -> str:
    return f"boards/{stem}.html"


def target_page(identity: str) -> str:
    return f"targets/{make_file_stem(identity)}.html"


def data_file(stem: str, kind: str) -> str:
    return f"data/{stem}.{kind}"


Data = dict[str, Any]


def make_ranking_stem(ranking: RankingView) -> str:
    """What the files of a ranking are named by."""
    stem = make_file_stem(ranking.board.suite, ranking.board.key)
    return stem if ranking.is_default else f"{stem}-by-{make_file_stem(ranking.order)}"


class SiteFacts(NamedTuple):
    """The whole store: every board by each of its orders, and by its first alone; `months` are the
    boards of publishers for other months and setups, the newest first. `specs` are those of the
    runs that stand on a board, without keys and places; `runs` the headers of each target, newest
    first, and `names` what all these targets are called."""

    rankings: Sequence[RankingView]
    default_rankings: Sequence[RankingView]
    months: Sequence[PublishedRanking]
    runs: Mapping[str, Sequence[RunHeader]]
    names: Mapping[str, str]
    specs: Mapping[str, RunSpec]
    cards: Mapping[str, TargetCard]


def collect_site_facts(settings: Settings) -> SiteFacts:
    """Read the store; raises EvalboardError where it cannot be read."""
    headers = stored_boards.load_run_headers(settings)
    rankings: list[RankingView] = []
    for suite in _list_all_suites(settings, headers):
        own = [
            RankingView(settings, headers, board, order)
            for board in boards.list_boards(headers, suite)
            for order in list_board_orders(board)
        ]
        published = _list_published_rankings(settings, suite)
        is_first = choose_default_source(settings, headers, suite) == PUBLISHED
        rankings += [*published, *own] if is_first else [*own, *published]
    default_rankings = [ranking for ranking in rankings if ranking.is_default]
    months = [
        ranking
        for publisher in load_publishers(settings)
        for ranking in _list_month_rankings(settings, publisher.key)
    ]
    standing = {
        run.run_id
        for ranking in default_rankings
        for row in ranking.targets.values()
        for run in row.runs.values()
    }
    identities, cards = targets.list_identities(headers), load_cards(settings)
    runs = {identity: targets.list_target_runs(headers, identity) for identity in identities}
    keys = {identity: own[0].target_key for identity, own in runs.items()}
    names = display_names(keys, cards, collect_options(headers))
    for ranking in [*default_rankings, *months]:
        if isinstance(ranking, PublishedRanking):
            for header in ranking.headers:
                claims = runs.setdefault(header.identity, [])
                if all(header.run_id != other.run_id for other in claims):
                    claims.append(header)
            names = {**ranking.names, **names}
    return SiteFacts(
        rankings=rankings,
        default_rankings=default_rankings,
        months=months,
        runs=runs,
        names=names,
        specs=_load_redacted_specs(settings, sorted(standing), redaction.build_redactor(settings)),
        cards=cards,
    )


def is_published_only(facts: SiteFacts, identity: str) -> bool:
    """Whether all that is known of a target are claims of a publisher."""
    return all(header.origin == "published" for header in facts.runs[identity])


def _list_all_suites(settings: Settings, headers: Sequence[RunHeader]) -> list[str]:
    """The suites with a score or with anything published."""
    published = [publisher.suite for publisher in load_publishers(settings)]
    return list(dict.fromkeys([*boards.list_suites(headers), *sorted(published)]))


def _list_published_rankings(settings: Settings, suite: str) -> list[RankingView]:
    """The newest board of every publisher of a suite by each of its orders."""
    rankings: list[RankingView] = []
    for publisher in load_publishers(settings, suite):
        first = load_published_ranking(settings, publisher.key)
        rankings += [
            load_published_ranking(settings, publisher.key, order=order)
            for order in list_board_orders(first.board)
        ]
    return rankings


def _list_month_rankings(settings: Settings, publisher: str) -> list[PublishedRanking]:
    """The boards of a publisher but for the first: setup by setup, the newest month first, where an
    entry of that setup came with it."""
    publication = require_publication(settings, publisher)
    setups = list_setups(publication)
    months = [
        (setup, month)
        for setup in setups
        for month in publication.months
        if any(e.month == month and e.setup_key == setup for e in publication.entries)
    ]
    shown = (setups[0], publication.months[0])
    return [
        load_published_ranking(settings, publisher, month, "", setup)
        for setup, month in months
        if (setup, month) != shown
    ]


def list_publisher_boards(facts: SiteFacts, ranking: PublishedRanking) -> list[PublishedRanking]:
    """The boards of the publisher of a ranking by their first order: setup by setup, the newest
    month first."""
    first = [each for each in facts.default_rankings if isinstance(each, PublishedRanking)]
    publisher = ranking.source.publisher.key
    return [each for each in (*first, *facts.months) if each.source.publisher.key == publisher]


def _load_redacted_specs(
    settings: Settings, runs: Sequence[str], censor: Redactor
) -> dict[str, RunSpec]:
    """A run that was deleted meanwhile, or whose spec is broken, has none."""
    specs = {}
    for run in runs:
        try:
            spec = find_run(run, settings.run_roots).read_spec()
            specs[run] = redaction.redact_spec(spec, censor)
        except EvalboardError:
            continue
    return specs


class WorkedExample(NamedTuple):
    """A benchmark's score worked out for one target: the terms and their sums."""

    benchmark: str
    name: str
    mode: str
    terms: list[Data]
    sums: methodology.ScoreSums


def build_worked_examples(ranking: RankingView) -> Iterator[WorkedExample]:
    """Per benchmark of a board, for its best ranked target with a readable score."""
    for benchmark in ranking.board.columns:
        examples = (_build_example(ranking, benchmark, row["identity"]) for row in ranking.ranked)
        if example := next(filter(None, examples), None):
            yield example


def _build_example(ranking: RankingView, benchmark: str, identity: str) -> WorkedExample | None:
    run = ranking.targets[identity].runs.get(benchmark)
    if run is None:
        return None
    try:
        roots = ranking.settings.run_roots
        worked = methodology.load_worked_score(roots, run.run_id, benchmark)
    except EvalboardError:
        return None
    if worked is None:
        return None
    records = [
        {str(name): None if pd.isna(value) else value for name, value in record.items()}
        for record in worked.terms.to_dict("records")
    ]
    mode, name = str(worked.spec.options.get("mode", "")), ranking.names[identity]
    return WorkedExample(benchmark, to_single_line(name), mode, records, worked.sums)
