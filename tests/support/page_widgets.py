"""What the widgets of a page hold, as one who looks at it in a browser would read it.

Each function here gives a check of an open page, which waits until it holds or fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: Waits until an open page (of Playwright) shows what it says.
Check = Callable[[Any], None]


def _expect(what: Any) -> Any:
    from playwright.sync_api import expect

    return expect(what)


def _box(page: Any, label: str) -> Any:
    return page.get_by_role("combobox", name=label, exact=True)


def box(label: str, value: str) -> Check:
    """A select box shows a value, the beginning of which is enough."""
    return lambda page: _expect(_box(page, label)).to_have_value(re.compile(f"^{re.escape(value)}"))


def chips(label: str, *values: str) -> Check:
    """A multiple choice holds exactly these."""

    def check(page: Any) -> None:
        field = page.get_by_test_id("stMultiSelect").filter(has=_box(page, label))
        _expect(field.get_by_role("button", name=re.compile("^Remove "))).to_have_count(len(values))
        for value in values:
            _expect(field.get_by_role("button", name=f"Remove {value}")).to_be_visible()

    return check


def typed(text: str, label: str = "Search") -> Check:
    """A search field holds a text."""
    return lambda page: _expect(page.get_by_label(label, exact=True)).to_have_value(text)


def segment(name: str) -> Check:
    """One of a row of choices is the one that is chosen."""
    return lambda page: _expect(
        page.get_by_test_id("stMain").get_by_role("radio", name=name, exact=True)
    ).to_have_attribute("aria-checked", "true")


def pressed(*names: str) -> Check:
    """Choices of which there may be several are chosen."""

    def check(page: Any) -> None:
        for name in names:
            chosen = page.get_by_role("button", name=name, exact=True, pressed=True)
            _expect(chosen.last).to_be_visible()

    return check


def switched(label: str) -> Check:
    """A switch is on."""
    return lambda page: _expect(page.get_by_role("switch", name=label)).to_be_checked()


def numbered(number: int) -> Check:
    """A long list is turned to one of its pages."""
    return lambda page: _expect(page.get_by_test_id("stPaginationPageActive")).to_have_text(
        str(number)
    )


def says(text: str | re.Pattern[str]) -> Check:
    """The page shows a text."""
    return lambda page: _expect(
        page.get_by_test_id("stMain").get_by_text(text).first
    ).to_be_visible()


def heading(text: str) -> Check:
    """The page has a heading."""
    return lambda page: _expect(
        page.get_by_role("heading", name=text, exact=True).first
    ).to_be_visible()


def tagged(name: str) -> Check:
    """A filter that is on has a button that takes it back."""
    return lambda page: _expect(page.get_by_role("button", name=name).first).to_be_visible()


def folded(button: str, *checks: Check) -> Check:
    """What a button unfolds holds what the checks say."""

    def check(page: Any) -> None:
        page.get_by_role("button", name=button).first.click()
        for one in checks:
            one(page)
        page.keyboard.press("Escape")

    return check
