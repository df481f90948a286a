"""What the JSON routes refuse, how they say it, and what never leaves them."""

from __future__ import annotations

import json

import pytest

from tests.support import agentic_runs
from tests.support.agentic_runs import GAIA_RUN, SECRETS
from tests.support.api import HOSTILE, V1, client, fill, items
from tests.support.pages import store as store

RUN = "20261101-100000-aaaaaa"
PATHS = ("boards", "ranking", "runs", f"cases?run={RUN}")


@pytest.fixture
def api(store):
    return client()


@pytest.fixture
def full(store):
    fill(store)
    return store


LONG = "x" * 501
BAD = [
    ("boards?suite=nosuch", "suite"),
    ("boards?limit=0", "limit"),
    ("boards?limit=501", "limit"),
    ("boards?limit=-1", "limit"),
    ("boards?limit=1e3", "limit"),
    ("boards?limit=%D9%A1", "limit"),
    ("boards?limit=99999999999999999999", "limit"),
    ("boards?limit=1&limit=2", "limit"),
    ("boards?sort=score", "sort"),
    ("boards?cursor=%00", "cursor"),
    ("boards?cursor=WzFd", "cursor"),
    ("boards?cursor=é", "cursor"),
    ("ranking?by=nosuch", "by"),
    ("ranking?cursor=bm8", "cursor"),
    (f"ranking?q={LONG}", "q"),
    ("runs?state=alive", "state"),
    ("runs?cursor=W10", "cursor"),
    ("cases", "run"),
    ("cases?run=", "run"),
    (f"cases?run={RUN}&outcome=passed,won", "outcome"),
    (f"cases?run={RUN}&difficulty=1,9", "difficulty"),
    ("badge.svg", "target"),
    ("badge.svg?target=a&benchmark=nosuch", "benchmark"),
    ("badge.svg?target=a&benchmark=bfcl&suite=sql", "benchmark"),
    ("badge.svg?target=a&lang=xx", "lang"),
]


@pytest.mark.parametrize(("path", "parameter"), BAD)
def test_a_bad_parameter_is_named(full, api, path, parameter):
    answer = api.get(f"{V1}/{path}")
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    error = answer.json()["error"]
    assert (error["code"], error["parameter"]) == ("bad_parameter", parameter)
    assert error["message"].startswith(f"{parameter}: ")
    assert LONG not in answer.text


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nosuch", "no_route"),
        ("", "no_route"),
        ("boards/", "no_route"),
        ("ranking?board=nosuch", "no_board"),
        ("ranking?suite=agentic", "no_board"),
        ("cases?run=nosuch", "no_run"),
        ("cases?run=../../etc", "no_run"),
        ("cases?run=%00%ff", "no_run"),
    ],
)
def test_what_is_not_there_is_404_in_json(full, api, path, code):
    answer = api.get(f"{V1}/{path}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == code


def test_the_run_that_was_meant_is_named_to_a_program(full, api):
    error = api.get(f"{V1}/cases?run=20261101-100000-aaaaab").json()["error"]
    assert error["message"].endswith(" (did you mean 20261101-100000-aaaaaa?)")


HOSTILE_TEXTS = (
    "' OR 1=1 --",
    "'; DROP TABLE samples; --",
    "a') UNION SELECT content FROM read_text('/etc/passwd') --",
    "<script>alert(2)</script>",
    "{{7*7}} {0.__class__} %s%n",
    "../../../etc/passwd",
    "\x00\u202e\ufffe\U0001f9ea" * 20,
    "٣" * 500,
    "\r\nX-Injected: yes",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_values_find_nothing_and_change_nothing(full, api, text):
    for path, name in (
        *(("ranking", name) for name in ("q", "kind")),
        *(("runs", name) for name in ("target", "benchmark")),
        *(("cases", name) for name in ("q", "metric", "dialect", "reason", "cause", "benchmark")),
    ):
        args = {name: text} | ({"run": RUN} if path == "cases" else {})
        answer = api.get(f"{V1}/{path}", params=args)
        assert answer.status_code == 200, answer.text
        assert answer.json()["items"] == []
        assert "x-injected" not in answer.headers
    assert api.get(f"{V1}/cases?run={RUN}").json()["total"] > 0


@pytest.mark.parametrize("path", PATHS)
def test_only_reading_is_offered(full, api, path):
    for method in ("post", "put", "delete", "patch"):
        assert getattr(api, method)(f"{V1}/{path}").status_code == 405


def test_an_empty_store_has_empty_lists_and_no_ranking(store, api):
    for path in ("boards", "runs"):
        assert api.get(f"{V1}/{path}").json() == {"items": [], "total": 0, "next": None}
    assert api.get(f"{V1}/ranking").json()["error"]["code"] == "no_board"


def test_files_that_cannot_be_read_are_503_without_a_path(full, api, caplog):
    (full.runs_dir / RUN / "samples.jsonl").write_text("{torn\n", encoding="utf-8")
    (full.runs_dir / RUN / "samples.parquet").unlink(missing_ok=True)
    answer = api.get(f"{V1}/cases?run={RUN}")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "store_unreadable"
    assert str(full.data) not in answer.text
    assert "samples.jsonl" in caplog.text


def test_settings_that_cannot_be_used_are_503(api, monkeypatch):
    monkeypatch.setenv("EVALBOARD_CONCURRENCY", "many")
    answer = api.get(f"{V1}/boards")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "misconfigured")


def test_a_hostile_name_stays_text(full, api):
    pairs = items(api, f"{V1}/ranking")
    assert HOSTILE in [row["identity"] for row in pairs]


# --- gated ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", ["false", "true"])
def test_gated_texts_never_leave_whatever_the_settings(store, api, monkeypatch, shown):
    agentic_runs.gaia(store, "right", agentic_runs.GATED)
    monkeypatch.setenv("EVALBOARD_SHOW_GATED", shown)
    for path in ("boards", "ranking", "runs", f"cases?run={GAIA_RUN}"):
        text = json.dumps(items(api, f"{V1}/{path}"), ensure_ascii=False).lower()
        assert [word for word in SECRETS if word in text] == []
    for word in SECRETS:
        assert agentic_runs.GATED not in [
            case["id"] for case in items(api, f"{V1}/cases?run={GAIA_RUN}&q={word}&limit=1")
        ]


def test_a_gated_search_pages_too(store, api):
    agentic_runs.gaia(store, "right", agentic_runs.GATED)
    address = f"{V1}/cases?run={GAIA_RUN}&q={agentic_runs.GATED[:3]}"
    whole = items(api, address)
    assert whole
    assert items(api, f"{address}&limit=1") == whole
