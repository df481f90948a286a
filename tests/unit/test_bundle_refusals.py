"""Manipulated bundles are refused with the reason, and nothing comes into the store."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalcore import settings as configuration
from evalcore.errors import UsageError
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.settings import Settings
from tests.support.bundles import (
    Change,
    Files,
    bundled,
    changed,
    edit,
    edit_lines,
    files_of,
    finished,
    pack,
)

SQL = "sql_understanding"
Edit = Callable[[Any], None]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases, each answered wrong twice."""
    path = tmp_path_factory.mktemp("bundles")
    settings = configuration.load_settings(path / "data")
    folder = finished(settings, "control:null", SQL, max_samples=4, epochs=2)
    return bundled(folder, settings, path / "run.zip")


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return configuration.load_settings(tmp_path / "store")


def refused(bundle: Path, store: Settings) -> str:
    """The reason; whatever was in the store is still all there is."""
    with pytest.raises(UsageError) as error:
        import_bundle(bundle, store, progress=lambda line: None)
    assert list(store.runs_dir.glob("*")) == []
    assert str(bundle) in str(error.value)
    return str(error.value)


def setting(name: str, *path: str | int, value: Any) -> Change:
    """Set one field of a JSON document."""

    def how(document: Any) -> None:
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return edit(name, how)


def line(name: str, number: int, *path: str, value: Any) -> Change:
    """Set one field in one line of a journal."""

    def how(lines: list[Any]) -> None:
        document = lines[number]
        for part in path[:-1]:
            document = document[part]
        document[path[-1]] = value

    return edit_lines(name, how)


def together(*changes: Change) -> Change:
    def change(files: Files) -> None:
        for item in changes:
            item(files)

    return change


def passing(lines: list[Any]) -> None:
    for item in lines:
        item["verdict"] |= {"outcome": "passed", "score": 1.0}


def swap_ids(lines: list[Any]) -> None:
    """One case is scored twice and another never."""
    lines[0]["verdict"]["id"], lines[0]["verdict"]["metric"] = (
        lines[1]["verdict"]["id"],
        lines[1]["verdict"]["metric"],
    )


def no_source(files: Files) -> None:
    del files["generations.jsonl"]


def a_program(files: Files) -> None:
    files["run.sh"] = b"#!/bin/sh\n"


def torn(files: Files) -> None:
    files["verdicts.jsonl"] = files["verdicts.jsonl"][:-20]


def not_json(files: Files) -> None:
    files["spec.json"] = b"{" * 100_000


B0 = ("benchmarks", 0)
FORGED: dict[str, tuple[Change, str]] = {
    "verdicts": (edit_lines("verdicts.jsonl", passing), "does not follow from the answer"),
    "verdicts and claim": (
        together(
            edit_lines("verdicts.jsonl", passing),
            setting("summary.json", "benchmarks", SQL, "score", value=100.0),
        ),
        r"it claims passed \(1\), the answer scores failed \(0\) here",
    ),
    "readings": (
        line("verdicts.jsonl", 0, "verdict", "views", value={"lenient": 1.0, "strict": 1.0}),
        "do not follow from the answer",
    ),
    "claim alone": (
        setting("summary.json", "benchmarks", SQL, "score", value=99.0),
        "summary.json claims 99.0000 .* its verdicts add up to 0.0000",
    ),
    "claim beyond all": (
        setting("summary.json", "benchmarks", SQL, "score", value=1e9),
        "scores are 0 to 100",
    ),
    "easier cases": (
        line("samples.jsonl", 0, "sample", "reference", value={"answer": ""}),
        "not those of the dataset that the run declares",
    ),
    "lighter cases": (
        line("samples.jsonl", 0, "sample", "difficulty", value=-3),
        "difficulty .* is not 1 to 3",
    ),
    "fewer cases": (
        edit_lines("samples.jsonl", lambda lines: lines.pop()),
        "does not contain the 4 samples",
    ),
    "a case twice": (
        edit_lines("samples.jsonl", lambda lines: lines.__setitem__(1, lines[0])),
        "samples.jsonl: .* appears twice",
    ),
    "a missing episode": (
        edit_lines("generations.jsonl", lambda lines: lines.pop()),
        "generations.jsonl: 1 of 8 lines are missing",
    ),
    "an episode twice": (
        edit_lines("generations.jsonl", lambda lines: lines.append(lines[0])),
        "generations.jsonl: .* appears twice",
    ),
    "a foreign episode": (
        line("generations.jsonl", 0, "episode", "key", value="other/case"),
        "belongs to no sample",
    ),
    "an episode of epoch 7": (
        line("generations.jsonl", 0, "episode", "epoch", value=7),
        "epoch 7, belongs to no sample",
    ),
    "a missing verdict": (
        edit_lines("verdicts.jsonl", lambda lines: lines.pop()),
        "verdicts.jsonl: 1 of 8 lines are missing",
    ),
    "a verdict twice": (
        edit_lines("verdicts.jsonl", lambda lines: lines.append(lines[0])),
        "verdicts.jsonl: .* appears twice",
    ),
    "ids that do not match": (edit_lines("verdicts.jsonl", swap_ids), "appears twice"),
    "a verdict on another benchmark": (
        line("verdicts.jsonl", 0, "benchmark", value="gaia"),
        "belongs to no sample",
    ),
    "a score beyond 1": (
        line("verdicts.jsonl", 0, "verdict", "score", value=50),
        "an invalid score",
    ),
    "a pass without a score": (
        line("verdicts.jsonl", 0, "verdict", "score", value=None),
        "an invalid score",
    ),
    "an outcome that is none": (
        line("verdicts.jsonl", 0, "verdict", "outcome", value="won"),
        r"verdicts.jsonl, line 1: .*outcome",
    ),
    "bare cases that nobody counted": (
        edit_lines(
            "samples.jsonl",
            lambda lines: lines[0]["sample"].update(input={}, reference={}, meta={"gated": True}),
        ),
        "omit different cases",
    ),
    "an unknown benchmark": (
        setting("spec.json", *B0, "key", value="made_up"),
        "unknown benchmark 'made_up'",
    ),
    "an unknown option": (
        setting("spec.json", *B0, "options", value={"shell": "id"}),
        "option sql_understanding.shell is unknown",
    ),
    "a benchmark twice": (
        edit("spec.json", lambda spec: spec["benchmarks"].append(spec["benchmarks"][0])),
        "or one of them twice",
    ),
    "no benchmark": (setting("spec.json", "benchmarks", value=[]), "no benchmark"),
    "endless epochs": (setting("spec.json", "epochs", value=10**12), "epochs is not 1 to"),
    "an import": (setting("spec.json", "origin", value="imported"), "an import itself"),
    "another run": (setting("spec.json", "run_id", value="other"), "different runs"),
    "a path as id": (setting("spec.json", "run_id", value="../../x"), "run id is not valid"),
    "a path as data set": (
        setting("spec.json", *B0, "dataset", value="../../../etc"),
        "a dataset name is invalid",
    ),
    "a target that is none": (setting("spec.json", "target", value={"key": "x"}), "target"),
    "a large header": (
        together(
            setting(
                "spec.json", "target", "options", value={f"o{n}": "x" * 150 for n in range(40)}
            ),
            setting(
                "summary.json", "target", "options", value={f"o{n}": "x" * 150 for n in range(40)}
            ),
        ),
        "header takes",
    ),
    "a negative weight": (
        setting("spec.json", *B0, "weights", value={"explain_detection": -1}),
        "weight of metric",
    ),
    "a time that is none": (
        setting("spec.json", "created_at", value="soon"),
        "not an ISO 8601 time",
    ),
    "a time to come": (
        setting("spec.json", "created_at", value="2999-01-01T00:00:00.000+00:00"),
        "in the future",
    ),
    "the summary of another target": (
        setting("summary.json", "target", value={"key": "openai:best"}),
        "of another target",
    ),
    "the summary of other benchmarks": (
        edit("summary.json", lambda message: message["benchmarks"].clear()),
        "scores other benchmarks",
    ),
    "a file too few": (no_source, "generations.jsonl is missing"),
    "a file too many": (a_program, "run.sh is not part of a bundle"),
    "a torn journal": (torn, "verdicts.jsonl ends in the middle of a line"),
    "deep nesting": (not_json, "spec.json: "),
    "another format": (setting("manifest.json", "version", value=2), "reads 'evalboard-bundle'"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_bundle_is_refused(
    name: str, bundle: Path, store: Settings, tmp_path: Path
) -> None:
    change, reason = FORGED[name]
    text = refused(changed(bundle, tmp_path / "forged.zip", change), store)
    assert re.search(reason, text), text


@pytest.mark.parametrize("name", ["spec.json", "samples.jsonl", "verdicts.jsonl"])
def test_a_changed_file_has_another_hash(
    name: str, bundle: Path, store: Settings, tmp_path: Path
) -> None:
    def change(files: Files) -> None:
        files[name] = files[name].replace(b"a", b"b", 1)

    text = refused(changed(bundle, tmp_path / "x.zip", change, vouch=False), store)
    assert f"{name} is not the file in the manifest" in text


def test_a_file_that_nobody_vouches_for(bundle: Path, store: Settings, tmp_path: Path) -> None:
    def change(files: Files) -> None:
        files["card.json"] = b"{}"

    forged = changed(bundle, tmp_path / "x.zip", change, vouch=False)
    assert "card.json is not in the manifest" in refused(forged, store)


def test_no_archive_and_no_bundle(store: Settings, tmp_path: Path) -> None:
    text = tmp_path / "x.zip"
    text.write_bytes(b"PK or not")
    assert "cannot be unpacked" in refused(text, store)
    assert "is not a bundle" in refused(pack(tmp_path / "y.zip", {"a.txt": b""}), store)
    assert "is not a file" in refused(tmp_path / "none.zip", store)


@pytest.mark.parametrize("name", ["../spec.json", "/etc/spec.json", "a/../../b", "c:\\x"])
def test_no_member_leads_out(name: str, bundle: Path, store: Settings, tmp_path: Path) -> None:
    forged = pack(tmp_path / "x.zip", {**files_of(bundle), name: b"{}"})
    assert "the name" in refused(forged, store)
    assert not (tmp_path / "spec.json").exists()


def test_no_links(bundle: Path, store: Settings, tmp_path: Path) -> None:
    files = files_of(bundle)
    del files["spec.json"]
    forged = pack(tmp_path / "x.zip", files)
    with zipfile.ZipFile(forged, "a") as archive:
        link = zipfile.ZipInfo("spec.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    assert "a link or a device" in refused(forged, store)


def test_a_bomb_is_not_unpacked(bundle: Path, store: Settings, tmp_path: Path) -> None:
    bomb = tmp_path / "x.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files_of(bundle).items():
            if name != "samples.jsonl":
                archive.writestr(name, data)
        with archive.open("samples.jsonl", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    assert bomb.stat().st_size < 1 << 20
    assert "more than" in refused(bomb, store)


def test_many_members(bundle: Path, store: Settings, tmp_path: Path) -> None:
    many = {f"{n}.json": b"{}" for n in range(50)}
    forged = pack(tmp_path / "x.zip", files_of(bundle) | many)
    assert "members, the limit is" in refused(forged, store)


def test_a_refusal_leaves_what_is_there(bundle: Path, store: Settings, tmp_path: Path) -> None:
    done = import_bundle(bundle, store, progress=lambda line: None)
    held = {path: path.stat().st_mtime_ns for path in store.runs_dir.rglob("*")}
    forged = changed(bundle, tmp_path / "x.zip", FORGED["verdicts"][0])
    with pytest.raises(UsageError, match="refused"):
        import_bundle(forged, store, progress=lambda line: None)
    assert {path: path.stat().st_mtime_ns for path in store.runs_dir.rglob("*")} == held
    assert (store.runs_dir / done.run / "summary.json").is_file()


def test_paths_in_foreign_cases_are_never_followed(
    bundle: Path, store: Settings, tmp_path: Path
) -> None:
    """What a case says of itself has no hash: of a known case ours counts, else plain marks."""
    paths = {"repository": "/etc", "folder": "/etc", "file": "/etc/passwd", "flagged": ["x"]}

    def how(lines: list[Any]) -> None:
        for item in lines:
            item["sample"]["meta"] = paths

    forged = changed(bundle, tmp_path / "x.zip", edit_lines("samples.jsonl", how))
    done = import_bundle(forged, store, progress=lambda line: None)
    text = (store.runs_dir / done.run / "samples.jsonl").read_text(encoding="utf-8")
    assert "/etc" not in text
    assert [json.loads(item)["sample"]["id"] for item in text.splitlines()]
