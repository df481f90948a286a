"""Ten times the cases take no more memory to export: one case at a time is decoded.

Memory is what Python allocates at most while a file is written, after everything was imported. A
tenfold run may take four times that of the small one, since up to a megabyte of its index is read
at a time; whoever collects cases takes more, as a test of the gauge shows.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from evalcore import settings as configuration
from evalcore.access.secrets import Secrets
from evalcore.errors import UsageError
from evalcore.exchange import reports
from evalcore.exchange.bundle import contents
from evalcore.exchange.bundle.exporter import export_bundle
from evalcore.exchange.trackers import otel
from evalcore.exchange.trackers.cases import read_shared_run
from evalcore.exchange.trackers.every_eval_ever import RecordSource, write_records
from evalcore.runner.plan import create_folder, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.runner.worker import work_on_run
from evalcore.store import case_index
from evalcore.store.run_folder import RunFolder
from tests.support.cases import syntax_cases

FEW, MANY, MOST = 60, 600, 4
Export = Callable[[RunFolder, Path, configuration.Settings], object]


def export_report(form: str) -> Export:
    return lambda folder, out, settings: reports.write_report(
        out / "report", reports.iterate_report(folder, form)
    )


def export_records(folder: RunFolder, out: Path, settings: configuration.Settings) -> None:
    write_records(read_shared_run(folder, settings), out, RecordSource())


def export_spans(folder: RunFolder, out: Path, settings: configuration.Settings) -> None:
    exporter = otel.open_file_exporter(out / "spans.jsonl")
    otel.export_spans(read_shared_run(folder, settings), exporter, texts=True)


EXPORTS: dict[str, Export] = {
    **{form: export_report(form) for form in ("json", "csv", "md", "html")},
    "every_eval_ever": export_records,
    "otel": export_spans,
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> configuration.Settings:
    return configuration.Settings(data=str(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, settings: configuration.Settings
) -> dict[int, RunFolder]:
    """Finished runs by the number of their cases."""
    folders = {}
    for count in (FEW, MANY):
        cases = syntax_cases(tmp_path_factory.mktemp("cases"), count)
        request = RunRequest("baseline:sqlglot", ("sql_understanding",), dataset=str(cases))
        folders[count] = create_folder(plan_run(request, settings), settings)
        assert work_on_run(folders[count], settings, Secrets()).state == "done"
    return folders


def measure_peak(action: Callable[[], object]) -> int:
    """The bytes that Python allocated at most beyond those before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read at a time is far less than the small run."""
    monkeypatch.setattr(case_index, "_BATCH", 16)
    monkeypatch.setattr(case_index, "_BLOCK", 16)
    monkeypatch.setattr(otel, "_BATCH", 16)


@pytest.mark.parametrize("name", EXPORTS)
def test_memory_does_not_follow_the_number_of_cases(
    tmp_path: Path, settings: configuration.Settings, runs: dict[int, RunFolder], name: str
) -> None:
    if name == "otel":
        pytest.importorskip(
            "opentelemetry.sdk.trace", reason="opentelemetry absent: pip install 'evalboard[otel]'"
        )
    EXPORTS[name](runs[FEW], tmp_path, settings)  # imports what it needs
    few, many = (
        measure_peak(lambda folder=folder: EXPORTS[name](folder, tmp_path, settings))
        for folder in (runs[FEW], runs[MANY])
    )
    assert many < MOST * few, f"{few:,} bytes for {FEW} cases, {many:,} for {MANY}"


def test_the_gauge_sees_cases_that_are_collected(
    settings: configuration.Settings, runs: dict[int, RunFolder]
) -> None:
    few, many = (
        measure_peak(lambda folder=folder: list(read_shared_run(folder, settings).cases))
        for folder in (runs[FEW], runs[MANY])
    )
    assert many > MOST * few


def test_a_bundle_that_would_be_too_large_is_given_up_early(
    tmp_path: Path,
    settings: configuration.Settings,
    runs: dict[int, RunFolder],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    export_bundle(runs[FEW], tmp_path / "out.zip", settings)
    whole = measure_peak(lambda: export_bundle(runs[MANY], tmp_path / "out.zip", settings))
    monkeypatch.setattr(contents, "LARGEST", 1 << 14)

    def refuse() -> None:
        with pytest.raises(UsageError, match="more than the 0 MiB of a bundle"):
            export_bundle(runs[MANY], tmp_path / "other.zip", settings)

    assert measure_peak(refuse) < whole / 3
    assert not (tmp_path / "other.zip").exists()
