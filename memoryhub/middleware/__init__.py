"""Middleware."""
