"""What the pages of cases and comparisons load on demand: every case of the runs on the boards, and
who solved which, as compressed chunks."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import msgspec

from evalcore.errors import EvalboardError
from evalcore.exchange.site.facts import Data, SiteFacts, make_file_stem, make_ranking_stem
from evalcore.i18n import LANGUAGES, translate_note
from evalcore.plain_text import to_single_line
from evalcore.records import BenchmarkSpec, Verdict, content_hash, to_json
from evalcore.settings import Settings
from evalcore.store.cases import find_failure_cause
from evalcore.store.run_folder import find_run
from evalcore.views import board_titles
from evalcore.views.board_table import RankingView
from evalcore.views.cases import CaseView, load_case_views, pair_calls
from evalcore.views.published_boards import list_verdicts, make_reference
from evalcore.views.published_ranking import PublishedRanking
from evalcore.views.runs import redact_case

# A page opened from a disk may not fetch files, but may load scripts: a chunk is a script that
# hands over JSON, deflated, in base64. A column of a board, that is one benchmark with its cases
# and rules, has an index, which lists its cases and the outcome of every run on each, and chunks of
# some cases with the answers of all runs side by side: what runs have in common compresses away.

FOLDER = "cases"
SITE_INDEX = f"{FOLDER}/index"
_CHUNK = 600_000  # bytes of JSON in a chunk, about
#: Outcome -> its letter in an index.
OUTCOME_CODES = {
    "passed": "p",
    "failed": "f",
    "not_executed": "n",
    "not_applicable": "s",
    "target_error": "t",
    "judge_error": "j",
    "environment_error": "e",
    "missing": "m",
}
CaseKey = tuple[str, str]  # metric, id
ChunkFile = tuple[str, bytes]


def pack_chunk(name: str, content: bytes) -> ChunkFile:
    """A script that hands `content`, JSON, to the page under a name: its path and text."""
    packed = b64encode(zlib.compress(content, 9)).decode()
    return f"{name}.js", f'evalboardChunk("{name}","{packed}");\n'.encode()


class SiteColumn(NamedTuple):
    """A benchmark with its cases and rules: the name of its index, and the runs that stand on a
    board with it, by run id with the identity of their target."""

    name: str
    benchmark: str
    runs: Mapping[str, str]


def list_site_columns(facts: SiteFacts) -> dict[tuple[str, str], SiteColumn]:
    """The columns of the boards of runs by (benchmark, column key)."""
    columns: dict[tuple[str, str], SiteColumn] = {}
    for ranking in facts.default_rankings:
        if isinstance(ranking, PublishedRanking):
            continue
        for benchmark, column in ranking.board.columns.items():
            name = f"{FOLDER}/{make_file_stem(benchmark, content_hash(column.key, 8))}"
            runs = {
                row.runs[benchmark].run_id: identity
                for identity, row in ranking.targets.items()
                if benchmark in row.runs
            }
            key = (benchmark, column.key)
            if key in columns:
                runs = {**columns[key].runs, **runs}
            columns[key] = SiteColumn(name, benchmark, runs)
    return columns


def build_case_files(
    settings: Settings, facts: SiteFacts, columns: Mapping[tuple[str, str], SiteColumn]
) -> Iterator[ChunkFile]:
    """The index of the site, and those of all columns with their chunks."""
    yield pack_chunk(SITE_INDEX, to_json(_build_site_index(facts, columns), ordered=False))
    with TemporaryFile() as file:
        spool = _Spool(file)
        answers = _collect_answers(settings, columns.values(), spool)
        for column in columns.values():
            yield from _build_column_files(column, spool, answers[column.name])
    for ranking in (*facts.default_rankings, *facts.months):
        if isinstance(ranking, PublishedRanking):
            yield from _build_published_columns(ranking)


def _build_site_index(
    facts: SiteFacts, columns: Mapping[tuple[str, str], SiteColumn]
) -> dict[str, Any]:
    """The boards with the indexes of their columns and their rows, and the page of each target."""
    boards = []
    for ranking in (*facts.default_rankings, *facts.months):
        board = ranking.board
        boards.append(
            {
                "stem": make_ranking_stem(ranking),
                "suite": board.suite,
                "key": board.key,
                "title": _say(board_titles.suite_title, board.suite),
                "about": {code: board_titles.board_title(board, code) for code in LANGUAGES},
                "published": isinstance(ranking, PublishedRanking),
                "columns": {
                    benchmark: columns[benchmark, column.key].name
                    if (benchmark, column.key) in columns
                    else _name_published_column(ranking, benchmark)
                    for benchmark, column in board.columns.items()
                },
                "rows": [
                    {
                        "identity": row["identity"],
                        "name": to_single_line(ranking.names[row["identity"]]),
                        "ranked": row["status"] == "ranked",
                        "runs": {
                            benchmark: run.run_id
                            for benchmark, run in ranking.targets[row["identity"]].runs.items()
                        },
                    }
                    for row in ranking.rows
                ],
            }
        )
    targets = {identity: make_file_stem(identity) for identity in facts.runs}
    return {"boards": boards, "targets": targets}


def _name_published_column(ranking: RankingView, benchmark: str) -> str:
    return f"{FOLDER}/{make_ranking_stem(ranking)}-{make_file_stem(benchmark)}"


def _say(title: Any, key: str) -> dict[str, str]:
    return {code: title(key, code) for code in LANGUAGES}


def _title_parts(benchmark: str, metrics: Iterable[str]) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "title": _say(board_titles.benchmark_title, benchmark),
        "metrics": {
            metric: _say(board_titles.part_title, f"{benchmark}/{metric}")
            for metric in dict.fromkeys(metrics)
        },
    }


# The cases of runs: read once, run by run, and put together by column and case.


_Span = tuple[int, int]  # begin and length in the spool


class _Spool:
    """Texts that wait on the disk: a store may have more of them than memory."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.end = 0

    def write(self, content: bytes) -> _Span:
        self.file.seek(self.end)
        self.file.write(content)
        self.end += len(content)
        return self.end - len(content), len(content)

    def read(self, span: _Span) -> bytes:
        self.file.seek(span[0])
        content: bytes = self.file.read(span[1])
        return content


class _Answer(NamedTuple):
    """A case in one epoch of a run: its texts in the spool, and what an index says of it; `weight`
    is None where its metric is not scored."""

    key: CaseKey
    epoch: int
    sample: _Span
    sample_hash: str
    body: _Span
    outcome: str
    score: float
    cause: str
    difficulty: int
    weight: float | None


def _collect_answers(
    settings: Settings, columns: Iterable[SiteColumn], spool: _Spool
) -> dict[str, dict[str, list[_Answer]]]:
    """The answers by name of column and by run; a run that cannot be read has none."""
    answers: dict[str, dict[str, list[_Answer]]] = {}
    names: dict[str, dict[str, str]] = {}  # run -> benchmark -> column
    for column in columns:
        answers[column.name] = {}
        for run in column.runs:
            names.setdefault(run, {})[column.benchmark] = column.name
    for run, own in sorted(names.items()):
        try:
            by_benchmark = _spool_run(settings, run, own, spool)
        except EvalboardError:
            continue
        for benchmark, name in own.items():
            answers[name][run] = by_benchmark[benchmark]
    return answers


def _spool_run(
    settings: Settings, run: str, benchmarks: Iterable[str], spool: _Spool
) -> dict[str, list[_Answer]]:
    answers: dict[str, list[_Answer]] = {benchmark: [] for benchmark in benchmarks}
    folder = find_run(run, settings.run_roots)
    specs = {spec.key: spec for spec in folder.read_spec().benchmarks}
    epochs: Counter[tuple[str, CaseKey]] = Counter()
    for view in load_case_views(folder):
        if view.benchmark in answers:
            key = (view.sample.metric, view.sample.id)
            epoch = epochs[view.benchmark, key]
            epochs[view.benchmark, key] += 1
            answer = _spool_answer(redact_case(view), epoch, specs.get(view.benchmark), spool)
            answers[view.benchmark].append(answer)
    return answers


def _spool_answer(view: CaseView, epoch: int, spec: BenchmarkSpec | None, spool: _Spool) -> _Answer:
    sample, verdict = to_json(view.sample), view.verdict
    body = {
        "verdict": verdict,
        "episode": view.episode,
        "hidden": view.hidden,
        "imported": view.spec.origin == "imported",
        "taken_over": view.taken_over,
        "engine": to_single_line(view.engine, 80),
        "notes": _translate_notes(view),
        "pairs": _pair_calls(verdict),
    }
    weight = spec.weights.get(view.sample.metric) if spec else None
    return _Answer(
        key=(view.sample.metric, view.sample.id),
        epoch=epoch,
        sample=spool.write(sample),
        sample_hash=content_hash(sample.decode(), 16),
        body=spool.write(to_json({name: value for name, value in body.items() if value})),
        outcome=OUTCOME_CODES[view.outcome],
        score=(verdict.score or 0.0) if verdict else 0.0,
        cause=(find_failure_cause(verdict) or "") if verdict else "",
        difficulty=view.sample.difficulty,
        weight=spec.case_weight(view.sample) * weight if spec and weight is not None else None,
    )


def _translate_notes(view: CaseView) -> Data:
    """The note of the verdict and the message of a failure in every language."""
    texts = {
        "verdict": view.verdict.localizable_note if view.verdict else "",
        "failure": view.episode.failure.localizable_message
        if view.episode and view.episode.failure
        else "",
    }
    return {
        name: {code: translate_note(text, code) for code in LANGUAGES}
        for name, text in texts.items()
        if text
    }


def _pair_calls(verdict: Verdict | None) -> Data:
    """The calls of an answer beside the accepted ones, by the number of their section."""
    pairs: Data = {}
    for number, section in enumerate(verdict.evidence if verdict else ()):
        if section.kind == "calls":
            try:
                pairs[str(number)] = pair_calls(section.body)
            except (KeyError, TypeError, ValueError, AttributeError):  # drawn as it is
                continue
    return pairs


def _build_column_files(
    column: SiteColumn, spool: _Spool, answers: Mapping[str, Sequence[_Answer]]
) -> Iterator[ChunkFile]:
    """The chunks of a column and its index."""
    runs = list(answers)
    by_case: dict[CaseKey, list[tuple[int, _Answer]]] = {}
    for number, run in enumerate(runs):
        for answer in answers[run]:
            by_case.setdefault(answer.key, []).append((number, answer))
    sizes: list[int] = []
    texts: list[bytes] = []
    length = 0
    for case in by_case.values():
        texts.append(_encode_case(case, spool))
        length += len(texts[-1])
        if length > _CHUNK:
            yield pack_chunk(f"{column.name}-{len(sizes)}", b"[%s]" % b",".join(texts))
            sizes.append(len(texts))
            texts, length = [], 0
    if texts:
        yield pack_chunk(f"{column.name}-{len(sizes)}", b"[%s]" % b",".join(texts))
        sizes.append(len(texts))
    first = [case[0][1] for case in by_case.values()]
    index = _title_parts(column.benchmark, (answer.key[0] for answer in first)) | {
        "cases": [[*answer.key, answer.difficulty] for answer in first],
        "weights": [answer.weight for answer in first],
        "chunks": sizes,
        "runs": [
            {"run": run, "identity": column.runs[run]} | _list_outcomes(answers[run], list(by_case))
            for run in runs
        ],
    }
    yield pack_chunk(column.name, to_json(index, ordered=False))


def _encode_case(case: Sequence[tuple[int, _Answer]], spool: _Spool) -> bytes:
    """The sample, then the answers of all runs: number of the run, epoch, body, and the sample of
    that run where it is another one (its hash says what is asked, and not where it comes from)."""
    first = case[0][1]
    rows = [
        [number, answer.epoch, msgspec.Raw(spool.read(answer.body))]
        + (
            [msgspec.Raw(spool.read(answer.sample))]
            if answer.sample_hash != first.sample_hash
            else []
        )
        for number, answer in case
    ]
    return msgspec.json.encode({"sample": msgspec.Raw(spool.read(first.sample)), "answers": rows})


def _list_outcomes(answers: Sequence[_Answer], keys: Sequence[CaseKey]) -> Data:
    """Outcomes as a letter per case and epoch ("-" where the run lacks the case), the scores (0 to
    1, the mean over the epochs), and why cases failed as numbers into `causes`."""
    own: dict[CaseKey, list[_Answer]] = {}
    for answer in answers:
        own.setdefault(answer.key, []).append(answer)
    epochs = max((answer.epoch + 1 for answer in answers), default=1)
    causes = sorted({answer.cause for answer in answers if answer.cause})
    rows = [own.get(key, []) for key in keys]
    return {
        "epochs": epochs,
        "outcomes": "".join(
            "".join(answer.outcome for answer in row).ljust(epochs, "-") for row in rows
        ),
        "scores": [sum(a.score for a in row) / len(row) if row else None for row in rows],
        "causes": causes,
        "why": [
            next((causes.index(answer.cause) for answer in row if answer.cause), -1) for row in rows
        ],
    }


# Published boards: who solved which case, without a word of question or answer.


def _build_published_columns(ranking: PublishedRanking) -> Iterator[ChunkFile]:
    source = ranking.source
    for benchmark in ranking.board.columns:
        rule = source.rules.get(benchmark)
        weights = rule.weights if rule else {}
        keys = (
            [(metric, case) for metric in weights for case in rule.points[metric]] if rule else []
        )
        runs = []
        for identity, entry in source.entries.items():
            claimed = entry.scores.get(benchmark)
            if claimed is None:
                continue
            verdicts = list_verdicts(source.publication, entry, benchmark)
            scores = [verdicts.get(key) for key in keys]
            letters = ("-" if score is None else "p" if score else "f" for score in scores)
            reference = make_reference(source.publisher.key, entry)
            row = {"run": reference, "identity": identity, "claimed": claimed.score, "epochs": 1}
            row |= {"outcomes": "".join(letters)}
            runs.append(row | {"scores": scores, "causes": [], "why": []})
        index = _title_parts(benchmark, weights) | {
            "cases": [[metric, case, 0] for metric, case in keys],
            "weights": [rule.points[m][case] * weights[m] for m, case in keys] if rule else [],
            "chunks": [],
            "runs": runs,
        }
        name = _name_published_column(ranking, benchmark)
        yield pack_chunk(name, to_json(index, ordered=False))
