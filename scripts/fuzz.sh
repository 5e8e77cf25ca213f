#!/bin/sh
# Runs every fuzz target of the product for FUZZ_TIME (30s) each. What one finds is kept as a case in its package's testdata/fuzz, which
# ordinary test runs try from then on: commit it with the fix.
set -eu
cd "$(dirname -- "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "fuzz $(dirname -- "$file") $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_TIME:-30s}" "$(dirname -- "$file")"
	done
done
