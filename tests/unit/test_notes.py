"""Notes keep their code and values, so that no rewording untranslates a run."""

from __future__ import annotations

import copy
import pickle
import string
from importlib.resources import files

import msgspec
import pytest

from evalcore import i18n
from evalcore.i18n import Note, load_catalogue, t, translate_note, unpack_note
from evalcore.records import Verdict, from_json, to_json

NESTED = Note("exec_undecided", message="x")
GOLD = Note("gold_gives", answer="a", problem=NESTED)


def verdict(note: str) -> Verdict:
    return Verdict(metric="m", id="1", outcome="failed", note=note)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_a_note_is_its_english_text_and_is_said_in_any_language():
    assert GOLD == "the engine gives a: Execution cannot decide: x"
    assert translate_note(GOLD, "en") == GOLD
    assert translate_note(GOLD, "zh") == t(
        "note.gold_gives", "zh", answer="a", problem=t("note.exec_undecided", "zh", message="x")
    )
    assert translate_note("no note at all", "zh") == "no note at all"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))])
def test_a_copy_of_a_note_is_a_note(copied):
    assert (copied(GOLD), copied(GOLD).code, copied(GOLD).params) == (GOLD, GOLD.code, GOLD.params)


def test_a_verdict_stores_code_and_values_and_gives_the_note_back():
    line = to_json(verdict(GOLD))
    stored = msgspec.json.decode(line)
    assert stored["note"] == str(GOLD)
    assert (stored["note_code"], stored["note_params"]) == (
        "gold_gives",
        {"answer": "a", "problem": {"code": "exec_undecided", "params": {"message": "x"}}},
    )
    again = from_json(Verdict, line)
    assert type(again.note) is str
    assert translate_note(again.localizable_note, "zh") == translate_note(GOLD, "zh")
    assert verdict("plain").localizable_note == "plain"
    assert b"note_code" not in to_json(verdict("plain"))


def test_a_reworded_catalogue_still_translates_a_stored_verdict(monkeypatch):
    line = to_json(verdict(GOLD))
    reworded = load_catalogue("en") | {"note.gold_gives": "{problem} ({answer})"}
    chinese = load_catalogue("zh")
    monkeypatch.setattr(i18n, "load_catalogue", lambda x: chinese if x == "zh" else reworded)
    again = from_json(Verdict, line)
    assert translate_note(again.localizable_note, "en") == "Execution cannot decide: x (a)"
    assert translate_note(again.localizable_note, "zh") == translate_note(GOLD, "zh")


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("no_such_code", {}),
        ("gold_gives", {"answer": "a"}),
        ("gold_gives", {"answer": "a", "problem": {"code": 3, "params": [1]}, "code": "x"}),
        ("wrong", {"fields": {"params": "x"}}),
    ],
)
def test_a_code_from_elsewhere_that_cannot_be_filled_leaves_the_stored_text(code, params):
    assert unpack_note("as it was stored", code, params) == "as it was stored"


def test_a_hostile_value_is_never_a_template():
    note = unpack_note("", "wrong", {"fields": "{fields.__class__} {0}"})
    assert note == "Wrong: {fields.__class__} {0}."
    assert "{fields.__class__} {0}" in translate_note(note, "zh")


def test_a_changed_note_is_changed_in_its_values_too():
    changed = verdict(Note("gold_gives", answer="/srv/a", problem=NESTED)).with_note(str.upper)
    assert changed.note_params["answer"] == "/SRV/A"
    assert changed.note_params["problem"] == {"code": "exec_undecided", "params": {"message": "X"}}
    assert changed.note == changed.note.upper()


def test_sentences_of_old_runs_stay_as_they_were_and_lead_to_entries_with_the_same_values():
    stored = msgspec.json.decode((files(i18n) / "stored_notes.json").read_bytes())
    assert len(stored) == 269
    for code, text in stored.items():
        assert fields(load_catalogue("en")[f"note.{code}"]) == fields(text), code
