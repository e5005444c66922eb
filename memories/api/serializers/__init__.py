"""Serializers for request and response bodies, one module per resource."""
