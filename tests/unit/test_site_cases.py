"""The cases of a static site: what the app's view model says of each, small enough for free
hosting, and nothing of what is not for everybody."""

from __future__ import annotations

import base64
import os
import random
import re
import zlib

import msgspec
import pytest

from evalcore.errors import UsageError
from evalcore.exchange.site import case_data
from evalcore.exchange.site.facts import collect_site_facts
from evalcore.exchange.site.publish import SiteOptions, build_site_files, publish_site
from evalcore.i18n import LANGUAGES, lookup_text
from evalcore.records import Episode, Sample, Verdict
from evalcore.results import Interval
from evalcore.scoring.intervals import compare_paired
from evalcore.settings import Settings
from evalcore.views.case_points import load_board_points
from evalcore.views.cases import case_view
from evalcore.views.published_pairs import compare_published_rows
from evalcore.views.published_ranking import PublishedRanking
from evalcore.views.runs import redact_case
from tests.support import boards
from tests.support.boards import Plan, make_run
from tests.support.pages import store as store

pytestmark = pytest.mark.slow

APP = "https://board.example/app"
MOST = 15_000_000  # bytes
CASES = int(os.environ.get("EVALBOARD_CASES", "50"))  # looked at, of ten thousand
CODES = {code: outcome for outcome, code in case_data.OUTCOME_CODES.items()}


def read_chunk(files, name):
    """What a page gets of a chunk."""
    text = files[f"{name}.js"].decode()
    match = re.fullmatch(r'evalboardChunk\("([a-z0-9_/-]+)","([A-Za-z0-9+/=]+)"\);\n', text)
    assert match is not None
    assert match[1] == name
    return msgspec.json.decode(zlib.decompress(base64.b64decode(match[2])))


class Held:
    """The cases of a site by (run, benchmark, metric, id, epoch), as its pages reach them."""

    def __init__(self, files):
        self.files = files
        self.chunks = {}
        self.site = read_chunk(files, case_data.SITE_INDEX)
        names = {n for board in self.site["boards"] for n in board["columns"].values()}
        self.columns = {name: read_chunk(files, name) for name in sorted(names)}
        self.cases = {}
        for name, column in self.columns.items():
            for number, run in enumerate(column["runs"]):
                for position, (metric, case, _) in enumerate(column["cases"]):
                    for epoch in range(run["epochs"]):
                        code = run["outcomes"][position * run["epochs"] + epoch]
                        if code != "-" and column["chunks"]:
                            key = (run["run"], column["benchmark"], metric, case, epoch)
                            self.cases[key] = (name, position, number, code)

    def read(self, key):
        """Outcome, sample and the rest of a case."""
        name, position, number, code = self.cases[key]
        chunk = 0
        while position >= self.columns[name]["chunks"][chunk]:
            position -= self.columns[name]["chunks"][chunk]
            chunk += 1
        chunk_name = f"{name}-{chunk}"
        if chunk_name not in self.chunks:
            self.chunks[chunk_name] = read_chunk(self.files, chunk_name)
        stored = self.chunks[chunk_name][position]
        [row] = [row for row in stored["answers"] if row[:2] == [number, key[-1]]]
        return CODES[code], row[3] if len(row) > 3 else stored["sample"], row[2]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    settings = Settings(data=str(tmp_path_factory.mktemp("shipped")))
    return settings


@pytest.fixture(scope="module")
def files(shipped):
    return dict(build_site_files(shipped, "Evalboard", "", f"{APP}/"))


def test_the_site_of_what_ships_is_small_enough_for_free_hosting(files):
    assert sum(map(len, files.values())) <= MOST


def assert_as_in_the_app(settings, held, key):
    run, benchmark, metric, case, epoch = key
    view = redact_case(
        case_view(settings.run_roots, run, metric, case, benchmark=benchmark, epoch=epoch)
    )
    outcome, sample, row = held.read(key)
    assert outcome == view.outcome
    assert msgspec.convert(sample, Sample) == view.sample
    for name, kind in (("verdict", Verdict), ("episode", Episode)):
        value = row.get(name)
        assert (None if value is None else msgspec.convert(value, kind)) == getattr(view, name), (
            name
        )
    assert bool(row.get("hidden")) == view.hidden
    assert bool(row.get("taken_over")) == view.taken_over
    if view.verdict and view.verdict.note:
        assert set(row["notes"]["verdict"]) == set(LANGUAGES)


def test_many_cases_are_those_of_the_app(shipped, files):
    held = Held(files)
    keys = sorted(held.cases)
    assert len(keys) > 10_000
    chosen = random.Random(20261129).sample(keys, CASES)
    assert len({key[0] for key in chosen}) > 8  # of many runs
    for key in chosen:
        assert_as_in_the_app(shipped, held, key)


def test_every_case_of_every_run_on_a_board_is_there(shipped, files):
    held, facts = Held(files), collect_site_facts(shipped)
    for ranking in facts.default_rankings:
        if isinstance(ranking, PublishedRanking):
            continue
        for row in ranking.targets.values():
            for benchmark, header in row.runs.items():
                own = [key for key in held.cases if key[:2] == (header.run_id, benchmark)]
                assert len(own) == ranking.board.columns[benchmark].samples, (
                    header.run_id,
                    benchmark,
                )


def test_scores_and_weights_of_an_index_give_the_points_of_the_board(shipped, files):
    held, facts = Held(files), collect_site_facts(shipped)
    ranking = next(item for item in facts.default_rankings if not item.board.published)
    points = load_board_points(shipped, list(ranking.targets.values()), ranking.board)
    [site] = [
        item
        for item in held.site["boards"]
        if item["key"] == ranking.board.key and item["suite"] == ranking.board.suite
    ]
    for benchmark, table in points.items():
        column = held.columns[site["columns"][benchmark]]
        whole = sum(weight or 0 for weight in column["weights"])
        scores = {run["run"]: run["scores"] for run in column["runs"]}
        for run, row in table.runs.items():
            total = sum((w or 0) * s for w, s in zip(column["weights"], scores[run], strict=True))
            assert 100 * total / whole == pytest.approx(table.points[row].sum())


def test_published_boards_hold_every_month_and_compare_as_the_app_does(shipped, files):
    held = Held(files)
    months = {
        board["key"] for board in held.site["boards"] if board["key"].startswith("published-scale-")
    }
    assert len(months) == 13
    assert any("tau2" in board["key"] for board in held.site["boards"])
    board = next(b for b in held.site["boards"] if b["key"] == "published-scale-2026-03")
    first, second = (row["runs"]["sql_optimization"] for row in board["rows"][:2])
    [pair, *_] = [
        pair
        for pair in compare_published_rows(shipped, first, second).pairs
        if pair.benchmark == "sql_optimization" and not pair.metric
    ]
    column = held.columns[board["columns"]["sql_optimization"]]
    scores = {run["run"]: run["scores"] for run in column["runs"]}
    keys = [(metric, case) for metric, case, _ in column["cases"]]
    sides = [
        {k: s for k, s in zip(keys, scores[name], strict=True) if s is not None}
        for name in (second, first)
    ]
    weights = dict(zip(keys, column["weights"], strict=True))
    assert compare_paired(*sides, weights, lambda key: key[0]) == pair.result
    assert isinstance(pair.result.interval, Interval)


def test_pages_lead_to_their_live_counterparts_and_back(files):
    assert f'href="{APP}/?suite=sql&amp;board=default"' in files["boards/sql-default.html"].decode()
    page = files["targets/baseline-sqlite-" + target_hash(files, "baseline:sqlite") + ".html"]
    assert f'href="{APP}/target?key=baseline%3Asqlite"' in page.decode()
    for name in ("case", "compare", "target", "open"):  # the app's own paths, with its parameters
        for folder in ("", "zh/"):
            assert f'data-base="{APP}/"' in files[f"{folder}{name}.html"].decode()


def target_hash(files, identity):
    stem = read_chunk(files, case_data.SITE_INDEX)["targets"][identity]
    return stem.rpartition("-")[2]


def test_every_text_that_the_scripts_name_exists(files):
    scripts = " ".join(
        files[f"assets/{name}.js"].decode()
        for name in ("data", "evidence", "case", "compare", "resolve")
    )
    keys = set(re.findall(r't\("([a-z]+\.[a-z_.]+)"', scripts))
    assert len(keys) > 60
    areas = {"case", "common", "compare", "published", "section", "site"}
    for key in keys:
        assert lookup_text(key, "zh") is not None, key
        assert key.split(".")[0] in areas or key == "ranking.board", key
    assert "innerHTML" not in scripts
    assert "insertAdjacentHTML" not in scripts
    assert "document.write" not in scripts


def test_gated_texts_stay_out(store, monkeypatch):
    plain = boards.samples

    def gate(plan):
        return [
            msgspec.structs.replace(s, input={"sql": "SECRET question"}, meta={"gated": True})
            for s in plain(plan)
        ]

    monkeypatch.setattr(boards, "samples", gate)
    for target in ("openai:a", "openai:b"):
        make_run(store, Plan(target=target, cases=2))
    files = dict(build_site_files(msgspec.structs.replace(store, show_gated=True), "E", ""))
    held = Held(files)
    assert held.cases
    for key in held.cases:
        _, sample, row = held.read(key)
        assert row["hidden"]
        assert "SECRET" not in repr((sample, row))


def test_paths_of_this_machine_do_not_stand_in_cases(store):
    make_run(store, Plan(target="hf:/home/me/models/tiny", cases=2, failing=1))
    held = Held(dict(build_site_files(store, "E", "")))
    for key in held.cases:
        assert "/home/me" not in repr(held.read(key))
    assert "/home/me" not in repr(held.site)
    assert "/home/me" not in repr(held.columns)


def test_runs_with_other_cases_and_a_broken_run_do_not_mix(store):
    make_run(store, Plan(target="openai:a", cases=3))
    make_run(store, Plan(target="openai:b", cases=2))
    folder = make_run(store, Plan(target="openai:c", cases=3))
    (folder.path / "samples.jsonl").write_text("{torn\n{torn\n")
    held = Held(dict(build_site_files(store, "E", "")))
    assert len({(key[0]) for key in held.cases}) == 2
    for key in held.cases:
        assert_as_in_the_app(store, held, key)


def test_a_chunk_is_cut_at_its_size(store, monkeypatch):
    monkeypatch.setattr(case_data, "_CHUNK", 2_000)
    make_run(store, Plan(target="openai:a", cases=9))
    held = Held(dict(build_site_files(store, "E", "")))
    [column] = held.columns.values()
    assert len(column["chunks"]) > 3
    assert sum(column["chunks"]) == len(column["cases"])
    for key in held.cases:
        assert_as_in_the_app(store, held, key)


@pytest.mark.parametrize("address", ["example.org", "javascript:alert(1)", "https://x/?a=1"])
def test_an_address_of_the_app_that_is_none_is_refused(store, tmp_path, address):
    with pytest.raises(UsageError, match="--app-url"):
        publish_site(store, SiteOptions(tmp_path / "out", app_url=address))
