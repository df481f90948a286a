"""Where APIs and their documents are found, and what is said where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.benchmarks.bfcl.multi_turn.simulators import (
    OFFICIAL_APIS,
    OWN_APIS,
    VARIABLE,
    Installation,
    find_api,
    find_installation,
    open_simulators,
    read_documents,
)
from evalcore.errors import DatasetError, EnvironmentFailure
from tests.support.bfcl_multi_turn import shelf_entry

SOURCES = Path("bfcl_eval", "eval_checker", "multi_turn_eval", "func_source_code")


def write_documents(folder: Path, stem: str, *lines: str) -> Path:
    path = folder / "multi_turn_func_doc" / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_named_folder_is_where_the_official_package_is(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="EVALBOARD_BFCL_EVAL"):
        find_installation()
    (tmp_path / SOURCES).mkdir(parents=True)
    assert find_installation() == Installation(str(tmp_path))
    (tmp_path / "bfcl_eval-1.2.dist-info").mkdir()
    (tmp_path / "bfcl_eval-1.2.dist-info" / "METADATA").write_text("Name: bfcl-eval\nVersion: 1.2")
    assert find_installation() == Installation(str(tmp_path), "1.2")


def test_documents_come_from_the_first_folder_that_has_them(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    write_documents(second, OFFICIAL_APIS["MathAPI"], '{"name": "add"}', "", '{"name": "mean"}')
    official = Installation(str(tmp_path))
    api = find_api("MathAPI", [first, second], official)
    assert api.tools == ("add", "mean")
    assert api.import_path.endswith("func_source_code.math_api:MathAPI")
    write_documents(first, OFFICIAL_APIS["MathAPI"], '{"name": "sum"}')
    assert find_api("MathAPI", [first, second], official).tools == ("sum",)
    write_documents(
        tmp_path / "bfcl_eval" / "data", OFFICIAL_APIS["TicketAPI"], '{"name": "close"}'
    )
    assert find_api("TicketAPI", [first], official).tools == ("close",)


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(EnvironmentFailure, match="pip install"):
        find_api("MathAPI", [tmp_path], None)
    with pytest.raises(EnvironmentFailure, match=r"multi_turn_func_doc/math_api\.json"):
        find_api("MathAPI", [tmp_path], Installation(str(tmp_path)))
    with pytest.raises(DatasetError, match="Unheard"):
        find_api("Unheard", [tmp_path], None)
    entry = shelf_entry([["f()"]], involved_classes=[next(iter(OWN_APIS))])
    with (
        open_simulators([tmp_path]) as simulators,
        pytest.raises(EnvironmentFailure, match="multi_turn_func_doc"),
    ):
        simulators.list_documents(entry)
    with open_simulators([tmp_path]) as simulators, pytest.raises(DatasetError):
        simulators.list_documents(shelf_entry([["f()"]], involved_classes="MathAPI"))


@pytest.mark.parametrize(
    "line", ['{"name": "_load"}', "{}", '{"name": "a.b"}', '{"name": 1}', "[]"]
)
def test_documents_name_public_tools(tmp_path, line):
    path = write_documents(tmp_path, "some", '{"name": "fine"}', line)
    with pytest.raises(DatasetError, match="line 2"):
        read_documents(path)
