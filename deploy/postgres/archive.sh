#!/bin/sh
# archive_command of PostgreSQL: keep a finished piece of the write-ahead log.
#   archive.sh PATH NAME
# A piece appears under its name only when it is whole and on the disk. A second call with the same piece succeeds (the
# server may not know that the first did); with another piece of that name it fails, and PostgreSQL keeps its own.
set -eu
backup=${BACKUP_DIR:-/backup}
mkdir -p "$backup/wal"
target=$backup/wal/$2
if [ -e "$target" ]; then exec cmp -s "$1" "$target"; fi
cp "$1" "$target.part"
sync "$target.part"
mv "$target.part" "$target"
sync "$backup/wal"
