"""The JSON routes: the pages' numbers, whole pages, tags, and clear refusals."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pandas as pd
import pytest

from evalcore.cli.main import main
from evalcore.views import boards, runs, stored_boards, targets
from evalcore.views.cases import CaseFilter, case_page
from evalcore.web import answers, resources
from evalcore.web.resources import ITEMS
from tests.support.api import V1, client, fill, items
from tests.support.boards import Plan, make_run
from tests.support.page_stores import corrupt_run
from tests.support.pages import store as store
from tests.support.server import serve

RUN = "20261101-100000-aaaaaa"
PATHS = (f"{V1}/boards", f"{V1}/ranking", f"{V1}/runs", f"{V1}/cases?run={RUN}")


@pytest.fixture
def api(store):
    return client()


@pytest.fixture
def full(store):
    fill(store)
    return store


def joined(path, query):
    return f"{path}{'&' if '?' in path else '?'}{query}"


# --- numbers --------------------------------------------------------------------------------------


def test_the_ranking_has_the_numbers_of_the_page(full, api):
    board = boards.list_boards(stored_boards.load_run_headers(full), "sql")[0]
    frame = stored_boards.board_ranking(full, board)
    payload = api.get(f"{V1}/ranking").json()
    assert payload["total"] == len(frame) == len(payload["items"]) == 5
    for row, (_, frame_row) in zip(payload["items"], frame.iterrows(), strict=True):
        fields = {**row, **row["scores"], **row["metrics"], "date": pd.Timestamp(row["date"])}
        for name in frame:
            if pd.isna(frame_row[name]):
                assert fields[name] is None, name
            else:
                assert fields[name] == frame_row[name], name
    assert [row["rank"] for row in payload["items"]] == [1, 2, 3, None, None]
    assert payload["items"][1]["cost"] is None
    assert payload["by"] == "sql_understanding"
    assert payload["board"] == api.get(f"{V1}/boards").json()["items"][0]


def test_a_target_has_the_numbers_of_its_page_and_of_the_command(full, api, capsys):
    headers = stored_boards.load_run_headers(full)
    board = boards.list_boards(headers, "sql")[0]
    answer = api.get(f"{V1}/target?target=openai:middle").json()
    ranking = api.get(f"{V1}/ranking").json()
    assert answer["board"] == ranking["board"]
    assert answer["target"] == ranking["items"][1]
    view = targets.TargetView(headers, board, "openai:middle")
    frame = view.build_metric_frame("sql_understanding")
    whole, *metrics = answer["items"]
    assert (whole["metric"], whole["score"]) == ("", answer["target"]["score"])
    assert whole["best"] == ranking["items"][0]["score"]
    for line, (_, row) in zip(metrics, frame.iterrows(), strict=True):
        for name, value in row.items():
            assert line[name] == (None if pd.isna(value) else value)
    assert items(api, f"{V1}/target?target=openai:middle&limit=2") == answer["items"]
    assert main(["board", "--target", "openai:middle", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {name: answer[name] for name in printed}
    assert main(["board", "--target", "openai:middle"]) == 0
    assert f"{whole['score']:.1f}" in capsys.readouterr().out


def test_a_target_that_is_not_on_the_board_is_refused(full, api, capsys):
    assert api.get(f"{V1}/target?target=openai:nobody").json()["error"]["code"] == "no_target"
    assert api.get(f"{V1}/target").status_code == 400
    assert main(["board", "--target", "openai:nobody"]) == 2
    assert "openai:middle" in capsys.readouterr().err
    assert main(["board", "--target", "openai:middle", "--format", "csv"]) == 2


def test_the_boards_have_the_columns_and_floors_of_the_page(full, api):
    headers = stored_boards.load_run_headers(full)
    (result,) = items(api, f"{V1}/boards")
    (board,) = boards.list_boards(headers, "sql")
    column = board.columns["sql_understanding"]
    assert (result["key"], result["suite"], result["whole"]) == ("default", "sql", False)
    assert result["columns"][0]["key"] == column.key
    assert result["columns"][0]["targets"] == column.targets == 4
    assert result["floors"] == {
        "sql_understanding": boards.compute_floors(headers, board, column.benchmark)
    }


def test_runs_are_those_of_the_page_and_tell_no_place_on_disk(full, api):
    corrupt_run(full.runs_dir)
    pairs = items(api, f"{V1}/runs")
    rows = runs.all_rows(full.run_roots)
    assert [run["run_id"] for run in pairs] == [row.run_id for row in rows]
    assert [run["scores"] for run in pairs] == [row.scores for row in rows]
    assert pairs[-1]["state"] == "broken"
    assert str(full.data) not in json.dumps(pairs)


def test_cases_are_those_of_the_page(full, api):
    frame, count = case_page(full.run_roots, RUN, CaseFilter(), limit=1000)
    pairs = items(api, f"{V1}/cases?run={RUN}&limit=7")
    assert len(pairs) == count
    assert [(c["metric"], c["id"], c["outcome"], c["score"]) for c in pairs] == [
        *zip(frame["metric"], frame["id"], frame["outcome"], frame["score"], strict=True)
    ]


def test_cases_are_filtered_by_lists_and_text(full, api):
    both = items(api, f"{V1}/cases?run={RUN}&outcome=passed,failed&difficulty=1&difficulty=3")
    assert {case["difficulty"] for case in both} == {1, 3}
    failed = items(api, f"{V1}/cases?run={RUN}&outcome=failed")
    assert failed
    assert {case["outcome"] for case in failed} == {"failed"}
    assert items(api, f"{V1}/cases?run={RUN}&q=A ROW DIFFERS") == failed
    assert items(api, f"{V1}/cases?run={RUN}&q=%25") == []
    assert items(api, f"{V1}/cases?run={RUN}&level=proved") == []


def test_the_ranking_is_filtered_and_ranks_stay(full, api):
    (result,) = items(api, f"{V1}/ranking?q=MIDDLE&kind=openai,baseline")
    assert (result["identity"], result["rank"]) == ("openai:middle", 2)
    assert items(api, f"{V1}/ranking?kind=baseline") == []


def test_runs_are_filtered(full, api):
    (result,) = items(api, f"{V1}/runs?state=incomplete")
    assert result["target"] == "openai:broken"
    assert len(items(api, f"{V1}/runs?target=openai:strong&benchmark=sql_understanding")) == 1
    assert items(api, f"{V1}/runs?benchmark=bfcl") == []


def test_what_is_listed_is_what_is_described(full, api):
    corrupt_run(full.runs_dir)
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    types |= {"array": list, "object": dict}
    paths = (*PATHS, f"{V1}/target?target=openai:middle")
    for path, item in zip(paths, ("Board", "Row", "Run", "Case", "Score"), strict=True):
        for pair in items(api, path):
            assert set(pair) == set(ITEMS[item])
            for name, message in ITEMS[item].items():
                value = pair[name]
                is_unset = value is None and message.endswith("?")
                assert is_unset or isinstance(value, types[message.removesuffix("?")]), (item, name)
                assert not (isinstance(value, float) and math.isnan(value))


def test_the_description_names_every_route_and_parameter(full, api):
    payload = api.get(f"{V1}/openapi.json").json()
    assert payload["openapi"].startswith("3.1")
    others = {path: expected for path, expected in payload["paths"].items() if "health" not in path}
    assert set(others) == set(resources.RESOURCES) - {f"{V1}/openapi.json"}
    assert len(payload["paths"]) == len(others) + 1
    for path, operations in others.items():
        named = [parameter["name"] for parameter in operations["get"]["parameters"]]
        assert named == [parameter.name for parameter in resources.RESOURCES[path].parameters]
    for reference in set(json.dumps(payload).split('"#/')[1:]):
        node = payload
        for step in reference.split('"')[0].split("/"):
            node = node[step]


# --- paging ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_complete_and_repeat_nothing(full, api, path):
    whole = items(api, path)
    assert items(api, joined(path, "limit=1")) == whole
    assert items(api, joined(path, "limit=3")) == whole
    assert len(whole) == api.get(path).json()["total"]


def test_runs_that_come_and_go_between_pages_harm_no_other(full, api):
    before = [run["run_id"] for run in items(api, f"{V1}/runs")]
    first = api.get(f"{V1}/runs?limit=2").json()
    late = Plan(target="openai:late", cases=2, created_at="2026-11-02T10:00:00.000+00:00")
    make_run(full, late, "20261102-100000-cccccc")
    gone = full.runs_dir / before[1]  # the last one seen
    gone.rename(full.data_dir / "gone")
    rest = [run["run_id"] for run in items(api, first["next"])]
    assert [run["run_id"] for run in first["items"]] + rest == before


def test_cases_that_are_decided_between_pages_harm_no_other(full, api):
    """Outcomes that move out of a filter would shift every page that is counted by an offset."""
    frame, _ = case_page(full.run_roots, RUN, CaseFilter(outcome=("passed",)), limit=1000)
    first = api.get(f"{V1}/cases?run={RUN}&outcome=passed&limit=2").json()
    journal = full.runs_dir / RUN / "verdicts" / "s1" / "w1.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if '"passed"' in line)
    lines[at] = lines[at].replace('"passed"', '"failed"')
    journal.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rest = items(api, first["next"])
    seen = [(case["metric"], case["id"]) for case in [*first["items"], *rest]]
    assert seen == [*zip(frame["metric"], frame["id"], strict=True)]


@pytest.mark.parametrize("path", [f"{V1}/ranking", f"{V1}/boards"])
def test_pages_of_another_state_of_the_board_are_refused(full, api, path):
    make_run(full, Plan(target="openai:other", cases=3, dataset="mine"), "other")
    following = api.get(f"{path}?limit=1").json()["next"]
    make_run(full, Plan(target="openai:late", cases=8), "late")
    answer = api.get(following)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "changed"


# --- tags -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, f"{V1}/openapi.json", f"{V1}/badge.svg?target=x"])
def test_who_has_the_answer_gets_304(full, api, path):
    first = api.get(path)
    tag = first.headers["etag"]
    assert tag.startswith('"')
    assert first.headers["cache-control"] in ("no-cache", "max-age=300")
    for expected in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = api.get(path, headers={"If-None-Match": expected})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert api.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("path", [f"{V1}/boards", f"{V1}/ranking", f"{V1}/runs"])
def test_a_new_run_changes_the_tag(full, api, path):
    tag = api.get(path).headers["etag"]
    make_run(full, Plan(target="openai:late", cases=8), "late")
    again = api.get(path, headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert again.headers["etag"] != tag


def test_tags_of_other_parameters_differ(full, api):
    asked = (f"{V1}/ranking", f"{V1}/ranking?q=a", f"{V1}/ranking?limit=2", f"{V1}/boards")
    assert len({api.get(path).headers["etag"] for path in asked}) == len(asked)


def test_an_answer_during_changes_has_no_tag(full, api, monkeypatch):
    count = iter(range(100))
    monkeypatch.setattr(
        "evalcore.views.stored_boards.headers_signature", lambda settings: str(next(count))
    )
    answer = api.get(f"{V1}/boards")
    assert answer.status_code == 200
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(full, api, path):
    whole, head = api.get(path), api.head(path)
    assert head.content == b""
    assert (head.status_code, head.headers) == (200, whole.headers)


def test_a_ranking_asked_for_by_many_at_once_is_worked_out_once(full, api, monkeypatch):
    made, ranked = [], stored_boards.rank_board_runs
    monkeypatch.setattr(
        "evalcore.views.stored_boards.rank_board_runs",
        lambda *args: made.append(args) or ranked(*args),
    )
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: api.get(f"{V1}/ranking").text, range(6)))
    assert len(set(results)) == len(made) == 1


def test_an_address_leaves_out_what_is_empty():
    options = {"q": "", "kind": ("a", "b"), "limit": 3, "cursor": "x"}
    assert answers.build_address("/p", options, cursor="y") == "/p?kind=a&kind=b&limit=3&cursor=y"
    assert answers.build_address("/p", {}) == "/p"


@pytest.mark.slow
def test_the_real_server_answers_under_its_own_pages(tmp_path):
    """Any other unknown path gives the shell of the app; below `/api/` it must not."""
    with serve(tmp_path) as served, httpx2.Client(base_url=served.url) as asked:
        first = asked.get(f"{V1}/boards", headers={"Accept-Encoding": "gzip"})
        assert first.json() == {"items": [], "total": 0, "next": None}
        tag = first.headers["etag"]
        assert asked.get(f"{V1}/boards", headers={"If-None-Match": tag}).status_code == 304
        head = asked.head(f"{V1}/openapi.json")
        assert (head.status_code, head.content) == (200, b"")
        assert int(head.headers["content-length"]) > 1000
        missing = asked.get(f"{V1}/nosuch")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_route")
        assert asked.post(f"{V1}/boards").status_code == 405
        badge = asked.get(f"{V1}/badge.svg?target=x")
        assert badge.headers["content-type"] == "image/svg+xml"
        assert badge.headers["x-content-type-options"] == "nosniff"
