"""The web for mode `web`: searching by a service of which there is a key, and visiting pages."""

from __future__ import annotations

from collections.abc import Callable

from evalcore.benchmarks.gaia.attachments import ReadRequest
from evalcore.benchmarks.gaia.tools import search, visit
from evalcore.benchmarks.gaia.tools.addresses import Address, is_public
from evalcore.errors import UsageError
from evalcore.secrets import Secrets

SEARCH, VISIT = search.WEB_SEARCH_TOOL, visit.VISIT_PAGE_TOOL


def find_provider_name(provider_name: str = "") -> str:
    """The name of the search service that has a key, for the record of a run.

    Raises UsageError naming the variables that are looked for.
    """
    return search.select_provider(Secrets(), provider_name).name


class Browser:
    """Searches and visits for one run; `find_provider_name` names the service, which may be
    `wanted` by name. Usable from several threads.

    Raises UsageError where there is no key. `allowed` says which addresses may be visited; another
    choice than public ones is for tests.
    """

    def __init__(
        self,
        secrets: Secrets | None = None,
        *,
        provider_name: str = "",
        allowed: Callable[[Address], bool] = is_public,
    ) -> None:
        keys = secrets or Secrets()
        self._provider = search.select_provider(keys, provider_name)
        self._key = (keys.get(self._provider.variable) or "").strip()
        if not self._key.isascii() or not self._key.isprintable() or not self._key:
            raise UsageError(f"the key in {self._provider.variable} holds characters of no key")
        self._allowed = allowed
        self.provider = self._provider.name

    def search(self, query: str) -> str:
        """Results as text. Raises Refusal and EnvironmentFailure."""
        return search.run_web_search(self._provider, self._key, query)

    def visit(self, url: str, request: ReadRequest) -> str:
        """The text of a page. Raises Refusal and EnvironmentFailure."""
        return visit.visit_page(url, request, allowed=self._allowed)
