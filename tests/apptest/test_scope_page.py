"""The rank of an application on the cases of its scope, on the Target page."""

from __future__ import annotations

import json

import pytest

from evalcore.cli.main import main
from tests.support.pages import open_page, store, table, words
from tests.support.scoped_runs import DESCRIPTION, service, write_cases

__all__ = ["service", "store"]  # fixtures


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_scope_has_its_own_ranks_on_the_target_page(
    store, service, tmp_path, capsys, monkeypatch, language
):
    data, cases = store.data_dir, write_cases(tmp_path / "cases")
    (tmp_path / "small.yaml").write_text(DESCRIPTION.format(url=service[0]))
    for target in (f"app:{tmp_path / 'small.yaml'}", "control:reference", "control:null"):
        command = ["run", "--target", target, "--benchmarks", "sql_understanding"]
        assert main([*command, "--dataset", cases, "--data", str(data), "--json"]) == 0
    runs = [json.loads(line)["run_id"] for line in capsys.readouterr().out.splitlines()]
    spec = json.loads((data / "runs" / runs[0] / "spec.json").read_text())
    page = open_page("target", language)
    keys = page.selectbox(key="target.key").options
    name = next(key for key in keys if "small" in key)
    assert spec["scope"] == {"dialects": ["SQLite"]}

    page.selectbox(key="target.key").select(name).run()
    page.segmented_control(key="target.view").select("scope").run()
    assert not page.exception
    assert "6" in words(page)
    assert "SQLite" in words(page)
    assert table(page, "rank")["name"].str.contains("small").any()
    assert list(table(page, "rank")["score"]) == [100.0, 100.0, 0.0]

    other = open_page("target", language, key="control:reference")
    assert "scope" not in other.segmented_control(key="target.view").options
