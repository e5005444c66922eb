"""Tables of what all processes share and nobody's memory is: the use of limits, and Django's cache."""

from __future__ import annotations

from django.db import models


class QuotaState(models.Model):
    """The use of a limit, or a count, by `key`; only `memoryhub/limit_store.py` reads and writes it.

    Of PostgreSQL alone: on SQLite the rows are in a file of their own, and with Redis they are there. `used_to` is in
    seconds since 1970; `cost`, `latest` and `fits` belong to the statement that takes.
    """

    key = models.CharField(max_length=200, primary_key=True)
    used_to = models.FloatField()
    cost = models.FloatField()
    latest = models.FloatField()
    fits = models.SmallIntegerField()

    class Meta:
        db_table = "memoryhub_quota"

    def __str__(self) -> str:
        return self.key


class CacheEntry(models.Model):
    """A row of Django's cache in the database (`CACHES`); only that reads and writes it."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "memoryhub_cache"

    def __str__(self) -> str:
        return self.cache_key
