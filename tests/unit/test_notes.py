"""Notes keep their code and values, so that no rewording untranslates a run."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import string
from importlib.resources import files

import msgspec
import pytest

from evalcore import i18n
from evalcore.access.redaction import redact_paths
from evalcore.access.secrets import scrub_secrets
from evalcore.errors import DatasetError, IntakeError, UsageError
from evalcore.i18n import (
    MAX_NOTE_VALUE,
    Note,
    cut_note,
    load_catalogue,
    map_note,
    t,
    translate_note,
    unpack_note,
)
from evalcore.records import (
    Episode,
    Failure,
    Sample,
    Verdict,
    from_json,
    from_json_with_notes,
    to_json,
    to_json_with_notes,
)
from evalcore.results import Progress
from evalcore.runner.jobs import (
    Job,
    TaskReply,
    _read_job_status,
    call_task,
    write_job_status,
)
from evalcore.runner.verdicts import compute_verdict
from evalcore.settings import ROOT
from evalcore.store.run_folder import RunFolder
from pages.parts.datasets.upload import find_error_hint
from tests.support.boards import settings_in
from tests.support.rows import each_row

SHIPPED = ROOT / "data" / "shipped" / "runs"
NESTED = Note("exec_undecided", message="x")
GOLD = Note("gold_gives", answer="a", problem=NESTED)


def verdict(note: str) -> Verdict:
    return Verdict(metric="m", id="1", outcome="failed", note=note)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_a_note_is_its_english_text_and_is_said_in_any_language():
    assert GOLD == "the engine returns a: Execution cannot decide: x"
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


STORED = msgspec.json.decode((files(i18n) / "stored_notes.json").read_bytes())
CODES = sorted(key.removeprefix("note.") for key in load_catalogue("en") if key[:5] == "note.")


def fill(code: str) -> Note:
    """A note with values that look like templates and like other sentences."""
    entry = load_catalogue("en")[f"note.{code}"]
    return Note(code, **{name: f"{{{name}}} of x: y" for name in fields(entry)})


@pytest.fixture
def reworded(monkeypatch):
    """A catalogue whose English entries are all other ones than when the texts were stored."""
    chinese = load_catalogue("zh")
    english = {
        key: "Reworded: " + " / ".join(f"{{{name}}}" for name in sorted(fields(text)))
        for key, text in load_catalogue("en").items()
    }
    return lambda: monkeypatch.setattr(
        i18n, "load_catalogue", lambda language: chinese if language == "zh" else english
    )


def test_no_rewording_untranslates_a_run_made_with_notes(reworded):
    before = []
    for note in map(fill, CODES):
        chinese = translate_note(note, "zh")
        filled = len(re.findall(r"\{\w", load_catalogue("zh")[f"note.{note.code}"]))
        assert "{" not in chinese.replace("{", "", filled), note.code
        before.append((note, chinese, to_json(verdict(note))))
    reworded()
    for note, chinese, line in before:
        again = from_json(Verdict, line)
        assert again.note == note.english
        assert translate_note(again.localizable_note, "zh") == chinese
        assert translate_note(again.localizable_note, "en").startswith("Reworded: "), note.code


def test_no_rewording_untranslates_a_run_of_before(reworded):
    sentences = [text.replace("{", "").replace("}", "") for text in STORED.values()]
    before = {sentence: translate_note(sentence, "zh") for sentence in sentences}
    reworded()
    for sentence, chinese in before.items():
        assert chinese != sentence
        assert translate_note(sentence, "zh") == chinese
        line = to_json(verdict(sentence))
        assert translate_note(from_json(Verdict, line).localizable_note, "zh") == chinese


def test_no_rewording_untranslates_a_shipped_run(reworded):
    folders = [RunFolder(path) for path in sorted(SHIPPED.iterdir()) if path.is_dir()]
    notes = {
        line.verdict.note: line.verdict.localizable_note
        for folder in folders
        for line in folder.read_verdicts(folder.read_summary().scoring)
        if line.verdict.note
    }
    chinese = {text: translate_note(note, "zh") for text, note in notes.items()}
    assert len(notes) > 20
    pythons_own = re.compile(r".* \(<answer>, line \d+\)")
    untranslated = {text for text, message in chinese.items() if message == text}
    assert {text for text in untranslated if not pythons_own.fullmatch(text)} == set()
    reworded()
    assert {text: translate_note(note, "zh") for text, note in notes.items()} == chinese


def test_an_error_passes_its_note_on():
    error = UsageError(NESTED)
    assert str(error) is NESTED
    assert Note("access_address", problem=error).params["problem"] is NESTED
    assert DatasetError("f", 1, "x", str(IntakeError(NESTED))).problem is NESTED
    assert type(f"{error}; more") is str


def test_a_changed_or_cut_note_stays_one():
    long = Note("exec_error", message="/srv/x " * 1000)
    assert len(long.params["message"]) == MAX_NOTE_VALUE < len(long)
    short = cut_note(long, 30)
    assert (short, short.code) == (long[:30], "exec_error")
    assert short.params["message"] == ("/srv/x " * 5)[:30]
    assert cut_note("plain text", 5) == "plain"
    hidden = map_note(Note("gold_gives", answer="secret", problem=NESTED), lambda s: s.upper())
    assert hidden.params["problem"].params == {"message": "X"}
    key = "sk-" + "a1" * 20
    scrubbed = scrub_secrets(Note("exec_error", message=f"key {key}"))
    assert (key in scrubbed, key in translate_note(scrubbed, "zh")) == (False, False)
    path = redact_paths(Note("exec_error", message="at /srv/data/x.sql"))
    assert translate_note(path, "zh").endswith("…/x.sql")


def test_a_file_of_one_record_keeps_its_notes(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_progress(Progress(run_id="r", state="incomplete", message=GOLD))
    stored = msgspec.json.decode((tmp_path / "progress.json").read_bytes())
    assert stored["message"] == GOLD.english
    again = folder.read_progress()
    assert translate_note(again.message, "zh") == translate_note(GOLD, "zh")
    assert from_json(Progress, to_json(again)).message == GOLD  # any other reader has the text
    odd = stored | {"packed_notes": {GOLD.english: {"code": "wrong", "params": 3}, "x": None}}
    (tmp_path / "progress.json").write_bytes(msgspec.json.encode(odd))
    assert folder.read_progress().message == GOLD
    (tmp_path / "progress.json").write_bytes(msgspec.json.encode(stored | {"packed_notes": 3}))
    assert folder.read_progress().message == GOLD


def test_a_failure_keeps_its_note_and_so_does_the_verdict_on_it():
    failure = Failure(kind="environment", message=GOLD)
    line = to_json(failure)
    assert msgspec.json.decode(line)["message"] == GOLD.english
    again = from_json(Failure, line)
    assert (type(again.message), again) == (str, failure)
    assert translate_note(again.localizable_message, "zh") == translate_note(GOLD, "zh")
    episode = Episode(key="m/1", epoch=0, failure=again)
    scored = asyncio.run(
        compute_verdict(
            None, Sample(metric="m", id="1", difficulty=1, input={}, reference={}), episode
        )
    )
    assert (scored.note, scored.note_code) == (GOLD.english, "gold_gives")
    loud = again.with_message(str.upper)
    assert loud.message == GOLD.english.upper()
    assert loud.localizable_message.params["answer"] == "A"


def test_the_reply_of_a_task_and_a_job_keep_their_notes(tmp_path):
    result = {"findings": [{"problem": GOLD}], "scores": [], NESTED.english: 1}
    sent = to_json_with_notes(TaskReply(ok=result, error=NESTED), ordered=False)
    reply = from_json_with_notes(TaskReply, sent)
    assert translate_note(reply.error, "zh") == translate_note(NESTED, "zh")
    assert translate_note(reply.ok["findings"][0]["problem"], "zh") == translate_note(GOLD, "zh")
    assert list(reply.ok) == list(result)
    write_job_status(tmp_path, Job(kind="import", name="n", error=GOLD, result=result))
    job = _read_job_status(tmp_path)
    assert isinstance(job.error, Note)
    assert isinstance(job.result["findings"][0]["problem"], Note)


def test_a_task_in_a_process_of_its_own_answers_in_notes(tmp_path):
    location = {"benchmark": "no_such", "path": str(tmp_path)}
    with pytest.raises(UsageError) as caught:
        call_task("gold", {"location": location}, settings_in(tmp_path), int, seconds=120)
    assert str(caught.value).code == "bundle_unknown"


@each_row("code", [code for code in CODES if re.match("gold_|upload_(?!cell_json)", code)])
def test_the_hint_on_a_problem_of_an_upload_does_not_hang_on_its_wording(code):
    note = Note(code, **dict.fromkeys(fields(load_catalogue("en")[f"note.{code}"]), "x"))
    by_words = find_error_hint(note.english)
    if code == "upload_here_twice":  # its words end as those on a field that occurs twice do
        by_words = "datasets.hint.twice"
    assert find_error_hint(note) in (by_words, "datasets.hint.gold") or by_words.endswith("other")
    assert find_error_hint(Note("located", location="m/1", problem=note)) == find_error_hint(note)
