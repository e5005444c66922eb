"""The developer's node, from the command line: start, stop, url, wipe."""

from __future__ import annotations

import argparse
import sys

from tests.elasticsearch_node.node import HEAP, CannotBuild, DidNotStart, Node


def main() -> int:
    """Do as the arguments say; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.elasticsearch_node", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start the node and print what memoryhub needs to know of it")
    start.add_argument("--port", type=int, default=9200, help="where it answers (9200); 0 for any free port")
    start.add_argument("--heap", default=HEAP, help=f"memory of its JVM ({HEAP})")
    commands.add_parser("stop", help="stop the node and keep its data")
    commands.add_parser("url", help="print the node's address")
    commands.add_parser("wipe", help="stop the node and remove its data")
    arguments = parser.parse_args()

    node = Node()
    if arguments.command == "start":
        return _start(node, arguments.port, arguments.heap)
    if arguments.command == "stop":
        node.stop()
    elif arguments.command == "wipe":
        node.wipe()
    elif (address := node.address()) is not None:
        sys.stdout.write(f"{address.url}\n")
    else:
        sys.stderr.write("The node does not run.\n")
        return 1
    return 0


def _start(node: Node, port: int, heap: str) -> int:
    try:
        address = node.start(port=port, heap=heap)
    except (CannotBuild, DidNotStart) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stderr.write(f"Elasticsearch {address.version()}, with the trial licence; its folder is {node.folder}.\n")
    sys.stdout.write(f"ELASTICSEARCH_URL={address.url}\nELASTICSEARCH_SETUP={address.credential}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
