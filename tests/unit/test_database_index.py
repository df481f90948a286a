"""The index in PostgreSQL: whose rows are whose, what is never shown, and a database that is away.
`test_index.py` runs the same tests on it as on the file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from evalcore.access.redaction import build_redactor
from evalcore.errors import IndexFileError, UsageError
from evalcore.settings import Settings, load_settings
from evalcore.store.index import Index, load_headers, open_index, record_run
from evalcore.store.index_stores import PostgresStore, describe_url, scrub_url
from tests.support import stored_runs
from tests.support.databases import database_server, database_url  # noqa: F401

PASSWORD = "p@ss:w/rd with-blanks"
AWAY = f"postgresql://board:{quote(PASSWORD, safe='')}@127.0.0.1:1/boards?sslpassword=hunter22222"


def settings_at(path: Path, url: str) -> Settings:
    return Settings(data=str(path), shipped=str(path / "none"), index=url)


def ids(settings: Settings) -> list[str]:
    return [header.run_id for header in load_headers(settings)]


def test_runs_are_recorded_and_listed_by_the_database(tmp_path, database_url):  # noqa: F811
    settings = settings_at(tmp_path / "data", database_url)
    record_run(settings, stored_runs.finish(settings.runs_dir, "run-1"))
    assert ids(settings) == ["run-1"]
    assert not settings.index_path.exists()
    assert open_index(settings).is_readable()
    again = Index(settings.index_path, (), store=PostgresStore(database_url, settings.runs_dir))
    assert [header.run_id for header in again.headers()] == ["run-1"]


def test_data_folders_share_a_database_and_no_rows(tmp_path, database_url):  # noqa: F811
    first = settings_at(tmp_path / "one", database_url)
    second = settings_at(tmp_path / "two", database_url)
    record_run(first, stored_runs.finish(first.runs_dir, "run-1"))
    record_run(second, stored_runs.finish(second.runs_dir, "run-2"))
    assert (ids(first), ids(second)) == (["run-1"], ["run-2"])
    open_index(first).rebuild()
    assert ids(second) == ["run-2"]


def test_machines_with_one_data_folder_share_its_rows(tmp_path, database_url):  # noqa: F811
    """The same folder, mounted at two places."""
    settings = settings_at(tmp_path / "data", database_url)
    record_run(settings, stored_runs.finish(settings.runs_dir, "run-1"))
    (tmp_path / "elsewhere").symlink_to(settings.data_dir)
    other = PostgresStore(database_url, tmp_path / "elsewhere" / "runs")
    assert other.read_rows() is not None
    before = open_index(settings).signature()
    Index(settings.index_path, (), store=other).remove("run-1")
    assert open_index(settings).signature() != before


def test_a_database_that_is_away_hides_no_run_and_shows_no_password(tmp_path, caplog):
    settings = settings_at(tmp_path / "data", AWAY)
    stored_runs.finish(settings.runs_dir, "run-1")
    assert ids(settings) == ["run-1"], "the run folders are the truth"
    assert not open_index(settings).is_readable()
    with pytest.raises(IndexFileError) as caught:
        open_index(settings).rebuild()
    shown = f"{caught.value} {caplog.text}"
    assert "postgresql://127.0.0.1:1/boards" in shown
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "hunter22222", "board:"):
        assert secret not in shown


def test_messages_of_a_driver_lose_the_address_and_its_secrets():
    message = f'connection to "{AWAY}" failed:\n password "{PASSWORD}" is wrong'
    text = scrub_url(message, AWAY)
    assert PASSWORD not in text
    assert quote(PASSWORD, safe="") not in text
    assert describe_url(AWAY) == "postgresql://127.0.0.1:1/boards"
    assert describe_url("postgresql://u:p@[::1]:5432/b") == "postgresql://[::1]:5432/b"


@pytest.mark.parametrize("password", ["pa/ss12", "12/ss12", "se#cret", "se?cret"])
def test_a_password_with_unquoted_signs_is_hidden(tmp_path, password):
    """SQLAlchemy takes it, so it must not be taken for a host, a port or a path."""
    url = f"postgresql://board:{password}@127.0.0.1:1/boards"
    assert describe_url(url) == "postgresql://127.0.0.1:1/boards"
    assert PostgresStore(url, tmp_path).title == describe_url(url)
    assert password not in scrub_url(f"wrong: {password}", url)


def test_several_hosts_are_named():
    url = "postgresql://board:secret@first:5432,second:5433/boards"
    assert describe_url(url) == "postgresql://first:5432,second:5433/boards"


def test_exports_and_logs_hide_the_address(tmp_path):
    redactor = build_redactor(settings_at(tmp_path, AWAY))
    assert PASSWORD not in redactor.redact_text(f"index at {AWAY}")
    assert AWAY not in redactor.redact_text(f"index at {AWAY}")


@pytest.mark.parametrize("url", ["mysql://h/d", "/var/lib/index.json", "postgresql"])
def test_another_address_is_refused_without_repeating_it(tmp_path, url):
    with pytest.raises(UsageError, match="EVALBOARD_INDEX") as caught:
        open_index(settings_at(tmp_path, url))
    assert url == "postgresql" or url not in str(caught.value)


def test_the_setting_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("EVALBOARD_INDEX", "postgresql://host/boards")
    monkeypatch.chdir(tmp_path)
    settings = load_settings(tmp_path)
    assert settings.index == "postgresql://host/boards"
    assert msgspec.structs.replace(settings, index="").index == ""
