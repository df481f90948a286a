"""Fetching tau2-bench out of a folder or an archive: what is copied and named."""

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from evalcore.benchmarks.base import DatasetSource
from evalcore.benchmarks.tau2_bench.dataset import ALL, load_tau2_samples
from evalcore.errors import UsageError
from evalcore.exchange.tau2_bench import run_tau2_fetch
from evalcore.settings import Settings

DATA = Path(__file__).parents[2] / "datasets" / "tau2_bench"


@pytest.fixture
def checkout(tmp_path):
    """A checkout in upstream's layout, with our own shop and telephone company in it."""
    root = tmp_path / "checkout"
    domains = root / "data" / "tau2" / "domains"
    for name in ("retail", "telecom"):
        shutil.copytree(DATA / name, domains / name)
        rows = (domains / name / "tasks_bundled.jsonl").read_text("utf-8").splitlines()
        tasks = [json.loads(row) for row in rows[:2]]
        file = "tasks.json" if name == "retail" else "tasks_small.json"
        (domains / name / file).write_text(json.dumps(tasks), encoding="utf-8")
    telecom = domains / "telecom"
    (telecom / "policy.md").rename(telecom / "main_policy.md")
    (telecom / "tech_support_manual.md").write_text("Look at the phone.", encoding="utf-8")
    (root / "src").mkdir()
    (root / "src" / "setup.py").write_text("raise SystemExit", encoding="utf-8")
    return root


def fetch(source, tmp_path):
    settings = Settings(data=str(tmp_path / "data"))
    return run_tau2_fetch(settings, None, {"from": str(source)}, lambda line: None)


def pack(root, path):
    """An archive as repositories give them, all below one folder."""
    files = [each for each in sorted(root.rglob("*")) if each.is_file()]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for each in files:
                archive.write(each, f"tau2-1.0/{each.relative_to(root)}")
    else:
        with tarfile.open(path, "w:gz") as archive:
            for each in files:
                archive.add(each, f"tau2-1.0/{each.relative_to(root)}")
    return path


@pytest.mark.parametrize("kind", ["folder", "source.zip", "source.tar.gz"])
def test_data_is_copied_and_what_is_missing_named(checkout, tmp_path, kind):
    source = checkout if kind == "folder" else pack(checkout, tmp_path / kind)
    done = fetch(source, tmp_path)
    assert done.data.samples == {"retail": 2, "telecom": 2}
    assert not any(name.endswith(".py") for name in done.data.files)
    missing = " ".join(done.remarks)
    assert "airline/db.json" in missing
    assert "telecom/tasks.json" in missing
    assert "retail/tasks.json" not in missing
    assert "not upstream's own: data/tau2/domains/retail/db.json" in missing
    samples = load_tau2_samples(DatasetSource(done.data.folder), ALL, "")
    assert {sample.metric for sample in samples} == {"retail", "telecom"}


def test_a_second_fetch_is_refused(checkout, tmp_path):
    fetch(checkout, tmp_path)
    with pytest.raises(UsageError, match="already"):
        fetch(checkout, tmp_path)


def test_what_is_no_checkout_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")
    for source in ("", tmp_path / "empty", tmp_path / "file.txt", tmp_path / "nowhere"):
        with pytest.raises(UsageError):
            fetch(source, tmp_path)
    assert not (tmp_path / "data" / "datasets" / "tau2_bench-official").exists()


def test_no_member_of_an_archive_leaves_the_folder(tmp_path):
    path = tmp_path / "bad.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("../../data/tau2/domains/retail/db.json", "/data/tau2/domains/x/db.json"):
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"{}"))
    with pytest.raises(UsageError):
        fetch(path, tmp_path)
    assert not list(tmp_path.rglob("db.json"))
