"""What readers are not told: where files lie. And nothing else is taken from a text."""

from __future__ import annotations

import msgspec
import pytest

from evalcore.records import Failure
from evalcore.views.cases import case_view
from evalcore.views.runs import build_run_row, redact_case, redact_paths, redact_run_row
from tests.support.hangs import stop_hang
from tests.support.page_stores import METRIC, RUN, evidence_run

TEXTS = [
    ("no file /home/ada/board/data/runs/x/spec.json", "no file …/spec.json"),
    ("'/srv/a b' and \"/srv/models/m.bin\"", "'…/a b' and \"…/m.bin\""),
    ("~/models/qwen is absent", "…/qwen is absent"),
    (r"C:\Users\ada\data\x.db is locked", "…/x.db is locked"),
    ("--dataset=/srv/cases/ours --seed 1", "--dataset=…/ours --seed 1"),
    ("/srv/x: line 3, field sql", "…/x: line 3, field sql"),
    ("see https://example.org/a/b/c", "see https://example.org/a/b/c"),
    ("openai:Qwen/Qwen3-4B at http://127.0.0.1:8000/v1/x", None),
    ("3/4 of the cases, either/or, a / b", None),
    ("SELECT a/b/c FROM t -- /* x */", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "left"), TEXTS)
def test_of_a_path_its_end_is_left(text, left):
    assert redact_paths(text) == (text if left is None else left)


@pytest.mark.parametrize("text", ["/" * 200_000, "/a" * 100_000, "~/" * 100_000, "a/" * 100_000])
def test_a_hostile_text_takes_no_time(text):
    with stop_hang():
        redact_paths(text)


def test_a_run_and_a_case_lose_their_places(tmp_path):
    folder = evidence_run(tmp_path)
    row = msgspec.structs.replace(
        build_run_row(folder), message="at /srv/data/x", problem="/srv/data/y"
    )
    assert (redact_run_row(row).message, redact_run_row(row).problem) == ("at …/x", "…/y")
    view = case_view([tmp_path], RUN, METRIC, "table_diff")
    failure = Failure(kind="environment", message="no /srv/data/engine")
    broken = msgspec.structs.replace(
        view,
        verdict=msgspec.structs.replace(view.verdict, note="no /srv/data/engine"),
        episode=msgspec.structs.replace(view.episode, failure=failure),
    )
    seen = redact_case(broken)
    assert seen.verdict.note == seen.episode.failure.message == "no …/engine"
    assert redact_case(view) == view
