#!/bin/sh
# Fill an empty data folder from a base backup; PostgreSQL replays the archived log when it starts next.
#   restore.sh                          the latest base backup, up to the last change that was archived
#   restore.sh '2026-03-01 14:30:00+00' the state of that moment, from the last base backup before it
set -eu
backup=${BACKUP_DIR:-/backup}
moment=${1:-}
data=${PGDATA:?set PGDATA to the folder to fill}
if [ -n "$(ls -A "$data" 2>/dev/null)" ]; then
  echo "$data is not empty: move it away first. Nothing was changed." >&2
  exit 1
fi

base=
limit=$(date -u ${moment:+-d "$moment"} +%Y%m%dT%H%M%SZ)
for candidate in $(ls "$backup/base" | grep -v '\.part$' | sort); do
  # Its name is the time at which it began; it is usable from the time at which it ended.
  ended=$(date -u -r "$backup/base/$candidate/backup_manifest" +%Y%m%dT%H%M%SZ)
  if [ "$(printf '%s\n%s\n' "$ended" "$limit" | sort | head -n 1)" = "$ended" ]; then base=$candidate; fi
done
if [ -z "$base" ]; then
  echo "No base backup in $backup/base is old enough. Nothing was changed." >&2
  exit 1
fi

mkdir -p "$data"
chmod 700 "$data"
cp -a "$backup/base/$base/." "$data/"
# A backup of a server that was itself restored brings that restore's settings, and would stop at its moment again.
sed -i '/^restore_command\|^recovery_/d' "$data/postgresql.auto.conf"
{
  echo "restore_command = 'cp \"$backup/wal/%f\" \"%p\"'"
  echo "recovery_target_action = 'promote'"
  if [ -n "$moment" ]; then echo "recovery_target_time = '$moment'"; fi
} >> "$data/postgresql.auto.conf"
touch "$data/recovery.signal"
echo "Restored $base. Start PostgreSQL: it replays the log${moment:+ up to $moment} and then serves."
