#!/bin/sh
# Builds the pinned golangci-lint (scripts/lint/go.mod) into the cache when it is not there yet, and prints its path.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
package=github.com/golangci/golangci-lint/v2
version=$(awk -v p="$package" '$1 == p {print $2}' "$root/scripts/lint/go.mod")
[ -n "$version" ] || { echo "lint-tool.sh: scripts/lint/go.mod does not require $package" >&2; exit 1; }
cache=${HARNESS_CACHE:-$root/.cache}/tools
tool=$cache/golangci-lint-$version-$(cd "$root" && go env GOVERSION)
if [ ! -x "$tool" ]; then
	echo "lint-tool.sh: building golangci-lint $version (once, takes minutes)" >&2
	mkdir -p "$cache"
	(cd "$root/scripts/lint" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$tool.tmp.$$" "$package/cmd/golangci-lint")
	mv "$tool.tmp.$$" "$tool"
fi
echo "$tool"
