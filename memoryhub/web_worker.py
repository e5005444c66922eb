"""The web process: an event loop reads requests and sends responses, threads run the application (docs/adr/0023, 0034).

A connection takes a thread only once its request is whole, headers and body, and leaves it once the response is
buffered: a client that sends or reads slowly costs memory, within the limits below, and is dropped at a deadline.
A response whose parts are asynchronous takes no thread: the loop sends them as they come, and closes it once they end
or the client is gone. An answer that is to come later, to a sender who did not wait, takes no thread meanwhile.
Where connections are too many, the one that has waited longest for its client goes, so a new client is always served.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import io
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, copy_context
from http import HTTPStatus
from threading import Thread, get_ident
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, close_old_connections
from django.http import StreamingHttpResponse
from gunicorn import util
from gunicorn.http import RequestParser, errors, wsgi
from gunicorn.workers.base import Worker

from memoryhub import health
from memoryhub.middleware import ASYNC, has_large_body, known_sender, refusal
from memoryhub.problem_details import CONTENT_TYPE, is_api, new_request_id, problem_json

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
# A thread that computes lets others go on after so long. A request crosses several threads, and would wait as long at
# each of them: by default 5 ms.
SWITCH_SECONDS: Final = 0.001
# As large as nginx takes by default (large_client_header_buffers).
HEAD_BYTES: Final = 32 * 1024
# Large bodies that are read at once, all of known senders.
MAX_LARGE_BODIES: Final = 64
# Files that are read at once, which displace no other bodies.
MAX_UPLOADS: Final = 4
# Unsent bytes of one response at which its thread waits: more than the largest static file, so only who signed in makes
# a thread wait.
UNSENT_BYTES: Final = 512 * 1024
# Unsent bytes of all responses of a process; beyond them the largest is dropped.
MAX_UNSENT_BYTES: Final = 128 * 1024 * 1024
_DRAIN_BYTES: Final = UNSENT_BYTES // 8
# Bytes a second at which a client must read after MEMORYHUB_SEND_SECONDS.
MIN_SEND_RATE: Final = 4 * 1024
# For the client to read the answer to a request whose body was refused, before the connection is reset.
LINGER_SECONDS: Final = 2.0
# A process whose threads are all busy, and none of which finished a request for so long, does not answer.
STUCK_SECONDS: Final = 120.0
# Requests end this long before gunicorn's graceful_timeout, at which the parent kills the process.
_KILL_MARGIN_SECONDS: Final = 2.0
# The answers to heads that gunicorn's parser refuses; 400 to all others.
_STATUSES: Final = (
    (errors.LimitRequestLine, 414),
    (errors.LimitRequestHeaders, 431),
    (errors.ExpectationFailed, 417),
    (errors.UnsupportedTransferCoding, 501),
)


class _Protocol(asyncio.StreamReaderProtocol):
    """Calls `when_gone` once the client has closed the connection, or its side of it."""

    is_gone = False
    when_gone: Callable[[], object] | None = None

    def eof_received(self) -> bool | None:
        self._gone()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()
        super().connection_lost(exc)

    def _gone(self) -> None:
        self.is_gone = True
        if self.when_gone is not None:
            self.when_gone()


class _Connection:
    """A client's connection; for gunicorn's responses, which threads write, it is the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Any, server: Any) -> None:
        self.reader = reader
        self.writer = writer
        self.protocol = cast("_Protocol", writer.transport.get_protocol())
        self.client = client
        self.server = server
        self.unread = False  # whether a request was answered of which the client may still send the rest
        self.answer_after = 0.0  # seconds by which the present answer is delayed
        self._kept: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._loop_thread = get_ident()
        self._written = 0
        self._undrained = 0
        self._backlog: tuple[float, int] | None = None

    @property
    def unsent(self) -> int:
        """Bytes of the response that the client's system has not taken."""
        return self.writer.transport.get_write_buffer_size()

    def sendall(self, data: bytes) -> None:
        """Send; a thread waits while UNSENT_BYTES are unsent. Raises ConnectionError once the client is gone."""
        if self.writer.is_closing():
            raise BrokenPipeError
        if self.answer_after:
            self._kept.append(data)
            return
        self._written += len(data)
        if get_ident() == self._loop_thread:
            self.writer.write(data)
            return
        self._undrained += len(data)
        try:
            self._loop.call_soon_threadsafe(self.writer.write, data)
            if self._undrained >= _DRAIN_BYTES:
                self._undrained = 0
                asyncio.run_coroutine_threadsafe(self.writer.drain(), self._loop).result()
        except (RuntimeError, CancelledError) as error:
            raise BrokenPipeError from error  # the process ends

    async def sent(self) -> None:
        """Wait until the client's system has taken the whole response."""
        self.writer.transport.set_write_buffer_limits(high=0)
        await self.writer.drain()
        self.writer.transport.set_write_buffer_limits(high=UNSENT_BYTES)

    async def send_kept(self) -> None:
        """Send a delayed answer once it is time. Raises ConnectionError."""
        await asyncio.sleep(self.answer_after)
        self.answer_after, kept = 0.0, b"".join(self._kept)
        self._kept.clear()
        self.sendall(kept)

    def write_problem(self, status: int) -> None:
        """Answer a request under /api/ that no view sees, and say that the connection ends."""
        request_id = new_request_id()
        body = problem_json(status, request_id=request_id)
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\nX-Request-ID: {request_id}\r\nCache-Control: no-store\r\n\r\n"
        )
        self.sendall(head.encode() + body)

    def gettimeout(self) -> float:
        """Tells gunicorn's error pages that writing does not block."""
        return 0.0

    def is_slow(self, now: float) -> bool:
        """Whether the client reads at less than MIN_SEND_RATE after MEMORYHUB_SEND_SECONDS; call it every second."""
        unsent = self.unsent
        if not unsent:
            self._backlog = None
            return False
        sent = self._written - unsent
        since, before = self._backlog = self._backlog or (now, sent)
        return now - since > settings.MEMORYHUB_SEND_SECONDS + (sent - before) / MIN_SEND_RATE

    def abort(self) -> None:
        """Close at once; a thread that writes gets a ConnectionError."""
        self.writer.transport.abort()


def _known_sender(environ: dict[str, Any]) -> UUID | None:
    """`known_sender`, on a thread that serves no request yet; None if the database does not answer."""
    close_old_connections()
    try:
        return known_sender(environ)
    except DatabaseError as error:
        log.warning("A large body is not read: its sender could not be looked up (%s).", type(error).__name__)
        return None
    finally:
        close_old_connections()


class WebWorker(Worker):  # type: ignore[misc]  # gunicorn publishes no types
    """A process of gunicorn's that serves `memoryhub.wsgi`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._addresses: Counter[str] = Counter()  # open connections by address
        self._open: dict[_Connection, None] = {}
        self._waiting: dict[_Connection, None] = {}  # those whose request is not whole, the oldest first
        self._large: dict[_Connection, tuple[bool, UUID]] = {}  # of these, with a large body: is it a file, and whose
        self._streams: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._answered_at = time.monotonic()

    def init_process(self) -> None:
        """Serve, in the child process."""
        if self.app.probes is not None:
            self.app.probes.after_fork()
        super().init_process()

    def run(self) -> None:
        """Serve until a signal or the end of the parent."""
        # A whole collection of what was loaded holds up all threads for a seventh of a second.
        gc.collect()
        gc.freeze()
        sys.setswitchinterval(SWITCH_SECONDS)
        if self.app.probes is not None:
            Thread(target=self._report_readiness, name="readiness", daemon=True).start()
        asyncio.run(self._serve())

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: answer what is being answered, then end."""
        super().handle_exit(sig, frame)
        if self._loop is not None and not self._loop.is_closed():  # the signal may come again at the end
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(self.cfg.threads, "request")
        for listener in self.sockets:
            os.set_blocking(listener.fileno(), False)
            loop.add_reader(listener.fileno(), self._accept, listener)
        while self.alive and self.ppid == os.getppid():
            self._tick()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), TICK_SECONDS)
        for listener in self.sockets:
            loop.remove_reader(listener.fileno())
            listener.close()
        for connection in [*self._waiting]:
            connection.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.cfg.graceful_timeout - _KILL_MARGIN_SECONDS)
        for stream in self._streams:  # what was said so far is kept
            stream.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_KILL_MARGIN_SECONDS / 2)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _tick(self) -> None:
        self.notify()
        now = time.monotonic()
        for connection in self._open:
            if connection.is_slow(now):
                connection.abort()
        if sum(connection.unsent for connection in self._open) > MAX_UNSENT_BYTES:
            max(self._open, key=lambda connection: connection.unsent).abort()
        if self.app.probes is not None:
            if self._busy < self.cfg.threads:
                self._answered_at = now
            self.app.probes.report(self.pid, answers=now - self._answered_at < STUCK_SECONDS)

    def _report_readiness(self) -> None:
        while self.alive:
            ready, parts = health.readiness()
            close_old_connections()
            self.app.probes.report(self.pid, ready=ready, parts=parts)
            time.sleep(health.SEEN_SECONDS)

    # Connections

    def _accept(self, listener: Any) -> None:
        try:
            sock, client = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # another process was first, or the client gave up
            return
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE}:
                raise
            self._drop_oldest()
            return
        host = client[0]
        # Behind a proxy all connections come from its address, and it limits its clients' (deploy/nginx).
        crowded = not settings.MEMORYHUB_TRUST_PROXY and (
            self._addresses[host] >= settings.MEMORYHUB_CONNECTIONS_PER_ADDRESS
        )
        full = self._addresses.total() >= settings.MEMORYHUB_CONNECTIONS
        if (crowded or full) and not self._drop_oldest(host if crowded else None):
            sock.close()
            return
        self._addresses[host] += 1
        task = asyncio.get_running_loop().create_task(self._converse(sock, client, listener.getsockname()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _drop_oldest(self, host: str | None = None) -> bool:
        """Drop the connection that has waited longest for its client, of `host` if given; returns whether there was."""
        found = (connection for connection in self._waiting if host is None or connection.client[0] == host)
        if (oldest := next(found, None)) is None:
            return False
        del self._waiting[oldest]
        oldest.abort()
        return True

    async def _converse(self, sock: Any, client: Any, server: Any) -> None:
        """Answer the requests of a connection, one after the other."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(HEAD_BYTES, loop)
        protocol = _Protocol(reader, loop=loop)
        sock.settimeout(0.0)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            connection = _Connection(reader, writer, client, server)
            self._open[connection] = None
            try:
                seconds = settings.MEMORYHUB_HEADER_SECONDS
                while await self._next(connection, seconds) and self.alive:
                    seconds = self.cfg.keepalive
                if connection.unread:
                    await self._linger(connection)
            finally:
                self._waiting.pop(connection, None)
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()  # until the response is sent, or `_tick` gives up
                del self._open[connection]
        except (OSError, asyncio.IncompleteReadError):  # the client went, or missed a deadline
            pass
        finally:
            self._addresses[client[0]] -= 1

    async def _next(self, connection: _Connection, seconds: float) -> bool:
        """Read and answer a request; returns whether another may follow. Raises TimeoutError, IncompleteReadError."""
        self._waiting[connection] = None
        await connection.sent()
        head = b""
        try:
            async with asyncio.timeout(seconds):
                head = await connection.reader.readuntil(b"\r\n\r\n")
            request = next(RequestParser(self.cfg, [head], connection.client))
            expects, request._expected_100_continue = request._expected_100_continue, False
            response, environ = wsgi.create(request, connection, connection.client, connection.server, self.cfg)
        except asyncio.LimitOverrunError:
            head = await connection.reader.read(HEAD_BYTES)
            return self._refuse(connection, head, errors.LimitRequestHeaders(f"more than {HEAD_BYTES} bytes"))
        except errors.ParseException as error:
            return self._refuse(connection, head, error)
        environ |= {"wsgi.multithread": True, "wsgi.input": io.BytesIO(), ASYNC: True}
        length = getattr(request.body.reader, "length", None)  # None if chunked, which the application refuses
        refused = refusal(environ) is not None
        large = not refused and has_large_body(environ)
        sender = await self._in_thread(_known_sender, environ) if large else None
        if large and sender is None:
            length = None  # the application answers as if there were no body: 401 or 413
        if refused or length is None:
            connection.unread = True
            response.force_close()
        elif length:
            if expects:
                connection.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            try:
                environ["wsgi.input"] = io.BytesIO(await self._body(connection, length, sender))
            except TimeoutError:
                connection.unread = True
                if is_api(request.path):
                    connection.write_problem(408)
                else:
                    text = "The body did not arrive in time. Send it again."
                    util.write_error(connection, 408, "Request Timeout", text)
                return False
        self._waiting.pop(connection, None)
        if refused:  # without a thread: the answer needs none
            return self._answer(request, response, environ, connection) is True
        context = copy_context()  # of the request, also on the thread that closes its response
        answered = await self._in_thread(context.run, self._answer, request, response, environ, connection)
        if isinstance(answered, StreamingHttpResponse):
            return await self._stream(response, answered, connection, context)
        if connection.answer_after:
            self._waiting[connection] = None  # so it is the first to go where connections are too many
            await connection.send_kept()
        return answered is True

    async def _stream(self, response: Any, pieces: StreamingHttpResponse, connection: _Connection, at: Context) -> bool:
        """Send an asynchronous response and close it; returns whether the connection may be used again.

        A client that leaves after its head was sent ends it. Before, it goes on: a whole answer can be asked for again,
        unless it `ends_with_client`.
        """
        sending = asyncio.get_running_loop().create_task(self._send(response, pieces, connection))
        self._streams.add(sending)
        sending.add_done_callback(self._streams.discard)
        try:
            await asyncio.wait([sending])
        finally:
            connection.protocol.when_gone = None
            await self._in_thread(at.run, pieces.close)
        if sending.cancelled():
            return False
        if (error := sending.exception()) is not None:
            if not isinstance(error, ConnectionError):
                self.log.error("A response was cut off.", exc_info=error)
            return False
        return not response.should_close()

    async def _send(self, response: Any, pieces: StreamingHttpResponse, connection: _Connection) -> None:
        if getattr(pieces, "ends_with_client", False):
            connection.protocol.when_gone = cast("asyncio.Task[None]", asyncio.current_task()).cancel
        async for piece in pieces:
            if response.status is None:  # its status may be known only now
                cookies = [("Set-Cookie", each.OutputString()) for each in pieces.cookies.values()]
                response.start_response(f"{pieces.status_code} {pieces.reason_phrase}", [*pieces.items(), *cookies])
                connection.protocol.when_gone = cast("asyncio.Task[None]", asyncio.current_task()).cancel
            if connection.protocol.is_gone:
                raise ConnectionAbortedError
            response.write(piece)
            await connection.writer.drain()
        response.close()

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self._busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        finally:
            self._busy -= 1
            self._answered_at = time.monotonic()

    def _refuse(self, connection: _Connection, head: bytes, error: Exception) -> bool:
        """Answer a head that is no request, or is too long; returns that no other request may follow."""
        connection.unread = True
        _, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if not is_api(path.decode("latin-1")):
            self.handle_error(None, connection, connection.client, error)
            return False
        self.log.warning("Invalid request from ip=%s: %s", connection.client[0], type(error).__name__)
        connection.write_problem(next((status for kind, status in _STATUSES if isinstance(error, kind)), 400))
        return False

    async def _body(self, connection: _Connection, length: int, sender: UUID | None) -> bytes:
        """The whole body; a large one has a `sender`. Raises TimeoutError, IncompleteReadError."""
        if sender:
            is_file = length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            self._large[connection] = (is_file, sender)
            alike = {each: whose for each, (kind, whose) in self._large.items() if kind == is_file}
            if len(alike) > (MAX_UPLOADS if is_file else MAX_LARGE_BODIES):
                ((most, _),) = Counter(alike.values()).most_common(1)
                next(each for each, whose in alike.items() if whose == most).abort()
        try:
            async with asyncio.timeout(settings.MEMORYHUB_BODY_SECONDS):
                return await connection.reader.readexactly(length)
        finally:
            self._large.pop(connection, None)

    async def _linger(self, connection: _Connection) -> None:
        """Discard what the client still sends: closing at once would take the answer from it."""
        self._waiting[connection] = None
        connection.writer.write_eof()
        async with asyncio.timeout(LINGER_SECONDS):
            while await connection.reader.read(HEAD_BYTES):
                pass

    # Threads

    def _answer(
        self, request: Any, response: Any, environ: dict[str, Any], connection: _Connection
    ) -> bool | StreamingHttpResponse:
        """Run the application; returns whether the connection may be used again, or a response for the loop."""
        try:
            if not self.alive:
                response.force_close()
            heads: list[Any] = []
            pieces = self.wsgi(environ, lambda *head: heads.append(head))
            if isinstance(pieces, StreamingHttpResponse) and pieces.is_async:
                return pieces
            connection.answer_after = getattr(pieces, "answer_after", 0.0)  # see AdmissionMiddleware
            response.start_response(*heads[-1])
            try:
                for piece in pieces:
                    response.write(piece)
                response.close()
            finally:
                if hasattr(pieces, "close"):
                    pieces.close()
        except ConnectionError:  # the client is gone
            return False
        except Exception as error:
            if response.headers_sent:
                self.log.exception("A response was cut off.")
            else:
                self.handle_error(request, connection, connection.client, error)
            return False
        return not response.should_close()
