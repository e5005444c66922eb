"""The addresses of the drop-ins, as the clients of both APIs add them to a base address."""

from __future__ import annotations

from django.urls import path

from memories.api.dropin.wires import ChatWire, MessagesWire, ResponsesWire
from memories.api.views.dropins import ConversationView, PassedView

_MODELS = PassedView.as_view(http_method_names=["get"])

urlpatterns = [
    path("chat/completions", ConversationView.as_view(wire=ChatWire(), path="/chat/completions"), name="drop-in-chat"),
    path("responses", ConversationView.as_view(wire=ResponsesWire(), path="/responses"), name="drop-in-responses"),
    path("messages", ConversationView.as_view(wire=MessagesWire(), path="/v1/messages"), name="drop-in-messages"),
    path(
        "messages/count_tokens",
        PassedView.as_view(wire=MessagesWire(), path="/v1/messages/count_tokens", http_method_names=["post"]),
        name="drop-in-count",
    ),
    path("models", _MODELS, name="drop-in-models"),
    path("models/<path:model>", _MODELS, name="drop-in-model"),
]
