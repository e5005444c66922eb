"""URL patterns of mem0's API, as its clients Python 2 and npm 3 call it."""

from __future__ import annotations

from typing import Any

from django.urls import path, re_path

from memories.api.mem0.views import (
    AddView,
    DeleteAllView,
    ElsewhereView,
    EntitiesView,
    EntityView,
    EventView,
    HistoryView,
    ListView,
    ManyView,
    OneMemoryView,
    PingView,
    SearchView,
)

app_name = "mem0"


def _elsewhere(pattern: str, instead: str) -> Any:
    return re_path(pattern, ElsewhereView.as_view(instead=instead))


urlpatterns = [
    path("v1/ping/", PingView.as_view(), name="ping"),
    path("v3/memories/add/", AddView.as_view(), name="add"),
    path("v3/memories/", ListView.as_view(), name="list"),
    path("v1/memories/", DeleteAllView.as_view(), name="memories"),
    path("v3/memories/search/", SearchView.as_view(), name="search"),
    path("v1/memories/<uuid:row>/", OneMemoryView.as_view(), name="memory"),
    path("v1/memories/<uuid:row>/history/", HistoryView.as_view(), name="history"),
    path("v1/event/<uuid:row>/", EventView.as_view(), name="event"),
    path("v1/batch/", ManyView.as_view(), name="batch"),
    path("v1/entities/", EntitiesView.as_view(), name="entities"),
    path("v2/entities/user/<str:name>/", EntityView.as_view(), name="entity"),
    path("v1/entities/user/<str:name>/", EntityView.as_view(), name="entity-1"),
    _elsewhere("^v./entities/user/.*/profile/|^v2/profiles/", "POST /api/v1/context/ answers with a `profile`."),
    _elsewhere("^v./entities/", "erase the memories of an agent or run user by user, by delete_all(user_id=…, …)."),
    _elsewhere("^v1/exports/", "GET /api/v1/export/, or with a key POST /api/v1/members/{user_id}/export/."),
    _elsewhere("^v1/summary/", "POST /api/v1/context/ answers with what is known, for a prompt."),
    _elsewhere("^v1/feedback/", "update or delete a memory that is wrong."),
    _elsewhere("^api/v1/webhooks/", "webhooks are made at /api/v1/webhooks/."),
    _elsewhere("^api/v1/orgs/", "what a project decides is the tenant's policy, /api/v1/tenant/policy/."),
    re_path("", ElsewhereView.as_view()),
]
