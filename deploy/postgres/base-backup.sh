#!/bin/sh
# A base backup of the running server, checked against its manifest; then the old ones go, and the write-ahead log that
# only they needed.
#   base-backup.sh [KEEP]     keep the latest KEEP backups (default 2)
# Daily is enough: what came later is in the archived log (archive.sh).
set -eu
backup=${BACKUP_DIR:-/backup}
keep=${1:-2}
name=$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$backup/base"
rm -rf "$backup"/base/*.part
pg_basebackup --username "${PGUSER:-postgres}" --no-password --pgdata "$backup/base/$name.part" --format plain \
  --wal-method stream --checkpoint fast
pg_verifybackup --quiet "$backup/base/$name.part"
mv "$backup/base/$name.part" "$backup/base/$name"

ls "$backup/base" | sort -r | tail -n +"$((keep + 1))" | while read -r old; do rm -rf "${backup:?}/base/${old:?}"; done
oldest=$(ls "$backup/base" | sort | head -n 1)
needed=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\)).*/\1/p' "$backup/base/$oldest/backup_label")
if [ -d "$backup/wal" ]; then pg_archivecleanup "$backup/wal" "$needed"; fi
echo "$backup/base/$name"
