"""A Redis server of a test, on a free port, keeping nothing on disk."""

from __future__ import annotations

import redis

from tests.ports import free_port
from tests.real_parts.server import Server, program


class Redis(Server):
    """See Server. Stopped and started again it answers at the same address and has forgotten everything."""

    name = "redis"

    def __init__(self) -> None:
        super().__init__()
        self._port = free_port()

    @property
    def url(self) -> str:
        """Its first database."""
        return f"redis://127.0.0.1:{self._port}/0"

    def version(self) -> str:
        """The version of the server that answers."""
        with redis.Redis.from_url(self.url) as client:
            return str(client.info("server")["redis_version"])

    def _command(self) -> list[str]:
        server = program("redis-server", "redis-server")
        options = ["--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--appendonly", "no"]
        return [server, *options, "--dir", str(self.folder)]

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url, socket_timeout=2, socket_connect_timeout=2) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False
