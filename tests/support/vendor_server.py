"""The native APIs of vendors (OpenAI Responses, Anthropic Messages, Gemini) on the loopback, as
strict as theirs, each with the quirks by which theirs are known.

A server asked with tools calls `get_weather` with a thought before it, and refuses the next turn
unless the thought comes back as it was; asked without tools it says "ready". A quirk is set for all
requests of a server by `quirk`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "vendor-canary-0123456789"
MODEL = "able-1"
ARGUMENTS = {"city": "Lisbon"}
ANSWER = "It is sunny."
Reply = tuple[int, Any]


@dataclass
class VendorServer:
    """One server for all APIs, told apart by path. `bodies` are the requests in their order, with
    `path` and `headers` of each."""

    quirk: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    origin: str = ""

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        route = path.partition("?")[0]
        if route.endswith("/chat/completions"):
            return self._chat(body)
        if self.quirk == "named_in_vain" and route.endswith("/responses"):
            return 404, {"detail": "Not Found"}
        if route.endswith("/responses"):
            return self._responses(headers, body)
        if route.endswith("/messages"):
            return self._messages(headers, body)
        return self._content(path, headers, body)

    # Chat completions, of a model that does not take tools there.

    def _chat(self, body: dict[str, Any]) -> Reply:
        if self.quirk == "tools_by_responses" and body.get("tools"):
            words = (
                f"Function tools with reasoning_effort are not supported for {MODEL} in "
                "/v1/chat/completions. To use function tools, use /v1/responses or set "
                "reasoning_effort to 'none'."
            )
            return 400, {"error": {"message": words, "param": "reasoning_effort"}}
        if self.quirk in ("only_responses", "named_in_vain"):
            words = "This model is only supported in v1/responses and not in v1/chat/completions."
            return 404, {"error": {"message": words, "type": "invalid_request_error"}}
        message = {"role": "assistant", "content": "ready"}
        return 200, {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]}

    # OpenAI Responses.

    _REASONING = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "gAAAA-sealed",
    }

    def _responses(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        if headers.get("authorization") != f"Bearer {KEY}":
            return 401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}
        if error := self._refuse_response(body):
            return 400, {"error": error}
        failed = {"code": "server_error", "message": "The server had an error"}
        reply: dict[str, Any] = {"id": "r", "object": "response", "status": "completed"}
        reply |= {"model": MODEL, "usage": {"input_tokens": 9, "output_tokens": 5}, "error": None}
        reply["output"] = self._response_items(body)
        if self.quirk == "cut_by_limit":
            reply |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        if self.quirk == "failed":
            reply |= {"status": "failed", "error": failed, "output": []}
        return (200, self._response_events(reply)) if body.get("stream") else (200, reply)

    def _refuse_response(self, body: dict[str, Any]) -> dict[str, Any] | None:
        known = {"model", "input", "tools", "store", "include", "stream", "reasoning"}
        for name in body.keys() - known - {"max_output_tokens", "temperature", "top_p"}:
            return {"message": f"Unknown parameter: '{name}'.", "param": name}
        if self.quirk == "no_temperature" and "temperature" in body:
            words = "Unsupported parameter: 'temperature' is not supported with this model."
            return {"message": words, "param": "temperature"}
        if self.quirk == "no_encrypted" and "include" in body:
            words = "Encrypted content is not supported with this model."
            return {"message": words, "param": "include"}
        if self.quirk == "overflow":
            words = "Your input exceeds the context window of this model."
            return {"message": words, "code": "context_length_exceeded", "param": "input"}
        if self.quirk == "policy":
            return {"message": "The response was filtered", "code": "content_filter"}
        kinds = [item.get("type") for item in body["input"]]
        if "function_call_output" in kinds:
            call = kinds.index("function_call")
            if not call or body["input"][call - 1] != self._REASONING:
                words = "Item 'fc_1' of type 'function_call' was provided without its required "
                return {"message": f"{words}'reasoning' item: 'rs_1'.", "param": "input"}
        return None

    def _response_items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        kinds = [item.get("type") for item in body["input"]]
        if body.get("tools") and "function_call_output" not in kinds:
            call = {"id": "fc_1", "type": "function_call", "call_id": "call_a"}
            call |= {"name": "get_weather", "arguments": json.dumps(ARGUMENTS)}
            return [self._REASONING, call]
        text = ANSWER if body.get("tools") else "ready"
        part = {"type": "output_text", "text": text, "annotations": []}
        return [{"id": "m", "type": "message", "role": "assistant", "content": [part]}]

    def _response_events(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [
            {
                "type": "response.created",
                "response": reply | {"status": "in_progress", "output": []},
            }
        ]
        for index, item in enumerate(reply["output"]):
            place = {"output_index": index}
            events.append({"type": "response.output_item.added", "item": item, **place})
            for part in item.get("content") or ():
                text = {"type": "response.output_text.delta", "delta": part["text"]}
                events.append(text | place)
            events.append({"type": "response.output_item.done", "item": item, **place})
        if self.quirk == "cut_stream":
            return events[:-1]
        return [*events, {"type": f"response.{reply['status']}", "response": reply}]

    # Anthropic Messages.

    _THOUGHT = {"type": "thinking", "thinking": "Look it up.", "signature": "EqQB-signed"}

    def _messages(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        if headers.get("x-api-key") != KEY:
            return self._error(401, "authentication_error", "invalid x-api-key")
        if not headers.get("anthropic-version"):
            return self._error(
                400, "invalid_request_error", "anthropic-version: header is required"
            )
        if self.quirk == "overloaded":
            return self._error(529, "overloaded_error", "Overloaded")
        if refusal := self._refuse_message(body):
            return self._error(400, "invalid_request_error", refusal)
        results = [b for t in body["messages"] for b in t["content"] if b["type"] == "tool_result"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": "ready"}]
        if body.get("tools"):
            call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": ARGUMENTS}
            text = {"type": "text", "text": ANSWER}
            blocks = [text] if results else [self._THOUGHT, call]
        reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        reason = {"refusal": "refusal", "cut_by_limit": "max_tokens"}.get(self.quirk, reason)
        reason = "pause_turn" if self.quirk == "new_end" else reason
        reply = {"type": "message", "role": "assistant", "model": MODEL, "content": blocks}
        reply |= {"stop_reason": reason, "usage": {"input_tokens": 9, "output_tokens": 5}}
        return (200, self._message_events(reply)) if body.get("stream") else (200, reply)

    @staticmethod
    def _error(status: int, kind: str, words: str) -> Reply:
        return status, {"type": "error", "error": {"type": kind, "message": words}}

    def _refuse_message(self, body: dict[str, Any]) -> str:
        """The words of a refusal, empty where the request is in order."""
        limit, sampling = body.get("max_tokens"), {"temperature", "top_p"} & body.keys()
        if not isinstance(limit, int):
            return "max_tokens: Field required"
        if self.quirk == "small_limit" and limit > 8192:
            return (
                f"max_tokens: {limit} > 8192, which is the maximum allowed number of output tokens"
            )
        if self.quirk == "full_context" and limit > 10_000:
            return (
                f"input length and `max_tokens` exceed context limit: 190000 + {limit} > 200000, "
                "decrease input length or `max_tokens` and try again"
            )
        if self.quirk == "overflow":
            return "prompt is too long: 209000 tokens > 200000 maximum"
        if self.quirk == "one_of_two" and len(sampling) == 2:
            return "`temperature` and `top_p` cannot both be specified for this model."
        if self.quirk == "no_temperature" and "temperature" in body:
            return "`temperature` is deprecated for this model."
        if body.get("thinking", {}).get("type") == "adaptive" and "temperature" in body:
            return "`temperature` may only be set to 1 when thinking is enabled."
        if self.quirk == "credit":
            return "Your credit balance is too low to access the Anthropic API."
        return self._check_turns(body["messages"])

    def _check_turns(self, turns: list[dict[str, Any]]) -> str:
        for before, turn in zip([None, *turns], turns, strict=False):
            if before is None and turn["role"] != "user":
                return 'messages: first message must use the "user" role'
            for block in turn["content"]:
                if block["type"] == "text" and not block["text"].strip():
                    return "messages: text content blocks must contain non-whitespace text"
                if block["type"] == "tool_result":
                    earlier = before["content"] if before else []
                    ids = [b["id"] for b in earlier if b["type"] == "tool_use"]
                    if block["tool_use_id"] not in ids:
                        return "messages: unexpected `tool_use_id` found in `tool_result` blocks"
                    if earlier[0] != self._THOUGHT:
                        return "Expected `thinking` or `redacted_thinking`, but found `tool_use`."
        return ""

    def _message_events(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        start = reply | {"content": [], "stop_reason": None}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
        for index, block in enumerate(reply["content"]):
            pieces = {"text": "text_delta", "thinking": "thinking_delta"}
            shell = block | {n: "" for n in ("text", "thinking", "signature") if n in block}
            shell |= {"input": {}} if "input" in block else {}
            place = {"index": index}
            events.append({"type": "content_block_start", "content_block": shell, **place})
            deltas = [{"type": kind, n: block[n]} for n, kind in pieces.items() if n in block]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            if "input" in block:
                text = json.dumps(block["input"])
                deltas += [
                    {"type": "input_json_delta", "partial_json": t} for t in (text[:5], text[5:])
                ]
            events += [{"type": "content_block_delta", "delta": d, **place} for d in deltas]
            events.append({"type": "content_block_stop", **place})
        if self.quirk == "overloaded_midway":
            return [*events, self._error(529, "overloaded_error", "Overloaded")[1]]
        if self.quirk == "cut_stream":
            return events
        end = {"type": "message_delta", "delta": {"stop_reason": reply["stop_reason"]}}
        return [*events, end | {"usage": {"output_tokens": 5}}, {"type": "message_stop"}]

    # Gemini.

    def _content(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        if headers.get("x-goog-api-key") != KEY:
            return self._status(400, "INVALID_ARGUMENT", "API key not valid.")
        if f"/models/{MODEL}:" not in path:
            return self._status(404, "NOT_FOUND", "models/x is not found for API version v1beta")
        if refusal := self._refuse_content(body):
            return refusal
        parts: list[dict[str, Any]] = [{"text": "ready"}]
        results = [p for t in body["contents"] for p in t["parts"] if "functionResponse" in p]
        if body.get("tools"):
            call = {"functionCall": {"name": "get_weather", "args": ARGUMENTS}}
            thought = {"text": "Look it up.", "thought": True}
            signed = call | {"thoughtSignature": "Cpk-signed"}
            parts = [{"text": ANSWER}] if results else [thought, signed]
        ends = {"malformed_call": "MALFORMED_FUNCTION_CALL", "safety": "SAFETY", "other": "OTHER"}
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        candidate["finishReason"] = ends.get(self.quirk, "STOP")
        if self.quirk in ends:
            del candidate["content"]
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
        reply = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}
        if self.quirk == "blocked":
            reply = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        return (200, self._content_events(reply)) if "alt=sse" in path else (200, reply)

    @staticmethod
    def _status(code: int, status: str, words: str, *details: dict[str, Any]) -> Reply:
        error = {"code": code, "status": status, "message": words, "details": list(details)}
        return code, [{"error": error}]

    def _refuse_content(self, body: dict[str, Any]) -> Reply | None:
        known = {"contents", "tools", "systemInstruction", "generationConfig"}
        for name in body.keys() - known:
            words = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            return self._status(400, "INVALID_ARGUMENT", words)
        limit = body.get("generationConfig", {}).get("maxOutputTokens", 0)
        if self.quirk == "quota":
            wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "41s"}
            return self._status(429, "RESOURCE_EXHAUSTED", "You exceeded your quota.", wait)
        if self.quirk == "no_system" and "systemInstruction" in body:
            words = f"Developer instruction is not enabled for models/{MODEL}"
            return self._status(400, "INVALID_ARGUMENT", words)
        if self.quirk == "overflow":
            words = "The input token count (1200000) exceeds the maximum number of tokens allowed"
            return self._status(400, "INVALID_ARGUMENT", f"{words} (1048576).")
        if self.quirk == "small_limit" and limit > 65_536:
            words = (
                f"Unable to submit request because it has a maxOutputTokens value of {limit} but "
                "the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value."
            )
            return self._status(400, "INVALID_ARGUMENT", words)
        for turn in body["contents"]:
            for part in turn["parts"]:
                if "functionCall" in part and part.get("thoughtSignature") != "Cpk-signed":
                    words = "Function call is missing a thought_signature in functionCall parts."
                    return self._status(400, "INVALID_ARGUMENT", words)
        return None

    def _content_events(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        if "candidates" not in reply or "content" not in reply["candidates"][0]:
            return [reply]
        [candidate] = reply["candidates"]
        events = [
            {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
            for part in candidate["content"]["parts"]
        ]
        if self.quirk == "cut_stream":
            return events
        last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
        return [*events, reply | {"candidates": [last]}]

    # Lists of models, in pages where the API has them.

    def list_models(self, path: str, headers: dict[str, str]) -> Reply:
        query = path.partition("?")[2]
        if "x-goog-api-key" in headers:
            if "pageToken" in query:
                return 200, {"models": [{"name": "models/gemini-b", "inputTokenLimit": 1048576}]}
            entries = [
                {"name": "models/gemini-a", "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
            ]
            return 200, {"models": entries, "nextPageToken": "2"}
        if "x-api-key" in headers:
            if "anthropic-version" not in headers:
                return self._error(400, "invalid_request_error", "header is required")
            if "after_id" in query:
                return 200, {"data": [{"id": "claude-b"}], "has_more": False, "last_id": "claude-b"}
            entry = {"id": "claude-a", "display_name": "Claude A", "max_input_tokens": 200_000}
            gone = {"id": "claude-old", "lifecycle": "retired"}
            return 200, {"data": [entry, gone], "has_more": True, "last_id": "claude-a"}
        if self.quirk == "bare_list":
            return 200, [{"id": "b", "context_length": 4096}, {"id": "a"}]
        if self.quirk == "no_list":
            return 404, {"error": {"message": "Not Found"}}
        return 200, {"object": "list", "data": [{"id": "gpt-b"}, {"id": "gpt-a"}, {"id": 3}]}


@contextmanager
def serve_vendors(quirk: str = "") -> Iterator[VendorServer]:
    """A running server; its addresses are `origin` and a path of the API."""
    state = VendorServer(quirk)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                state.bodies.append(body)
                state.requests.append((self.path, headers))
                self._send(*state.answer(self.path, headers, body))

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                state.requests.append((self.path, headers))
                self._send(*state.list_models(self.path, headers))

        def _send(self, status: int, reply: Any) -> None:
            events = status == 200 and self.command == "POST" and isinstance(reply, list)
            if events:
                lines = (
                    f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n"
                    for event in reply
                )
                content = "".join(lines).encode()
            else:
                content = json.dumps(reply).encode()
            self.send_response(status)
            kind = "text/event-stream" if events else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.origin = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
