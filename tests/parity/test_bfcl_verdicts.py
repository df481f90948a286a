"""Our official view against recorded verdicts of the official checker, row by row."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import pytest

from evalcore import settings as configuration
from evalcore.benchmarks.bfcl.answers import reference_answer
from evalcore.benchmarks.bfcl.categories import SINGLE_TURN, find_category_language
from evalcore.benchmarks.bfcl.dataset import FLAGGED
from evalcore.benchmarks.bfcl.entry import BfclEntry, load_folder
from evalcore.benchmarks.bfcl.score import decode_answer, score_official, score_tolerant
from evalcore.benchmarks.call_decoding import MODES, DecodeError, decode_calls
from evalcore.benchmarks.call_decoding.call import to_plain_value
from evalcore.runner.predictions import ScoreRequest, score_file
from tests.support.bfcl import list_flagged_ids
from tests.support.shared_data import shared_data

#: A line of predictions, and where the recorded rows have it.
FIELDS = ("id", "metric", "mode", "prediction")
KEYS = ("id", "category", "mode", "prediction")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    path = shared_data("bfcl") / "official_verdicts.dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def entries() -> dict[str, BfclEntry]:
    return {entry.id: entry for entry in load_folder(shared_data("bfcl"), SINGLE_TURN)}


def test_every_verdict_and_error_type_is_upstreams(rows, entries):
    differing = []
    for row in rows:
        scored = score_official(decode_answer(entries[row["id"]], row["prediction"], row["mode"]))
        if (scored.valid, scored.error_type or None) != (row["valid"], row["error_type"]):
            differing.append((row["n"], row["mode"], row["error_type"], scored.error_type))
    assert not differing, differing[:10]
    assert len(rows) >= 2000
    assert {row["category"] for row in rows} == set(SINGLE_TURN)
    assert {row["mode"] for row in rows} <= set(MODES)


def test_scoring_a_file_of_predictions_gives_the_same(rows, tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [{name: row[key] for name, key in zip(FIELDS, KEYS, strict=True)} for row in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    request = ScoreRequest("bfcl", str(path), str(shared_data("bfcl")))
    counts = score_file(request, out, configuration.load_settings(tmp_path))
    payloads = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(counts.values()) == len(payloads) == len(rows)
    differing = [
        (row["n"], line["details"])
        for row, line in zip(rows, payloads, strict=True)
        if (line["passed"], line["details"].get("error_type")) != (row["valid"], row["error_type"])
    ]
    assert not differing, differing[:10]


def test_every_decoded_answer_is_upstreams(rows):
    compared = 0
    for row in rows:
        if row["decoded"] is None or row["error_type"] == "ast_decoder:decoder_wrong_output_format":
            continue
        try:
            calls = decode_calls(row["prediction"], row["mode"])
        except DecodeError:
            assert row["category"].endswith("relevance"), row["n"]
            continue
        assert to_plain_value(calls) == to_plain_value(row["decoded"]), row["n"]
        compared += 1
    assert compared > 1700


def test_what_the_official_view_accepts_the_tolerant_one_accepts(rows, entries):
    for row in rows:
        if "irrelevance" not in row["category"] and row["valid"]:
            reading = decode_answer(entries[row["id"]], row["prediction"], row["mode"])
            assert score_tolerant(reading).valid, row["n"]


def test_all_entries_of_the_official_folder_are_read(entries):
    counts = Counter(entry.category for entry in entries.values())
    assert sum(counts.values()) == 3641
    assert counts["simple_python"] == 400
    assert counts["live_multiple"] == 1053
    assert counts["live_relevance"] == 16


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_right_answers_pass_everywhere_but_at_flagged_entries(entries, mode):
    failing = {
        entry.id
        for entry in entries.values()
        if not _passes(
            entry, "fc" if mode == "fc" else f"prompt_{find_category_language(entry.category)}"
        )
    }
    assert failing <= set(FLAGGED)
    assert list_flagged_ids("unsatisfiable") <= failing
    assert (list_flagged_ids("java_map_in_prompt") <= failing) == (mode == "prompt")


def _passes(entry: BfclEntry, mode: str) -> bool:
    return score_official(decode_answer(entry, reference_answer(entry, mode), mode)).valid


def test_entries_flagged_for_their_arrays_have_an_array_of_strings(entries):
    for sample_id in list_flagged_ids("java_array"):
        (call,) = entries[sample_id].ground_truth
        (accepted,) = call.values()
        schemas = entries[sample_id].functions[0]["parameters"]["properties"]
        arrays = [schemas[key] for key in accepted if schemas[key]["type"] == "Array"]
        assert arrays
        assert all(schema["items"]["type"] == "String" for schema in arrays)
