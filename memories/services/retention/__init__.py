"""Retention: expiry dates, the daily collection and hygiene scans."""
