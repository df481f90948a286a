"""Pages drawn without a browser, over a store of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, app_test

from tests.support.pages import ServedPages, run_framed

ROOT = Path(__file__).parents[2]
LOCALES = {"en": "en-US", "zh": "zh-CN"}


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_once() -> Iterator[None]:
    """Streamlit looks for components in every installed package each time a page is run, a quarter
    of what a test here takes; the packages stay as they are while the tests run."""
    component_manifests = manifest_scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: component_manifests)
        yield


@pytest.fixture
def framed() -> Iterator[None]:
    """Every page of AppTest is drawn by `app.py`, as visitors get it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_test, "PagesManager", ServedPages)
        yield


@pytest.fixture
def runs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of runs of an empty store that the pages will read."""
    monkeypatch.setenv("EVALBOARD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EVALBOARD_SHIPPED", str(tmp_path / "none"))
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "data" / "runs"
    root.mkdir(parents=True)
    return root


@pytest.fixture
def open_page(runs_root: Path) -> Callable[..., AppTest]:
    """`open_page("case", "zh", run=...)`: a page as a visitor gets it by a link."""

    def opened(name: str, language: str = "en", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        app.context["locale"] = LOCALES[language]
        app.query_params.update(query)
        if name != "ranking":
            app.switch_page(f"pages/{name}.py")
        run_framed(app)
        assert not app.exception, app.exception[0].message
        return app

    return opened


def words(app: AppTest) -> str:
    """Everything that a page says in text, labels and messages."""
    kinds = ("title", "subheader", "markdown", "caption", "text", "code", "error", "warning")
    elements = [element for kind in kinds for element in app.main.get(kind)]
    texts = [str(getattr(element, "value", "")) for element in elements]
    texts += [f"{metric.label} {metric.value}" for metric in app.main.metric]
    texts += [button.label for button in app.main.button]
    return "\n".join(texts).replace("\\", "")
