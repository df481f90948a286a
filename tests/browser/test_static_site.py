"""The static site in a real Chromium, opened from the disk without any network."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalcore.exchange.site.publish import SiteOptions, publish_site
from tests.support.api import fill
from tests.support.axe import violations
from tests.support.boards import settings_in

LOOKED_AT = ("index.html", "boards/index.html", "methodology.html", "targets/*.html")


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
        path = next((Path(site.removeprefix("file://")) / folder).glob(name))
        tab.goto(path.as_uri())
        grave += [f"{name} {line}" for line in violations(tab)]
    assert not grave, "\n".join(grave)


def test_it_reads_without_scripts(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{site}/index.html")
    assert tab.locator("#ranking tbody tr").count() == 3
    assert not tab.locator("#tools").is_visible()
    context.close()
