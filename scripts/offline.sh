#!/bin/sh
# Runs a command with the loopback network alone and without keys of model providers: scripts/offline.sh go test ./...
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
made=$(mktemp -d)
(cd "$here/.." && go build -o "$made/offline" ./scripts/offline)
status=0
"$made/offline" "$@" || status=$?
rm -rf "$made"
exit "$status"
