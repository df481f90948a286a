"""Where files lie on the machine stands nowhere that strangers read: API, pages, site, exports.

A real run over a data set named by its absolute path, whose every free text names paths, goes
through every route, every page, every file of the site and every form of export.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from evalcore.cli import main
from evalcore.exchange import board_export
from evalcore.exchange.export_service import made
from evalcore.exchange.site.publish import Options, publish
from evalcore.privacy import dataset_name
from evalcore.queries import boards, stored_boards
from evalcore.records import from_json, to_json
from evalcore.runner.export_client import BUNDLE
from evalcore.settings import ROOT, Settings
from evalcore.store.headers import RunHeader, with_shared_texts
from evalcore.store.run_folder import RunFolder
from evalcore.web.resources import RESOURCES
from tests.support.api import V1, client
from tests.support.app_session import AppSession
from tests.support.bundles import files_of
from tests.support.server import serve

PLACE = "secretplace"  # a word that no markup escapes
BENCHMARKS = ("sql_understanding", "dialect_conversion")


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Settings:
    """Two finished runs over data sets in a folder of the machine."""
    base = tmp_path_factory.mktemp("machine")
    cases = base / PLACE / "mine"
    cases.mkdir(parents=True)
    for benchmark in BENCHMARKS:
        for path in sorted((ROOT / "datasets" / benchmark).glob("*.jsonl"))[:1]:
            lines = path.read_text("utf-8").splitlines()[:3]
            (cases / benchmark).mkdir()
            (cases / benchmark / path.name).write_text("\n".join(lines) + "\n", "utf-8")
    settings = Settings(data=str(base / PLACE / "data"), shipped=str(base / PLACE / "none"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBOARD_DATA", settings.data)
        patch.setenv("EVALBOARD_SHIPPED", settings.shipped)
        for benchmark in BENCHMARKS:
            for target in ("control:null", "control:reference"):
                words = ["run", "--target", target, "--benchmarks", benchmark, "--dataset"]
                assert main([*words, str(cases / benchmark)]) == 0
        for folder in settings.runs_dir.iterdir():
            spec = json.loads((folder / "spec.json").read_bytes())
            spec["note"] = f"tried with {cases}/notes.txt"
            (folder / "spec.json").write_text(json.dumps(spec), "utf-8")
    return settings


@pytest.fixture
def here(stored, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", stored.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", stored.shipped)
    return stored


def places(content: bytes) -> list[str]:
    """What of a content names the place, as it is written there or in an address."""
    text = content.decode("utf-8", "replace")
    hits = []
    for word in (PLACE, quote(f"/{PLACE}/", safe="")):
        start = text.find(word)
        if start >= 0:
            hits.append(text[max(0, start - 80) : start + 80])
    return hits


def runs_of(settings: Settings) -> list[str]:
    return sorted(path.name for path in settings.runs_dir.iterdir())


def test_the_runs_do_name_the_place(stored):
    spec = RunFolder(stored.runs_dir / runs_of(stored)[0]).spec()
    assert PLACE in spec.benchmarks[0].dataset
    assert PLACE in spec.note


def addresses(settings: Settings) -> Iterator[str]:
    """Every route of the API with what its parameters may be."""
    headers = stored_boards.headers(settings)
    runs = [{"run": run} for run in runs_of(settings)]
    known = boards.boards(headers, "sql")
    of_boards = [{"suite": "sql", "board": board.key} for board in known]
    targets = [{"target": header.identity} for header in headers]
    for path in (*RESOURCES, f"{V1}/health", "/share", "/share/target"):
        for query in ({}, {"lang": "zh"}, *runs, *of_boards, *targets):
            yield f"{path}?{urlencode(query)}"


def test_no_answer_of_the_api_names_a_place(here):
    asked, answered = client(), 0
    for address in addresses(here):
        answer = asked.get(address)
        answered += answer.status_code == 200
        said = answer.content + repr(answer.headers).encode()
        assert places(said) == [], address
    assert answered > 20


def test_no_file_of_the_site_names_a_place(here, tmp_path):
    publish(here, Options(out=tmp_path / "site"))
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert places(path.read_bytes() + path.name.encode()) == [], path.name


def test_no_export_names_a_place(here, capsys, tmp_path):
    for run in runs_of(here):
        for form in ("json", "csv", "md", "html", BUNDLE):
            content = made(run, form, here)
            if form == BUNDLE:
                (tmp_path / f"{run}.zip").write_bytes(content)
                content = b"".join(files_of(tmp_path / f"{run}.zip").values())
            assert places(content) == [], form
    for form in board_export.FORMATS:
        assert main(["board", "--suite", "sql", "--format", form]) == 0
        assert places(capsys.readouterr().out.encode()) == [], form
    runs = runs_of(here)[:2]
    for form in ("text", "md", "csv"):
        assert main(["compare", *runs, "--format", form]) == 0
        assert places(capsys.readouterr().out.encode()) == [], form


def test_no_page_for_readers_names_a_place(here, monkeypatch):
    """All that the server sends for every page, as it goes over the wire."""
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    headers = stored_boards.headers(here)
    pages = ["", "metrics", "methodology", "launch", "runs", "datasets"]
    pages += [f"?suite=sql&board={quote(one.key)}" for one in boards.boards(headers, "sql")]
    pages += [f"methodology?benchmark={one}" for one in BENCHMARKS]
    pages += [f"target?key={quote(header.identity)}" for header in headers]
    pages += [f"compare?runs={','.join(runs_of(here))}"]
    for run in runs_of(here):
        sample = next(iter(RunFolder(here.runs_dir / run).samples())).sample
        pages += [f"runs?run={run}", f"case?run={run}&metric={sample.metric}&id={sample.id}"]
    with serve(Path(here.data).parent) as served, AppSession(served.url) as visitor:
        for address in pages:
            page, _, query = address.partition("?")
            for message in visitor.open(page, query):
                assert places(message.SerializeToString()) == [], address


def test_an_index_that_an_older_version_wrote_is_read_without_its_places(here):
    """What the older version kept of a run goes, the run and its column stay."""
    fresh = {header.run_id: header for header in stored_boards.headers(here)}
    document = json.loads(here.index_path.read_bytes())
    for run_id, row in document["runs"].items():
        for score in row["benchmarks"].values():
            score["dataset"] = f"/srv/{PLACE}/cases"
            score["label"] = f"/srv/{PLACE}/cases · verified · files=/srv/{PLACE}/x · 3 samples"
        with_shared = with_shared_texts(from_json(RunHeader, json.dumps(row).encode()))
        assert places(to_json(with_shared)) == []
        assert with_shared.source != fresh[run_id].source
    here.index_path.write_text(json.dumps(document), "utf-8")
    again = {header.run_id: header for header in stored_boards.headers(here)}
    assert again == fresh


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("sql_understanding", "sql_understanding"),
        ("team/ours", "team/ours"),
        ("scale-2026-03", "scale-2026-03"),
        ("/srv/secret/cases.jsonl", "cases.jsonl (0123abcd)"),
        ("/srv/secret place/my cases/", "my cases (0123abcd)"),
        ("//srv/x", "x (0123abcd)"),
        ("~/cases", "cases (0123abcd)"),
        ("C:\\Users\\ada\\cases", "cases (0123abcd)"),
        ("\\\\server\\share\\cases", "cases (0123abcd)"),
        ("/", "dataset (0123abcd)"),
    ],
)
def test_a_data_set_is_named_without_its_place(dataset, name):
    assert dataset_name(dataset, "0123abcd4567") == name
