"""The developer's node, from the command line: prepare, start, stop, url, wipe."""

from __future__ import annotations

import argparse
import sys

from tests.elasticsearch_node.distribution import CannotBuild, distribution
from tests.elasticsearch_node.node import HEAP, DidNotStart, Node


def main() -> int:
    """Do as the arguments say; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.elasticsearch_node", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start the node and print what memoryhub needs to know of it")
    start.add_argument("--port", type=int, default=9200, help="where it answers (9200); 0 for any free port")
    start.add_argument("--heap", default=HEAP, help=f"memory of its JVM ({HEAP})")
    commands.add_parser("prepare", help="put the node's programs into the cache, which the first start does else")
    commands.add_parser("stop", help="stop the node and keep its data")
    commands.add_parser("url", help="print the node's address")
    commands.add_parser("wipe", help="stop the node and remove its data")
    arguments = parser.parse_args()

    node = Node()
    try:
        if arguments.command == "start":
            _start(node, arguments.port, arguments.heap)
        elif arguments.command == "prepare":
            distribution()
    except (CannotBuild, DidNotStart) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if arguments.command == "stop":
        node.stop()
    elif arguments.command == "wipe":
        node.wipe()
    elif arguments.command == "url":
        return _url(node)
    return 0


def _url(node: Node) -> int:
    address = node.address()
    if address is None:
        sys.stderr.write("The node does not run.\n")
        return 1
    sys.stdout.write(f"{address.url}\n")
    return 0


def _start(node: Node, port: int, heap: str) -> None:
    address = node.start(port=port, heap=heap)
    sys.stderr.write(f"Elasticsearch {address.version()}, with the trial licence; its folder is {node.folder}.\n")
    sys.stdout.write(f"ELASTICSEARCH_URL={address.url}\nELASTICSEARCH_SETUP={address.credential}\n")


if __name__ == "__main__":
    sys.exit(main())
