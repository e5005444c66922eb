"""URLs of the member's pages, included at the root of the site."""

from __future__ import annotations

from django.urls import include, path, register_converter
from django.views.generic import RedirectView

from memories.chat.views import (
    account,
    connect,
    consent,
    conversations,
    finding,
    forgetting,
    list_actions,
    memory,
    models,
    remembered,
    reviews,
    turns,
)
from memories.presenting.lines import KindConverter
from tenants.oauth.protocol import AUTHORIZE_PATH

register_converter(KindConverter, "kind")

chat = [
    path("", conversations.new, name="new"),
    path("chat/", RedirectView.as_view(pattern_name="chat:new"), name="home"),
    path("chat/send/", turns.send, name="begin"),
    path("chat/find/", finding.show, name="find"),
    path("chat/all/", conversations.every, name="conversations"),
    path("chat/theme/", remembered.theme, name="theme"),
    path("chat/forgetting/<uuid:proposal_id>/", forgetting.show, name="forgetting"),
    *(
        path(
            f"chat/forgetting/<uuid:proposal_id>/{each}/", forgetting.decide, {"decision": each}, name=f"forget-{each}"
        )
        for each in ("confirm", "keep", "undo")
    ),
    path("chat/<uuid:session_id>/", conversations.show, name="session"),
    path("chat/<uuid:session_id>/send/", turns.send, name="send"),
    path("chat/<uuid:session_id>/rename/", conversations.rename, name="rename"),
    path("chat/<uuid:session_id>/forget/", conversations.forget, name="forget"),
    path("chat/<uuid:session_id>/end/", conversations.end_temporary, name="end-temporary"),
    path("chat/<uuid:session_id>/finish/", conversations.finish, name="finish"),
    path("chat/<uuid:session_id>/turns/<int:turn>/", turns.show, name="turn"),
    path("chat/<uuid:session_id>/turns/<int:turn>/retry/", turns.retry, name="retry"),
    path("chat/<uuid:session_id>/turns/<int:turn>/edit/", turns.edit, name="edit"),
    path("chat/<uuid:session_id>/turns/<int:turn>/again/", turns.again, name="again"),
    path("chat/<uuid:session_id>/turns/<int:turn>/feedback/", turns.feedback, name="feedback"),
    path("chat/<uuid:session_id>/turns/<int:turn>/undo/", turns.undo, name="undo"),
]
remember = [
    path("remember/", remembered.home, name="home"),
    path("remember/export/", remembered.export, name="export"),
    path("remember/settle/", reviews.listed, name="reviews"),
    path("remember/settle/<uuid:review_id>/", reviews.show, name="review"),
    path("remember/settle/<uuid:review_id>/decide/", reviews.settle, name="review-decide"),
    path("remember/settle/<uuid:review_id>/undo/", reviews.undo, name="review-undo"),
    path("remember/<kind:kind>/", remembered.listed, name="list"),
    path("remember/<kind:kind>/add/", list_actions.add, name="add"),
    path("remember/<kind:kind>/change/", list_actions.change, name="change"),
    path("remember/<kind:kind>/<uuid:memory_id>/", memory.show, name="memory"),
    path("remember/<kind:kind>/<uuid:memory_id>/correct/", memory.correct, name="correct"),
    path("remember/<kind:kind>/<uuid:memory_id>/retire/", memory.retire, name="retire"),
    path("remember/<kind:kind>/<uuid:memory_id>/undo/", memory.undo, name="undo"),
    path("remember/<kind:kind>/<uuid:memory_id>/pin/", memory.pin, name="pin"),
    path("remember/<kind:kind>/<uuid:memory_id>/accept/", memory.accept, name="accept"),
    path("remember/<kind:kind>/<uuid:memory_id>/original/", memory.show_original, name="original"),
    path("remember/<kind:kind>/<uuid:memory_id>/forget/", memory.forget, name="forget"),
]
account_pages = [
    path("account/", account.home, name="home"),
    path("account/profile/", account.profile, name="profile"),
    path("account/memory/", account.switches, name="switches"),
    path("account/topics/", account.topics, name="topics"),
    path("account/delete/", account.delete, name="delete"),
    path("account/delete/account/", account.leave, name="leave"),
    path("account/export/", account.export, name="export"),
    path("account/import/", account.importing, name="import"),
    path("account/import/run/", account.run_import, name="run-import"),
]
connect_agents = [
    path("connect/", connect.show, name="home"),
    path("connect/model/", models.show, name="model"),
    path("connect/model/set/", models.connect, name="model-connect"),
    path("connect/model/remove/", models.disconnect, name="model-disconnect"),
    path("connect/tokens/", connect.make, name="make"),
    path("connect/tokens/<uuid:token_id>/revoke/", connect.revoke, name="revoke"),
    path(AUTHORIZE_PATH, consent.decide, name="authorize"),
]
urlpatterns = [
    path("", include((chat, "chat"))),
    path("", include((remember, "remember"))),
    path("", include((account_pages, "account"))),
    path("", include((connect_agents, "connect"))),
]
