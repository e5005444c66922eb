"""The health check of the web container: exits with 0 once `/readyz` answers 200.

It asks the listener of MEMORYHUB_PROBES, or port 8000 if there is none; there the request needs a host name from
MEMORYHUB_ALLOWED_HOSTS. Uses only the standard library to start fast, because it runs every few seconds.
"""

from __future__ import annotations

import http.client
import os
import sys

SECONDS = 4.0


def ready(host: str, port: int, address: str = "127.0.0.1") -> bool:
    """Whether the server at this address of this machine is ready to serve `host`."""
    server = http.client.HTTPConnection(address, port, timeout=SECONDS)
    try:
        server.request("GET", "/readyz", headers={"Host": host})
        return server.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        server.close()


if __name__ == "__main__":
    served = os.environ.get("MEMORYHUB_ALLOWED_HOSTS", "localhost").split(",")[0].strip()
    listens, _, port = os.environ.get("MEMORYHUB_PROBES", "").rpartition(":")
    anywhere = listens in {"", "0.0.0.0", "[::]"}  # noqa: S104 - nothing is bound here
    sys.exit(0 if ready(served, int(port or 8000), "127.0.0.1" if anywhere else listens.strip("[]")) else 1)
