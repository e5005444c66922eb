"""Addresses of tenants."""

from __future__ import annotations

from django.urls import path

from tenants.views import switch

app_name = "tenants"

urlpatterns = [path("tenant/switch/", switch, name="switch")]
