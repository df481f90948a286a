"""The page of the data sets: cards, cases, hostile uploads, fetching, in both languages."""

import json
import re

import msgspec
import pytest

from evalcore import catalog
from evalcore.access.policy import OPERATOR
from evalcore.records import utc_now
from evalcore.runner import jobs, uploads
from evalcore.runner.jobs import data_client
from evalcore.runner.jobs.data_client import OwnCard, Upload
from evalcore.settings import ROOT, Settings
from evalcore.views import datasets
from pages.shared import display_names
from tests.support.pages import open_page, store, table, words

pytestmark = pytest.mark.slow

__all__ = ["store"]  # a fixture

LANGUAGES = {"en": "Datasets", "zh": "数据集"}
KEY, PART = "sql_understanding", "execution_accuracy"
CANARY = "![x](http://evil.example/x.png) <script>alert(1)</script> :red[x]"


@pytest.fixture(autouse=True)
def shared_cache(store, tmp_path_factory):
    """What is read of the bundled sets is read once for all tests of this file."""
    home = tmp_path_factory.getbasetemp() / "dataset-cache"
    home.mkdir(exist_ok=True)
    store.data_dir.mkdir(parents=True, exist_ok=True)
    (store.data_dir / "cache").symlink_to(home)


def cases(*changes):
    rows = uploads.bundled_rows(KEY, PART, Settings())
    return "".join(
        json.dumps(row | change) + "\n" for row, change in zip(rows, changes, strict=False)
    ).encode()


def keep(store, content=None, name="mine", note=CANARY):
    card = OwnCard(KEY, name, who=CANARY[:60], note=note)
    upload = Upload(KEY, "mine.jsonl", content or cases({}, {}, {}), PART)
    result, stored = data_client.save_upload(upload, card, OPERATOR, store)
    assert stored is not None, result.errors
    return stored


def hand_in(app, content, name="mine.jsonl"):
    app.get("file_uploader")[0].set_value((name, content, "application/octet-stream")).run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bundled_sets_are_there_without_any_run(store, language):
    app = open_page("datasets", language)
    assert app.title[0].value == LANGUAGES[language]
    folder = ROOT / "datasets" / KEY
    cases = sum(len(path.read_text().splitlines()) for path in folder.glob("*.jsonl"))
    card = re.search(r"`([0-9a-f]{16})`", (folder / "README.md").read_text())
    assert f"**{cases}**" in words(app)
    assert card is not None
    assert card[1] in words(app)
    assert {button.key for button in app.button} >= {f"datasets.open.bundled:{KEY}"}
    app.button(key="datasets.open.bundled:gaia").click().run()
    assert app.query_params["set"] == "bundled:gaia"
    assert app.header[0].value == "GAIA"


@pytest.mark.parametrize("language", LANGUAGES)
def test_cases_are_filtered_opened_and_left_by_the_url(store, language):
    query = {"set": f"bundled:{KEY}", "metric": PART, "difficulty": "1", "q": "count"}
    app = open_page("datasets", language, **query)
    shown = table(app, "text")
    assert 0 < len(shown) <= 25
    assert set(shown["difficulty"]) == {1}
    app = open_page("datasets", language, set=f"bundled:{KEY}", case=f"{PART}/ea-001")
    assert "#### ea\\-001" in words(app)
    assert any("CREATE TABLE loans" in code.value for code in app.code)
    app.button(key="datasets.case.next").click().run()
    assert app.query_params["case"] == f"{PART}/ea-002"
    app.button(key="datasets.case.close").click().run()
    assert "case" not in app.query_params
    app.get("pagination")[0].set_value(2).run()
    assert app.query_params["p"] == "2"
    assert table(app, "text")["id"].iloc[0] == "ea-026"


@pytest.mark.parametrize(
    "query",
    [
        {"set": "own:nothing:here"},
        {"set": f"bundled:{KEY}", "case": "no/such", "p": "99999", "metric": "x", "q": "((("},
        {"view": "nowhere", "benchmark": "none", "origin": "none"},
        {"set": f"bundled:{KEY}", "p": "-3"},
    ],
)
def test_an_odd_link_gets_a_page(store, query):
    assert open_page("datasets", **query).title[0].value == "Datasets"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bad_file_is_told_by_line_and_field_and_not_kept(store, language):
    app = open_page("datasets", language, view="add")
    bad = cases({}, {"sql": "", "difficulty_level": "9"}) + b"{oops\n"
    hand_in(app, bad)
    errors = table(app, "hint")
    assert list(errors["line"]) == [2, 2, 3]
    assert list(errors["field"])[:2] == ["difficulty_level", "sql"]
    assert {"en": "is missing", "zh": "缺失"}[language] in errors["problem"].iloc[1]
    assert {"en": "Fill it in", "zh": "请填写"}[language] in errors["hint"].iloc[1]
    assert "datasets.name.mine.jsonl" not in {field.key for field in app.text_input}
    assert datasets.list_added_datasets(store, KEY) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_that_an_engine_contradicts_is_told_and_not_kept(store, language):
    app = open_page("datasets", language, view="add")
    wrong = {"result_type": "select", "columns": ["a"], "rows": [[2]]}
    hand_in(app, cases({}, {"sql": "SELECT 1 AS a", "expected": wrong}))
    errors = table(app, "hint")
    assert list(errors["line"])[:1] == [2]
    assert errors["field"].iloc[0] == "expected"
    assert {"en": "the engine returns", "zh": "引擎"}[language] in errors["problem"].iloc[0]
    assert {"en": "Fix the expected answer", "zh": "期望答案"}[language] in errors["hint"].iloc[0]
    assert "datasets.name.mine.jsonl" not in {field.key for field in app.text_input}


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_that_nothing_here_runs_are_named(store, language):
    app = open_page("datasets", language, view="add")
    hand_in(app, cases({}, {"dialect": "oracle", "counterexamples": []}))
    about = {"en": "Expected answers not confirmed: 1", "zh": "期望答案：1 个"}
    assert about[language] in app.warning[0].value
    assert "datasets.name.mine.jsonl" in {field.key for field in app.text_input}


def test_a_good_file_is_kept_shown_and_deleted_with_a_way_back(store):
    app = hand_in(open_page("datasets", view="add"), cases({}, {"case_id": CANARY}))
    assert "All cases are valid (2)" in app.success[0].value
    assert table(app, "text")["id"].iloc[1].startswith("![x]")
    app.text_area[0].set_value(CANARY)
    next(button for button in app.button if "Save dataset" in button.label).click().run()
    assert not app.exception
    assert app.query_params["set"] == f"own:{KEY}:mine"
    assert app.header[0].value == "mine"
    assert CANARY not in words(app)  # neither read as Markdown nor as HTML
    evaluated = next(button for button in app.button if button.label == "Evaluate on it")
    evaluated.click().run()
    assert app.query_params == {"benchmark": KEY, "dataset": "mine"}
    assert not app.button(key="launch.do.start").disabled
    app = open_page("datasets", set=f"own:{KEY}:mine")
    app.button(key="datasets.remove").click().run()
    assert datasets.list_added_datasets(store, KEY) == []
    app.button(key="datasets.undo").click().run()
    assert [added_dataset.name for added_dataset in datasets.list_added_datasets(store, KEY)] == [
        "mine"
    ]


@pytest.mark.full
def test_a_taken_name_asks_before_it_is_replaced(store):
    keep(store)
    app = hand_in(open_page("datasets", view="add"), cases({}))
    assert next(button for button in app.button if "Save dataset" in button.label).disabled
    app.checkbox[0].check().run()
    next(button for button in app.button if "Save dataset" in button.label).click().run()
    assert app.query_params["set"] == f"own:{KEY}:mine"
    assert datasets.list_trashed_versions(store, KEY, "mine")
    app.button(key="datasets.restore").click().run()
    assert datasets.list_added_datasets(store, KEY)[0].card.samples == 3


def test_csv_and_a_name_that_says_the_kind(store):
    row = uploads.bundled_rows(KEY, "sql_identification", Settings())[0]
    text = "case_id,difficulty_level,dialect,sql,expected\n" + (
        'x,1,sqlite,SELECT 1,"' + json.dumps(row["expected"]).replace('"', '""') + '"\n'
    )
    app = hand_in(open_page("datasets", view="add"), text.encode(), "sql_identification.csv")
    assert "All cases are valid (1)" in app.success[0].value
    assert "SQL identification" in words(app)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_own_set_can_be_chosen_on_launch(store, language):
    keep(store)
    app = open_page("launch", language, benchmark=KEY, dataset="mine")
    assert app.button_group(key="launch.dataset").value == "added"
    assert app.selectbox(key="launch.dataset_added").value == "mine"
    assert not app.button(key="launch.do.start").disabled
    assert app.query_params["dataset"] == "mine"
    app.button_group(key="launch.dataset").set_value("bundled").run()
    assert "dataset" not in app.query_params


@pytest.mark.parametrize("language", LANGUAGES)
def test_fetching_shows_every_state(store, language, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    for name, state in (("gaia-test", "failed"), ("bfcl-v3", "cancelled")):
        folder = jobs.resolve_job_folder(store, "fetch", name)
        folder.mkdir(parents=True)
        error = "gaia needs a token: accept its terms at x and set HF_TOKEN"
        jobs.write_job_status(folder, jobs.Job("fetch", name, state, at=utc_now(), error=error))
    asked = []
    monkeypatch.setattr(data_client, "start_fetch", lambda *args: asked.append(args))
    app = open_page("datasets", language, view="fetch")
    text = words(app)
    assert {"en": "Not fetched", "zh": "获取失败"}[language] in text
    assert {"en": "No partial files", "zh": "未保留不完整"}[language] in text
    app.text_input(key="typed_key.HF_TOKEN").set_value("hf_typed").run()
    app.button(key="datasets.fetch.gaia-test").click().run()
    assert [(args[0], args[1]) for args in asked] == [("gaia-test", {"HF_TOKEN": "hf_typed"})]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_read_only_board_shows_and_changes_nothing(store, language, monkeypatch):
    keep(store)
    monkeypatch.setenv("EVALBOARD_ACCESS", "read-only")
    app = open_page("datasets", language, view="add")
    assert not app.get("file_uploader")
    assert {"en": "read\\-only", "zh": "只读"}[language] in words(app)
    app = open_page("datasets", language, view="fetch")
    fetches = [button for button in app.button if str(button.key).startswith("datasets.fetch.")]
    assert fetches
    assert all(fetch.disabled for fetch in fetches)
    app = open_page("datasets", language, set=f"own:{KEY}:mine")
    assert app.button(key="datasets.remove").disabled
    assert app.button(key="datasets.confirm").disabled


def test_a_confirmation_is_shown_with_its_engines_or_its_problems(store):
    stored = keep(store)
    folder = jobs.resolve_job_folder(store, "confirm", f"own.{KEY}.mine")
    folder.mkdir(parents=True)
    result = {"samples": 3, "hash": stored.hash, "engines": {"sqlite": "3"}, "problems": 0}
    done = jobs.Job("confirm", f"own.{KEY}.mine", "done", at=utc_now(), result=result)
    jobs.write_job_status(folder, done)
    app = open_page("datasets", set=f"own:{KEY}:mine")
    assert "Every case confirmed (3)" in app.success[0].value
    finding = {"sample": CANARY, "problem": CANARY}
    bad = result | {"problems": 1, "findings": [finding]}
    jobs.write_job_status(folder, jobs.Job("confirm", done.name, "done", at=utc_now(), result=bad))
    app = open_page("datasets", set=f"own:{KEY}:mine")
    assert table(app, "problem")["problem"].iloc[0].startswith("![x]")
    stale = jobs.Job("confirm", done.name, "done", at=utc_now(), result=bad | {"hash": "other"})
    jobs.write_job_status(folder, stale)
    assert "another version" in words(open_page("datasets", set=f"own:{KEY}:mine"))


def test_a_broken_own_set_is_shown_and_can_be_deleted(store):
    keep(store)
    dataset_entry = {e.key: e for e in datasets.list_dataset_entries(store)}[f"own:{KEY}:mine"]
    (dataset_entry.folder / f"{PART}.jsonl").write_text("{torn\n")
    app = open_page("datasets", set=dataset_entry.key)
    assert "cannot be read" in app.error[0].value
    app.button(key="datasets.remove").click().run()
    assert datasets.list_added_datasets(store, KEY) == []


def test_a_set_whose_extra_is_absent_says_so_until_it_is_installed(store, monkeypatch):
    entry = next(e for e in datasets.list_dataset_entries(store) if e.key == "bundled:academic")
    versions = set()
    for library, is_missing in (("no_such_library", True), ("json", False)):
        card = msgspec.structs.replace(catalog.benchmark_cards()["academic"], library=library)
        cards = {**catalog.benchmark_cards(), "academic": card}
        monkeypatch.setattr(catalog, "benchmark_cards", lambda cards=cards: cards)
        monkeypatch.setattr(display_names, "benchmark_cards", lambda cards=cards: cards)
        assert ("Needs an extra" in words(open_page("datasets"))) is is_missing
        opened = open_page("datasets", set=entry.key)
        assert any("Needs an extra" in each.value for each in opened.warning) is is_missing
        assert not (is_missing and opened.error)
        versions.add(datasets.compute_dataset_version(entry))
    assert len(versions) == 2  # what was found without it is not what is shown with it


def test_the_bundled_cards_are_those_of_the_project():
    assert {path.parent.name for path in (ROOT / "datasets").glob("*/README.md")} >= {KEY}
