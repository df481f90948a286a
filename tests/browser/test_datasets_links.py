"""The data sets in a real browser: a file becomes a run."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.runner.uploads import bundled_rows
from evalcore.settings import Settings

KEY, PART = "sql_understanding", "execution_accuracy"
READ = 60_000  # milliseconds the first reading of all sets may take on a busy machine


def heading(page, text: str) -> None:
    expect(page.get_by_role("heading", name=text, exact=True).first).to_be_visible(timeout=READ)


@pytest.mark.full
def test_a_file_is_handed_in_kept_and_evaluated(served, page, tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = bundled_rows(KEY, PART, Settings())[:2]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    page.goto(f"{served.url}/datasets?view=add")
    heading(page, "2 · The file")
    page.locator("input[type=file]").set_input_files(file)
    heading(page, "4 · Save")
    page.get_by_role("button", name="Save dataset").click()
    page.wait_for_url(re.compile(rf"/datasets\?set=own%3A{KEY}%3Amine$"), timeout=READ)
    heading(page, "mine")
    page.get_by_role("button", name="Evaluate on it").click()
    page.wait_for_url(re.compile(rf"/launch\?benchmark={KEY}&dataset=mine"))
    start = page.get_by_role("button", name="Start")
    expect(start).to_be_enabled()
    start.click()
    page.wait_for_url(re.compile(r"/runs\?run="), timeout=READ)
    run = page.url.partition("run=")[2]
    spec = json.loads((served.data / "runs" / run / "spec.json").read_text())
    assert spec["benchmarks"][0]["dataset"] == "mine"
    assert spec["benchmarks"][0]["samples"] == 2
