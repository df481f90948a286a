"""The static site: the numbers of the API and of the page's CSV, nothing that runs, one language a
folder, the same bytes every time."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evalcore.access.policy import OPERATOR
from evalcore.cli.main import main
from evalcore.errors import UsageError
from evalcore.exchange.site import facts
from evalcore.exchange.site.facts import board_page, make_file_stem, target_page
from evalcore.exchange.site.publish import SiteOptions, build_site_files, publish_site
from evalcore.target_cards import TargetCard, save_card
from evalcore.views import boards, stored_boards, targets
from pages.shared.exports import to_csv_bytes
from tests.support import headers
from tests.support.api import HOSTILE, client, fill, items
from tests.support.boards import Plan, make_run, settings_in
from tests.support.pages import store as store

pytestmark = pytest.mark.slow

BOARD = "boards/sql-default.html"
SQL = ("sql_understanding", "dialect_conversion", "sql_optimization")
VOID = {"meta", "link", "img", "input", "br"}


class Reader(HTMLParser):
    """What a page holds: tags with attributes, the cells of every row, and all of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.rows: dict[str, list[dict[str, str]]] = {}
        self.open: list[str] = []
        self.words = ""
        self._row: list[dict[str, str]] | None = None
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr" and "data-id" in values:
            self._row = self.rows.setdefault(values["data-id"], [])
        elif tag in ("td", "th") and self._row is not None:
            self._row.append({**values, "text": ""})

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "tr":
            self._row = None

    def handle_data(self, data):
        self.words += data
        if self._row:
            self._row[-1]["text"] += data


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    settings = settings_in(tmp_path_factory.mktemp("site"))
    fill(settings)
    at = "2026-10-01T10:00:00+00:00"
    second = Plan(target="openai:strong", skill=0.7, cases=8, created_at=at)
    make_run(settings, second, "20261001-100000-aaaaaa")
    card = TargetCard(name="中 <b>Middle</b>", site="https://x.invalid/?a=1&b", licence="MIT")
    save_card(settings, OPERATOR, "openai:middle", card)
    return settings


@pytest.fixture(scope="module")
def site(stored):
    return dict(build_site_files(stored, "Evalboard", "https://example.org/board/"))


def read(site, path):
    return Reader(site[path].decode())


def table(text):
    """The cells of a CSV as numbers where they are such, times and truths in one spelling."""
    rows = csv.reader(io.StringIO(text.decode()))
    return [[plain(cell) for cell in row] for row in rows]


def plain(cell):
    try:
        return float(cell)
    except ValueError:
        return cell.replace("T1", " 1").lower()


def number(cell):
    return float(cell["data-v"]) if cell["data-v"] else None


@pytest.fixture
def api(stored, monkeypatch):
    monkeypatch.setenv("EVALBOARD_DATA", stored.data)
    monkeypatch.setenv("EVALBOARD_SHIPPED", stored.shipped)
    return client()


@pytest.mark.parametrize("path", ["index.html", BOARD, "zh/index.html", f"zh/{BOARD}"])
def test_a_board_shows_the_numbers_of_the_api(site, api, path):
    shown = read(site, path).rows
    pairs = items(api, "/api/v1/ranking")
    assert len(shown) == len(pairs) == 5
    names = [name.replace("\u202e", " ") for name in (row["identity"] for row in pairs)]
    assert list(shown) == names
    for name, row in zip(names, pairs, strict=True):
        cells = shown[name]
        if row["status"] != "ranked":
            assert number(cells[1]) == row["score"]
            continue
        assert [number(cell) for cell in (cells[0], cells[2])] == [row["rank"], row["score"]]
        assert (float(cells[3]["data-v"]), float(cells[3]["data-w"])) == (row["low"], row["high"])
        assert cells[4]["data-v"] == str(row["rank_low"])
        assert cells[4]["data-w"] == str(row["rank_high"])
        assert number(cells[5]) == row["group"]
        assert cells[6]["text"].strip() == f"{row['passed']}/{row['measured'] + row['errors']}"
        assert [number(cell) for cell in cells[7:9]] == [row["cost"], row["latency"]]
        assert cells[9]["data-v"] == row["date"]
        assert [number(cell) for cell in cells[10:]] == list(row["metrics"].values())


def test_the_floor_and_the_decision_stand_on_the_board(site, api):
    floors = api.get("/api/v1/boards").json()["items"][0]["floors"]["sql_understanding"]
    page = read(site, BOARD)
    marked = [message["data-v"] for _, message in page.tags if "data-floor" in message]
    assert [float(value) for value in marked] == [floors["null"]]
    assert "leads" in page.words or "no clear leader" in page.words


def test_the_data_files_are_those_of_the_api_and_of_the_page(site, stored, api):
    payload = json.loads(site["data/sql-default.json"])
    args = api.get("/api/v1/ranking").json()
    assert payload == {name: args[name] for name in ("board", "by", "items", "total")}
    frame = stored_boards.board_ranking(
        stored, boards.list_boards(stored_boards.load_run_headers(stored), "sql")[0]
    )
    ours = table(site["data/sql-default.csv"])
    assert ours == table(to_csv_bytes(frame))
    assert len(ours) == len(payload["items"]) + 1
    spec = json.loads(site["data/sql-default.vl.json"])
    scores = {row["score"] for rows in spec["datasets"].values() for row in rows if "low" in row}
    assert scores == {row["score"] for row in payload["items"] if row["status"] == "ranked"}


def test_a_target_has_its_numbers_history_and_run(site, api):
    row = next(
        pair for pair in items(api, "/api/v1/ranking") if pair["identity"] == "openai:strong"
    )
    page = read(site, target_page("openai:strong"))
    [card] = [message for _, message in page.tags if "data-board" in message]
    assert float(card["data-v"]) == row["score"]
    assert f"{row['score']:.1f} [{row['low']:.1f}–{row['high']:.1f}]" in page.words
    for metric, score in row["metrics"].items():
        assert metric in {message.get("data-part") for _, message in page.tags}
        assert f"{score:.1f}" in page.words
    assert "20261001-100000-aaaaaa" in page.words
    assert "20261101-100000-aaaaaa" in page.words
    assert any(message.get("class") == "plot" for _, message in page.tags)  # two runs make a trend
    assert "Hash of the cases" in page.words


def test_the_worked_example_gives_the_score_of_the_leader(site, api):
    leader = items(api, "/api/v1/ranking")[0]
    words = read(site, "methodology.html").words
    match = re.search(r"100 × ([\d.,]+) ÷ ([\d.,]+) = ([\d.]+)", words)
    assert match is not None
    points, maximum, score = (float(text.replace(",", "")) for text in match.groups())
    assert score == pytest.approx(leader["score"], abs=0.05)
    assert 100 * points / maximum == pytest.approx(leader["score"], abs=1e-6)


def test_nothing_of_a_hostile_name_or_card_is_markup(site):
    for path, content in site.items():
        if not path.endswith(".html"):
            continue
        page = Reader(content.decode())
        scripts = [message for tag, message in page.tags if tag == "script"]
        assert scripts  # our own files, and nothing inline
        assert all(
            message["src"].removeprefix("../").startswith(("../assets/", "assets/"))
            for message in scripts
        )
        assert re.search("<script[^>]*></script>", content.decode())
        assert not re.search("<script[^>]*>[^<]", content.decode())
        assert "\u202e" not in content.decode()
        for tag, message in page.tags:
            assert not [name for name in message if name.startswith("on") or name == "style"], tag
            for name in ("href", "src"):
                address = message.get(name, "")
                assert not address.lower().startswith(("javascript:", "http:", "//")), address
                if name == "src" or tag != "a":
                    outside = address.startswith("https:") and "example.org" not in address
                    assert not outside, address
    assert "<b>Middle</b>" in read(site, target_page("openai:middle")).words
    assert "<script>alert(1)</script>" in read(site, BOARD).words


def test_every_link_leads_to_a_file_of_the_site(site):
    for path, content in site.items():
        if not path.endswith(".html"):
            continue
        for tag, message in Reader(content.decode()).tags:
            for name in ("href", "src"):
                address = message.get(name, "")
                if not address or address.startswith(("https:", "data:", "#")):
                    continue
                posix = (Path("/") / Path(path).parent / address.split("?")[0]).as_posix()
                parts: list[str] = []
                for part in posix.split("/")[1:]:
                    parts = parts[:-1] if part == ".." else [*parts, part]
                assert "/".join(parts) in site, (path, tag, address)


def test_pages_say_what_a_preview_needs_and_both_languages_know_each_other(site):
    contents = {
        item.get("property") or item.get("name"): item.get("content")
        for tag, item in read(site, BOARD).tags
        if tag == "meta"
    }
    assert contents["og:url"] == f"https://example.org/board/{BOARD}"
    assert contents["og:image"] == "https://example.org/board/previews/sql-default.png"
    assert site["previews/sql-default.png"].startswith(b"\x89PNG")
    english = {path for path in site if path.endswith(".html") and not path.startswith("zh/")}
    assert {path.removeprefix("zh/") for path in site if path.startswith("zh/")} == english
    assert 'lang="zh-Hans"' in site["zh/index.html"].decode()


def test_equal_stores_give_equal_bytes(site, stored):
    assert dict(build_site_files(stored, "Evalboard", "https://example.org/board/")) == site


def test_without_an_address_no_page_names_one(stored):
    made = dict(build_site_files(stored, "A <b>team</b>", ""))
    assert not any(path.startswith("previews/") for path in made)
    assert b"og:image" not in made["index.html"]
    assert "A <b>team</b>" in Reader(made["index.html"].decode()).words


def test_an_empty_store_gives_a_page_that_says_so(store, tmp_path):
    publish_site(store, SiteOptions(tmp_path / "out"))
    assert "Nothing has been ranked yet" in (tmp_path / "out" / "index.html").read_text()
    assert "尚无排名" in (tmp_path / "out" / "zh" / "index.html").read_text()


def test_paths_of_this_machine_do_not_leave_it(store):
    make_run(store, Plan(target="hf:/home/me/models/tiny", skill=0.5, cases=2))
    for path, content in build_site_files(store, "Evalboard", ""):
        assert b"/home/me" not in content, path


def test_a_broken_run_is_left_out_and_the_others_stand(store):
    make_run(store, Plan(target="openai:b", skill=0.5, cases=2))
    folder = make_run(store, Plan(target="openai:a", skill=0.5, cases=2))
    (folder.path / "spec.json").write_text("{torn")
    assert folder.run_id not in facts.collect_site_facts(store).specs
    made = dict(build_site_files(store, "Evalboard", ""))
    assert target_page("openai:b") in made
    assert target_page("openai:a") not in made


def test_controls_and_scores_are_named_in_the_language_of_the_page(store):
    for target in ("control:null", "openai:small"):
        make_run(store, Plan(target=target, skill=0.5))
    save_card(store, OPERATOR, "control:null", TargetCard(name="Control: no answer"))
    site = dict(build_site_files(store, "site", ""))
    page = f"targets/{make_file_stem('control:null')}.html"
    for prefix, name, size in (
        ("", "Control: no answer", "80 cases"),
        ("zh/", "对照：不作答", "80 个用例"),
    ):
        assert f"<h1>{name}</h1>" in site[prefix + page].decode()
        assert f"{size}</small>" in site[prefix + page].decode()
        assert f">{name}</a>" in site[prefix + BOARD].decode()
    words = site["assets/words.zh.js"].decode()
    assert '"names":{"Control: no answer":"对照：不作答"}' in words
    assert '"names":{}' in site["assets/words.en.js"].decode()


def test_targets_of_one_name_are_told_apart_on_every_page(store):
    for target in ("openai:a", "openai:b"):
        make_run(store, Plan(target=target, skill=0.5, cases=2))
        save_card(store, OPERATOR, target, TargetCard(name="Same"))
    made = dict(build_site_files(store, "Evalboard", ""))
    for target in ("openai:a", "openai:b"):
        assert f"Same ({target})" in Reader(made[BOARD].decode()).rows[target][1]["text"]
        assert f"<h1>Same ({target})</h1>" in made[target_page(target)].decode()


def test_the_best_in_a_benchmark_need_not_be_ranked_on_the_suite(store, monkeypatch):
    """As on the page of the app: who ran only one benchmark counts in that one."""
    everywhere = {key: headers.score(f"c.{key}", 60.0, dataset=key) for key in SQL}
    runs = [
        headers.header("openai:all", 2, **everywhere),
        headers.header(
            "openai:one", 1, **{SQL[0]: headers.score(f"c.{SQL[0]}", 90.0, dataset=SQL[0])}
        ),
    ]
    monkeypatch.setattr(stored_boards, "load_run_headers", lambda settings: runs)
    page = read(dict(build_site_files(store, "Evalboard", "")), target_page("openai:all"))
    best, _ = targets.find_score_extremes(runs, boards.list_boards(runs, "sql")[0], whole=True)
    assert best[SQL[0]] == 90.0
    assert "90.0" in page.words


def test_names_of_files_are_plain_and_different():
    names = ["a:b", "a-b", "a b", "A:b", "../../etc/passwd", "x" * 300, HOSTILE, "中文", "中", ""]
    stems = [make_file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,60}", stem) for stem in stems)
    assert board_page("sql-default") == BOARD


def test_the_command_writes_and_replaces_its_own_folder(stored, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EVALBOARD_SHIPPED", stored.shipped)
    out = tmp_path / "public"
    for _ in range(2):
        assert main(["site", "--data", stored.data, "--out", str(out), "--title", "T"]) == 0
    assert "open" in capsys.readouterr().out
    assert (out / "index.html").is_file()
    assert not list(tmp_path.glob(".public*"))


def test_a_folder_with_anything_else_in_it_is_left_alone(stored, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("EVALBOARD_SHIPPED", stored.shipped)
    out = tmp_path / "public"
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    assert main(["site", "--data", stored.data, "--out", str(out)]) == 2
    assert "mine.txt" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    (out / "mine.txt").unlink()
    publish_site(stored, SiteOptions(out))
    (out / ".git").write_text("gitdir: elsewhere")
    with pytest.raises(UsageError, match=r"\.git"):
        publish_site(stored, SiteOptions(out))
    assert (out / "index.html").is_file()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="not a folder"):
        publish_site(stored, SiteOptions(link))


def test_a_failure_half_way_leaves_the_old_site(stored, tmp_path, monkeypatch):
    out = tmp_path / "public"
    publish_site(stored, SiteOptions(out))
    before = (out / "index.html").read_bytes()

    def fails(*args):
        raise OSError("disk full")

    monkeypatch.setattr("evalcore.exchange.site.publish.build_method_view", fails)
    with pytest.raises(OSError, match="disk full"):
        publish_site(stored, SiteOptions(out, title="new"))
    assert (out / "index.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["public"]


@pytest.mark.parametrize("address", ["example.org", "javascript:alert(1)", "https://x/?a=1", "//x"])
def test_an_address_that_is_none_is_refused(stored, tmp_path, address):
    with pytest.raises(UsageError, match="--base-url"):
        publish_site(stored, SiteOptions(tmp_path / "out", base_url=address))
