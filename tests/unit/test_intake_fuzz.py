"""Every reader of the gate on text that nobody tuned to: only the documented errors come out.

EVALBOARD_FUZZ is the number of examples of each reader; the usual one is small, and always the
same examples.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example
from hypothesis import strategies as st

from evalcore import settings as configuration
from evalcore.errors import DatasetError, EvalboardError, IntakeError, RunFolderError, UsageError
from evalcore.exchange.bfcl.results import read_claims, read_results
from evalcore.exchange.bundle import contents
from evalcore.exchange.bundle import contents as bundle_reader
from evalcore.exchange.hub_datasets import NOTE_FILE, FetchedDataset, read_fetch_note
from evalcore.exchange.reports import parse_hub_task as hub_place_of
from evalcore.exchange.scale.forms import ScaleDataFolder, board_path, read_report
from evalcore.intake import COUNT_LIMIT, add_counts, read_cost, read_count, read_seconds
from evalcore.intake.files import ArchiveLimits, read_document, unpack_zip
from evalcore.intake.json_text import DEPTH_LIMIT, is_deeper, parse_json, read_rows
from evalcore.records import (
    Call,
    Completion,
    Episode,
    RunSpec,
    Sample,
    TargetSpec,
    Usage,
    Verdict,
    from_json,
    to_json,
)
from evalcore.results import BenchmarkScore, Progress, RunSummary, Totals
from evalcore.runner import predictions, run_request
from evalcore.runner.uploads import read_upload as read_upload
from evalcore.settings import Settings
from evalcore.store import datasets, hub_state, journal, run_folder
from evalcore.store.headers import RunHeader
from evalcore.store.run_folder import RunFolder, StoredEpisode, StoredVerdict
from evalcore.target_cards import load_cards
from evalcore.targets import application_card
from evalcore.web import answers
from tests.support import stored_runs
from tests.support.bfcl_results import NATIVE, RIGHT, result_line
from tests.support.fuzz import distorted, fuzz, lines, mangled, refusal, written
from tests.support.scale_tree import CAPABILITY, claim, model, report

pytestmark = pytest.mark.slow

# -- numbers and JSON ------------------------------------------------------------------------------

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.none())
)


@fuzz(st.lists(ANYTHING, max_size=5))
@example([10**30, math.nan, -1, COUNT_LIMIT, COUNT_LIMIT])
@example([0.0, 12.0, 1, 3])
def test_numbers(values: list[Any]) -> None:
    counts = [read_count(value) for value in values]
    total = add_counts(*counts)
    assert total is None or 0 <= total <= COUNT_LIMIT
    for read in (read_cost, read_seconds):
        for value in values:
            number = read(value)
            assert number is None or 0 <= number <= 1e9
    record = Totals(*[value if isinstance(value, int | float) else None for value in values])
    assert from_json(Totals, to_json(record)) == record


@fuzz(st.recursive(ANYTHING, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_valid_json_is_read_as_everybody_reads_it(value: Any) -> None:
    text = json.dumps(value)
    if "NaN" in text or "Infinity" in text:
        return
    expected = json.loads(json.dumps(json.loads(text)))
    assert parse_json(text) == parse_json(text.encode()) == parse_json(text, drop=True) == expected


SAMPLES: list[Any] = [
    {"a": 1, "b": [1.5, {"c": "text"}], "d": None},
    {"case_id": "1", "sql": "SELECT 1", "expected": {"rows": [[1, "x"]]}},
    [1, 2, 3],
    "text",
]


@fuzz(distorted(SAMPLES), st.booleans(), st.booleans())
def test_json(text: bytes, strict: bool, drop: bool) -> None:
    def read() -> Any:
        value = parse_json(text, strict=strict, drop=drop)
        assert not is_deeper(value, DEPTH_LIMIT)
        return value

    assert "\n" not in refusal(IntakeError, read)


# -- records ---------------------------------------------------------------------------------------

SPEC = stored_runs.spec_of("run-1")
RECORDS: list[Any] = [
    Usage(1, 2, 3, 4),
    Completion(text="a", usage=Usage(1, 2), latency=0.5, model="m", sent={"a": 1}),
    Episode(key="a/1", epoch=0, answer="x", usage=Usage(1, 2), cost=0.5, state={"a": [1]}),
    Call("a", 0, 0, "target", "abc", Completion(text="a"), "2026-01-01"),
    Verdict("m", "1", "passed", score=1.0, views={"a": 1.0}, details={"judge_requests": 2}),
    Sample(metric="m", id="1", input={"sql": "x"}, difficulty=2),
    SPEC,
    stored_runs.summary_of(SPEC),
    Progress("run-1", "done", total=3, rate=0.5, input_tokens=7),
    run_folder.Published("scale", "2026-05", {"a": "b"}),
    hub_state.HubState("a/b", known={"a": ("b", "c")}),
    datasets.OwnCard("bfcl", "mine", samples=3),
    datasets.DatasetSummary(hash="a", samples=2, metrics={"m": 2}),
    FetchedDataset("a/b", "test", "abc", "MIT", {"x": "y"}),
    RunHeader("run-1", "a:b", "a:b", "2026-01-01", "done"),
]
KINDS = [RunSpec, RunSummary, BenchmarkScore, TargetSpec, *{type(record) for record in RECORDS}]


def plain(record: Any) -> Any:
    return json.loads(to_json(record))


@fuzz(st.sampled_from(RECORDS), st.data())
def test_records(record: Any, data: st.DataObject) -> None:
    text = data.draw(distorted([plain(record)]))
    for kind in (type(record), data.draw(st.sampled_from(KINDS))):
        try:
            value = from_json(kind, text)
        except msgspec.MsgspecError:
            continue
        assert from_json(kind, to_json(value)) == value


# -- files -----------------------------------------------------------------------------------------


@cache
def scratch() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="evalcore-fuzz-")


def file(name: str, content: bytes) -> Path:
    path = Path(scratch().name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


PREDICTIONS = [{"id": "1", "prediction": "x", "metric": "execution_accuracy", "mode": "fc"}]
CARD = predictions.catalog.benchmark_card("sql_understanding")
ROW = {"case_id": "a", "sql": "SELECT 1", "expected": {"rows": [[1]]}, "metric": "m"}
COLUMNS = {"case_id": False, "sql": False, "expected": True, "metric": False}


def scored_lines(path: Path) -> Any:
    return list(predictions._read_predictions(path, CARD, ""))


def journal_lines(path: Path) -> Any:
    return [*journal.read_journal(path, StoredEpisode), *journal.read_journal(path, StoredVerdict)]


EPISODE_LINE = plain(StoredEpisode("bfcl", RECORDS[2]))
VERDICT_LINE = plain(StoredVerdict("bfcl", RECORDS[4]))
LINE_READERS: dict[str, tuple[str, list[Any], Callable[[Path], Any], type[Exception]]] = {
    "rows": ("a.jsonl", SAMPLES[:2], read_rows, DatasetError),
    "journal": ("j.jsonl", [EPISODE_LINE, VERDICT_LINE], journal_lines, RunFolderError),
    "predictions": ("p.jsonl", PREDICTIONS, scored_lines, DatasetError),
    "bfcl results": (
        "m/BFCL_v4_simple_python_result.json",
        [result_line("simple_python_0", NATIVE), result_line("simple_python_1", RIGHT)],
        read_results,
        DatasetError,
    ),
}


@pytest.mark.parametrize("name", LINE_READERS)
def test_lines(name: str) -> None:
    folder, documents, read, error = LINE_READERS[name]

    @fuzz(lines(documents))
    def check(content: bytes) -> None:
        refusal(error, lambda: list(read(file(folder, content))))

    check()


@fuzz(lines([{"correct_count": 1, "total_count": 2, "accuracy": 0.5}]))
def test_claims(content: bytes) -> None:
    folder = file("score/BFCL_v4_simple_python_score.json", content).parent
    refusal(DatasetError, lambda: read_claims(folder))


@fuzz(lines([ROW]) | mangled(b'case_id,sql,expected\na,SELECT 1,"[1]"\nb,"x\ny",{}\n'))
def test_uploads(content: bytes) -> None:
    for name in ("a.jsonl", "a.csv"):
        rows, errors = read_upload(content, name, COLUMNS)
        written(rows)
        written(errors)


# -- documents -------------------------------------------------------------------------------------

APPLICATION = yaml.safe_load(
    next(Path(application_card.__file__).parent.glob("applications/*.yaml")).read_text()
)
RUN = {"target": "control:null", "benchmarks": ["bfcl"], "max_samples": 3, "target_options": {}}
BOARD = {"concurrency": 3, "run_budget": 1.5, "prices": {"m": {"input": 1, "output": 2}}}


def toml(document: dict[str, Any]) -> bytes:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in document.items()).encode()


@st.composite
def settings_file(draw: st.DrawFn, document: dict[str, Any]) -> tuple[str, bytes]:
    suffix = draw(st.sampled_from([".yaml", ".toml", ".json"]))
    if suffix == ".json":
        return suffix, draw(distorted([document]))
    if suffix == ".toml":
        return suffix, draw(mangled(toml(BOARD)))
    text = draw(st.sampled_from([yaml.safe_dump(document), json.dumps(document)]))
    return suffix, draw(mangled(text.encode()))


@fuzz(st.sampled_from([APPLICATION, RUN, BOARD]).flatmap(settings_file))
def test_documents(document: tuple[str, bytes]) -> None:
    path = file(f"document{document[0]}", document[1])
    message = refusal(UsageError, partial(read_document, path))
    assert not message or str(path) in message
    assert message or not is_deeper(read_document(path), 50)


@fuzz(settings_file(APPLICATION), settings_file(RUN), mangled(toml(BOARD)))
def test_cards_run_files_and_settings(
    application: tuple[str, bytes], run: tuple[str, bytes], board: bytes
) -> None:
    path = file(f"application{application[0]}", application[1])
    for read in (
        partial(application_card.load_description, f"app:{path}", Settings()),
        partial(run_request.read_run_config, file(f"run{run[0]}", run[1])),
        partial(load_board, file("evalboard.toml", board)),
    ):
        refusal(UsageError, read)
    application_card.build_application_card(f"app:{path}", Settings())


def load_board(path: Path) -> Any:
    configuration._read_settings_file.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_CONFIG", str(path))
        return configuration.load_settings()


# -- archives and bundles --------------------------------------------------------------------------


BUNDLE = {
    contents.SPEC: to_json(SPEC),
    contents.SUMMARY: to_json(stored_runs.summary_of(SPEC)),
    contents.SAMPLES: b"",
    contents.GENERATIONS: to_json(StoredEpisode("bfcl", RECORDS[2])) + b"\n",
    contents.VERDICTS: to_json(StoredVerdict("bfcl", RECORDS[4])) + b"\n",
    contents.CARD: b'{"a": 1}',
}


@st.composite
def bundles(draw: st.DrawFn) -> bytes:
    """Bundles with any of their files distorted, vouched for by the manifest or not."""
    files = dict(BUNDLE)
    for name in draw(st.sets(st.sampled_from(sorted(files)), max_size=2)):
        documents = [json.loads(line) for line in files[name].splitlines()] or [{}]
        files[name] = draw(lines(documents) if name.endswith("l") else distorted(documents))
    digests = {name: sha256(content).hexdigest() for name, content in files.items()}
    manifest = {
        "format": contents.FORMAT,
        "version": contents.VERSION,
        "run_id": SPEC.run_id,
        "files": digests,
    }
    files[contents.MANIFEST] = draw(
        st.one_of(st.just(json.dumps(manifest).encode()), distorted([manifest]))
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return draw(st.one_of(st.just(packed.getvalue()), mangled(packed.getvalue())))


@fuzz(bundles())
def test_bundles(content: bytes) -> None:
    path = file("bundle.zip", content)
    with TemporaryDirectory() as temporary_directory:
        message = refusal(
            UsageError,
            lambda: bundle_reader.read_bundle(path, Path(temporary_directory) / "unpacked"),
        )
    assert not message or str(path) in message


NAMES = st.sampled_from(
    [
        "a",
        "a/b",
        "../a",
        "/a",
        "a//b",
        "",
        ".",
        "a\\b",
        "c:a",
        "a\n",
        "é" * 200,
        "a/" * 300,
        "a/../b",
    ]
)


@fuzz(st.lists(st.tuples(NAMES, st.binary(max_size=50), st.integers(0, 2**32 - 1))), st.data())
def test_archives(members: list[tuple[str, bytes, int]], data: st.DataObject) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content, attributes in members:
            about = zipfile.ZipInfo(name or "x")
            about.external_attr = attributes
            archive.writestr(about, content)
    path = file("archive.zip", data.draw(mangled(packed.getvalue())))
    with TemporaryDirectory() as temporary_directory:
        root = Path(temporary_directory) / "root"
        limits = ArchiveLimits(total_bytes=1000, members=5)
        refusal(UsageError, lambda: [str(name) for name in unpack_zip(path, root, limits)])
        assert set(Path(temporary_directory).iterdir()) <= {root}
        assert all(not file_path.is_symlink() for file_path in Path(temporary_directory).rglob("*"))


# -- what lies in the data folder, and what stands in addresses ------------------------------------


@fuzz(
    distorted([plain(RECORDS[10])]),
    distorted([plain(RECORDS[11])]),
    distorted([{"cards": {"a:b": {"name": "x", "parameters": 7.5, "released": "2026"}}}]),
    distorted([plain(RECORDS[13])]),
)
def test_files_of_the_data_folder(hub: bytes, own: bytes, cards: bytes, note: bytes) -> None:
    data = Settings(
        data=str(Path(scratch().name) / "data"), shipped=str(Path(scratch().name) / "s")
    )
    file("data/hub.json", hub)
    file("data/datasets/own/bfcl/mine/card.json", own)
    file("data/target_cards.json", cards)
    folder = file(f"fetched/{NOTE_FILE}", note).parent
    written(hub_state.read_hub_state(data))
    written(datasets.load_own_cards(data))
    for read in (partial(load_cards, data), partial(read_fetch_note, folder, FetchedDataset)):
        refusal(EvalboardError, read)


RUN_FILES = ["spec.json", "summary.json", "progress.json", "card.json"]


@fuzz(st.sampled_from(RUN_FILES), st.data())
def test_files_of_a_run_folder(name: str, data: st.DataObject) -> None:
    folder = RunFolder(Path(scratch().name) / "runs" / "run-1")
    records = dict(zip(RUN_FILES, [*RECORDS[6:9], {"a": 1}], strict=True))
    for each, record in records.items():
        file(f"runs/run-1/{each}", to_json(record))
    file(f"runs/run-1/{name}", data.draw(distorted([plain(records[name])])))
    folder.current_state()
    for read in (folder.read_spec, folder.read_summary, folder.read_progress, folder.read_card):
        message = refusal(RunFolderError, read)
        assert not message or f"{name}:" in message


@fuzz(
    distorted([{"models": [model("a", {CAPABILITY: claim(40.0, {"x": 40.0})})]}]),
    distorted([report()]),
)
def test_published_boards(board: bytes, cases: bytes) -> None:
    root = Path(scratch().name) / "public"
    path = board_path(root, "2026-05")
    file(str(path.relative_to(scratch().name)), board)
    cases_path = file("report.json", cases)
    refusal(UsageError, lambda: ScaleDataFolder(root).read_models("2026-05"))
    refusal(UsageError, lambda: read_report(cases_path).indicators)


SEED_REPLIES = (
    answers.Parameter("q", ""),
    answers.Parameter("n", "", kind="integer", default=5, minimum=1, maximum=9),
    answers.Parameter("l", "", kind="list", choices=("a", "b")),
    answers.Parameter("m", "", kind="numbers"),
)
TEXTS = st.text(max_size=20) | st.sampled_from(
    ["9" * 30, "１", "-1", "NaN", "a,b", "\ud800", "W10"]
)


@fuzz(st.lists(st.tuples(st.sampled_from(["q", "n", "l", "m", "z"]), TEXTS), max_size=4))
def test_parameters(pairs: list[tuple[str, str]]) -> None:
    refusal(answers.ApiError, lambda: answers.parse_parameters(pairs, SEED_REPLIES))


@fuzz(TEXTS | st.binary(max_size=40).map(lambda raw: raw.hex()) | st.just("W" * 400), TEXTS)
def test_cursors_and_places_on_the_hub(cursor: str, location: str) -> None:
    refusal(answers.ApiError, lambda: answers.decode_cursor(cursor, (str, int)))
    refusal(UsageError, lambda: hub_place_of(location))
