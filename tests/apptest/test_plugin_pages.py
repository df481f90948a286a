"""Every page, route, export and command over a store with the runs of plug-ins: healthy ones, among
broken ones, and after all of them were uninstalled."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import PAGES
from evalcore import catalog
from evalcore.cli.main import main
from evalcore.exchange.site.publish import build_site_files as site_pages
from evalcore.settings import Settings
from evalcore.views import boards, stored_boards
from tests.support.api import client
from tests.support.pages import open_page, table, words
from tests.support.plugins import plugin_path, write_benchmark, write_broken

pytestmark = pytest.mark.slow

__all__ = ["plugin_path"]
LANGUAGES = {"healthy": "en", "broken": "en", "absent": "zh"}
TARGETS = ("control:reference", "control:null")


@pytest.fixture(params=LANGUAGES)
def state(request: pytest.FixtureRequest) -> str:
    """What is installed when the store is read."""
    return request.param


@pytest.fixture
def store(state: str, plugin_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Runs of built-in benchmarks, of one added to a suite of theirs, of one with its own suite."""
    data = plugin_path.parent / "data"
    monkeypatch.setenv("EVALBOARD_DATA", str(data))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(plugin_path.parent / "none"))
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    write_benchmark(plugin_path, "adder", key="sums", suite="sql")
    law = {"title": "Zoning", "suite_title": "Law", "declared": True}
    write_benchmark(
        plugin_path, "jurist", key="zoning", suite="law", memberships=(("zoning",),), **law
    )
    catalog.clear_plugin_cache()
    for target in TARGETS:
        for keys in (("sums", "zoning"), ("gaia",)):
            run = ["run", "--target", target, "--max-samples", "5", "--benchmarks", *keys]
            assert main([*run, "--json"]) == 0
    if state == "absent":
        monkeypatch.setattr(
            "sys.path", [path for path in __import__("sys").path if path != str(plugin_path)]
        )
    elif state == "broken":
        write_broken(plugin_path)
    catalog.clear_plugin_cache()
    return Settings(data=str(data), shipped=str(plugin_path.parent / "none"))


def _queries(settings: Settings) -> dict[str, list[dict[str, str]]]:
    """Addresses that lead to the plug-ins' runs, by page."""
    headers = stored_boards.load_run_headers(settings)
    run = next(header for header in headers if "sums" in header.benchmarks)
    on = [
        {"suite": suite, "board": board.key, "benchmark": key, "metric": "sum"}
        for suite in boards.list_suites(headers)
        for board in boards.list_boards(headers, suite)
        for key in board.columns
    ]
    case = {"run": run.run_id, "benchmark": "sums", "metric": "sum", "id": "1"}
    return {
        "ranking": [{"suite": "law"}, {"suite": "sql"}],
        "metrics": on,
        "methodology": [{"suite": "law"}, {"suite": "sql"}],
        "target": [{"key": run.identity, "suite": "law"}, {"key": run.identity, "suite": "sql"}],
        "case": [case],
        "compare": [{"runs": ",".join(header.run_id for header in headers)}],
        "runs": [{"run": run.run_id}],
    }


@pytest.mark.sampled(3)
def test_every_page_opens(store: Settings, state: str) -> None:
    asked = _queries(store)
    for card in PAGES:
        for query in asked.get(card.name, [{}]):
            app = open_page(card.name, LANGUAGES[state], **query)
            assert app.title or app.get("heading")
    law = open_page("ranking", LANGUAGES[state], suite="law")
    assert len(table(law, "target")) == len(TARGETS)
    for page in ("launch", "methodology"):
        text = words(open_page(page, LANGUAGES[state])).replace("\\", "")
        assert ("left out: raising (broken_raising 1.0)" in text) == (state == "broken")


def test_every_route_answers(store: Settings, state: str) -> None:
    asked = client()
    listed = asked.get("/api/v1/boards").json()["items"]
    assert {"sql", "law", "agentic"} == {entry["suite"] for entry in listed}
    for item in listed:
        for by in item["orders"]:
            text = f"suite={item['suite']}&board={item['key']}&by={by}"
            rows = asked.get(f"/api/v1/ranking?{text}")
            assert rows.status_code == 200, rows.text
            assert {row["target_key"] for row in rows.json()["items"]} == set(TARGETS)
            assert asked.get(f"/api/v1/preview.png?{text}").status_code == 200
    for run in asked.get("/api/v1/runs").json()["items"]:
        assert asked.get(f"/api/v1/cases?run={run['run_id']}").status_code == 200
    for text in ("benchmark=sums", "benchmark=zoning&suite=law", "suite=law"):
        badge = asked.get(f"/api/v1/badge.svg?target=control:null&{text}")
        assert (badge.status_code, "0.0 [" in badge.text) == (200, True)
    for text in ("suite=nobody", "suite=../law"):
        for route in ("boards", "ranking", "preview.png"):
            assert asked.get(f"/api/v1/{route}?{text}").status_code == 400
    assert asked.get("/api/v1/openapi.json").status_code == 200


@pytest.mark.sampled(3)
def test_every_command_and_export_works(
    store: Settings, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dict(site_pages(store, "Evalboard", ""))
    for words_ in (
        ["list", "benchmarks"],
        ["list", "runs"],
        ["board", "--suite", "law"],
        ["board", "--suite", "sql", "--by", "sums", "--json"],
        ["index", "rebuild"],
    ):
        assert main(words_) == 0
    assert main(["board", "--suite", "nobody"]) == 2
    capsys.readouterr()
    runs = [
        header.run_id
        for header in stored_boards.load_run_headers(store)
        if "sums" in header.benchmarks
    ]
    for run in runs:
        assert main(["show", run, "--json"]) == 0
        for form in ("md", "html", "json", "csv", "bundle"):
            out = str(Path(store.data) / f"report-{run}-{form}.zip")
            expected = 2 if (form, state) == ("bundle", "absent") else 0
            assert main(["export", run, "--format", form, "--out", out]) == expected
        for verb in ("rescore", "resume"):
            expected = 2 if state == "absent" else 0
            capsys.readouterr()
            assert main([verb, run, "--json"]) == expected
            shown = capsys.readouterr()
            assert "Traceback" not in shown.err
            if state == "absent":
                assert "unknown benchmark" in shown.err
    assert main(["compare", *runs]) == 0
