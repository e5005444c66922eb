"""Serializers for what the API says of itself."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class VersionResponse(serializers.Serializer[Any]):
    """The versions. Programs decide by `api`; `server` is for people and reports of faults."""

    api = serializers.CharField()
    server = serializers.CharField()
