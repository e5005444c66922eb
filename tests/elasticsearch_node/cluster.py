"""Three nodes that are one cluster, each reached by the others through a gate that can be shut.

A shut gate drops what crosses it, as a network does: connections stay open and nobody answers. The nodes still answer
their HTTP clients.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.elasticsearch_node.node import Address, Node
from tests.ports import free_port

NODES = 3
_CHUNK = 65_536
# A lost node is noticed after some three seconds; Elasticsearch's defaults take half a minute.
_DETECTION = {
    f"cluster.fault_detection.{check}.{name}": value
    for check in ("follower_check", "leader_check")
    for name, value in (("timeout", "1s"), ("interval", "500ms"), ("retry_count", "2"))
} | {"cluster.publish.timeout": "3s", "cluster.follower_lag.timeout": "3s"}


class ClusterOfThree:
    """A cluster in `folder` that loses and regains nodes; each keeps its port."""

    def __init__(self, folder: Path) -> None:
        self._ports = [free_port() for _ in range(NODES)]
        transports = [free_port() for _ in range(NODES)]
        self._gates = [Gate(transport, self._number_of) for transport in transports]
        names = [f"node-{number}" for number in range(NODES)]
        together = {
            "discovery.seed_hosts": ",".join(f"127.0.0.1:{gate.port}" for gate in self._gates),
            "cluster.initial_master_nodes": ",".join(names),
            **_DETECTION,
        }
        own = [
            {"node.name": name, "transport.port": str(transport), "transport.publish_port": str(gate.port)}
            for name, transport, gate in zip(names, transports, self._gates, strict=True)
        ]
        self.nodes = [Node(folder / name, settings | together) for name, settings in zip(names, own, strict=True)]
        password = secrets.token_urlsafe(24)
        for node in self.nodes:
            node.folder.mkdir(parents=True)
            (node.folder / "password").write_text(password)

    def start(self, *, live_as_long_as: int) -> list[Address]:
        """Start all nodes and wait until they are one cluster; their addresses."""
        with ThreadPoolExecutor(NODES) as pool:
            return list(pool.map(lambda number: self.start_node(number, live_as_long_as), range(NODES)))

    def start_node(self, number: int, live_as_long_as: int) -> Address:
        """Start one node and wait until it has joined."""
        return self.nodes[number].start(port=self._ports[number], heap="512m", live_as_long_as=live_as_long_as)

    def stop(self) -> None:
        """End all nodes."""
        for node in self.nodes:
            node.stop()
        for gate in self._gates:
            gate.close()

    def isolate(self, number: int) -> None:
        """Shut the gates between one node and the others, in both directions."""
        for place, gate in enumerate(self._gates):
            gate.shut(set(range(NODES)) - {number} if place == number else {number})

    def heal(self) -> None:
        """Open all gates; connections that crossed a shut gate are reset."""
        for gate in self._gates:
            gate.shut(())

    def _number_of(self, port: int) -> int:
        """The node whose process connected from this local port; -1 if it is gone."""
        inode = _inode_of(port)
        for number, node in enumerate(self.nodes):
            if inode and (pid := node.pid()) and inode in _sockets_of(pid):
                return number
        return -1


class Gate:
    """Forwards connections to a node's transport port, except from those nodes for which it is shut."""

    def __init__(self, target: int, number_of: Callable[[int], int]) -> None:
        self._target = target
        self._number_of = number_of
        self._shut_for: frozenset[int] = frozenset()
        self._open = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def shut(self, numbers: Collection[int]) -> None:
        """Drop what comes from, and goes to, these nodes; open the gate for all others."""
        with self._open:
            self._shut_for = frozenset(numbers)
            self._open.notify_all()

    def close(self) -> None:
        """Take no more connections."""
        self.shut(())
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, (_, port) = self._listener.accept()
                threading.Thread(target=self._connect, args=(connection, port), daemon=True).start()

    def _connect(self, connection: socket.socket, port: int) -> None:
        number = self._number_of(port)
        with suppress(OSError), connection:
            if self._waited(number):
                return
            with socket.create_connection(("127.0.0.1", self._target)) as onward:
                back = threading.Thread(target=self._pump, args=(onward, connection, number), daemon=True)
                back.start()
                self._pump(connection, onward, number)
                back.join()

    def _pump(self, source: socket.socket, sink: socket.socket, number: int) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                if self._waited(number):
                    break  # bytes were lost, so the connection cannot go on
                sink.sendall(chunk)
        for side in (source, sink):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def _waited(self, number: int) -> bool:
        """Wait while the gate is shut for this node; whether it was."""
        with self._open:
            was_shut = number in self._shut_for
            while number in self._shut_for:
                self._open.wait()
        return was_shut


def _inode_of(port: int) -> str:
    """The inode of the IPv4 socket on 127.0.0.1 with this local port; empty if there is none."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(f":{port:04X}") and fields[9] != "0":
                return fields[9]
    return ""


def _sockets_of(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found
