"""The TypeScript client in a browser: written, recalled, streamed, refused."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route

from memories.services.policies import set_policy
from tenants.models import Membership
from tenants.principal import SYSTEM
from tests.browser.conftest import Browse
from tests.clients.typescript import PACKAGE, prepared
from tests.memories.api.caller import key_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Where the page's own origin serves the client to it.
MODULES = "/client"
USE = """
async ({ modules, key }) => {
  const { MemoryHub, NotFound } = await import(modules + "/index.js");
  const memory = new MemoryHub({ url: location.origin, key, userId: "alice" });
  const written = await memory.memories.write("Keeps goats.");
  const recalled = await memory.recall("What does she keep?");
  const events = [];
  for await (const event of memory.turns.stream("What do I keep?")) events.push(event.type);
  const refused = await memory.memories.get(crypto.randomUUID()).catch((error) => error instanceof NotFound);
  return { result: written.result, texts: recalled.items.map((item) => item.text), events, refused };
}
"""


def test_it_writes_recalls_streams_and_tells_errors_apart(browse: Browse, member: Membership) -> None:
    prepared()
    set_policy(SYSTEM, tenant_id=member.tenant_id, provision_members=True)
    page = browse()

    def serve(route: Route) -> None:
        name = urlsplit(route.request.url).path.removeprefix(f"{MODULES}/")
        route.fulfill(path=PACKAGE / "dist" / name, content_type="text/javascript")

    page.route(f"**{MODULES}/**", serve)
    page.goto("/login/")
    done = page.evaluate(USE, {"modules": MODULES, "key": key_of(member.tenant).token})
    assert (done["result"], done["texts"], done["refused"]) == ("created", ["Keeps goats."], True)
    assert (done["events"][0], done["events"][-1]) == ("turn_started", "turn_finished")
