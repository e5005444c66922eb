"""Database tools below the ORM: locks, compiled queries, SQLite files."""

from django.dispatch import Signal

# Sent when `manage.py migrate` has brought the whole database up to date.
migrated = Signal()
