"""Own SQL in a browser, on a desktop and on a phone: pasted, its dialect confirmed, results
proposed by an engine, saved, run, and seen on its board."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from evalcore.i18n import t
from tests.support.full_board import settle, visit
from tests.support.phone import faults_on_phone

DESKTOP, PHONE = (1440, 900), (390, 844)  # pixels
RUN_TIME = 120_000  # milliseconds a run of the baseline may take on a busy machine
SCHEMA = """CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL);
INSERT INTO orders VALUES (1, 9.5), (2, 20);"""
STATEMENTS = (
    "SELECT COUNT(*) FROM orders WHERE total > 10;\nSELECT id FROM orders ORDER BY total DESC"
)


class PastePage:
    """What a person does on the view, by the texts of a language."""

    def __init__(self, tab, language: str) -> None:
        self.tab, self.language = tab, language

    def text(self, key: str, **values: object) -> str:
        return t(key, self.language, **values)

    def fill(self, name: str, text: str) -> None:
        field = self.tab.locator(f'[class*="st-key-datasets-paste-{name}"] textarea')
        field.fill(text)
        field.press("Control+Enter")
        settle(self.tab)

    def press(self, key: str) -> None:
        self.tab.get_by_role("button", name=self.text(key), exact=True).click()
        settle(self.tab)

    def choose_dialect(self, title: str) -> None:
        box = self.tab.get_by_role("combobox", name=self.text("datasets.paste.source"))
        box.click()
        box.press_sequentially(title)  # a long list draws only what is near
        self.tab.get_by_role("option", name=re.compile(f"^{title}")).click()
        settle(self.tab)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "size", "title"),
    [
        pytest.param("en", DESKTOP, "Our orders", marks=pytest.mark.full),
        ("zh", PHONE, "订单查询"),
    ],
)
def test_pasted_sql_is_proposed_saved_run_and_on_its_board(served, tabs, language, size, title):
    tab = tabs(language, *size)
    page = PastePage(tab, language)
    visit(tab, f"{served.url}/datasets?view=paste")
    page.fill("schema", SCHEMA)
    page.fill("statements", STATEMENTS)
    page.press("datasets.paste.detect")
    page.choose_dialect("SQLite")
    page.press("datasets.paste.run")
    ready = re.escape(page.text("datasets.paste.executed", count=2, engine="ENGINE"))
    expect(tab.get_by_test_id("stAlert")).to_contain_text(
        re.compile(ready.replace("ENGINE", r"SQLite [0-9.]+"))
    )
    if size == PHONE:
        assert faults_on_phone(tab) == []
    name = tab.get_by_label(page.text("datasets.paste.title"), exact=True)
    name.fill(title)
    name.press("Enter")
    settle(tab)
    page.press("datasets.keep")
    tab.wait_for_url(re.compile(r"/datasets\?(.*&)?set=own%3Asql_understanding%3A"))
    tab.get_by_role("heading", name=title).first.wait_for()
    settle(tab)
    tab.get_by_role("button", name=page.text("datasets.evaluate")).click()
    tab.wait_for_url(re.compile(r"/launch\?benchmark=sql_understanding&dataset="))
    settle(tab)
    tab.get_by_role("button", name=page.text("launch.start"), exact=True).click()
    tab.wait_for_url(re.compile(r"/runs\?(.*&)?run="), timeout=RUN_TIME)
    run = re.search(r"run=([^&]+)", tab.url)[1]
    done = tab.locator(".stMarkdownBadge", has_text=page.text("common.state.done"))
    expect(done.first).to_be_visible(timeout=RUN_TIME)
    spec = json.loads((served.data / "runs" / run / "spec.json").read_text("utf-8"))
    assert spec["benchmarks"][0]["samples"] == 2
    ranking = page.text("common.nav.ranking")
    tab.get_by_test_id("stMain").get_by_role("link", name=ranking, exact=True).last.click()
    tab.wait_for_url(re.compile(f"run={run}"))
    settle(tab)
    expect(tab.locator('.eb-table tr[aria-current="true"]')).to_contain_text("baseline:sqlglot")
    expect(tab.locator(".eb-own-run")).to_be_visible()
    if size == PHONE:
        assert faults_on_phone(tab) == []
