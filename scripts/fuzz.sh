#!/bin/sh
# Runs every fuzz target of the product on FUZZ_RUNS (50000) inputs each: by number, because a run that is cut off by time now and then reports
# that as a failure. What one finds is kept as a case in its package's testdata/fuzz, which ordinary test runs try from then on: commit it with
# the fix.
set -eu
cd "$(dirname -- "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "fuzz $(dirname -- "$file") $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_RUNS:-50000}x" "$(dirname -- "$file")"
	done
done
