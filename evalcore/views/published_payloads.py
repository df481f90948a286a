"""Published results as plain data and in words, for the API, the command line and the pages."""

from __future__ import annotations

from typing import Any

from evalcore.i18n import t
from evalcore.records import to_plain
from evalcore.settings import Settings
from evalcore.store import published as store
from evalcore.views.payloads import Data, to_json_value
from evalcore.views.published_boards import (
    describe_setup,
    list_setups,
    load_publishers,
    require_publication,
)
from evalcore.views.published_claims import ClaimFinding
from evalcore.views.published_pairs import PairComparison
from evalcore.views.published_ranking import (
    PublishedRanking,
    build_published_trend,
    list_month_leaders,
)

_FACTS = ("name", "organization", "type", "released", "new", "claimed", "submitter", "submitted")


def compute_publications_signature(settings: Settings) -> str:
    """Changes whenever anything published may have changed."""
    return store.compute_publications_signature(settings)


def find_publication_problems(settings: Settings) -> list[str]:
    """What is wrong with files that cannot be read."""
    return store.find_publication_problems(settings)


def list_publishers(settings: Settings) -> list[Data]:
    """Whose results there are, with source, date, months and setups."""
    rows = []
    for publisher in load_publishers(settings):
        publication = require_publication(settings, publisher.key)
        rows.append(
            {
                "publisher": publisher.key,
                "title": publisher.title,
                "suite": publisher.suite,
                "source": publisher.source,
                "revision": publisher.revision,
                "licence": publisher.licence,
                "date": publisher.date,
                "entries": len(publication.entries),
                "first_month": publication.months[-1],
                "last_month": publication.months[0],
                "verdicts": bool(publication.cases),
                "months": publication.months,
                "setups": [
                    {"setup": setup, **describe_setup(publication, setup)}
                    for setup in list_setups(publication)
                ],
            }
        )
    return rows


def build_published_rows(ranking: PublishedRanking) -> list[Data]:
    """The rows of a ranking with what is claimed and known of each."""
    table = ranking.table.frame
    facts = {
        record["identity"]: {name: to_json_value(record[name]) for name in _FACTS}
        for record in table.to_dict("records")
    }
    claims = {
        identity: {
            key: score.score for key, score in ranking.source.entries[identity].scores.items()
        }
        for identity in facts
    }
    return [
        {**row, **facts[row["identity"]], "claims": claims[row["identity"]]} for row in ranking.rows
    ]


def build_published_source(ranking: PublishedRanking) -> Data:
    """What a published ranking rests on, for the head of an answer."""
    source = ranking.source
    return {
        "publisher": source.publisher.key,
        "title": source.publisher.title,
        "source": source.publisher.source,
        "date": source.publisher.date,
        "month": source.month,
        "setup": source.setup,
        "verdicts": source.has_verdicts,
    }


def build_trend(ranking: PublishedRanking, identity: str = "") -> list[Data]:
    """The scores of one model, or of all, month by month, oldest first."""
    frame = build_published_trend(ranking, [identity] if identity else [])
    return [
        {str(name): to_json_value(value) for name, value in record.items()}
        for record in frame.to_dict("records")
    ]


def build_leaders(ranking: PublishedRanking) -> list[Data]:
    """Who led in each month."""
    return list_month_leaders(ranking)


def build_comparison(comparison: PairComparison) -> Data:
    """Two rows against each other, as plain data with every field."""
    pairs: list[dict[str, Any]] = []
    for pair in comparison.pairs:
        result = (
            None
            if pair.result is None
            else {
                "common": pair.result.common,
                "wins": pair.result.wins,
                "losses": pair.result.losses,
                "ties": pair.result.ties,
                "difference": pair.result.difference,
                "low": pair.result.interval.low if pair.result.interval else None,
                "high": pair.result.interval.high if pair.result.interval else None,
                "p": pair.result.p,
                "test": pair.result.test,
            }
        )
        names = {"benchmark": pair.benchmark, "metric": pair.metric}
        scores = {"first": pair.first, "second": pair.second}
        pairs.append({**names, **scores, "result": result})
    rows = {
        side: {"row": getattr(comparison, side), "name": getattr(comparison, f"{side}_name")}
        for side in ("first", "second")
    }
    cases = [
        {name: getattr(case, name) for name in case.__struct_fields__} for case in comparison.cases
    ]
    return {
        "publisher": comparison.publisher,
        **rows,
        "pairs": pairs,
        "cases": cases,
        "excluded": list(comparison.excluded),
    }


def build_finding(finding: ClaimFinding) -> Data:
    """A finding with every field, and what it says in English."""
    fields = {name: getattr(finding, name) for name in finding.__struct_fields__}
    return {**to_plain(fields), "text": describe_finding(finding, "en")}


def describe_finding(finding: ClaimFinding, language: str) -> str:
    """A finding in a sentence."""
    values = {
        "claimed": _format_figure(finding.claimed),
        "computed": _format_figure(finding.computed),
        "count": finding.count,
        "since": finding.since,
    }
    text = t(f"published.finding.{finding.kind}", language, **values)
    if finding.reading is None:
        return text
    reading = t(f"published.reading.{finding.reading}", language)
    return t("published.finding_with_reading", language, finding=text, reading=reading)


def _format_figure(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
