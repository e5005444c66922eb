"""The health check of the web container: exits with 0 once `/readyz` answers 200.

The request needs a host name from MEMORYHUB_ALLOWED_HOSTS; any other is refused. Uses only the standard library to
start fast, because it runs every few seconds.
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
    sys.exit(0 if ready(served, int(sys.argv[1]) if len(sys.argv) > 1 else 8000) else 1)
