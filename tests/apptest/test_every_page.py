"""Every page on every kind of store, in both languages: it opens, and says what is so.

Stores are made once for the whole file and only read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app import PAGES
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder
from evalcore.views import stored_boards
from tests.support.boards import Plan, make_run
from tests.support.many_runs import make_store
from tests.support.page_stores import corrupt_run

LOCALES = {"en": "en-US", "zh": "zh-CN"}
STORES = ("empty", "one", "many", "corrupt")
#: What a text looks like whose key is in no catalogue.
UNTOLD = re.compile(rf"\b({'|'.join(card.name for card in PAGES)}|common|note)\.[a-z_]+\b")
CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Settings]:
    """A store of each kind, without the shipped runs."""
    root = tmp_path_factory.mktemp("stores")
    made = {name: Settings(data=str(root / name), shipped=str(root / "shipped")) for name in STORES}
    make_run(made["one"], Plan(target="openai:small", skill=0.6))
    make_store(made["many"], targets=300)  # several pages of every table
    _corrupt(made["corrupt"])
    return made


def _corrupt(settings: Settings) -> None:
    """One run that is whole, among folders each broken in its own way."""
    make_run(settings, Plan(target="openai:whole", skill=0.6))
    corrupt_run(settings.runs_dir)
    broken = make_run(settings, Plan(target="openai:broken", skill=0.4), "broken-verdicts")
    for journal in (broken.path / "verdicts").rglob("*.jsonl"):
        journal.write_bytes(b"\x00\xff{torn\n" * 3)
    silent = make_run(settings, Plan(target="openai:silent", skill=0.4), "broken-samples")
    (silent.path / "samples.jsonl").write_bytes(b"[1, 2")
    headless = make_run(settings, Plan(target="openai:headless"), "broken-summary")
    headless.summary_path.write_text("{", encoding="utf-8")
    (settings.runs_dir / "a file and no folder").write_text("x", encoding="utf-8")
    settings.index_path.write_bytes(b"\x00 no index")


def query(name: str, settings: Settings) -> dict[str, str]:
    """What a link to a page of that store would hold; empty where there is nothing to name."""
    headers = stored_boards.load_run_headers(settings)
    if not headers:
        return {}
    newest = headers[0]
    run = newest.run_id
    if name == "case":
        stored = next(iter(RunFolder(settings.runs_dir / run).read_samples()))
        sample = stored.sample
        return {
            "run": run,
            "benchmark": stored.benchmark,
            "metric": sample.metric,
            "id": sample.id,
        }
    return {
        "target": {"key": newest.identity},
        "compare": {"runs": ",".join(header.run_id for header in headers[:8])},
        "runs": {"run": run},
    }.get(name, {})


def collect_text(app: AppTest) -> str:
    """All that a page says, sidebar included."""
    kinds = ("title", "subheader", "markdown", "caption", "error", "warning", "info", "button")
    return "\n".join(
        str(getattr(element, "value", "") or getattr(element, "label", ""))
        for kind in kinds
        for element in app.get(kind)
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", [card.name for card in PAGES])
def test_a_page_opens_and_speaks(
    stores: dict[str, Settings], monkeypatch: pytest.MonkeyPatch, name, store, language
) -> None:
    settings = stores[store]
    monkeypatch.setenv("EVALBOARD_DATA", settings.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", settings.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    app = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=300)
    app.context["locale"] = LOCALES[language]
    app.run()
    app.query_params.update(query(name, settings))
    app.switch_page(f"pages/{name}.py").run()
    assert not app.exception, app.exception[0].message
    text = collect_text(app)
    assert app.title or app.get("heading"), text
    assert not UNTOLD.search(text), UNTOLD.search(text)
    assert bool(CHINESE.search(text.replace("中文", ""))) == (language == "zh"), text
