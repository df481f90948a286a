"""A data folder that has taken every kind of damage: all that is whole stays in use, all that is
not is named, and nothing ends in an unexpected error."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from filelock import FileLock
from starlette.testclient import TestClient

from app import PAGES
from evalcore.access.policy import OPERATOR
from evalcore.cli.main import main
from evalcore.runner import client
from evalcore.settings import Settings
from evalcore.store.index import Index, load_headers
from evalcore.views import runs, stored_boards
from tests.support import api, damage, server
from tests.support.boards import settings_in
from tests.support.pages import open_page, words

KINDS = (*damage.BROKEN, *damage.INSIDE)
#: Runs of which a header can be made: the damage is elsewhere.
RANKED = {*damage.WHOLE, *(f"20261031-0900-{kind}" for kind in damage.INSIDE)}


def make_damaged(settings: Settings) -> list[str]:
    """All damage at once; returns how the entries with odd names are shown."""
    damage.whole_store(settings)
    for kind in KINDS:
        damage.damaged_run(settings, kind)
    return damage.odd_names(settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_in(tmp_path_factory.mktemp("damaged"))
    make_damaged(settings)
    return settings


@pytest.fixture
def damaged(made: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The store of all damage, which the app and the command line read."""
    monkeypatch.setenv("EVALBOARD_DATA", made.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", made.shipped)
    monkeypatch.delenv("EVALBOARD_CONFIG", raising=False)
    runs.clear_run_cache()
    return made


@pytest.fixture
def routes() -> TestClient:
    return api.client()


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out + err


@pytest.mark.parametrize("kind", damage.INDEX)
def test_whatever_the_index_is_the_whole_runs_are_ranked(damaged: Settings, kind: str) -> None:
    damage.INDEX[kind](damaged.index_path)
    assert {header.run_id for header in load_headers(damaged)} == RANKED


def test_an_index_that_stays_locked_hides_nothing(damaged: Settings) -> None:
    damaged.index_path.write_bytes(damage.GARBAGE)
    with FileLock(f"{damaged.index_path}.lock"):
        headers = Index(damaged.index_path, [damaged.runs_dir]).headers()
    assert {header.run_id for header in headers} == RANKED
    assert damaged.index_path.read_bytes() == damage.GARBAGE


def test_every_damaged_folder_is_listed_with_a_reason_and_stays_as_it_is(damaged: Settings) -> None:
    rows = {row.run_id: row for row in runs.all_rows(damaged.run_roots)}
    for kind in damage.BROKEN:
        row = rows[f"20261031-0900-{kind}"]
        assert row.state == "broken", kind
        assert row.run_id in row.problem, kind
    for name in ("мой прогон", "UPPER", "\\xff\\xfe-name"):
        assert rows[name].state == "broken"
        assert "not a valid run id" in rows[name].problem
    assert "lost+found" not in rows
    for run_id in damage.WHOLE:
        assert rows[run_id].state == "done"


def test_every_command_does_what_it_can(
    damaged: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, listed = printed(capsys, "list", "runs", "--json")
    assert status == 0
    by_id = {row["run_id"]: row for row in json.loads(listed)}
    for kind in damage.BROKEN:
        assert by_id[f"20261031-0900-{kind}"]["state"] == "broken"
        assert by_id[f"20261031-0900-{kind}"]["problem"]
    assert by_id[damage.WHOLE[0]]["scores"]
    status, listed = printed(capsys, "list", "runs")
    assert status == 0
    assert "restore" in listed
    status, ranked = printed(capsys, "board", "--suite", "sql", "--json")
    assert status == 0
    assert '"openai:whole-0"' in ranked
    assert '"openai:whole-1"' in ranked
    assert not [kind for kind in damage.BROKEN if f'"openai:{kind}"' in ranked]
    assert printed(capsys, "site", "--out", str(tmp_path / "site"))[0] == 0
    status, rebuilt = printed(capsys, "index", "rebuild")
    assert status == 0
    assert f"{len(RANKED)} runs in the index" in rebuilt
    for kind in KINDS:
        run_id = f"20261031-0900-{kind}"
        for arguments in (
            ["show", run_id],
            ["export", run_id, "--format", "md"],
            ["cancel", run_id],
        ):
            status, text = printed(capsys, *arguments)
            assert status in (0, 2, 3), arguments
            if status == 2:
                assert text.startswith("evalcore: "), text
    assert printed(capsys, "show", damage.WHOLE[0])[0] == 0
    assert printed(capsys, "export", damage.WHOLE[0], "--format", "md")[0] == 0


def test_every_route_answers(damaged: Settings, routes: TestClient) -> None:
    for address in ("boards", "ranking?suite=sql", "openapi.json", "runs?limit=100"):
        answer = routes.get(f"{api.V1}/{address}")
        assert answer.status_code == 200, (address, answer.text)
    assert routes.get("/api/v1/health").json()["status"] == "ok"
    states = {row["run_id"]: row["state"] for row in api.items(routes, f"{api.V1}/runs?limit=50")}
    for run_id, state in states.items():
        answer = routes.get(f"{api.V1}/cases", params={"run": run_id})
        assert answer.status_code in (200, 404, 503), (run_id, state)
    whole = routes.get(f"{api.V1}/cases", params={"run": damage.WHOLE[0]})
    assert whole.status_code == 200
    for page in ("", "runs", "target"):
        assert routes.get(f"/share/{page}?run={damage.WHOLE[0]}").status_code == 200


@pytest.mark.sampled(3)
@pytest.mark.parametrize("page", [card.name for card in PAGES])
def test_every_page_opens(damaged: Settings, page: str) -> None:
    headers = stored_boards.load_run_headers(damaged)
    query = {
        "target": {"key": headers[0].identity},
        "compare": {"runs": ",".join(header.run_id for header in headers[:8])},
        "case": {"run": damage.WHOLE[0], "metric": "execution_accuracy", "id": "0"},
    }
    open_page(page, **query.get(page, {}))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", [*[*damage.BROKEN][::4], *damage.INSIDE])
def test_the_page_of_a_damaged_run_says_what_is_wrong(damaged: Settings, kind: str) -> None:
    run_id = f"20261031-0900-{kind}"
    text = words(open_page("runs", run=run_id)).replace("\\", "")
    if kind in damage.BROKEN:
        assert "Restore" in text
        assert run_id in text
    else:
        for name, more in (
            ("case", {"run": run_id, "metric": "execution_accuracy", "id": "3"}),
            ("compare", {"runs": f"{run_id},{damage.WHOLE[0]}"}),
            ("target", {"key": f"openai:{kind}"}),
        ):
            open_page(name, **more)


def test_a_damaged_run_can_be_deleted_and_restored(tmp_path: Path) -> None:
    damaged = settings_in(tmp_path)
    for kind in damage.BROKEN:
        client.delete_run(damage.damaged_run(damaged, kind), damaged, visitor=OPERATOR)
    runs.clear_run_cache()
    left = {row.run_id for row in runs.all_rows(damaged.run_roots)}
    assert not left
    client.restore_run("20261031-0900-spec-binary", damaged, visitor=OPERATOR)
    assert (damaged.runs_dir / "20261031-0900-spec-binary" / "spec.json").is_file()


def test_the_server_starts_over_all_of_it(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))
    make_damaged(settings)
    damage.INDEX["garbage"](settings.index_path)
    with server.serve(tmp_path) as served:
        for path in ("/", "/api/v1/health", "/api/v1/boards", "/api/v1/runs", "/share/runs"):
            with urllib.request.urlopen(f"{served.url}{path}", timeout=30) as answer:
                assert answer.status == 200
        with urllib.request.urlopen(f"{served.url}/api/v1/ranking?suite=sql") as answer:
            identities = {row["identity"] for row in json.load(answer)["items"]}
    assert {"openai:whole-0", "openai:whole-1"} <= identities
