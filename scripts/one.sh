#!/bin/sh
# one.sh TEST [PACKAGE] finds the package of a test by its name and runs that test, with no race detector and never from the cache.
# TEST may name a subtest: TestName/sub.
set -eu

cd "$(dirname -- "$0")/.."
fail() {
	echo "one.sh: $*" >&2
	exit 2
}

test=${1:-} package=${2:-.}
name=${test%%/*}
case $name in
'' | *[!A-Za-z0-9_]*) fail "name a test: make one T=TestName [PKG=./folder]" ;;
esac
[ -d "$package" ] || fail "PKG=$package is no folder"
files=$(find "$package" \( -name node_modules -o -name testdata -o -path ./.cache -o -path ./dist -o -path ./.data \) -prune -o \
	-name '*_test.go' -exec grep -l "^func $name(" {} +) || :
[ -n "$files" ] || fail "no test in $package is called $name"
folders=$(for file in $files; do dirname -- "$file"; done | sort -u)
[ "$(echo "$folders" | wc -l)" -eq 1 ] || fail "$name is in several packages; name one with PKG:
$folders"
# What the file is built with only, such as live or cluster.
tags=$(for file in $files; do sed -n 's/^\/\/go:build //p' "$file"; done | grep -owE 'live|cluster|containers|scripted' | sort -u | paste -sd, -) || :
echo "one.sh: $test in $folders" >&2
# From the folder, since some are modules of their own.
GOFLAGS="$(go env GOFLAGS) -trimpath" CGO_ENABLED=0 exec go -C "$folders" test -vet=off -count=1 -timeout 10m ${tags:+-tags "$tags"} -v \
	-run "^$(echo "$test" | sed 's|/|$/^|g')\$" .
