"""A model endpoint on this machine that speaks as fast as it is told, on any number of connections at once.

It answers each request of the chat-completions protocol with `words` words, `rate` a second. With `breaks_after` it
breaks the connection off after so many words. A word of the user's message `+N` asks for N words instead.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_WANTED = re.compile(r"\+(\d+)")


def _framed(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


def _chunk(delta: dict[str, Any], finish: str | None = None, **members: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return _framed(b"data: " + json.dumps({**whole, **members}).encode() + b"\n\n")


_WORDS = [_chunk({"content": f" word{number}"}) for number in range(20)]
_USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
_END = _chunk({}, "stop") + _chunk({}, choices=[], usage=_USAGE) + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class TalkingModel:
    """The server. `speaking` is the number of answers under way."""

    def __init__(self, *, words: int = 150, rate: float = 50.0, breaks_after: int | None = None) -> None:
        self.words = words
        self.rate = rate
        self.breaks_after = breaks_after
        self.speaking = 0
        self.base_url = ""

    @contextmanager
    def running(self) -> Iterator[TalkingModel]:
        """Serve during the block, on a thread."""
        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self._converse, "127.0.0.1", 0, backlog=2048))
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        thread = threading.Thread(target=loop.run_forever, name="talking model", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(_end(server), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self.speaking += 1
                try:
                    await self._answer(json.loads(body), reader, writer)
                finally:
                    self.speaking -= 1

    async def _answer(self, request: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = _WANTED.search(str([said["content"] for said in request["messages"] if said["role"] == "user"][-1]))
        writer.write(_HEAD)
        due = time.monotonic()
        for number in range(int(asked[1]) if asked else self.words):
            due += 1 / self.rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if number == self.breaks_after or reader.at_eof() or writer.is_closing():
                raise ConnectionAbortedError
            writer.write(_WORDS[number % len(_WORDS)])
        writer.write(_END)
        await writer.drain()


async def _end(server: asyncio.Server) -> None:
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
