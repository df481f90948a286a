"""Pasting SQL on the Datasets page: a dialect is confirmed, proposals are checked, a set saved."""

from __future__ import annotations

import pytest

from evalcore.views.datasets import list_dataset_entries
from tests.support.pages import open_page, store, words

__all__ = ["store"]  # a fixture

SCHEMA = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\nINSERT INTO t VALUES (1, 'x'), (2, NULL)"


def press(app, label):
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception, app.exception
    return app


def paste(statements, schema=SCHEMA, **query):
    app = open_page("datasets", view="paste", **query)
    app.text_area(key="datasets.paste.schema").set_value(schema)
    app.text_area(key="datasets.paste.statements").set_value(statements).run()
    return press(app, "Detect the dialect")


def choose_dialect(app, name):
    box = next(box for box in app.selectbox if box.label == "Dialect of the SQL")
    box.select(next(option for option in box.options if option.startswith(name))).run()
    return app


@pytest.mark.parametrize("title", ["订单查询", "Orders, 2026!"])
def test_pasted_sql_becomes_a_set(store, title):
    app = choose_dialect(paste("SELECT b FROM t ORDER BY a;\nSELECT COUNT(*) FROM t"), "SQLite")
    press(app, "Propose expected results")
    assert "Cases ready: 2, executed on SQLite" in app.success[0].value
    app.text_input(key="datasets.paste.title").set_value(title).run()
    press(app, "Save dataset")
    own = [entry for entry in list_dataset_entries(store) if entry.origin == "own"]
    assert [(entry.benchmark, entry.card.samples, entry.card.note) for entry in own] == [
        ("sql_understanding", 2, title)
    ]


def test_a_problem_keeps_what_was_typed(store):
    app = choose_dialect(paste("SELECT b FROM t;\nSELECT nope FROM t"), "SQLite")
    press(app, "Propose expected results")
    frame = next(frame.value for frame in app.dataframe if "problem" in frame.value.columns)
    assert list(frame["line"]) == [2]
    assert "nope" in frame["problem"][0]
    assert app.text_area(key="datasets.paste.statements").value.endswith("nope FROM t")
    assert not [field for field in app.text_input if field.key == "datasets.paste.title"]
    next(box for box in app.checkbox if "no problem" in box.label).check().run()
    assert app.text_input(key="datasets.paste.title")


def test_a_conversion_is_confirmed_by_the_person(store):
    app = choose_dialect(
        paste("SELECT b FROM t ORDER BY a", benchmark="dialect_conversion"), "SQLite"
    )
    next(box for box in app.selectbox if box.label == "Convert to").select("DuckDB").run()
    press(app, "Propose expected results")
    assert not [field for field in app.text_input if field.key == "datasets.paste.title"]
    next(box for box in app.checkbox if "checked these references" in box.label).check().run()
    assert app.text_input(key="datasets.paste.title")


def test_nothing_to_detect(store):
    app = open_page("datasets", view="paste")
    assert next(b for b in app.button if b.label == "Detect the dialect").disabled


def test_the_view_speaks_chinese(store):
    assert "粘贴表结构和语句" in words(open_page("datasets", "zh", view="paste"))
