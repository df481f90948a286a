"""Which dialect a target speaks: as its options or its endpoint say, else by the address, the
model, and by what the server itself says.

All go by plain HTTP over one transport: the vendors' SDKs would add weight, retries and types that
read less of a reply than the dialects do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from evalcore.settings import ApiName, Endpoint
from evalcore.targets.endpoint.anthropic import AnthropicDialect, detect_platform
from evalcore.targets.endpoint.chat import ChatDialect
from evalcore.targets.endpoint.completions import CompletionsDialect
from evalcore.targets.endpoint.dialect import ApiDialect
from evalcore.targets.endpoint.gemini import GeminiDialect
from evalcore.targets.endpoint.responses import ResponsesDialect

_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
#: Models of OpenAI that answer here only, or take tools here only (from GPT-5.4 on).
_RESPONSES_MODEL = re.compile(
    r"(?i)gpt-(5\.([4-9]|[1-9][0-9])|[6-9]|[1-9][0-9])|^(o[1-9]|gpt-[5-9][0-9.]*)-pro"
    r"|codex|deep-research|computer-use"
)
#: A refusal that names the Responses API as the way.
_NAMES_RESPONSES = re.compile(r"(?i)\bv1/responses\b|\bresponses api\b")


def is_azure(base_url: str) -> bool:
    return (urlsplit(base_url).hostname or "").lower().endswith(_AZURE)


def choose_api(endpoint: Endpoint, model: str, option: ApiName = "auto") -> ApiName:
    """The dialect of a target, never `auto`: what a person set for the target goes before what the
    endpoint says, and that before the address and the model."""
    parts = urlsplit(endpoint.base_url)
    host, path = (parts.hostname or "").lower(), parts.path.rstrip("/")
    is_compatible = path.endswith("/openai")  # as Google calls its chat completions
    for stated in (option, "chat" if is_compatible else endpoint.api):
        if stated != "auto":
            return stated
    if host == "api.anthropic.com" or re.search(r"/anthropic(/v1)?$", path):
        return "anthropic"
    if host.startswith("bedrock-runtime") and not path:
        return "anthropic"
    if path.endswith("/publishers/google"):
        return "gemini"
    if host == "generativelanguage.googleapis.com":
        return "gemini"
    if (host == "api.openai.com" or is_azure(endpoint.base_url)) and _RESPONSES_MODEL.search(model):
        return "responses"
    return "chat"


def find_named_api(api: str, status: int | None, words: str) -> ApiName | None:
    """The dialect that a refusal tells to speak instead, None where it tells none: some models do
    not chat, and some take tools by the Responses API only."""
    if api == "chat" and status in (400, 403, 404) and _NAMES_RESPONSES.search(words):
        return "responses"
    return None


def adjust_base_url(base_url: str, api: str) -> str:
    """The address that belongs to a dialect, where a server has another for each."""
    address = urlsplit(base_url)
    path = address.path.rstrip("/")
    if address.hostname == "generativelanguage.googleapis.com":
        native = path.removesuffix("/openai")
        native = native or "/v1beta"
        path = native if api == "gemini" else f"{native}/openai"
    elif api == "gemini" and not path:
        path = "/v1beta"
    elif api == "anthropic" and detect_platform(base_url) == "anthropic":
        path += "" if path and not path.endswith("/anthropic") else "/v1"
    elif api == "responses" and is_azure(base_url):
        path = re.sub(r"/deployments/[^/]+$", "", path)  # the body names the deployment
    return address._replace(path=path).geturl()


def create_dialect(
    api: ApiName, endpoint: Endpoint, model: str, extra_body: Mapping[str, Any]
) -> ApiDialect:
    """The dialect `api` for a model at an endpoint."""
    if api == "anthropic":
        return AnthropicDialect(model, extra_body, detect_platform(endpoint.base_url))
    if api == "gemini":
        return GeminiDialect(model, extra_body, bearer="/publishers/" in endpoint.base_url)
    dialects: dict[str, Callable[[str, Mapping[str, Any]], ApiDialect]] = {
        "chat": ChatDialect,
        "completions": CompletionsDialect,
        "responses": ResponsesDialect,
    }
    return dialects[api](model, extra_body)
