"""Reports name the seal of a run, and nothing where there is none."""

import json

import pytest

from evalcore.access.redaction import Redactor
from evalcore.access.signing import generate_key, load_signing_key
from evalcore.exchange.reports import render_report
from evalcore.store.seal import seal_run_folder
from tests.support.run_folders import Case, make_run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, "sealed", cases=[Case("A", "1", score=1.0)])


@pytest.fixture
def key(tmp_path):
    generate_key(tmp_path / "k.pem")
    return load_signing_key(tmp_path / "k.pem")


def test_a_run_without_a_seal_has_no_field(run):
    assert "seal" not in json.loads(render_report(run, "json"))
    assert "Seal" not in render_report(run, "md")


def test_a_valid_seal_is_named(run, key):
    seal_run_folder(run, key)
    seal = json.loads(render_report(run, "json"))["seal"]
    assert seal["state"] == "valid"
    assert seal["signer"] == key.public.fingerprint
    for form in ("md", "html"):
        text = render_report(run, form)
        assert key.public.fingerprint in text
        assert "unchanged since" in text


def test_a_broken_seal_is_named_with_what_differs(run, key):
    seal_run_folder(run, key)
    with (run.path / "spec.json").open("ab") as file:
        file.write(b" ")
    seal = json.loads(render_report(run, "json"))["seal"]
    assert seal["state"] == "broken"
    assert seal["problems"] == ["spec.json:1: changed after signing"]
    assert "BROKEN" in render_report(run, "md")


def test_what_breaks_a_seal_names_no_folder_to_others(run, key, tmp_path):
    seal_run_folder(run, key)
    (run.path / "extra.json").write_text("{}")
    censored = Redactor(keys=(), folders=())
    text = render_report(run, "json", censored=censored)
    assert str(tmp_path) not in text
    assert json.loads(text)["seal"]["problems"] == ["extra.json: added after signing"]
