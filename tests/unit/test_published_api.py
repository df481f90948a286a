"""Published results behind the API and the command line: what is asked is checked, what is answered
is described."""

from __future__ import annotations

import json
import math

import pytest

from evalcore.cli.main import main
from evalcore.web.resources import ITEMS
from tests.support.api import client, items
from tests.support.boards import settings_in
from tests.support.publications import PublicationBuilder
from tests.support.scale_tree import CAPABILITY, TreeBuilder, claim, model, report

P = "/api/v1/published"
NAME = "<script>alert(1)</script> & co"


@pytest.fixture
def store(tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    monkeypatch.setenv("EVALBOARD_DATA", settings.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", settings.shipped)
    builder = PublicationBuilder()
    for month in ("2026-04", "2026-05"):
        for key, a, b in (("x y#?&=%", "1110", "11"), ("z", "1010", "01")):
            writing = builder.score(50.0, c=builder.report("10"))
            builder.entry(key, month, name=NAME, reading=builder.reading(a, b), writing=writing)
    builder.write(settings)
    return settings


@pytest.fixture
def api(store):
    return client()


@pytest.mark.parametrize(
    ("address", "item"),
    [
        (P, "Publisher"),
        (f"{P}/ranking?publisher=acme", "PublishedRow"),
        (f"{P}/ranking?publisher=acme&month=2026-04&by=reading", "PublishedRow"),
        (f"{P}/target?publisher=acme&target=acme:z", "Score"),
        (f"{P}/trend?publisher=acme", "TrendPoint"),
        (f"{P}/leaders?publisher=acme", "MonthLeader"),
        (f"{P}/findings?publisher=acme", "Finding"),
        (f"{P}/compare?rows=acme/2026-05/z,acme/2026-05/x y%23%3F%26%3D%25", "PublishedPair"),
    ],
)
def test_what_is_answered_is_what_is_described(api, address, item):
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    types |= {"array": list, "object": dict}
    rows = items(api, address)
    assert rows
    joined = f"{address}{'&' if '?' in address else '?'}limit=1"
    assert items(api, joined) == rows
    for row in rows:
        assert set(row) == set(ITEMS[item])
        for name, kind in ITEMS[item].items():
            value = row[name]
            is_unset = value is None and kind.endswith("?")
            assert is_unset or isinstance(value, types[kind.removesuffix("?")]), name
            assert not (isinstance(value, float) and math.isnan(value))


def test_a_model_of_any_name_is_found_by_its_address(api):
    head = api.get(f"{P}/target", params={"publisher": "acme", "target": "acme:x y#?&=%"}).json()
    assert head["target"]["identity"] == "acme:x y#?&=%"
    assert head["items"][0]["score"] is not None


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("ranking", 400),
        ("ranking?publisher=nobody", 404),
        ("ranking?publisher=../../etc/passwd", 404),
        ("ranking?publisher=acme&month=2020-01", 404),
        ("ranking?publisher=acme&setup=x", 404),
        ("ranking?publisher=acme&by=nothing", 400),
        ("ranking?publisher=acme&colour=red", 400),
        ("target?publisher=acme", 400),
        ("target?publisher=acme&target=acme:nobody", 404),
        ("compare?rows=a", 400),
        ("compare?rows=a,b,c", 400),
        ("compare?rows=acme/2026-05/z,acme/2026-05/nobody", 404),
        ("compare?rows=acme/2026-05/z,acme/2026-05/z", 400),
        ("findings?publisher=acme&month=x", 404),
    ],
)
def test_what_is_not_there_is_refused(api, address, status):
    answer = api.get(f"{P}/{address}")
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) >= {"code", "message"}


def test_an_answer_is_not_sent_again_until_a_file_changes(store, api):
    address = f"{P}/ranking?publisher=acme"
    tag = {"If-None-Match": api.get(address).headers["ETag"]}
    assert api.get(address, headers=tag).status_code == 304
    builder = PublicationBuilder()
    builder.entry("new", reading=builder.reading("1"))
    builder.write(store)
    assert api.get(address, headers=tag).status_code == 200


def test_nothing_published_is_in_the_answers_about_runs(api):
    for path in ("boards", "runs"):
        assert items(api, f"/api/v1/{path}") == []


# The command line.


def call(capsys, *words):
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_verbs_print_text_and_json(store, capsys):
    data = ("--data", store.data)
    status, out, _ = call(capsys, "published", "list", "--json", *data)
    assert (status, [row["publisher"] for row in json.loads(out)]) == (0, ["acme"])
    status, out, _ = call(capsys, "board", "--published", "acme", "--by", "reading", *data)
    assert status == 0
    assert "acme:z" in out
    status, out, _ = call(capsys, "published", "compare", "z", "x y#?&=%", *data)
    assert (status, "reading" in out, "95% interval" in out) == (0, True, True)
    status, out, _ = call(capsys, "published", "check", "--json", *data)
    findings = json.loads(out)
    assert status == 0
    assert {finding["kind"] for finding in findings} == {"score_differs"}
    status, out, _ = call(capsys, "published", "check", "--all", "--month", "2026-05", *data)
    assert "unchanged since 2026-04" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("board", "--published", "nobody"), "known: acme"),
        (("board", "--published", "acme", "--by", "x"), "no order 'x'"),
        (("board", "--published", "acme", "--suite", "sql"), "drop --suite"),
        (("board", "--month", "2026-05"), "belong to --published"),
        (("published", "compare", "z", "nobody"), "no such published row"),
        (("published", "compare", "z", NAME), "names several rows"),
        (("published", "compare", "z", "acme/2026-04/z", "--cases", "-1"), "not be negative"),
        (("published", "check", "--month", "2020-01"), "no month"),
    ],
)
def test_a_wrong_argument_is_named(store, capsys, words, problem):
    status, _, err = call(capsys, *words, "--data", store.data)
    assert status == 2
    assert problem in err


# A newer checkout.


def test_a_checkout_of_scale_is_read_as_it_is(store, tmp_path, capsys):
    tree = TreeBuilder(tmp_path / "checkout" / "leaderboard" / "public" / "data")
    for month in ("2026-05", "2026-06"):
        tree.board(month, model("a", {CAPABILITY: claim(50.0)}), model("A", {}))
        tree.report(month, "a", report())
    status, out, err = call(
        capsys, "published", "refresh", str(tmp_path / "checkout"), "--data", store.data
    )
    assert status == 0, err
    assert "2 entries in 2 months as of 2026-06: 2 added, 0 changed, 0 removed" in out
    status, out, _ = call(capsys, "board", "--published", "scale", "--json", "--data", store.data)
    [row] = json.loads(out)["items"]
    assert (row["identity"], row["score"]) == ("scale:a", pytest.approx(100 * 2 / 5))


SUBMISSION = {
    "model_name": "M",
    "submission_date": "2026-05-05",
    "results": {"retail": {"pass_1": 50.0, "pass_2": None}},
    "contact_info": {"email": "person@example.com"},
    "methodology": {"tau2_bench_version": "1.0.1", "user_simulator": "u"},
}


def submit(folder, name="m_org_2026-05-05", **changes):
    path = folder / "web/leaderboard/public/submissions" / name / "submission.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(SUBMISSION | changes), "utf-8")
    return path


def test_a_checkout_of_tau2_is_read_without_what_is_personal(store, tmp_path, capsys):
    submit(tmp_path / "t")
    submit(tmp_path / "t", "A_EXAMPLE_x", results={})
    git = tmp_path / "t" / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text(f"# pack\n{'a' * 40} refs/heads/main\n")
    refresh = ("published", "refresh", str(tmp_path / "t"), "--data", store.data, "--json")
    status, out, err = call(capsys, *refresh)
    assert status == 0, err
    done = json.loads(out)
    assert (done["publisher"], done["entries"], done["revision"]) == ("tau2", 1, "a" * 40)
    assert "example.com" not in (store.data_dir / "published" / "tau2.jsonl").read_text("utf-8")
    submit(tmp_path / "t", results={"retail": {"pass_1": 60.0}})
    _, out, _ = call(capsys, *refresh)
    assert json.loads(out)["changed"] == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"results": {"retail": {"pass_1": 101}}}, "results"),
        ({"results": {"retail": {"pass_1": "50"}}}, "pass_1"),
        ({"results": []}, "results"),
        ({"model_name": 1}, "model_name"),
        ({"model_name": ""}, "name"),
        ({"submission_date": "soon"}, "submission_date"),
        ({"submission_date": ""}, "submission_date"),
    ],
)
def test_a_submission_that_does_not_fit_leaves_all_as_it_was(
    store, tmp_path, capsys, changes, problem
):
    submit(tmp_path / "t", **changes)
    status, _, err = call(capsys, "published", "refresh", str(tmp_path / "t"), "--data", store.data)
    assert status == 2
    assert problem in err
    assert not (store.data_dir / "published" / "tau2.jsonl").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 10_000, b" " * ((1 << 20) + 1)])
def test_a_file_that_is_no_submission_is_named(store, tmp_path, capsys, content):
    submit(tmp_path / "t").write_bytes(content)
    status, _, err = call(capsys, "published", "refresh", str(tmp_path / "t"), "--data", store.data)
    assert status == 2
    assert "submission.json" in err


def test_links_and_foreign_folders_are_not_followed(store, tmp_path, capsys):
    path = submit(tmp_path / "t")
    secret = tmp_path / "secret.json"
    path.rename(secret)
    path.symlink_to(secret)
    for folder in (tmp_path / "t", tmp_path / "nowhere", tmp_path / "data", secret):
        status, _, _ = call(capsys, "published", "refresh", str(folder), "--data", store.data)
        assert status == 2
    status, _, err = call(capsys, "published", "refresh", str(tmp_path / "t"), "--date", "today")
    assert (status, "--date" in err) == (2, True)
