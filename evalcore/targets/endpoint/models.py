"""The models that a key can reach at an endpoint, as its server lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from evalcore.access.secrets import Secrets
from evalcore.errors import IntakeError, TargetFailure
from evalcore.i18n import Note
from evalcore.intake import read_count
from evalcore.intake.http import decode_json
from evalcore.records import TargetSpec
from evalcore.settings import Settings
from evalcore.targets import failures
from evalcore.targets.base import ServedModel
from evalcore.targets.endpoint import anthropic
from evalcore.targets.endpoint.target import EndpointTarget, create_openai_target

#: Pages of a list that are read, and models that are taken from it.
_MOST_PAGES = 20
_MOST_MODELS = 5000
_PAGE_SIZE = 1000
_MOST_NAME_CHARACTERS = 200


async def list_served_models(
    spec: TargetSpec, settings: Settings, secrets: Secrets
) -> tuple[ServedModel, ...]:
    """The models at the endpoint that a target names, by their names; the target's model may be
    any. Raises UsageError, and TargetFailure where the server lists none."""
    target = create_openai_target(spec, settings, secrets)
    await target.open(lambda line: None)
    try:
        return await _read_pages(target)
    finally:
        await target.close()


async def _read_pages(target: EndpointTarget) -> tuple[ServedModel, ...]:
    read_page = _READERS.get(target.api, _read_openai_page)
    models: dict[str, ServedModel] = {}
    query: Mapping[str, Any] | None = _FIRST_QUERIES.get(target.api, {})
    for _ in range(_MOST_PAGES):
        if query is None or len(models) >= _MOST_MODELS:
            break
        page = await _get_page(target, query)
        models |= {model.id: model for model in read_page(page) if model.id}
        query = _find_next_query(page, query)
    return tuple(sorted(models.values(), key=lambda model: model.id))[:_MOST_MODELS]


async def _get_page(target: EndpointTarget, query: Mapping[str, Any]) -> dict[str, Any]:
    path = f"/models?{urlencode(query)}" if query else "/models"
    reply = await target.fetch_path(path, _HEADERS.get(target.api, {}))
    try:
        content = decode_json(reply.content) if reply.status < 300 else None
    except IntakeError:
        content = None
    if isinstance(content, list):  # Together lists without a frame
        content = {"data": content}
    if isinstance(content, dict):
        return content
    if reply.status < 300:
        raise TargetFailure(failures.malformed_failure(Note("models_none")))
    raise TargetFailure(target.describe_refusal(reply))


def _find_next_query(page: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any] | None:
    """The query of the next page (Gemini: a token; Anthropic: the last id), None at the end."""
    token, last = page.get("nextPageToken"), page.get("last_id")
    if isinstance(token, str) and token:
        return {**query, "pageToken": token}
    if page.get("has_more") is True and isinstance(last, str) and query:
        return {**query, "after_id": last}
    return None


def _read_openai_page(page: Mapping[str, Any]) -> Iterator[ServedModel]:
    """Entries of most servers. They call the context by several names."""
    for entry in _list_entries(page, "data", "models"):
        known = entry.get("context_length", entry.get("max_model_len", entry.get("context_window")))
        yield _build_model(entry.get("id") or entry.get("name"), entry.get("name"), known)


def _read_anthropic_page(page: Mapping[str, Any]) -> Iterator[ServedModel]:
    for entry in _list_entries(page, "data"):
        if entry.get("lifecycle") != "retired":
            known = entry.get("max_input_tokens")
            yield _build_model(entry.get("id"), entry.get("display_name"), known)


def _read_gemini_page(page: Mapping[str, Any]) -> Iterator[ServedModel]:
    """Those that generate content; others embed."""
    for entry in _list_entries(page, "models", "publisherModels"):
        methods = entry.get("supportedGenerationMethods", ["generateContent"])
        if isinstance(methods, list) and "generateContent" in methods:
            name = str(entry.get("name") or "").rpartition("models/")[2]
            yield _build_model(name, entry.get("displayName"), entry.get("inputTokenLimit"))


def _list_entries(page: Mapping[str, Any], *names: str) -> Iterator[dict[str, Any]]:
    for name in names:
        if isinstance(page.get(name), list):
            yield from (entry for entry in page[name] if isinstance(entry, dict))
            return


def _build_model(name: Any, title: Any, context: Any) -> ServedModel:
    """A model in one line each of name and title: what a server says is shown."""
    shown = name if isinstance(name, str) and name.isprintable() else ""
    label = title if isinstance(title, str) and title.isprintable() and title != name else ""
    fits = len(shown) <= _MOST_NAME_CHARACTERS
    return ServedModel(shown if fits else "", label[:_MOST_NAME_CHARACTERS], read_count(context))


_READERS: dict[str, Callable[[Mapping[str, Any]], Iterator[ServedModel]]] = {
    "anthropic": _read_anthropic_page,
    "gemini": _read_gemini_page,
}
_HEADERS = {"anthropic": {"anthropic-version": anthropic.VERSION}}
_FIRST_QUERIES: dict[str, dict[str, Any]] = {
    "anthropic": {"limit": _PAGE_SIZE},
    "gemini": {"pageSize": _PAGE_SIZE},
}
