"""Whether the broker answers, for `/readyz`. Invariant: asking costs at most a second, and never raises."""

from __future__ import annotations

import functools

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS = 1.0


def answers() -> bool:
    """Whether the broker answers now."""
    try:
        return bool(_client(settings.MEMORYHUB_BROKER_URL).ping())
    except (redis.RedisError, OSError):
        return False


@functools.cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
