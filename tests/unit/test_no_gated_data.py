"""No task of the official GAIA set is in the project: its ids, which are UUIDs, stand nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalcore.settings import ROOT

#: Of any but those that begin with zeros, which are made up.
UUID = re.compile(rb"\b(?!0{8}-)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)
#: Packed files, whose content is not text.
PACKED = {".bundle", ".docx", ".parquet", ".pdf", ".png", ".pptx", ".pyc", ".xlsx", ".zip"}


def files(folder: str) -> list[Path]:
    return [p for p in (ROOT / folder).rglob("*") if p.is_file() and p.suffix not in PACKED]


@pytest.mark.parametrize(
    "folder", ["datasets", "data/shipped", "evalcore", "pages", "tests", "tools"]
)
def test_no_id_of_the_gated_set_stands_in_the_project(folder):
    texts = [str(path) for path in files(folder) if UUID.search(path.read_bytes())]
    assert files(folder)
    assert not texts
