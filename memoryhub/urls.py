"""URLs: sign-in, the chat at the root, the API, MCP, the admin, two probes and the metrics."""

from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from memoryhub.health import livez, readyz

handler403 = "memoryhub.pages.forbidden"
handler404 = "memoryhub.pages.not_found"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("tenants.signing_in_urls")),
    path("", include("tenants.oidc.pages")),
    path("", include("tenants.saml.pages")),
    path("", include("tenants.views")),
    path("", include("memories.chat.urls")),
    path("", include("memories.api.pages")),
    path("", include("tenants.oauth.endpoints")),
    path("api/v1/", include("memories.api.urls")),
    path("", include("memories.api.mcp.view")),
    path("scim/v2/", include("memories.api.scim.provisioning")),
    path("api/mem0/", include("memories.api.mem0.routes")),
    path("v1/", include("memories.api.dropin.endpoints")),
    path("admin/", include("memories.staff.urls")),
    path("admin/", admin.site.urls),
    path("", include("memories.api.metrics")),
]
if not settings.MEMORYHUB_PROBES:  # else they have a listener of their own
    urlpatterns += [path("livez", livez, name="livez"), path("readyz", readyz, name="readyz")]
