"""Where limits are kept, shared by all processes: Redis, a table of PostgreSQL, or an SQLite file of their own.

A quota's whole state is one number, `used_to`: the time up to which it is used (`memoryhub/limits.py`). Losing the
state makes every quota whole, so nothing here is durable: the table of PostgreSQL is unlogged, and the SQLite file is
not synced. The file is apart from the database because a request that only reads must never wait for a writer.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import Error, connection

# The slots in which refusals are counted, and how long they are kept: seconds.
SLOT, KEPT = 300, 2 * 60 * 60
# A request waits this long for the store at most: seconds.
TIMEOUT = 0.25
_REFUSED = "refused:"


class StoreUnavailable(Exception):
    """The store did not answer."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A use of `cost` seconds of the quota `key`, refused beyond `latest`. A quota is used up to `floor` at least."""

    key: str
    cost: float
    floor: float
    latest: float


class LimitStore(Protocol):
    """Every method raises StoreUnavailable."""

    def take(self, charges: Sequence[Charge]) -> list[tuple[bool, float]]:
        """Make all the charges or none; whether each fits, and its `used_to`."""
        ...

    def swap(self, key: str, old: float, new: float, *, lifetime: float) -> bool:
        """Set `used_to` if it still is `old`. The state may be dropped after `lifetime` seconds."""
        ...

    def count(self, slot: int, names: Mapping[str, int]) -> int:
        """Add to the counts of a slot; the number of names."""
        ...

    def counts(self, slots: Iterable[int]) -> Counter[str]:
        """The sums of the counts of these slots, by name."""
        ...

    def forget(self, now: float, longest: float) -> None:
        """Drop the quotas that were not used for `longest` seconds, and old slots."""
        ...


def limit_store() -> LimitStore:
    """The store that the settings name."""
    if settings.MEMORYHUB_BROKER_URL:
        return _redis(settings.MEMORYHUB_BROKER_URL)
    if connection.vendor == "postgresql":
        return TableStore()
    return _file(Path(settings.MEMORYHUB_DATA_DIR) / "limits.sqlite3")


_NEW = "GREATEST(q.used_to + excluded.cost, excluded.used_to)"
_TAKE = f"""
    INSERT INTO memoryhub_quota AS q (key, used_to, cost, latest, fits) VALUES {{rows}}
    ON CONFLICT (key) DO UPDATE SET
        used_to = CASE WHEN {_NEW} <= excluded.latest THEN {_NEW} ELSE q.used_to END,
        fits = CASE WHEN {_NEW} <= excluded.latest THEN 1 ELSE 0 END
    RETURNING key, used_to, fits
"""  # noqa: S608 - of constants
_COUNT = """
    INSERT INTO memoryhub_quota AS q (key, used_to, cost, latest, fits) VALUES {rows}
    ON CONFLICT (key) DO UPDATE SET used_to = q.used_to + excluded.used_to
"""
_ROW = "(%s, %s, %s, %s, 1)"
# A `latest` that no charge exceeds.
FOREVER = 1e18


class SqlStore(ABC):
    """The SQL of both databases. One statement takes all charges; a refusal gives back those that fitted."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any]) -> tuple[list[Any], int]:
        """The rows of one statement, which commits by itself, and how many it returned or changed."""

    def take(self, charges: Sequence[Charge]) -> list[tuple[bool, float]]:
        """See LimitStore."""
        found = self._take(charges)
        if all(fits for fits, _ in found) or not any(fits for fits, _ in found):
            return found
        made = [charge for charge, (fits, _) in zip(charges, found, strict=True) if fits and charge.cost]
        if made:
            self._take([Charge(each.key, -each.cost, each.floor - each.cost, FOREVER) for each in made])
        return found

    def _take(self, charges: Sequence[Charge]) -> list[tuple[bool, float]]:
        ordered = sorted(charges, key=lambda charge: charge.key)  # concurrent statements lock rows in this order
        values = [value for each in ordered for value in (each.key, each.floor + each.cost, each.cost, each.latest)]
        rows, _ = self.run(_TAKE.format(rows=", ".join([_ROW] * len(ordered))), values)
        found = {key: (bool(fits), used_to) for key, used_to, fits in rows}
        return [found[charge.key] for charge in charges]

    def swap(self, key: str, old: float, new: float, *, lifetime: float) -> bool:  # noqa: ARG002 - for Redis
        """See LimitStore."""
        sql = "UPDATE memoryhub_quota SET used_to = %s WHERE key = %s AND used_to = %s"
        return self.run(sql, (new, key, old))[1] > 0

    def count(self, slot: int, names: Mapping[str, int]) -> int:
        """See LimitStore."""
        values = [value for name in sorted(names) for value in (_slot(slot) + name, float(names[name]), 0.0, 0.0)]
        return self.run(_COUNT.format(rows=", ".join([_ROW] * len(names))), values)[1]

    def counts(self, slots: Iterable[int]) -> Counter[str]:
        """See LimitStore."""
        wanted = sorted(slots)
        sql = "SELECT key, used_to FROM memoryhub_quota WHERE key >= %s AND key < %s"
        found: Counter[str] = Counter()
        for key, count in self.run(sql, (_slot(wanted[0]), _slot(wanted[-1] + 1)))[0]:
            found[key[len(_slot(0)) :]] += round(count)
        return found

    def forget(self, now: float, longest: float) -> None:
        """See LimitStore."""
        oldest = _slot(int((now - KEPT) // SLOT))
        sql = "DELETE FROM memoryhub_quota WHERE used_to < %s AND (key < %s OR key > %s) OR key >= %s AND key < %s"
        self.run(sql, (now - longest, _REFUSED, f"{_REFUSED}~", _REFUSED, oldest))


def _slot(number: int) -> str:
    return f"{_REFUSED}{number:010d}:"


class TableStore(SqlStore):
    """A table of the application's PostgreSQL, on the request's connection."""

    def run(self, sql: str, values: Sequence[Any]) -> tuple[list[Any], int]:
        """See SqlStore."""
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, values)
                return list(cursor.fetchall()) if cursor.description else [], cursor.rowcount
        except Error as error:
            raise StoreUnavailable from error


class FileStore(SqlStore):
    """An SQLite file, on one connection for each process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._using = threading.Lock()
        self._open: sqlite3.Connection | None = None

    def run(self, sql: str, values: Sequence[Any]) -> tuple[list[Any], int]:
        """See SqlStore."""
        try:
            with self._using:
                self._open = self._open or _opened(self._path)
                cursor = self._open.execute(sql.replace("%s", "?"), values)
                return cursor.fetchall(), cursor.rowcount
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable from error


def _opened(path: Path) -> sqlite3.Connection:
    opened = sqlite3.connect(path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
    opened.create_function("GREATEST", 2, max, deterministic=True)
    opened.execute("PRAGMA journal_mode = WAL")
    opened.execute("PRAGMA synchronous = OFF")
    opened.execute(
        "CREATE TABLE IF NOT EXISTS memoryhub_quota"
        " (key TEXT PRIMARY KEY, used_to REAL, cost REAL, latest REAL, fits INTEGER) WITHOUT ROWID"
    )
    path.chmod(0o600)
    return opened


# KEYS: of the quotas. ARGV: cost, floor and latest of each. Numbers pass as text: Redis would cut them to integers.
_TAKE_LUA = """
local new, out, all = {}, {}, true
for i, key in ipairs(KEYS) do
  local cost, floor, latest = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local used = tonumber(redis.call('GET', key) or '') or floor
  new[i] = math.max(used, floor) + cost
  local fits = new[i] <= latest
  all = all and fits
  out[i] = {fits and 1 or 0, string.format('%.17g', fits and new[i] or used)}
end
if all then
  for i, key in ipairs(KEYS) do
    local left = math.ceil(new[i] - tonumber(ARGV[3 * i - 1]))
    if left > 0 then redis.call('SET', key, string.format('%.17g', new[i]), 'EX', left) end
  end
end
return out
"""
_SWAP_LUA = """
if tonumber(redis.call('GET', KEYS[1]) or '') ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
"""
_PREFIX = "memoryhub:limit:"


class RedisStore:
    """The broker of the background jobs; each method is one round trip."""

    def __init__(self, url: str) -> None:
        import redis  # noqa: PLC0415 - takes a tenth of a second, which installations without Redis save
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.retry import Retry  # noqa: PLC0415

        self._client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0)
        )
        self._take = self._client.register_script(_TAKE_LUA)
        self._swap = self._client.register_script(_SWAP_LUA)
        self._errors = (redis.RedisError, OSError)

    def take(self, charges: Sequence[Charge]) -> list[tuple[bool, float]]:
        """See LimitStore."""
        values = [repr(value) for each in charges for value in (each.cost, each.floor, each.latest)]
        try:
            rows = self._take(keys=[_PREFIX + charge.key for charge in charges], args=values)
        except self._errors as error:
            raise StoreUnavailable from error
        return [(bool(fits), float(used_to)) for fits, used_to in rows]

    def swap(self, key: str, old: float, new: float, *, lifetime: float) -> bool:
        """See LimitStore."""
        try:
            return bool(self._swap(keys=[_PREFIX + key], args=[repr(old), repr(new), max(1, round(lifetime))]))
        except self._errors as error:
            raise StoreUnavailable from error

    def count(self, slot: int, names: Mapping[str, int]) -> int:
        """See LimitStore."""
        try:
            with self._client.pipeline() as pipe:
                for name, count in names.items():
                    pipe.hincrby(_PREFIX + _slot(slot), name, count)
                pipe.expire(_PREFIX + _slot(slot), KEPT)
                return len(pipe.execute())
        except self._errors as error:
            raise StoreUnavailable from error

    def counts(self, slots: Iterable[int]) -> Counter[str]:
        """See LimitStore."""
        try:
            with self._client.pipeline() as pipe:
                for slot in slots:
                    pipe.hgetall(_PREFIX + _slot(slot))
                found = pipe.execute()
        except self._errors as error:
            raise StoreUnavailable from error
        total: Counter[str] = Counter()
        for counted in found:
            total.update({name.decode(): int(count) for name, count in counted.items()})
        return total

    def forget(self, now: float, longest: float) -> None:
        """Redis drops keys by itself."""


_redis = cache(RedisStore)
_file = cache(FileStore)
