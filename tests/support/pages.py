"""Opening a page of the app in a test, on a store of its own."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test

from evalcore.settings import Settings
from tests.support.boards import settings_in

APP = Path(__file__).resolve().parents[2] / "app.py"
SECONDS = 300


class ServedPages(PagesManager):
    """Pages as `app.py` has them served: the whole app runs, and draws its frame around them.

    AppTest would take the folder `pages/` for Streamlit's older kind of app, where a page that was
    switched to runs alone.
    """

    def __init__(self, *arguments: object, **options: object) -> None:
        PagesManager.uses_pages_directory = False
        super().__init__(*arguments, **options)


def run_framed(app: AppTest) -> None:
    """Run a page as `app.py` draws it for a visitor who follows a link to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_test, "PagesManager", ServedPages)
        app.run()


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
    if name != "ranking":
        app.switch_page(f"pages/{name}.py")
    run_framed(app)
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


_PAPER = re.compile("<table class='eb-paper'>.*?</table>", re.DOTALL)


def words(app: AppTest) -> str:
    """Every text on the page that is read as Markdown, and that of our own HTML, one a line; not
    the cells of grids, which stand in HTML for paper."""
    kinds = ("title", "subheader", "markdown", "caption", "warning", "error", "info")
    texts = [str(element.value) for kind in kinds for element in getattr(app, kind)]
    return "\n".join([*texts, *(read_html_text(_PAPER.sub("", body)) for body in drawn_html(app))])


def chart_rows(app: AppTest, number: int) -> pd.DataFrame:
    """All rows behind the layers of a chart, one below the other."""
    datasets = app.get("vega_lite_chart")[number].proto.datasets
    frames = [pa.ipc.open_stream(dataset.data.data).read_pandas() for dataset in datasets]
    return pd.concat(frames, ignore_index=True)


def table(app: AppTest, column: str) -> Any:
    """The frame of the first table that has a column, drawn by Streamlit or by us."""
    frames = [frame.value for frame in app.dataframe]
    frames += [read_drawn_table(body) for body in drawn_html(app)]
    return next(frame for frame in frames if column in frame.columns)


# What we draw as HTML: its text, and a table in it as a frame.


def drawn_html(app: AppTest) -> list[str]:
    """Our own HTML on the page, without style sheets and scripts."""
    bodies = [element.proto.body for element in app.main.get("html")]
    return [body for body in bodies if not body.startswith(("<style", "<script"))]


def read_html_text(body: str) -> str:
    """The text of some HTML."""
    reader = _Reader()
    reader.feed(body)
    return " ".join("".join(reader.texts).split())


def read_drawn_table(body: str) -> pd.DataFrame:
    """A table that we drew: a column per field, numbers as numbers, a dash as missing."""
    reader = _Reader()
    reader.feed(body)
    names = list(dict.fromkeys(name for row in reader.rows for name in row))
    cells = {name: [_read_cell(row.get(name, "")) for row in reader.rows] for name in names}
    return pd.DataFrame(cells)


def _read_cell(text: str) -> Any:
    text = text.strip()
    if text in ("", "–"):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.replace("$", ""))
    except ValueError:
        return text


class _Reader(HTMLParser):
    """Collects the texts, and of every table row the texts by `data-field`."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.rows: list[dict[str, str]] = []
        self.open: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        field = known.get("data-field")
        if tag == "tr" and self.open and any(name == "tbody" for name, _ in self.open):
            self.rows.append({})
        if field is not None and self.rows:
            self.rows[-1][field] = (known.get("src") or "") if tag == "img" else ""
        if tag not in ("img", "br"):
            self.open.append((tag, field))
        if tag in ("p", "td", "th", "li", "small"):
            self.texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, text: str) -> None:
        self.texts.append(text)
        field = next((field for _, field in reversed(self.open) if field), None)
        if field is not None and self.rows:
            self.rows[-1][field] += text
