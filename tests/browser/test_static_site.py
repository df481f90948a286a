"""The static site in a real Chromium, opened from the disk without any network."""

from __future__ import annotations

import random
import re
from pathlib import Path

import msgspec
import pytest

from evalcore.exchange.site.publish import SiteOptions, publish_site
from evalcore.records import Message, Section, Usage
from evalcore.scoring.intervals import compare_paired
from evalcore.store.journal import Journal
from evalcore.store.run_folder import StoredEpisode, StoredVerdict
from tests.support import boards
from tests.support.api import HOSTILE, fill
from tests.support.axe import violations
from tests.support.boards import BENCHMARK, SCORING, Plan, make_run, settings_in
from tests.support.publications import PublicationBuilder

LOOKED_AT = (
    *("index.html", "boards/index.html", "methodology.html", "targets/*.html"),
    *("compare.html", "cases.html?run=20261101-100000-aaaaaa", "case.html?%s"),
)
SCRIPT = "<script>window.owned=1</script><img src=x onerror=window.owned=1>"
CASE = "run=20261101-100000-aaaaaa&metric=syntax_error_detection&id=1"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    settings = settings_in(folder)
    fill(settings)
    publish_site(settings, SiteOptions(folder / "out"))
    return (folder / "out").as_uri()


@pytest.fixture
def offline(chromium):
    """A page that may read files and nothing else, and must have nothing to complain of."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    tab, complaints = context.new_page(), []

    def only_files(route):
        if route.request.url.startswith(("file:", "data:")):
            route.continue_()
        else:
            complaints.append(route.request.url)
            route.abort()

    tab.route("**/*", only_files)
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


def names(tab):
    return tab.locator("#ranking tbody tr:not([hidden]) th a").all_inner_texts()


def test_a_board_is_searched_filtered_and_sorted(offline, site):
    offline.goto(f"{site}/index.html")
    everyone = names(offline)
    assert everyone[:2] == ["openai:strong", "openai:middle"]
    assert offline.locator("#found").inner_text() == "3 of 3 targets"
    offline.get_by_role("button", name="Score").click()
    offline.get_by_role("button", name="Score").click()
    assert names(offline) == everyone[::-1]
    assert offline.locator('th[aria-sort="ascending"]').inner_text().startswith("Score")
    offline.get_by_role("button", name="Cost").click()
    assert names(offline)[-1] == "openai:middle"  # of unknown cost
    offline.locator("#q").fill("MIDD")
    assert names(offline) == ["openai:middle"]
    assert offline.locator("#others tbody tr:not([hidden])").count() == 0
    address = offline.url
    assert address.endswith("#q=MIDD&sort=cost%3Aascending")
    offline.goto("about:blank")
    offline.goto(address)
    assert names(offline) == ["openai:middle"]
    assert offline.locator("#found").inner_text() == "1 of 3 targets"


def test_every_kind_of_page_opens_in_both_languages_and_fits_a_phone(offline, site):
    offline.set_viewport_size({"width": 390, "height": 800})
    for folder in ("", "zh/"):
        offline.goto(f"{site}/{folder}index.html")
        offline.locator("#ranking tbody a").first.click()
        assert "/targets/" in offline.url
        for page in ("boards/index.html", "methodology.html", "index.html"):
            offline.goto(f"{site}/{folder}{page}")
            assert offline.evaluate("document.documentElement.scrollWidth") <= 390, page
            assert offline.evaluate("document.styleSheets.length") == 1
    offline.locator(".language").click()
    assert offline.locator("html").get_attribute("lang") == "en"


@pytest.mark.full
@pytest.mark.parametrize("folder", ["", pytest.param("zh", marks=pytest.mark.full)])
def test_every_kind_of_page_is_accessible(tabs, site, folder):
    tab, grave = tabs("en"), []
    for name in LOOKED_AT:
        name, _, query = name.partition("?")
        path = next((Path(site.removeprefix("file://")) / folder).glob(name))
        tab.goto(f"{path.as_uri()}?{query % CASE if '%' in query else query}")
        tab.wait_for_selector("body:not(:has([aria-busy]))")
        grave += [f"{name} {line}" for line in violations(tab)]
    assert not grave, "\n".join(grave)


def test_it_reads_without_scripts(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{site}/index.html")
    assert tab.locator("#ranking tbody tr").count() == 3
    assert not tab.locator("#tools").is_visible()
    context.close()


def ready(tab, address):
    """The text of a page that is drawn from data."""
    tab.goto(address)
    tab.wait_for_selector("#view:not([aria-busy])")
    return tab.locator("#view").inner_text()


def test_a_case_is_read_by_keyboard_in_both_languages_and_on_a_phone(offline, site):
    text = ready(offline, f"{site}/case.html?{CASE}")
    number = int(re.search(r"Case (\d+) of", text)[1])
    assert "SELECT 1" in text
    offline.keyboard.press("Alt+n")
    offline.wait_for_url("**id=2**")
    offline.wait_for_selector("#view:not([aria-busy])")
    assert f"Case {number + 1} of" in offline.locator("#view").inner_text()
    offline.keyboard.press("Alt+p")
    offline.wait_for_url("**id=1**")
    offline.get_by_role("link", name="中文").click()
    offline.wait_for_selector("#view:not([aria-busy])")
    assert "id=1" in offline.url
    assert "题目" in offline.locator("#view").inner_text()
    offline.set_viewport_size({"width": 390, "height": 800})
    for page in (f"case.html?{CASE}", "cases.html?run=20261101-100000-aaaaaa", "compare.html"):
        for folder in ("", "zh/"):
            ready(offline, f"{site}/{folder}{page}")
            assert offline.evaluate("document.documentElement.scrollWidth") <= 390, page


def test_the_cases_of_a_run_are_filtered_sorted_and_searched(offline, site):
    ready(offline, f"{site}/cases.html?run=20261101-100000-aaaaaa")
    total = int(offline.locator("#view output").inner_text().split()[0])
    rows = offline.locator("#view tbody tr")
    assert rows.count() == total
    offline.get_by_label("Outcome").select_option("failed")
    failed = rows.count()
    assert 0 < failed < total
    assert "outcome=failed" in offline.url
    offline.get_by_label("Outcome").select_option("")
    offline.get_by_role("button", name="Score").click()
    assert rows.first.inner_text().startswith("Failed")
    offline.get_by_role("button", name="Score").click()
    assert rows.first.inner_text().startswith("Passed")
    offline.locator("#q").fill("SELECT 3")
    assert rows.count() == 0
    offline.get_by_role("button", name="Search questions and answers too").click()
    offline.get_by_role("button", name="Questions and answers are searched").wait_for()
    assert 0 < rows.count() < total
    rows.first.get_by_role("link").click()
    offline.wait_for_selector("#view:not([aria-busy])")
    assert "SELECT 3" in offline.locator("#view").inner_text()


def test_an_address_of_the_app_leads_to_the_page_that_shows_the_same(offline, site):
    offline.goto(f"{site}/target.html?key=openai:strong")
    offline.wait_for_url("**/targets/openai-strong-*.html")
    offline.goto(f"{site}/zh/open.html?suite=sql&board=default")
    offline.wait_for_url("**/zh/boards/sql-default.html")
    assert "not part of this site" in ready(offline, f"{site}/target.html?key=constructor")
    assert "not part of this site" in ready(
        offline, f"{site}/case.html?run=constructor&metric=a&id=b"
    )
    assert "no such case" in ready(offline, f"{site}/case.html?{CASE}0000")
    assert "names no case" in ready(offline, f"{site}/case.html")


def build_cases(seed):
    """Random cases for a paired comparison: metrics, weights and scores of many kinds."""
    rng = random.Random(seed)
    scores = [0.0, 1.0] if seed % 2 else [0.0, 0.25, 0.5, 1.0]
    weights = [1.0] if seed % 3 == 0 else [1.0, 2.0, 3.5]
    return [
        {
            "metric": f"m{rng.randrange(1 + seed % 4)}",
            "weight": rng.choice(weights),
            "first": rng.choice(scores),
            "second": rng.choice(scores),
        }
        for _ in range(rng.choice([1, 2, 9, 40, 300]))
    ]


def test_a_comparison_is_calculated_as_in_the_app(offline, site):
    ready(offline, f"{site}/compare.html")
    for seed in range(60):
        cases = build_cases(seed)
        ours = offline.evaluate("cases => paired.compare(cases)", cases)
        sides = [{n: case[side] for n, case in enumerate(cases)} for side in ("second", "first")]
        weights = {n: case["weight"] for n, case in enumerate(cases)}
        names = [case["metric"] for case in cases]
        theirs = compare_paired(*sides, weights, names.__getitem__)
        assert ours["difference"] == pytest.approx(theirs.difference, abs=1e-9), seed
        interval = (theirs.interval.low, theirs.interval.high)
        assert ours["interval"] == pytest.approx(interval, abs=1e-8), seed
        for name in ("common", "wins", "losses", "test"):
            assert ours[name] == getattr(theirs, name), (seed, name)
        exact = theirs.test == "mcnemar" or theirs.wins + theirs.losses <= 14
        assert ours["p"] == pytest.approx(theirs.p, abs=1e-9 if exact else 0.03), seed
        assert (
            ours["both"] + ours["onlyFirst"] + ours["onlySecond"] + ours["neither"]
            == ours["common"]
        )


def test_two_rows_of_a_board_are_compared_down_to_their_cases(offline, site):
    text = ready(offline, f"{site}/compare.html?runs=20261101-100000-aaaaaa,20261101-100100-aaaaaa")
    assert "openai:strong is" in text or "both score the same" in text
    offline.get_by_label("Which cases").select_option("first")
    links = offline.locator("#view table").last.locator("tbody a")
    assert links.count() >= 2
    links.first.click()
    offline.wait_for_selector("#view:not([aria-busy])")
    assert "Passed" in offline.locator("#view .panel").inner_text()
    offline.go_back()
    offline.wait_for_selector("#view:not([aria-busy])")
    offline.get_by_role("button", name="Swap A and B").click()
    offline.wait_for_url("**runs=20261101-100100-aaaaaa*")


def make_hostile_store(settings, monkeypatch):
    """Names, ids, questions, answers, evidence and a publication that try to be markup."""
    plain = boards.samples

    def spoil(plan):
        return [
            msgspec.structs.replace(
                sample,
                id=f"{SCRIPT}{sample.id}",
                input={"sql": SCRIPT, SCRIPT: SCRIPT, "rows": [[9007199254740993, 1.0, None]]},
                reference={"__proto__": SCRIPT, SCRIPT: [SCRIPT]},
            )
            for sample in plain(plan)
        ]

    monkeypatch.setattr(boards, "samples", spoil)
    for target in (HOSTILE, "openai:</script>" + SCRIPT):
        folder = make_run(settings, Plan(target=target, dataset=SCRIPT, cases=2))
        verdicts = [stored.verdict for stored in folder.read_verdicts(SCORING)]
        episodes = [stored.episode for stored in folder.read_episodes()]
        sections = (
            Section("text", SCRIPT, SCRIPT),
            Section("table", "x", {"columns": [SCRIPT], "rows": [[SCRIPT], [9007199254740993]]}),
            Section(
                "calls",
                "calls",
                {
                    "answer": [{"name": SCRIPT, "arguments": {SCRIPT: SCRIPT}}],
                    "accepted": [],
                    "output": None,
                    "expected": None,
                    "argument": [],
                },
            ),
            Section("table_diff", "difference", {"columns": "not a list"}),
            Section("json", "__proto__", {"a": [SCRIPT] * 3}),
        )
        with Journal(folder.path / "verdicts" / SCORING / "w2.jsonl") as journal:
            for verdict in verdicts:
                worse = msgspec.structs.replace(
                    verdict,
                    note=SCRIPT,
                    reason=SCRIPT,
                    evidence=sections,
                    details={"mode": SCRIPT, "error_group": "constructor", "flagged": SCRIPT},
                )
                journal.append(StoredVerdict(BENCHMARK, worse))
        with Journal(folder.path / "generations" / "w2.jsonl") as journal:
            for episode in episodes:
                worse = msgspec.structs.replace(
                    episode,
                    answer=SCRIPT,
                    usage=Usage(),
                    messages=(Message("assistant", SCRIPT, reasoning=SCRIPT),),
                )
                journal.append(StoredEpisode(BENCHMARK, worse))
    builder = PublicationBuilder()
    for key in ("a", "b"):
        builder.entry(
            key, name=f"{SCRIPT} {key}", organization=SCRIPT, reading=builder.reading("110", "11")
        )
    builder.write(settings)


def test_nothing_of_a_hostile_store_runs_or_becomes_markup(offline, tmp_path, monkeypatch):
    settings = settings_in(tmp_path)
    make_hostile_store(settings, monkeypatch)
    publish_site(settings, SiteOptions(tmp_path / "out"))
    home = (tmp_path / "out").as_uri()
    seen = 0
    pages = ["boards/index.html", "compare.html", "methodology.html"]
    for path in [*pages, *(f"targets/{p.name}" for p in (tmp_path / "out" / "targets").iterdir())]:
        offline.goto(f"{home}/{path}")
        offline.wait_for_selector("body:not(:has([aria-busy]))")
        seen += offline.evaluate("document.body.innerText").count("<script>")
        assert offline.evaluate("window.owned") is None, path
    run = next(settings.runs_dir.glob("run-*")).name
    assert "script" in ready(offline, f"{home}/cases.html?run={run}")
    offline.locator("#view tbody a").first.click()
    offline.wait_for_selector("#view:not([aria-busy])")
    text = offline.evaluate("document.body.textContent")
    assert text.count(SCRIPT) > 15
    assert "9007199254740993" in text
    assert "not in the expected form" in text
    assert offline.locator("#view img, #view script, #view iframe").count() == 0
    assert offline.evaluate("window.owned") is None
    assert seen > 5


def test_a_missing_chunk_is_said_and_not_a_blank_page(chromium, tmp_path):
    settings = settings_in(tmp_path)
    fill(settings)
    publish_site(settings, SiteOptions(tmp_path / "out"))
    for path in (tmp_path / "out" / "cases").glob("*-0.js"):
        path.unlink()
    context = chromium.new_context()
    tab = context.new_page()
    text = ready(tab, f"{(tmp_path / 'out').as_uri()}/case.html?{CASE}")
    assert "could not be loaded" in text
    context.close()
