#!/bin/sh
# lnav (0.12 and later) calls this with the type and the path of a file, and reads what it prints: the records as events
# in the order of their times, which stand first in each line.
command -v exhume >/dev/null 2>&1 || { echo "error: exhume is not on PATH" >&2; exit 1; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
exhume export "$2" --to timesketch --quiet -o "$folder/events"
code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 3 ] || exit "$code" # 3: rows without a time were left out
LC_ALL=C sort "$folder/events"
