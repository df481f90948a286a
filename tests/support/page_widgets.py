"""What the widgets of a page hold and what hands do to them: once for a browser, once for AppTest.

A check of a browser waits until it holds or fails; AppTest has drawn all there is when it returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from streamlit.testing.v1 import AppTest


class Check(NamedTuple):
    """What an open page shows: a page of Playwright, and the same in AppTest."""

    in_browser: Callable[[Any], None]
    in_app: Callable[[AppTest], None]


class Act(NamedTuple):
    """What a visitor does on an open page; AppTest is run again by the caller."""

    in_browser: Callable[[Any], None]
    in_app: Callable[[AppTest], object]


def _expect(what: Any) -> Any:
    from playwright.sync_api import expect

    return expect(what)


def _locate_box(page: Any, label: str) -> Any:
    return page.get_by_role("combobox", name=label, exact=True)


def _labelled(widgets: Any, label: str) -> Any:
    """The widget of that label, of one kind of them in AppTest."""
    return next(widget for widget in widgets if widget.label == label)


def box(label: str, value: str) -> Check:
    """A select box shows a value, the beginning of which is enough."""

    def in_app(app: AppTest) -> None:
        widget = _labelled(app.main.selectbox, label)
        assert widget.options[widget.index].startswith(value)

    beginning = re.compile(f"^{re.escape(value)}")
    return Check(lambda page: _expect(_locate_box(page, label)).to_have_value(beginning), in_app)


def chips(label: str, *values: str) -> Check:
    """A multiple choice holds exactly these, of each of which the beginning is enough."""

    def in_browser(page: Any) -> None:
        field = page.get_by_test_id("stMultiSelect").filter(has=_locate_box(page, label))
        _expect(field.get_by_role("button", name=re.compile("^Remove "))).to_have_count(len(values))
        for value in values:
            _expect(field.get_by_role("button", name=f"Remove {value}")).to_be_visible()

    def in_app(app: AppTest) -> None:
        chosen = _labelled(app.main.multiselect, label).values
        assert len(chosen) == len(values)
        assert all(any(text.startswith(value) for text in chosen) for value in values)

    return Check(in_browser, in_app)


def typed(text: str, label: str = "Search") -> Check:
    """A search field holds a text."""

    def in_app(app: AppTest) -> None:
        assert _labelled(app.main.text_input, label).value == text

    return Check(
        lambda page: _expect(page.get_by_label(label, exact=True)).to_have_value(text), in_app
    )


def segment(name: str) -> Check:
    """One of a row of choices is the one that is chosen."""

    def in_browser(page: Any) -> None:
        radio = page.get_by_test_id("stMain").get_by_role("radio", name=name, exact=True)
        _expect(radio).to_have_attribute("aria-checked", "true")

    def in_app(app: AppTest) -> None:
        assert [name] in [list(group.formatted_values) for group in app.main.button_group]

    return Check(in_browser, in_app)


def pressed(*names: str) -> Check:
    """Choices of which there may be several are chosen."""

    def in_browser(page: Any) -> None:
        for name in names:
            chosen = page.get_by_role("button", name=name, exact=True, pressed=True)
            _expect(chosen.last).to_be_visible()

    def in_app(app: AppTest) -> None:
        chosen = {text for group in app.main.button_group for text in group.formatted_values}
        assert set(names) <= chosen

    return Check(in_browser, in_app)


def slid(label: str, value: int) -> Check:
    """A slider stands at a value."""

    def in_app(app: AppTest) -> None:
        assert _labelled(app.main.slider, label).value == value

    return Check(
        lambda page: _expect(page.get_by_role("slider", name=label)).to_have_value(str(value)),
        in_app,
    )


def switched(label: str) -> Check:
    """A switch is on."""

    def in_app(app: AppTest) -> None:
        assert _labelled(app.main.toggle, label).value

    return Check(
        lambda page: _expect(page.get_by_role("switch", name=label)).to_be_checked(), in_app
    )


def numbered(number: int) -> Check:
    """A long list is turned to one of its pages."""

    def in_browser(page: Any) -> None:
        _expect(page.get_by_test_id("stPaginationPageActive")).to_have_text(str(number))

    def in_app(app: AppTest) -> None:
        assert [pager.value for pager in app.main.pagination] == [number]

    return Check(in_browser, in_app)


def says(text: str | re.Pattern[str]) -> Check:
    """The page shows a text."""

    def in_app(app: AppTest) -> None:
        pattern = text if isinstance(text, re.Pattern) else re.compile(re.escape(text))
        assert any(pattern.search(shown) for shown in texts(app)), texts(app)

    return Check(
        lambda page: _expect(page.get_by_test_id("stMain").get_by_text(text).first).to_be_visible(),
        in_app,
    )


def heading(text: str) -> Check:
    """The page has a heading."""

    def in_app(app: AppTest) -> None:
        assert text in headings(app)

    return Check(
        lambda page: _expect(
            page.get_by_role("heading", name=text, exact=True).first
        ).to_be_visible(),
        in_app,
    )


def tagged(name: str) -> Check:
    """A filter that is on has a button that takes it back."""

    def in_app(app: AppTest) -> None:
        assert name in [_plain(button.label) for button in app.main.button]

    return Check(
        lambda page: _expect(page.get_by_role("button", name=name).first).to_be_visible(), in_app
    )


def folded(button: str, *checks: Check) -> Check:
    """What a button unfolds holds what the checks say."""

    def in_browser(page: Any) -> None:
        page.get_by_role("button", name=button).first.click()
        for check in checks:
            check.in_browser(page)
        page.keyboard.press("Escape")

    def in_app(app: AppTest) -> None:
        menu = _find_menu(app, button)
        app.session_state[menu] = True
        app.run()
        for check in checks:
            check.in_app(app)
        app.session_state[menu] = False
        app.run()

    return Check(in_browser, in_app)


def unfold(button: str, act: Act) -> Act:
    """Do something within what a button unfolds; in AppTest the menu is left open."""

    def in_browser(page: Any) -> None:
        page.get_by_role("button", name=button).first.click()
        act.in_browser(page)
        page.keyboard.press("Escape")

    def in_app(app: AppTest) -> None:
        app.session_state[_find_menu(app, button)] = True
        app.run()
        act.in_app(app)

    return Act(in_browser, in_app)


def _find_menu(app: AppTest, button: str) -> str:
    """The key of what a button unfolds."""
    blocks = app.main.get("popover")
    return str(next(block.key for block in blocks if block.proto.popover.label == button))


def choose(label: str, option: str) -> Act:
    """Pick one of a list, by the beginning of its name."""

    def in_browser(page: Any) -> None:
        _locate_box(page, label).click()
        page.get_by_role("option", name=re.compile(f"^{re.escape(option)}")).first.click()
        page.keyboard.press("Escape")

    def in_app(app: AppTest) -> None:
        widget = _labelled([*app.main.selectbox, *app.main.multiselect], label)
        widget.select(next(name for name in widget.options if name.startswith(option)))

    return Act(in_browser, in_app)


def fill(text: str, label: str = "Search") -> Act:
    """Type into a field."""
    return Act(
        lambda page: page.get_by_label(label, exact=True).fill(text),
        lambda app: _labelled(app.main.text_input, label).set_value(text),
    )


def press(name: str) -> Act:
    """Click a button."""
    return Act(
        lambda page: page.get_by_role("button", name=name, exact=True).first.click(),
        lambda app: _labelled(app.main.button, name).click(),
    )


def press_key(shortcut: str) -> Act:
    """Press the key of a button, such as `Alt+n`."""
    return Act(
        lambda page: page.keyboard.press(shortcut),
        lambda app: next(
            button for button in app.main.button if button.proto.shortcut == shortcut.lower()
        ).click(),
    )


def take_segment(name: str) -> Act:
    """Choose one of a row of choices."""
    return Act(
        lambda page: page.get_by_role("radio", name=name, exact=True).first.click(),
        lambda app: next(group for group in app.main.button_group if name in group.options).select(
            name
        ),
    )


def turn_page() -> Act:
    """Go to the next page of a long list."""

    def in_app(app: AppTest) -> None:
        pager = app.main.pagination[0]
        pager.select(pager.value + 1)

    return Act(
        lambda page: page.get_by_role("button", name="Next page", exact=True).first.click(), in_app
    )


def headings(app: AppTest) -> list[str]:
    """The headings of a page's main part, those within Markdown too."""
    drawn = [*app.main.title, *app.main.header, *app.main.subheader]
    lines = [line for text in app.main.markdown for line in text.value.splitlines()]
    marked = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    return [_plain(text) for text in [*(element.value for element in drawn), *marked]]


def texts(app: AppTest) -> list[str]:
    """Everything that a page says in its main part: texts, messages, labels."""
    kinds = (
        *("title", "header", "subheader", "markdown", "caption", "text", "code"),
        *("error", "warning", "info", "success"),
    )
    shown = [str(element.value) for kind in kinds for element in app.main.get(kind)]
    shown += [widget.label for widget in (*app.main.button, *app.main.expander)]
    return [_plain(text) for text in shown]


def _plain(text: str) -> str:
    """A text without the signs of Markdown that do not show."""
    return re.sub(r"\*\*|\\(?=\W)|\\(?=_)", "", text)
