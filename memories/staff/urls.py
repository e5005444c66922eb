"""URLs of the staff pages; they must be mounted below `admin/` and before the admin's own URLs."""

from django.urls import URLPattern, path

from memories.staff import (
    as_of,
    ask,
    audit_reports,
    base,
    beside,
    case_actions,
    cases,
    changes,
    conversations,
    erasure,
    exports,
    history,
    history_list,
    inspector,
    items,
    metrics,
    record,
    reviews,
    runs,
    search,
    tenant_checks,
)

app_name = "staff"

_MEMBER = "memories/membermemory/<uuid:member_id>/"
_HISTORY = "memories/history/<str:kind>/<uuid:memory_id>/"
_ERASURE = "memories/erasurerequest/<uuid:pk>/"


def _of_member(route: str, view: type[base.MemberView], name: str, **options: object) -> URLPattern:
    pattern: URLPattern = path(_MEMBER + route, view.as_view(**options), name=name)
    return pattern


urlpatterns = [
    _of_member("change/", inspector.Inspector, "inspector"),
    _of_member("change/live/", inspector.Inspector, "inspector_live", live=True),
    _of_member("pulse/", base.Pulse, "pulse"),
    _of_member("memory/<uuid:memory_id>/", record.RecordPage, "record"),
    _of_member("memory/<uuid:memory_id>/live/", record.RecordPage, "record_live", live=True),
    _of_member("conversations/", conversations.Conversations, "conversations"),
    _of_member("conversations/<uuid:session_id>/", conversations.Conversation, "conversation"),
    _of_member("conversations/<uuid:session_id>/<int:turn>/", conversations.TurnPage, "turn"),
    _of_member("conversations/<uuid:session_id>/<int:turn>/case/", case_actions.FlagTurn, "case_open"),
    *(
        _of_member(f"cases/<uuid:case_id>/{action}/", case_actions.CaseAction, f"case_{action}", action=action)
        for action in ("change", "note", "propose")
    ),
    _of_member("live/", beside.Beside, "beside"),
    _of_member("live/part/", beside.Beside, "beside_live", live=True),
    _of_member("items/", items.Items, "items"),
    _of_member("items/<uuid:item_id>/", items.ItemPage, "item"),
    _of_member("uses/<uuid:memory_id>/", conversations.Uses, "uses"),
    _of_member("ask/", ask.Ask, "ask"),
    _of_member("as-of/", as_of.AsOf, "as_of"),
    _of_member("changes/", changes.ChangesPage, "changes"),
    _of_member("runs/", runs.Runs, "runs"),
    _of_member("runs/<uuid:run_id>/", runs.ConsolidationRunPage, "run"),
    _of_member("runs/<uuid:run_id>/rerun/", runs.Rerun, "rerun"),
    _of_member("index/", search.Index, "index"),
    _of_member("index/check/", search.IndexCheck, "index_check"),
    _of_member("search-key/", search.SearchKeyPage, "search_key"),
    *(
        _of_member(f"search-key/{action}/", search.SearchKeyAction, f"search_key_{action}", action=action)
        for action in ("verify", "rotate", "revoke", "make")
    ),
    _of_member("erasure/", erasure.MemberErasure, "erasure"),
    _of_member("erasure/ask/", erasure.AskErasure, "erasure_ask"),
    _of_member("erasure/hold/", erasure.HoldMember, "hold_member"),
    _of_member("why/", base.PurposePage, "purpose"),
    _of_member("export/", exports.Exporting, "exporting"),
    _of_member("export/ask/", exports.AskExport, "export_ask"),
    path("memories/exportrequest/<uuid:pk>/decide/", exports.DecideExport.as_view(), name="export_decide"),
    path("memories/exportrequest/<uuid:pk>/download/", exports.Export.as_view(), name="export"),
    path("memories/history/", history_list.Histories.as_view(), name="histories"),
    path("memories/history/broken/", history_list.BrokenChains.as_view(), name="broken_chains"),
    path("memories/audit/superseded/", audit_reports.Superseded.as_view(), name="superseded"),
    path("memories/audit/reports/", audit_reports.AuditReports.as_view(), name="audit_reports"),
    path("memories/audit/reports/<uuid:pk>/", audit_reports.AuditReportPage.as_view(), name="audit_report"),
    path(
        "memories/audit/reports/<uuid:pk>/pdf/",
        audit_reports.AuditReportPage.as_view(as_pdf=True),
        name="audit_report_pdf",
    ),
    path("memories/audit/verification/", tenant_checks.TenantChecks.as_view(), name="tenant_checks"),
    path("memories/audit/verification/<uuid:pk>/", tenant_checks.TenantCheckPage.as_view(), name="tenant_check"),
    path("memories/audit/verification/<uuid:pk>/certificate/", tenant_checks.Certificate.as_view(), name="certificate"),
    path("memories/audit/file/", tenant_checks.CheckFile.as_view(), name="check_file"),
    path(_HISTORY, history.HistoryPage.as_view(), name="history"),
    path(f"{_HISTORY}export/", exports.ChainExportView.as_view(), name="history_export"),
    path(f"{_HISTORY}verify/", history.VerifyHistory.as_view(), name="history_verify"),
    path(_ERASURE, erasure.ErasureRequestView.as_view(), name="erasure_request"),
    path(
        f"{_ERASURE}state/",
        erasure.ErasureRequestView.as_view(template_name="admin/memories/erasurerequest/_state.html"),
        name="erasure_state",
    ),
    path(f"{_ERASURE}decide/", erasure.DecideErasure.as_view(), name="erasure_decide"),
    path(f"{_ERASURE}verify/", erasure.VerifyReceipt.as_view(), name="erasure_verify"),
    path(f"{_ERASURE}receipt/", erasure.ErasureReceipt.as_view(), name="erasure_receipt"),
    path("memories/legalhold/place/", erasure.HoldTenant.as_view(), name="hold_tenant"),
    path("memories/legalhold/<uuid:pk>/", erasure.LegalHoldView.as_view(), name="legal_hold"),
    path("memories/legalhold/<uuid:pk>/release/", erasure.ReleaseHold.as_view(), name="legal_hold_release"),
    path("memories/supportcase/", cases.Cases.as_view(), name="cases"),
    path("memories/reviewitem/<uuid:pk>/change/", reviews.ReviewItemPage.as_view(), name="review"),
    path("memories/reviewitem/<uuid:pk>/undo/", reviews.UndoReview.as_view(), name="review_undo"),
    path("memories/metricsample/", metrics.Metrics.as_view(), name="metrics"),
]
