"""A run that was handed in as a bundle, on the pages: its level, its claim, and its cases."""

import pytest

from evalcore.exchange.bundle.importer import import_bundle
from evalcore.store.index import load_headers
from tests.support.bundles import bundled, changed, edit, edit_lines, finished
from tests.support.pages import open_page, store, words

__all__ = ["store"]  # a fixture

SQL = "sql_understanding"
LEVELS = {"en": "level 2: rescored, equal", "zh": "2 级：已重新评分且一致"}
ABOUT = {"en": "submitted as bundles", "zh": "以提交包导入"}


@pytest.fixture
def imported(store, tmp_path):
    folder = finished(store, "baseline:sqlglot", SQL, max_samples=3)
    bundle = bundled(folder, store, tmp_path / "run.zip")
    done = import_bundle(bundle, store, progress=lambda line: None)
    (header,) = [item for item in load_headers(store) if item.run_id == done.run]
    return header


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pages_of_a_bundle(imported, language):
    board = next(
        score.dataset
        for score in imported.benchmarks.values()
        if score.dataset.startswith("bundle-")
    )
    assert ABOUT[language] in words(open_page("ranking", language, board=board))
    app = open_page("target", language, key=imported.identity, board=board)
    assert ABOUT[language] not in words(app)
    assert {"en": "a bundle of a run from", "zh": "运行的提交包导入"}[language] in words(app)
    assert LEVELS[language] in words(app)


def test_the_flags_of_a_bundle_have_words(store, tmp_path):
    folder = finished(store, "control:null", SQL, max_samples=3)
    bundle = bundled(folder, store, tmp_path / "run.zip")

    def older(spec):
        spec["benchmarks"][0] |= {"scorer_version": "0", "dataset": "theirs"}

    def passes(lines):
        lines[0]["verdict"] |= {"outcome": "passed", "score": 1.0}

    first = changed(bundle, tmp_path / "a.zip", edit("spec.json", older))
    odd = changed(first, tmp_path / "b.zip", edit_lines("verdicts.jsonl", passes))
    done = import_bundle(odd, store, progress=lambda line: None)
    (header,) = [item for item in load_headers(store) if item.run_id == done.run]
    board = header.benchmarks[SQL].dataset
    app = open_page("target", "en", key=header.identity, board=board)
    (flags,) = [e.value["flag"] for e in app.dataframe if "flag" in e.value]
    assert list(flags) == ["Verdicts on which other scorer versions differ"]
