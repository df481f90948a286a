"""Results kept on the Hub: sent once, taken back whole, and nothing here is ever lost to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from evalcore.access.policy import OPERATOR
from evalcore.errors import UsageError
from evalcore.exchange.hub_datasets import NOTE_FILE
from evalcore.exchange.hub_store import push as pushing
from evalcore.exchange.hub_store.pull import pull_results
from evalcore.exchange.hub_store.push import push_results
from evalcore.records import Sample, Verdict
from evalcore.runner import client
from evalcore.settings import Settings
from evalcore.store import hub_state
from evalcore.store.journal import Journal
from evalcore.store.run_folder import RunFolder, StoredVerdict
from evalcore.target_cards import TargetCard, load_cards, save_card
from evalcore.views import stored_boards
from evalcore.views.boards import list_boards
from tests.support.bundles import finished
from tests.support.hub_repository import REPO, TOKEN, Store, serving
from tests.support.stored_runs import BENCHMARK, finish, plan, spec_of

pytestmark = pytest.mark.slow

FIRST, SECOND = "20260101-100000-aaaaaa", "20260102-100000-bbbbbb"


@pytest.fixture
def hub(monkeypatch):
    with serving(Store()) as store:
        monkeypatch.setenv("HF_ENDPOINT", store.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("EVALBOARD_HUB_KEY", raising=False)
        yield store


def settings_of(folder: Path) -> Settings:
    return Settings(data=str(folder), shipped=str(folder / "none"), hub_repo=REPO, retry_base=0.001)


@pytest.fixture
def here(tmp_path) -> Settings:
    return settings_of(tmp_path / "here")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but those of this machine alone."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".json", ".jsonl")
    }


def ranking(settings: Settings) -> list[str]:
    return [
        stored_boards.board_ranking(settings, board).to_csv()
        for board in list_boards(stored_boards.load_run_headers(settings), "sql")
    ]


def test_what_was_run_here_comes_back_as_it_was(hub, here, tmp_path):
    runs = [
        finished(here, target, "sql_understanding", max_samples=4)
        for target in ("baseline:sqlglot", "baseline:constant")
    ]
    save_card(here, OPERATOR, "baseline:sqlglot", TargetCard(name="Glot", licence="MIT"))
    own = here.data_dir / "datasets" / "mine" / "案例.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("{}\n", encoding="utf-8")
    before = {run.run_id: contents(run.path) for run in runs}
    board = ranking(here)
    results = push_results(here, progress=lambda line: None)
    assert sorted(results.sent) == sorted(before)
    assert results.extras
    assert hub.private

    empty = settings_of(tmp_path / "empty")
    back = pull_results(empty, progress=lambda line: None)
    assert sorted(back.taken) == sorted(before)
    assert (back.refused, back.kept, back.foreign) == ({}, (), ())
    assert {run: contents(empty.runs_dir / run) for run in before} == before
    assert {header.origin for header in stored_boards.load_run_headers(empty)} == {"executed"}
    assert ranking(empty) == board
    assert board
    assert load_cards(empty)["baseline:sqlglot"].name == "Glot"
    assert (empty.data_dir / "datasets" / "mine" / "案例.jsonl").read_text() == "{}\n"
    assert not list(empty.data_dir.glob(".hub-scratch*"))


def test_what_is_there_is_not_sent_again(hub, here):
    finish(here.runs_dir, FIRST)
    assert push_results(here).sent == (FIRST,)
    commits, uploads = len(hub.commits), hub.count("PUT")
    again = push_results(here)
    assert (again.sent, again.same, again.extras) == ((), 1, False)
    assert (len(hub.commits), hub.count("PUT")) == (commits, uploads)
    assert pull_results(here).same == 1


def test_a_run_that_changed_gets_another_version_and_the_old_one_stays(hub, here, tmp_path):
    folder = finish(here.runs_dir, FIRST)
    push_results(here)
    other = settings_of(tmp_path / "other")
    pull_results(other)
    first = set(hub.files)
    rescored(folder)
    assert push_results(here).sent == (FIRST,)
    assert first < set(hub.files)
    assert sorted(name.split("/")[2][:6] for name in hub.files) == ["000001", "000002"]
    results = pull_results(other)  # it holds the first version unchanged
    assert (results.renewed, results.kept) == ((FIRST,), ())
    assert contents(other.runs_dir / FIRST) == contents(folder.path)


def test_a_run_that_differs_here_is_left_as_it_is(hub, here, tmp_path):
    folder = finish(here.runs_dir, FIRST)
    push_results(here)
    other = settings_of(tmp_path / "other")
    pull_results(other)
    rescored(folder)
    push_results(here)
    changed = RunFolder(other.runs_dir / FIRST)
    rescored(changed, "s9")
    before = contents(changed.path)
    results = pull_results(other)
    assert (results.kept, results.renewed) == ((FIRST,), ())
    assert contents(changed.path) == before


def test_a_deleted_run_stays_deleted_until_it_is_restored(hub, here, tmp_path, monkeypatch):
    monkeypatch.setattr("evalcore.runner.jobs.schedule_push", lambda settings: None)
    finish(here.runs_dir, FIRST)
    push_results(here)
    client.delete_run(FIRST, here, visitor=OPERATOR)
    assert pull_results(here).taken == ()
    assert push_results(here).removed == (FIRST,)
    assert push_results(here).removed == ()
    assert pull_results(settings_of(tmp_path / "empty")).taken == ()
    client.restore_run(FIRST, here, visitor=OPERATOR)
    assert push_results(here).sent == (FIRST,)
    assert pull_results(settings_of(tmp_path / "later")).taken == (FIRST,)


def test_a_run_that_has_not_ended_waits(hub, here):
    plan(here.runs_dir, FIRST)
    assert push_results(here).sent == ()
    with pytest.raises(UsageError, match="has not ended"):
        push_results(here, runs=[FIRST])
    with pytest.raises(UsageError, match="no run"):
        push_results(here, runs=[SECOND])


def test_named_runs_go_alone(hub, here):
    finish(here.runs_dir, FIRST)
    finish(here.runs_dir, SECOND)
    results = push_results(here, runs=[SECOND])
    assert (results.sent, results.extras) == ((SECOND,), False)


def test_a_kill_between_commits_loses_nothing(hub, here, monkeypatch):
    monkeypatch.setattr(pushing, "_AT_ONCE", 1)
    finish(here.runs_dir, FIRST)
    finish(here.runs_dir, SECOND)
    message = []

    def killed(line: str) -> None:
        message.append(line)
        if len(message) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push_results(here, progress=killed)
    assert len(hub.files) == 1
    again = push_results(here)
    assert (len(again.sent), again.same) == (1, 1)
    assert {name.split("/")[1] for name in hub.files} == {FIRST, SECOND}


def test_what_a_killed_pull_left_is_swept(hub, here):
    left = here.data_dir / ".hub-scratch-0123"
    left.mkdir(parents=True)
    (left / "torn").write_bytes(b"x")
    pull_results(here)
    assert not left.exists()


def test_a_commit_of_somebody_else_meanwhile_makes_it_look_again(hub, here):
    finish(here.runs_dir, FIRST)
    hub.before_commit = lambda: hub.add({"README.md": b"about"})
    assert push_results(here).sent == (FIRST,)
    assert len(hub.files) == 2


def test_texts_of_gated_cases_go_to_no_public_repository(hub, here):
    samples = [Sample(metric="m", id="1", input={"question": "secret"}, meta={"gated": True})]
    folder = finish(here.runs_dir, FIRST)
    shutil.rmtree(folder.path)
    spec = spec_of(FIRST)
    folder.create(spec, [(BENCHMARK, sample) for sample in samples])
    other = finish(here.runs_dir, SECOND)
    folder.write_summary(msgspec.structs.replace(other.read_summary(), run_id=FIRST))
    hub.exists, hub.private = True, False
    results = push_results(here)
    assert results.sent == (SECOND,)
    assert "gated" in results.held[FIRST]
    assert hub_state.read_hub_state(here).held == results.held
    hub.private = True
    assert push_results(here).sent == (FIRST,)


def test_fetched_data_sets_stay_here_and_own_ones_out_of_public_sight(hub, here):
    for name in ("fetched", "mine"):
        (here.data_dir / "datasets" / name).mkdir(parents=True)
        (here.data_dir / "datasets" / name / "cases.jsonl").write_text(name, encoding="utf-8")
    (here.data_dir / "datasets" / "fetched" / NOTE_FILE).write_text("{}", encoding="utf-8")
    hub.exists, hub.private = True, False
    assert not push_results(here).extras
    hub.private = True
    assert push_results(here).extras
    (content,) = hub.files.values()
    assert b"mine/cases.jsonl" in content
    assert b"fetched" not in content


def test_a_file_with_a_key_of_this_machine_stays_here(hub, here, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "a-key-nobody-may-see")
    folder = finish(here.runs_dir, FIRST)
    folder.write_card({"server": "said a-key-nobody-may-see"})
    results = push_results(here)
    assert results.held == {FIRST: "card.json contains a key of this machine"}
    assert hub.files == {}


def test_links_and_files_of_this_machine_stay_here(hub, here, tmp_path):
    folder = finish(here.runs_dir, FIRST)
    (tmp_path / "outside.json").write_text('"outside"', encoding="utf-8")
    (folder.path / "linked.json").symlink_to(tmp_path / "outside.json")
    folder.log_path.write_text("log of this machine", encoding="utf-8")
    push_results(here)
    (content,) = hub.files.values()
    assert b"linked" not in content
    assert b"worker.log" not in content


def test_cards_of_both_sides_are_kept(hub, here, tmp_path):
    save_card(here, OPERATOR, "openai:a", TargetCard(name="from here"))
    push_results(here)
    other = settings_of(tmp_path / "other")
    save_card(other, OPERATOR, "openai:a", TargetCard(name="mine"))
    save_card(other, OPERATOR, "openai:b", TargetCard(name="new"))
    push_results(other)  # a folder that never took anything back does so first
    assert {key: card.name for key, card in load_cards(other).items()} == {
        "openai:a": "mine",
        "openai:b": "new",
    }
    assert pull_results(here).extras == ("targets.json",)
    assert {key: card.name for key, card in load_cards(here).items()} == {
        "openai:a": "from here",
        "openai:b": "new",
    }


def rescored(folder: RunFolder, scoring: str = "s2") -> None:
    """The run with other verdicts, as a rescoring leaves it."""
    with Journal(folder.verdicts_dir(scoring) / "w1.jsonl") as journal:
        verdict = Verdict(metric="execution_accuracy", id="1", epoch=0, outcome="passed", score=1.0)
        journal.append(StoredVerdict(BENCHMARK, verdict))
    folder.write_summary(msgspec.structs.replace(folder.read_summary(), scoring=scoring))
