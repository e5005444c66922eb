"""A server on this machine that speaks the APIs of OpenAI (chat completions, responses) and Anthropic (messages).

It answers by what a request asks for: a call of the tool that it forces, or of the first that it offers if none has
answered yet; JSON of a schema that it names; else words that say how many images came. Each request is kept. The
model's name asks for faults: `limited` (429), `quotes` (400, with the key), `missing` (404), `breaks` (the stream
breaks off), `silent` (nothing for a while), `mute` (no body).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-upstream-0123456789-never-to-be-seen"
WORDS = ("Hello", " from", " the", " model.")
CITY = '{"city": "Paris"}'
_USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
_RESPONSE_USAGE = {
    "input_tokens": 12,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}
# What a response repeats of its request, or has if that does not name it.
_RESPONSE_FIELDS: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
}
# Of the usage of a message.
_UNUSED = ("cache_creation", "inference_geo", "output_tokens_details", "server_tool_use", "service_tier")
_MODELS = ("first", "second/of-a-vendor")
Json = dict[str, Any]


@dataclass(frozen=True)
class Received:
    """A request as it came; `sent` is all that was answered, once it was."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    sent: list[bytes] = field(default_factory=list)

    @property
    def text(self) -> str:
        return json.dumps(self.body)


class ModelApi:
    """The server; `received` are the requests so far, `open` the answers that are being made."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.open = 0
        self.silence = 0.3
        self.url = ""
        self.cookie = ""  # which each whole answer sets

    @property
    def last(self) -> Received:
        return self.received[-1]

    @contextmanager
    def running(self, port: int = 0) -> Iterator[ModelApi]:
        """Serve during the block."""
        server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"api": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    api: ModelApi
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the framework's signature
        """Say nothing."""

    def do_GET(self) -> None:
        self._take({})
        path, anthropic = self.path.partition("?")[0], "anthropic-version" in self.headers
        if path == "/v1/models":
            shown = [_model(name, anthropic=anthropic) for name in _MODELS]
            self._json({"object": "list", "data": shown, **({"has_more": False} if anthropic else {})})
        elif path.startswith("/v1/models/"):
            self._json(_model(path.removeprefix("/v1/models/").replace("%2F", "/"), anthropic=anthropic))
        else:
            self._json({"error": {"message": "No such path."}}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._take(body)
        kind = self.path.partition("?")[0].removeprefix("/v1/")
        self.api.open += 1
        try:
            self._answer(kind, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.api.open -= 1

    def _answer(self, kind: str, body: Json) -> None:
        model = body.get("model")
        if kind == "messages/count_tokens":
            self._json({"input_tokens": 7})
        elif kind not in _WHOLE:
            self._json(_error(kind, "No such path."), 404)
        elif KEY not in (self.headers.get("x-api-key"), self.headers.get("authorization", "").removeprefix("Bearer ")):
            self._json(_error(kind, f"Incorrect API key provided: {self.headers.get('authorization')}"), 401)
        elif model == "limited":
            self._json(_error(kind, "Slow down."), 429, {"retry-after": "7", "x-ratelimit-remaining-tokens": "5"})
        elif model is None:
            self._json(_error(kind, "The model is missing.", code="missing_required_parameter"), 400)
        elif model == "quotes":
            self._json(_error(kind, f"No credit is left for {KEY}."), 400)
        elif model == "missing":
            self._json(_error(kind, "There is no such model.", code="model_not_found"), 404)
        elif model == "mute":
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()
        elif not body.get("stream"):
            if model == "silent":
                time.sleep(self.api.silence)
            cookie = {"set-cookie": self.api.cookie} if self.api.cookie else {}
            self._json(_WHOLE[kind](body), 200, {"x-request-id": "req_1", "openai-processing-ms": "3", **cookie})
        else:
            self._stream(_EVENTS[kind](body), str(model))

    def _take(self, body: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.api.received.append(Received(str(self.command), self.path, headers, body))

    def _json(self, value: Json, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.api.last.sent.append(body)
        self.send_response(status)
        for name, each in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, each)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes], model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if model == "breaks" and number == 3:
                self.close_connection = True
                return
            if model == "silent":
                time.sleep(self.api.silence)
            self.api.last.sent.append(event)
            half = len(event) // 2  # a network cuts where it likes
            for part in (event[:half], event[half:]):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _model(name: str, *, anthropic: bool) -> Json:
    if anthropic:
        return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "us"}


def _error(kind: str, message: str, code: str | None = None) -> Json:
    if kind == "messages":
        return {"type": "error", "error": {"type": "not_found_error", "message": message}, "request_id": "req_1"}
    return {"error": {"message": message, "type": "invalid_request_error", "param": "model", "code": code}}


def _wants_tool(body: Json) -> bool:
    items = body.get("messages") or body.get("input") or ()
    last = items[-1] if isinstance(items, list) and items and isinstance(items[-1], dict) else {}
    answered = last.get("role") == "tool" or last.get("type") == "function_call_output" or "tool_result" in str(last)
    return bool(body.get("tools")) and not answered and body.get("tool_choice") != "none"


def _function(body: Json) -> tuple[str, str]:
    """The name of the tool that is called, and its arguments."""
    offered = [each.get("function", each) for each in body["tools"]]
    forced = body.get("tool_choice")
    wanted = forced.get("function", forced).get("name") if isinstance(forced, dict) else None
    called = next((each for each in offered if each.get("name") == wanted), offered[0])
    schema = called.get("parameters") or called.get("input_schema")
    return called.get("name", "weather"), json.dumps(_example(schema)) if schema else CITY


def _example(schema: Json) -> Any:
    """A value that this JSON Schema allows."""
    if chosen := schema.get("enum") or ([schema["const"]] if "const" in schema else schema.get("examples")):
        return chosen[0]
    match schema.get("type"):
        case "object":
            return {name: _example(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [_example(schema.get("items", {}))]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return "Paris"


def _schema(body: Json) -> Json | None:
    """The schema that the answer must have."""
    told: Json = body.get("text") or body.get("output_config") or {}
    asked: Json = body.get("response_format") or told.get("format") or {}
    if asked.get("type") != "json_schema":
        return None
    found: Json = asked.get("json_schema", asked).get("schema") or {}
    return found


def _said(body: Json) -> list[str]:
    if (schema := _schema(body)) is not None:
        return list(_halves(json.dumps(_example(schema))))
    whole = json.dumps(body)
    images = whole.count('"image_url": {') + whole.count('"input_image"') + whole.count('"type": "image"')
    return [*WORDS, f" I see {images} images."] if images else list(WORDS)


def _halves(text: str) -> tuple[str, str]:
    return text[:5], text[5:]


# Chat completions


def _chat(body: Json) -> Json:
    message: Json = {"role": "assistant", "content": "".join(_said(body)), "refusal": None}
    finish = "stop"
    if _wants_tool(body):
        name, arguments = _function(body)
        call = {"name": name, "arguments": arguments}
        message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
        finish = "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return _completion("chat.completion", [choice], usage=_USAGE, a_new_member={"kept": True})


def _completion(kind: str, choices: list[Json], **more: Any) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "first", "choices": choices, **more}


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _completion("chat.completion.chunk", [choice], usage=None)


def _data(event: Json) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _chat_events(body: Json) -> Iterator[bytes]:
    yield _data(_chunk({"role": "assistant", "content": ""}))
    if _wants_tool(body):
        name, arguments = _function(body)
        function = {"name": name, "arguments": ""}
        yield _data(_chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}))
        for piece in _halves(arguments):
            yield _data(_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
        yield _data(_chunk({}, "tool_calls"))
    else:
        for word in _said(body):
            yield _data(_chunk({"content": word}))
        yield _data(_chunk({}, "stop"))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _data(_completion("chat.completion.chunk", [], usage=_USAGE))
    yield b"data: [DONE]\n\n"


# Responses


def _output(body: Json) -> Json:
    if _wants_tool(body):
        name, arguments = _function(body)
        call = {"id": "fc_1", "call_id": "call_1", "name": name, "arguments": arguments}
        return {"type": "function_call", "status": "completed", **call}
    part = {"type": "output_text", "text": "".join(_said(body)), "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def _response(body: Json, *, status: str = "completed") -> Json:
    done = status == "completed"
    kept: Json = {name: body.get(name, default) for name, default in _RESPONSE_FIELDS.items()}
    kept["tools"] = [{"description": None, "strict": None, **tool} for tool in body.get("tools") or ()]
    return {
        **kept,
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "completed_at": 2 if done else None,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "first",
        "parallel_tool_calls": True,
        "a_new_member": {"kept": True},
        "output": [_output(body)] if done else [],
        "usage": _RESPONSE_USAGE if done else None,
    }


def _response_events(body: Json) -> Iterator[bytes]:
    item = _output(body)
    events: list[Json] = [
        {"type": "response.created", "response": _response(body, status="in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
    ]
    place = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "message":
        part = item["content"][0]
        place |= {"content_index": 0}
        events.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
        events += [
            {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []} for word in _said(body)
        ]
        events.append({"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []})
        events.append({"type": "response.content_part.done", **place, "part": part})
    else:
        for piece in _halves(item["arguments"]):
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": piece})
        events.append({"type": "response.function_call_arguments.done", **place, "name": item["name"]})
        events[-1]["arguments"] = item["arguments"]
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": _response(body)})
    for number, event in enumerate(events):
        yield _event({**event, "sequence_number": number})


def _event(event: Json) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


# Messages


def _block(body: Json) -> Json:
    if _wants_tool(body):
        name, arguments = _function(body)
        call = {"id": "toolu_1", "name": name, "input": json.loads(arguments)}
        return {"type": "tool_use", **call, "caller": {"type": "direct"}}
    return {"type": "text", "text": "".join(_said(body)), "citations": None}


def _message(body: Json) -> Json:
    block = _block(body)
    stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage: Json = {"input_tokens": 9, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0}
    usage |= {"output_tokens": 3, **dict.fromkeys(_UNUSED)}
    head: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "first"}
    head |= {"stop_sequence": None, "stop_details": None, "container": None, "a_new_member": {"kept": True}}
    return {**head, "content": [block], "stop_reason": stop, "usage": usage}


def _message_events(body: Json) -> Iterator[bytes]:
    message = _message(body)
    block, usage = message["content"][0], message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event({"type": "message_start", "message": start})
    if block["type"] == "text":
        deltas: list[Json] = [{"type": "text_delta", "text": word} for word in _said(body)]
        empty: Json = {**block, "text": ""}
    else:
        pieces = _halves(json.dumps(block["input"]))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        empty = {**block, "input": {}}
    yield _event({"type": "content_block_start", "index": 0, "content_block": empty})
    yield _event({"type": "ping"})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _event({"type": "content_block_stop", "index": 0})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 3}})
    yield _event({"type": "message_stop"})


_WHOLE: dict[str, Callable[[Json], Json]] = {"chat/completions": _chat, "responses": _response, "messages": _message}
_EVENTS: dict[str, Callable[[Json], Iterator[bytes]]] = {
    "chat/completions": _chat_events,
    "responses": _response_events,
    "messages": _message_events,
}
