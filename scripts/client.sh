#!/bin/sh
# Writes the generated part of package client to the named file, from api/openapi.yaml by the pinned generator (scripts/client/go.mod).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
[ $# = 1 ] || { echo "usage: scripts/client.sh FILE" >&2; exit 2; }
mkdir -p "$(dirname -- "$1")"
out=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
cd "$root/scripts/client"
CGO_ENABLED=0 go tool oapi-codegen -config config.yaml -o "$out" ../../api/openapi.yaml
