#!/usr/bin/env bash
# Shows what exhume does: runs the chapters in examples/demo/, one for every format and one for a disk image, or those
# that are named, printing each command above its output.  `make demo` runs it with the project's own `exhume` first on
# PATH.  Everything is written below build/demo/ (or DEMO_DIR).
set -euo pipefail
cd "$(dirname "$0")/.."
demo=${DEMO_DIR:-build/demo}
rm -rf "$demo"
mkdir -p "$demo"

bold='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi

# title TEXT: starts a chapter.
title() { printf '\n%s== %s. %s ==%s\n' "$bold" "$((count + 1))" "$*" "$plain"; }

# run COMMAND: prints a command line and runs it; the demo ends when it fails.  A command whose reader (`head`) has
# enough ends with 141.
run() {
  printf '\n%s$ %s%s\n' "$bold" "$1" "$plain"
  eval "$1" || [ "$?" -eq 141 ] || { echo "demo: that failed" >&2; exit 1; }
}

# run_for STATUS COMMAND: the same for a command whose answer is an exit status other than 0.
run_for() {
  local status=0
  printf '\n%s$ %s%s\n' "$bold" "$2" "$plain"
  eval "$2" || status=$?
  printf '(exit %s)\n' "$status"
  [ "$status" -eq "$1" ] || { echo "demo: expected exit $1" >&2; exit 1; }
}

echo "To repeat these commands: cd $PWD; . .venv/bin/activate"
count=0
# The formats by name, then the image that holds archives of several.
[ $# -gt 0 ] || set -- $(cd examples/demo && ls | sed -n 's/\.sh$//p' | grep -vx image) \
  $([ ! -e examples/demo/image.sh ] || echo image)
for part in "$@"; do
  # shellcheck source=/dev/null
  source "examples/demo/$part.sh"
  count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "demo: no chapters in examples/demo/" >&2; exit 1; }
printf '\n%sThat was the demo (chapters: %s); the archives are in %s/.%s\n' "$bold" "$count" "$demo" "$plain"
