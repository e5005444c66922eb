"""Metrics of memory: definitions, measuring, sampling, alerts, charts and the export for Prometheus."""
