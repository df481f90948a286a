"""Opening a page of the app in a test, on a store of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from evalcore.settings import Settings
from tests.support.boards import settings_in

APP = Path(__file__).resolve().parents[2] / "app.py"
SECONDS = 60


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An empty store that the app reads."""
    settings = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_DATA", settings.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", settings.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    return settings


def open_page(name: str = "ranking", language: str = "en", **query: str) -> AppTest:
    """The page after its first run, which must have ended without an exception."""
    app = AppTest.from_file(str(APP), default_timeout=SECONDS)
    _ask(app, language, query)
    app.run()
    if name != "ranking":  # the app must have run once before a page can be chosen
        _ask(app, language, query)
        app.switch_page(f"pages/{name}.py").run()
    assert not app.exception, app.exception
    return app


def unfolded(app: AppTest, menu: str) -> AppTest:
    """The page with one of its menus open, by key."""
    app.session_state[menu] = True
    app.run()
    assert not app.exception, app.exception
    return app


def folded(app: AppTest, menu: str) -> AppTest:
    """The page once a menu that was open is closed."""
    app.session_state[menu] = False
    app.run()
    assert not app.exception, app.exception
    return app


def _ask(app: AppTest, language: str, query: dict[str, str]) -> None:
    for key, value in {"lang": language, **query}.items():
        app.query_params[key] = value


def words(app: AppTest) -> str:
    """Every text on the page that is read as Markdown, one a line."""
    kinds = ("title", "subheader", "markdown", "caption", "warning", "error", "info")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def chart_rows(app: AppTest, number: int) -> pd.DataFrame:
    """All rows behind the layers of a chart, one below the other."""
    datasets = app.get("vega_lite_chart")[number].proto.datasets
    frames = [pa.ipc.open_stream(dataset.data.data).read_pandas() for dataset in datasets]
    return pd.concat(frames, ignore_index=True)


def table(app: AppTest, column: str) -> Any:
    """The frame of the first table that has a column."""
    return next(frame.value for frame in app.dataframe if column in frame.value.columns)
