"""The health check of the web container: exits with 0 once `/readyz` answers 200.

It asks the listener of MEMORYHUB_PROBES, or port 8000 if there is none; there the request needs a host name from
MEMORYHUB_ALLOWED_HOSTS. Uses only the standard library to start fast, because it runs every few seconds.
"""

from __future__ import annotations

import http.client
import os
import sys

SECONDS = 4.0


def ready(host: str, port: int) -> bool:
    """Whether the server on this machine is ready to serve `host`."""
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        server.request("GET", "/readyz", headers={"Host": host})
        return server.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        server.close()


if __name__ == "__main__":
    served = os.environ.get("MEMORYHUB_ALLOWED_HOSTS", "localhost").split(",")[0].strip()
    probes = os.environ.get("MEMORYHUB_PROBES", "").rpartition(":")[2]
    sys.exit(0 if ready(served, int(probes or 8000)) else 1)
