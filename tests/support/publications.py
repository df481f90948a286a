"""Small publications: what a publisher claims, with verdicts or without."""

from __future__ import annotations

import msgspec

from evalcore.records import to_json
from evalcore.store.published import (
    CaseList,
    ClaimedScore,
    MetricReport,
    Publication,
    PublishedEntry,
    Publisher,
    format_publication,
)

MONTH = "2026-05"
PUBLISHER = Publisher(
    format=1,
    key="acme",
    title="Acme",
    suite="sql",
    source="https://example.com/acme",
    revision="abc",
    licence="MIT",
    date="2026-05-31",
    columns={"reading": {"a": 3.0, "b": 1.0}, "writing": {"c": 1.0}},
    members=("reading", "writing"),
)


class PublicationBuilder:
    """Collects entries; each `verdicts` is metric -> "1", "0" or "-" per case, ids counted from 1
    and worth a point each unless `points` says otherwise."""

    def __init__(self, publisher: Publisher = PUBLISHER) -> None:
        self.publisher = publisher
        self.cases: list[CaseList] = []
        self.entries: list[PublishedEntry] = []

    def report(self, verdicts: str, weight: float = 1.0, points=None, ids=None, copies=0):
        names = tuple(ids or (str(n) for n in range(1, len(verdicts) + 1)))
        cases = CaseList(names, tuple(points or [1.0] * len(names)))
        if cases not in self.cases:
            self.cases.append(cases)
        return MetricReport(weight, self.cases.index(cases), verdicts, copies)

    def score(self, claimed: float, metrics=None, cost=None, **reports: MetricReport):
        return ClaimedScore(claimed, metrics or {}, reports, cost)

    def entry(self, key: str, month: str = MONTH, **fields):
        scores = {key: value for key, value in fields.items() if key in self.publisher.columns}
        facts = {key: value for key, value in fields.items() if key not in scores}
        entry = PublishedEntry(**{"month": month, "id": key, "name": key, **facts}, scores=scores)
        self.entries.append(entry)
        return entry

    def reading(self, a: str, b: str = "11", claimed: float = 50.0):
        """Both metrics of the first benchmark with the weights of the publisher."""
        return self.score(claimed, a=self.report(a, 3.0), b=self.report(b, 1.0))

    @property
    def publication(self) -> Publication:
        return Publication(self.publisher, tuple(self.cases), tuple(self.entries))

    def write(self, settings):
        """As the operator's own file; whatever is wrong with it is written too."""
        path = settings.data_dir / "published" / f"{self.publisher.key}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join([*format_publication(self.publication), b""]))
        return path


def publisher_line(**changes) -> bytes:
    """The first line of a file, with some fields changed."""
    return to_json(msgspec.to_builtins(PUBLISHER) | changes)
