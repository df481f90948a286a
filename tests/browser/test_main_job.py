"""The main job in a real browser: launch, watch, see the rank, open a case and see why."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect

from tests.support import loopback_server
from tests.support.full_board import settle
from tests.support.loopback_server import Options
from tests.support.page_stores import CORRUPT, METRIC, RUN, corrupt_run, evidence_run

RUN_TIME = 120_000  # milliseconds a run of the baseline may take on a busy machine
MOST_CLICKS = 5  # from the form, once the key is typed, to the row of the run
#: Counts clicks as long as the page is not loaded anew, which the main job never does.
COUNT_CLICKS = "window.clicks = 0; addEventListener('click', () => { window.clicks++ }, true)"
HEADER, ROW = 36, 35  # heights of a grid, in pixels


def heading(page, text: str) -> None:
    expect(page.get_by_role("heading", name=text).first).to_be_visible()


def click_cell(page, row: int, x: int) -> None:
    """Click into the first grid of the page; a grid is a canvas, so cells are places."""
    grid = page.locator('[data-testid="stDataFrame"]').first
    expect(grid).to_be_visible()
    grid.scroll_into_view_if_needed()
    expect(grid.locator("canvas").first).to_be_attached()
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x, box["y"] + HEADER + ROW * row + ROW // 2)


def test_the_main_job_from_launch_to_case(served, page):
    page.goto(f"{served.url}/launch")
    heading(page, "Launch an evaluation")
    page.evaluate(COUNT_CLICKS)
    page.get_by_role("button", name="Start").click()

    page.wait_for_url(re.compile(r"/runs\?run=[0-9]{8}-"), timeout=RUN_TIME)
    run = page.url.partition("run=")[2]
    expect(page.locator(".stMarkdownBadge", has_text="Done")).to_be_visible(timeout=RUN_TIME)
    counted = page.get_by_text(re.compile(r"^([0-9]+) of \1 cases done$"))
    expect(counted).to_be_visible()
    assert (served.data / "runs" / run / "summary.json").is_file()

    main = page.get_by_test_id("stMain")  # not the link of the navigation, which is there before
    main.get_by_role("link", name="Ranking").last.click()
    page.wait_for_url(re.compile(rf"^{re.escape(served.url)}/\?.*run={run}"))
    expect(page.locator(".eb-own-run")).to_contain_text("Your run:")
    assert 0 < page.evaluate("window.clicks") <= MOST_CLICKS
    page.locator('.eb-table tr[aria-current="true"] a').click()

    page.wait_for_url(re.compile(r"/target\?.*key=baseline"))
    click_cell(page, row=0, x=60)

    page.wait_for_url(re.compile(rf"/case\?.*run={run}"))
    heading(page, "Answer")
    heading(page, "Why this verdict")
    expect(page.locator(".stMarkdownBadge", has_text=re.compile("Passed|Failed"))).to_be_visible()
    assert "id=ea-001" in page.url
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text(re.compile("^Case 2 of "))).to_be_visible()
    page.wait_for_url(re.compile("id=ea-002"))
    page.reload()
    expect(page.get_by_text(re.compile("^Case 2 of "))).to_be_visible()


@pytest.mark.full
@pytest.mark.slow
def test_a_model_comes_from_its_key_to_its_own_row_in_two_clicks(served, page):
    with loopback_server.serve(Options(reply="SELECT 1")) as server:
        page.goto(f"{served.url}/launch")
        heading(page, "Launch an evaluation")
        page.get_by_role("radio", name="OpenAI-compatible endpoint").first.click()
        page.get_by_role("combobox", name="Server").click()
        page.get_by_role("option", name="Another server").click()
        for label, text in (
            ("Model", "small"),
            ("Base URL", server.base_url),
            ("API key variable", "LOOPBACK_API_KEY"),
            ("Case limit", "12"),
        ):
            page.get_by_label(label, exact=True).first.fill(text)
            page.keyboard.press("Enter")
            settle(page)
        page.locator('input[type="password"]').first.fill("sk-of-this-session")
        page.keyboard.press("Enter")
        settle(page)
        page.evaluate(COUNT_CLICKS)

        page.get_by_role("button", name="Start").click()
        page.wait_for_url(re.compile(r"/runs\?run=[0-9]{8}-"), timeout=RUN_TIME)
        run = page.url.partition("run=")[2]
        expect(page.locator(".stMarkdownBadge", has_text="Done")).to_be_visible(timeout=RUN_TIME)
        page.get_by_role("link", name="Ranking").last.click()
        page.wait_for_url(re.compile(f"run={run}"))
        expect(page.locator('.eb-table tr[aria-current="true"]')).to_contain_text("your run")
        expect(page.locator(".eb-own-run")).to_contain_text("Your run:")
        assert 0 < page.evaluate("window.clicks") <= MOST_CLICKS
        assert "sk-of-this-session" not in page.content()


@pytest.mark.full
def test_the_first_visitor_may_come_by_a_deep_link(fresh_server, page):
    """Streamlit's older kind of multipage app must never show, not even to the very first."""
    page.goto(f"{fresh_server.url}/runs")
    heading(page, "Runs")
    expect(page.get_by_role("link", name="Methodology")).to_be_visible()
    expect(page.get_by_text("No run yet")).to_be_visible()
    expect(page).to_have_title("Runs · Evalboard")


@pytest.mark.full
def test_a_case_opens_by_its_link_and_hostile_text_stays_text(served, page):
    evidence_run(served.data / "runs")
    page.goto(f"{served.url}/case?run={RUN}&metric={METRIC}&id=table_diff&outcome=failed")
    expect(page.get_by_text("Case 1 of 2")).to_be_visible()
    expect(page.get_by_text("Wrong answer")).to_be_visible()
    for name in ("Raw record", "Reasoning", "Prompt and transcript"):
        page.get_by_text(name).first.click()
    expect(page.get_by_text("![x](http://evil.invalid/i.png)").first).to_be_visible()
    assert page.locator('a[href*="evil"], img[src*="evil"]').count() == 0
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Case 2 of 2")).to_be_visible()
    page.wait_for_url(re.compile("id=tree_diff&outcome=failed"))


@pytest.mark.full
def test_the_language_is_kept_from_page_to_page_and_in_the_link(served, page):
    page.goto(f"{served.url}/launch")
    heading(page, "Launch an evaluation")
    page.get_by_text("中文", exact=True).click()
    heading(page, "发起评测")
    page.wait_for_url(re.compile("lang=zh"))
    page.get_by_role("link", name="运行记录").click()
    heading(page, "运行记录")
    page.wait_for_url(re.compile("/runs.*lang=zh"))

    page.goto(f"{served.url}/methodology?lang=zh")
    expect(page.get_by_role("link", name="排行榜").first).to_be_visible()


@pytest.mark.full
def test_an_unknown_path_is_said_to_be_unknown(served, page):
    page.goto(f"{served.url}/nosuch")
    expect(page.get_by_text("There is no page “nosuch”")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)  # Streamlit's own message


def test_a_row_chooses_a_run_and_a_deletion_can_be_taken_back(served, page):
    evidence_run(served.data / "runs")
    broken = corrupt_run(served.data / "runs")
    page.goto(f"{served.url}/runs")
    expect(page.get_by_role("heading", name="openai:small")).to_be_visible()

    click_cell(page, row=1, x=18)
    page.wait_for_url(re.compile(f"run={CORRUPT}"))
    expect(page.get_by_text("This run folder cannot be read")).to_be_visible()
    expect(page.get_by_role("button", name="Rescore")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("was deleted")).to_be_visible()
    assert not broken.exists()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("This run folder cannot be read")).to_be_visible()
    assert broken.exists()
