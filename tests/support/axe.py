"""axe-core on an open page: what it calls serious or critical, in both themes."""

from __future__ import annotations

from typing import Any

from tests.support.full_board import settle, visit

_GRAVE = ("serious", "critical")
#: Only colours depend on the theme, so that the second look asks for nothing else.
_THEMES: dict[str, dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]},
}


def violations_at(tab: Any, address: str) -> list[str]:
    """The `violations` of a page that the tab goes to."""
    visit(tab, address)
    return violations(tab)


def violations(tab: Any) -> list[str]:
    """A line for each element with a serious or critical violation, in light and in dark."""
    return [line for theme in _THEMES for line in _of_theme(tab, theme)]


def _of_theme(tab: Any, theme: str) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    tab.emulate_media(color_scheme=theme)
    settle(tab)
    result = Axe().run(tab, options=_THEMES[theme]).response["violations"]
    return [
        f"{theme}: {item['id']} ({item['impact']}): {node['html'][:300]} {node['target']} "
        f"{node['any'][0]['message'] if node['any'] else ''}"
        for item in result
        if item["impact"] in _GRAVE
        for node in item["nodes"]
    ]
