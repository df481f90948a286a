"""Own data sets on the disk: whole or not at all, replaced with a way back, chosen by name."""

import json
from uuid import UUID

import msgspec
import pytest

from evalcore import catalog
from evalcore.access.policy import ANYBODY, OPERATOR, AccessDenied
from evalcore.errors import UsageError
from evalcore.runner import jobs
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import DatasetLocation, OwnCard, Upload
from evalcore.runner.plan import find_dataset, plan_run
from evalcore.runner.run_request import RunRequest
from evalcore.settings import Settings
from evalcore.store.datasets import check_card, install_own_dataset, load_own_cards
from evalcore.views import datasets

pytestmark = pytest.mark.slow

KEY = "sql_understanding"
LINE = (
    '{"case_id": "%s", "difficulty_level": "2", "dialect": "sqlite", '
    '"sql": "SELECT 1 AS a", "expected": '
    '{"result_type": "select", "columns": ["a"], "rows": [[1]]}}\n'
)


@pytest.fixture
def settings(tmp_path):
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


def keep(settings, *ids, name="mine", replace=False, visitor=OPERATOR):
    text = "".join(LINE % item for item in ids)
    card = OwnCard(KEY, name, who="me", note="<b>![x](http://x)</b>")
    upload = Upload(KEY, "mine.jsonl", text.encode(), "execution_accuracy")
    return data_client.save_upload(upload, card, visitor, settings, replace=replace)


def test_a_kept_set_is_listed_read_and_run(settings):
    result, card = keep(settings, "a", "b")
    assert result.ok
    assert (card.samples, card.who, card.file) == (2, "me", "mine.jsonl")
    dataset_entry = {e.key: e for e in datasets.list_dataset_entries(settings)}[f"own:{KEY}:mine"]
    assert (dataset_entry.dataset, dataset_entry.origin, dataset_entry.card.note) == (
        "mine",
        "own",
        "<b>![x](http://x)</b>",
    )
    assert datasets.read_dataset_summary(settings, dataset_entry) is None
    data_client.ensure_indexes(
        [DatasetLocation(dataset_entry.benchmark, dataset_entry.path)], settings
    )
    numbers = datasets.read_dataset_summary(settings, dataset_entry)
    assert (numbers.samples, numbers.hash, numbers.problem) == (2, card.hash, "")
    assert numbers.levels == {"execution_accuracy": {"2": 2}}
    frame = datasets.load_dataset_cases(settings, dataset_entry)
    assert list(frame["id"]) == ["a", "b"]
    assert list(datasets.filter_dataset_cases(frame, text="B")["id"]) == ["b"]
    assert datasets.filter_dataset_cases(frame, difficulty="1").empty
    sample, hidden = datasets.load_dataset_case(settings, dataset_entry, list(frame.iloc[1]))
    assert (sample.id, hidden) == ("b", False)
    request = RunRequest(target="control:null", benchmarks=(KEY,), dataset="mine")
    made = plan_run(request, settings)
    assert made.spec.benchmarks[0].dataset_hash == card.hash
    assert "--dataset mine" in made.spec.command


def test_an_invalid_file_leaves_nothing(settings):
    result, card = keep(settings, "a", "a")
    assert card is None
    assert [(error.line, error.field) for error in result.errors] == [(2, "case_id")]
    assert load_own_cards(settings) == []
    assert list((settings.data_dir / "datasets" / "own").iterdir()) == []


def test_replacing_needs_a_word_and_keeps_the_former_version(settings):
    keep(settings, "a")
    with pytest.raises(UsageError, match="already"):
        keep(settings, "a", "b")
    keep(settings, "a", "b", replace=True)
    assert load_own_cards(settings)[0].samples == 2
    [version] = datasets.list_trashed_versions(settings, KEY, "mine")
    data_client.restore_dataset(KEY, "mine", version, OPERATOR, settings)
    assert load_own_cards(settings)[0].samples == 1
    [other] = datasets.list_trashed_versions(settings, KEY, "mine")  # the two changed places
    data_client.restore_dataset(KEY, "mine", other, OPERATOR, settings)
    assert load_own_cards(settings)[0].samples == 2


def test_a_removed_set_comes_back(settings):
    keep(settings, "a")
    version = data_client.remove_dataset(KEY, "mine", OPERATOR, settings)
    assert datasets.list_added_datasets(settings, KEY) == []
    with pytest.raises(UsageError, match="no dataset 'mine'"):
        find_dataset("mine", catalog.benchmark_card(KEY), settings)
    with pytest.raises(UsageError, match="you have no dataset"):
        data_client.remove_dataset(KEY, "mine", OPERATOR, settings)
    with pytest.raises(UsageError, match="no earlier version"):
        data_client.restore_dataset(KEY, "mine", "../..", OPERATOR, settings)
    data_client.restore_dataset(KEY, "mine", version, OPERATOR, settings)
    assert find_dataset("mine", catalog.benchmark_card(KEY), settings).is_dir()


def test_only_a_few_former_versions_stay(settings, tmp_path):
    for number in range(8):
        ready = tmp_path / f"ready{number}"
        ready.mkdir()
        install_own_dataset(settings, OPERATOR, ready, OwnCard(KEY, "mine"), replace=True)
    assert len(datasets.list_trashed_versions(settings, KEY, "mine")) == 5


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "A", ".x", "-x", "x" * 41, "a b", "sql_understanding"]
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(settings, name):
    with pytest.raises(UsageError, match="name"):
        keep(settings, "a", name=name)
    assert not (settings.data_dir / "datasets").exists()


def test_a_card_of_too_many_words_is_refused(settings):
    with pytest.raises(UsageError, match="note: at most"):
        check_card(settings, OwnCard(KEY, "mine", note="x" * 1_001))


def test_a_visitor_who_may_not_changes_nothing(settings):
    keep(settings, "a")
    closed = msgspec.structs.replace(settings, access="read-only")
    upload = Upload(KEY, "x.jsonl", b"{}", "")
    for act in (
        lambda: keep(closed, "b", name="other", visitor=ANYBODY),
        lambda: data_client.validate_upload(upload, ANYBODY, closed),
        lambda: data_client.remove_dataset(KEY, "mine", ANYBODY, closed),
        lambda: data_client.restore_dataset(KEY, "mine", "x", ANYBODY, closed),
        lambda: data_client.start_fetch("bfcl-v4", {}, ANYBODY, closed),
        lambda: jobs.cancel_job(closed, "fetch", "bfcl-v4", ANYBODY),
        lambda: data_client.start_confirm("x", DatasetLocation(KEY, "x"), ANYBODY, closed),
        lambda: jobs.cancel_job(closed, "confirm", "x", ANYBODY),
    ):
        with pytest.raises(AccessDenied, match="read-only"):
            act()
    assert [card.name for card in load_own_cards(settings)] == ["mine"]


def test_a_fetched_set_is_known_by_its_note(settings):
    folder = settings.data_dir / "datasets" / "gaia-test"
    folder.mkdir(parents=True)
    (folder / "source.json").write_text(
        '{"dataset": "o/n", "part": "test", "commit": "abc", "licence": "gated", "files": {}}'
    )
    stranger = settings.data_dir / "datasets" / "unknown"
    stranger.mkdir()
    (stranger / "source.json").write_text("{torn")
    [item] = datasets.list_added_datasets(settings, "gaia")
    assert (item.dataset, item.options, item.licence) == ("gaia-test", {"split": "test"}, "gated")
    assert find_dataset("gaia-test", catalog.benchmark_card("gaia"), settings) == folder
    data_client.ensure_indexes([DatasetLocation(item.benchmark, item.path, item.options)], settings)
    assert "has no split" in datasets.read_dataset_summary(settings, item).problem


def test_gated_text_is_shown_to_nobody_but_whom_the_setting_lets(settings):
    question = {
        "task_id": str(UUID(int=7)),
        "Question": "SECRET words",
        "Level": 1,
        "Final answer": "SECRET",
    }
    upload = Upload("gaia", "q.jsonl", f"{json.dumps(question)}\n".encode())
    _, card = data_client.save_upload(upload, OwnCard("gaia", "held"), OPERATOR, settings)
    dataset_entry = {e.key: e for e in datasets.list_dataset_entries(settings)}["own:gaia:held"]
    data_client.ensure_indexes(
        [DatasetLocation(dataset_entry.benchmark, dataset_entry.path)], settings
    )
    assert (card.samples, datasets.read_dataset_summary(settings, dataset_entry).gated) == (1, 1)
    frame = datasets.load_dataset_cases(settings, dataset_entry)
    assert "SECRET" not in frame.to_csv()
    sample, hidden = datasets.load_dataset_case(settings, dataset_entry, list(frame.iloc[0]))
    assert (hidden, sample.input, sample.reference) == (True, {}, {})
    shown = msgspec.structs.replace(settings, show_gated=True)
    sample, hidden = datasets.load_dataset_case(shown, dataset_entry, list(frame.iloc[0]))
    assert (hidden, sample.reference["answer"]) == (False, "SECRET")
