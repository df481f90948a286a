"""A page that is read, on paper: no controls, nothing cut off."""

from __future__ import annotations

from io import BytesIO
from unicodedata import normalize

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e .[dev]")

from playwright.sync_api import expect
from pypdf import PdfReader

from evalcore.settings import Settings
from tests.support.boards import Plan, make_run
from tests.support.full_board import settle


@pytest.fixture
def url(served):
    """A server over three targets on one board and a control."""
    store = Settings(data=str(served.data), shipped=str(served.data.parent / "none"))
    for name, skill in {"strong": 0.9, "middle": 0.5, "weak": 0.2}.items():
        make_run(store, Plan(f"openai:{name}", skill=skill))
    make_run(store, Plan("control:null", skill=0.05, price=None))
    return served.url


@pytest.mark.parametrize("address", ["/", "/decide?level=dialects", "/decide?level=metrics"])
def test_on_paper_no_column_of_a_table_is_cut_off(url, page, address):
    """Paper of A4 upright has 688 pixels between its margins."""
    page.goto(f"{url}{address}")
    page.locator(".eb-table tbody tr").first.wait_for()
    settle(page)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})
    cells = page.locator(".eb-table tr > *")
    assert cells.count() > 20
    rights = cells.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(rights) <= 688
    for row in ("ranking", "decide"):
        controls = page.locator(f".st-key-{row}-controls")
        assert not controls.count() or controls.is_hidden()


@pytest.mark.parametrize(
    "address",
    ["/metrics?metric=execution_accuracy", "/target?key=openai%3Astrong", "/runs"],
)
def test_on_paper_a_wide_grid_is_whole(url, page, address):
    """A grid is a canvas that ends where it does on the screen: paper has its table in its place,
    and so has the PDF that a browser prints."""
    page.goto(f"{url}{address}")
    page.locator('[data-testid="stDataFrame"]:visible').first.wait_for()  # others are folded away
    settle(page)
    page.emulate_media(media="print")
    heads = page.locator(".eb-paper:visible th").all_text_contents()
    assert len(heads) >= 7
    pdf = PdfReader(BytesIO(page.pdf(prefer_css_page_size=True)))
    text = normalize("NFKC", "".join(sheet.extract_text() for sheet in pdf.pages))  # ligatures
    printed = "".join(text.split())
    assert not [head for head in (*heads, "openai:strong") if "".join(head.split()) not in printed]

    page.set_viewport_size({"width": 688, "height": 1000})
    assert page.locator('[data-testid="stDataFrame"]:visible').count() == 0
    cells = page.locator(".eb-paper tr > *")
    rights = cells.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(rights) <= 688


@pytest.mark.full
def test_on_paper_there_are_no_controls_and_nothing_is_cut_off(url, page):
    page.goto(f"{url}/methodology")
    main = page.get_by_test_id("stMain")
    expect(main.get_by_text("Versions").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_test_id("stSelectbox").first).to_be_hidden()
    assert main.evaluate("e => getComputedStyle(e).overflowY") == "visible"
    assert page.evaluate("document.documentElement.scrollHeight") > 1_500

    page.goto(f"{url}/target?key=openai%3Astrong")
    page.emulate_media(media="screen")
    page.get_by_test_id("stMetric").first.wait_for()
    settle(page)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})
    assert page.get_by_test_id("stMetric").first.bounding_box()["width"] >= 120
    table = page.locator(".eb-paper").first.bounding_box()
    assert table["x"] + table["width"] <= 688
