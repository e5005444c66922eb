"""URL patterns of the API, version 1. Unknown paths get a 404 problem.

All end with a slash, which `memories/api/middleware.py` adds to requests that lack it.
"""

from __future__ import annotations

from django.urls import path, re_path

from memories.api.schema import SchemaView
from memories.api.views.about import IndexView, VersionView
from memories.api.views.audit import (
    AuditEventView,
    AuditView,
    TenantAuditEventView,
    TenantAuditView,
    VerifyAuditView,
    VerifyTenantAuditView,
)
from memories.api.views.base import NowhereView
from memories.api.views.batches import BatchView, MessagesBatchView
from memories.api.views.bulk import ExportView, ImportView
from memories.api.views.calls import (
    CancelOperationView,
    ContextView,
    MessagesView,
    OperationItemView,
    OperationsView,
    RetryOperationView,
)
from memories.api.views.erasures import (
    ApproveErasureView,
    ErasuresView,
    ErasureView,
    HoldsView,
    HoldView,
    OwnErasureView,
    ReceiptView,
    ReleaseHoldView,
    VerifyReceiptView,
    WithdrawErasureView,
)
from memories.api.views.items import ItemHistoryView, ItemsView, ItemView, NamespacesView, SearchItemsView
from memories.api.views.members import (
    EraseMemberView,
    ExportMemberView,
    MemberItemView,
    MemberMemoriesView,
    MembersView,
)
from memories.api.views.memories import (
    ChainView,
    ConfirmView,
    CorrectView,
    MemoriesView,
    MemoryItemView,
    OutcomeView,
    PinView,
    PromoteView,
    RecallView,
    RestoreView,
    RetireView,
    ReviewView,
    SupersedeView,
    UndoView,
)
from memories.api.views.policy import PolicyView
from memories.api.views.proposals import (
    AcceptView,
    ConfirmForgetView,
    ForgetProposalsView,
    ForgetProposalView,
    KeepView,
    UndoForgetView,
)
from memories.api.views.reviews import (
    DecideView,
    LooksView,
    RerunView,
    ReviewItemView,
    ReviewsView,
    RunsView,
    RunView,
    UndecideView,
)
from memories.api.views.sessions import (
    EndSessionView,
    NewSessionTurnsView,
    SessionEntriesView,
    SessionsView,
    SessionTurnsView,
    SessionView,
    WorkingMemoryView,
)
from memories.api.views.tokens import MeView, RotateTokenView, TokensView, TokenView
from memories.api.views.webhooks import (
    DeliveriesView,
    EventsView,
    ReplayView,
    RotateWebhookView,
    WebhooksView,
    WebhookView,
)

app_name = "api"

urlpatterns = [
    path("me/", MeView.as_view(), name="me"),
    path("me/erase/", OwnErasureView.as_view(), name="me-erase"),
    path("members/", MembersView.as_view(), name="members"),
    path("members/<str:user_id>/", MemberItemView.as_view(), name="member"),
    path("members/<str:user_id>/memories/", MemberMemoriesView.as_view(), name="member-memories"),
    path("members/<str:user_id>/erase/", EraseMemberView.as_view(), name="member-erase"),
    path("members/<str:user_id>/export/", ExportMemberView.as_view(), name="member-export"),
    path("tokens/", TokensView.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/", TokenView.as_view(), name="token"),
    path("tokens/<uuid:token_id>/rotate/", RotateTokenView.as_view(), name="token-rotate"),
    path("messages/", MessagesView.as_view(), name="messages"),
    path("messages/batch/", MessagesBatchView.as_view(), name="messages-batch"),
    path("context/", ContextView.as_view(), name="context"),
    path("operations/", OperationsView.as_view(), name="operations"),
    path("operations/<uuid:operation_id>/", OperationItemView.as_view(), name="operation"),
    path("operations/<uuid:operation_id>/cancel/", CancelOperationView.as_view(), name="operation-cancel"),
    path("operations/<uuid:operation_id>/retry/", RetryOperationView.as_view(), name="operation-retry"),
    path("sessions/", SessionsView.as_view(), name="sessions"),
    path("sessions/<uuid:session_id>/", SessionView.as_view(), name="session"),
    path("sessions/<uuid:session_id>/turns/", SessionTurnsView.as_view(), name="session-turns"),
    path("sessions/<uuid:session_id>/working-memory/", WorkingMemoryView.as_view(), name="working-memory"),
    path("sessions/<uuid:session_id>/entries/", SessionEntriesView.as_view(), name="session-entries"),
    path("sessions/<uuid:session_id>/end/", EndSessionView.as_view(), name="session-end"),
    path("turns/", NewSessionTurnsView.as_view(), name="turns"),
    path("memories/", MemoriesView.as_view(), name="memories"),
    path("memories/batch/", BatchView.as_view(), name="batch"),
    path("memories/review/", ReviewView.as_view(), name="review"),
    path("memories/<uuid:memory_id>/", MemoryItemView.as_view(), name="memory"),
    path("memories/<uuid:memory_id>/chain/", ChainView.as_view(), name="chain"),
    path("memories/<uuid:memory_id>/correct/", CorrectView.as_view(), name="correct"),
    path("memories/<uuid:memory_id>/supersede/", SupersedeView.as_view(), name="supersede"),
    path("memories/<uuid:memory_id>/retire/", RetireView.as_view(), name="retire"),
    path("memories/<uuid:memory_id>/undo/", UndoView.as_view(), name="undo"),
    path("memories/<uuid:memory_id>/promote/", PromoteView.as_view(), name="promote"),
    path("memories/<uuid:memory_id>/confirm/", ConfirmView.as_view(), name="confirm"),
    path("memories/<uuid:memory_id>/restore/", RestoreView.as_view(), name="restore"),
    path("memories/<uuid:memory_id>/outcome/", OutcomeView.as_view(), name="outcome"),
    path("memories/<uuid:memory_id>/pin/", PinView.as_view(), name="pin"),
    path("memories/<uuid:memory_id>/accept/", AcceptView.as_view(), name="accept"),
    path("forget-proposals/", ForgetProposalsView.as_view(), name="forget-proposals"),
    path("forget-proposals/<uuid:proposal_id>/", ForgetProposalView.as_view(), name="forget-proposal"),
    path("forget-proposals/<uuid:proposal_id>/confirm/", ConfirmForgetView.as_view(), name="forget-confirm"),
    path("forget-proposals/<uuid:proposal_id>/keep/", KeepView.as_view(), name="forget-keep"),
    path("forget-proposals/<uuid:proposal_id>/undo/", UndoForgetView.as_view(), name="forget-undo"),
    path("items/", ItemsView.as_view(), name="items"),
    path("items/search/", SearchItemsView.as_view(), name="items-search"),
    path("items/namespaces/", NamespacesView.as_view(), name="items-namespaces"),
    path("items/history/", ItemHistoryView.as_view(), name="items-history"),
    path("items/<uuid:item_id>/", ItemView.as_view(), name="item"),
    path("consolidation/", RunsView.as_view(), name="runs"),
    path("consolidation/<uuid:run_id>/", RunView.as_view(), name="run"),
    path("consolidation/<uuid:run_id>/rerun/", RerunView.as_view(), name="rerun"),
    path("reviews/", ReviewsView.as_view(), name="reviews"),
    path("reviews/<uuid:review_id>/", ReviewItemView.as_view(), name="review-item"),
    path("reviews/<uuid:review_id>/decide/", DecideView.as_view(), name="review-decide"),
    path("reviews/<uuid:review_id>/undo/", UndecideView.as_view(), name="review-undo"),
    path("looks/", LooksView.as_view(), name="looks"),
    path("audit/", AuditView.as_view(), name="audit"),
    path("audit/verify/", VerifyAuditView.as_view(), name="audit-verify"),
    path("audit/<uuid:event_id>/", AuditEventView.as_view(), name="audit-event"),
    path("tenant/audit/", TenantAuditView.as_view(), name="tenant-audit"),
    path("tenant/audit/verify/", VerifyTenantAuditView.as_view(), name="tenant-audit-verify"),
    path("tenant/audit/<uuid:event_id>/", TenantAuditEventView.as_view(), name="tenant-audit-event"),
    path("tenant/policy/", PolicyView.as_view(), name="policy"),
    path("tenant/erasures/", ErasuresView.as_view(), name="erasures"),
    path("tenant/erasures/<uuid:erasure_id>/", ErasureView.as_view(), name="erasure"),
    path("tenant/erasures/<uuid:erasure_id>/approve/", ApproveErasureView.as_view(), name="erasure-approve"),
    path("tenant/erasures/<uuid:erasure_id>/withdraw/", WithdrawErasureView.as_view(), name="erasure-withdraw"),
    path("tenant/erasures/<uuid:erasure_id>/receipt/", ReceiptView.as_view(), name="erasure-receipt"),
    path("tenant/erasures/<uuid:erasure_id>/verify/", VerifyReceiptView.as_view(), name="erasure-verify"),
    path("tenant/holds/", HoldsView.as_view(), name="holds"),
    path("tenant/holds/<uuid:hold_id>/", HoldView.as_view(), name="hold"),
    path("tenant/holds/<uuid:hold_id>/release/", ReleaseHoldView.as_view(), name="hold-release"),
    path("recall/", RecallView.as_view(), name="recall"),
    path("export/", ExportView.as_view(), name="export"),
    path("import/", ImportView.as_view(), name="import"),
    path("events/", EventsView.as_view(), name="events"),
    path("webhooks/", WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<uuid:webhook_id>/", WebhookView.as_view(), name="webhook"),
    path("webhooks/<uuid:webhook_id>/rotate/", RotateWebhookView.as_view(), name="webhook-rotate"),
    path("webhooks/<uuid:webhook_id>/replay/", ReplayView.as_view(), name="webhook-replay"),
    path("webhooks/<uuid:webhook_id>/deliveries/", DeliveriesView.as_view(), name="webhook-deliveries"),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("version/", VersionView.as_view(), name="version"),
    path("", IndexView.as_view(), name="index"),
    re_path("", NowhereView.as_view()),
]
