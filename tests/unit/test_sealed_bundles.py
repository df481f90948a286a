"""The seal of a run goes with its bundle, and an import checks it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalcore.access.signing import SigningKey, generate_key, load_signing_key
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange import sealing
from evalcore.exchange.bundle.importer import import_bundle
from evalcore.settings import Settings
from evalcore.store.run_folder import RunFolder, read_published
from evalcore.store.seal import verify_run_folder
from tests.support.bundles import bundled, changed, edit_lines, files_of, finished, pack


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "data"), shipped=str(tmp_path / "none"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Settings:
    return Settings(data=str(tmp_path / "elsewhere"), shipped=str(tmp_path / "none"))


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    generate_key(tmp_path / "k.pem")
    return load_signing_key(tmp_path / "k.pem")


@pytest.fixture
def run(settings: Settings) -> RunFolder:
    return finished(settings, "control:reference", "sql_understanding", max_samples=6)


def import_quietly(bundle: Path, settings: Settings):
    return import_bundle(bundle, settings, progress=lambda line: None)


def forge_outcome(lines: list[dict]) -> None:
    lines[2]["verdict"]["note"] = "looks better"


def test_the_seal_of_a_run_goes_with_its_bundle_and_is_checked(
    tmp_path: Path, settings: Settings, elsewhere: Settings, run: RunFolder, key: SigningKey
) -> None:
    _, why = sealing.seal_run(run, key, settings)
    assert why == ""
    assert verify_run_folder(run, key.public).state == "valid"
    bundle = bundled(run, settings, tmp_path / "run.zip")
    report = sealing.verify_bundle_seal(bundle, key.public)
    assert (report.state, report.files) == ("valid", len(files_of(bundle)) - 1)
    done = import_quietly(bundle, elsewhere)
    assert done.signer == key.public.fingerprint
    published = read_published(RunFolder(elsewhere.runs_dir / done.run))
    assert published is not None
    assert published.facts["seal"]["signer"] == key.public.fingerprint


def test_a_bundle_that_was_changed_after_signing_is_refused(
    tmp_path: Path, settings: Settings, elsewhere: Settings, run: RunFolder, key: SigningKey
) -> None:
    """Even where the manifest was made to fit."""
    sealing.seal_run(run, key, settings)
    bundle = bundled(run, settings, tmp_path / "run.zip")
    change = edit_lines("verdicts.jsonl", forge_outcome)
    files = files_of(changed(bundle, tmp_path / "vouched.zip", change))
    manifest = json.loads(files["manifest.json"])
    del manifest["files"]["seal.json"]  # the helper vouches for it, which no bundle does
    files["manifest.json"] = json.dumps(manifest).encode()
    forged = pack(tmp_path / "forged.zip", files)
    with pytest.raises(UsageError, match=r"its seal is broken: manifest\.json:1: changed"):
        import_quietly(forged, elsewhere)
    report = sealing.verify_bundle_seal(forged)
    assert [problem.partition(":")[0] for problem in report.problems] == [
        "manifest.json",
        "verdicts.jsonl",
    ]
    without = {name: data for name, data in files_of(bundle).items() if name != "card.json"}
    del without["verdicts.jsonl"]
    report = sealing.verify_bundle_seal(pack(tmp_path / "less.zip", without))
    assert report.problems == ("verdicts.jsonl: removed after signing",)


def test_a_bundle_can_be_sealed_by_itself_and_again(
    tmp_path: Path, settings: Settings, elsewhere: Settings, run: RunFolder, key: SigningKey
) -> None:
    bundle = bundled(run, settings, tmp_path / "run.zip")
    plain = files_of(bundle)
    first = import_quietly(bundle, elsewhere)
    assert first.signer == ""
    assert sealing.verify_bundle_seal(bundle).state == "unsealed"
    for _ in range(2):
        assert sealing.seal_bundle(bundle, key).state == "valid"
    assert {name: data for name, data in files_of(bundle).items() if name != "seal.json"} == plain
    again = import_quietly(bundle, elsewhere)
    assert (again.run, again.signer) == (first.run, key.public.fingerprint)
    published = read_published(RunFolder(elsewhere.runs_dir / again.run))
    assert published is not None
    assert published.facts["seal"]["signer"] == key.public.fingerprint


def test_another_seal_takes_nothing_over(
    tmp_path: Path, settings: Settings, elsewhere: Settings, run: RunFolder, key: SigningKey
) -> None:
    bundle = bundled(run, settings, tmp_path / "run.zip")
    sealing.seal_bundle(bundle, key)
    done = import_quietly(bundle, elsewhere)
    generate_key(tmp_path / "other.pem")
    sealing.seal_bundle(bundle, load_signing_key(tmp_path / "other.pem"))
    assert import_quietly(bundle, elsewhere).became == "unchanged"
    published = read_published(RunFolder(elsewhere.runs_dir / done.run))
    assert published is not None
    assert published.facts["seal"]["signer"] == key.public.fingerprint


def test_a_seal_that_does_not_cover_the_bundle_stays_at_home_and_says_so(
    tmp_path: Path, settings: Settings, run: RunFolder, key: SigningKey, capsys
) -> None:
    sealing.seal_run(run, key, settings)
    text = run.summary_path.read_text()
    run.summary_path.write_text(text.replace('"finished_at":"2', '"finished_at":"1', 1))
    out = tmp_path / "run.zip"
    words = ["export", run.run_id, "--format", "bundle", "--out", str(out)]
    assert main([*words, "--data", settings.data]) == 0
    assert "the seal of the run does not cover this bundle" in capsys.readouterr().err
    assert "seal.json" not in files_of(out)
    assert verify_run_folder(run).problems == ("summary.json:1: changed after signing",)
