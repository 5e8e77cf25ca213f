#!/bin/sh
# Runs the fuzz targets of the product on FUZZ_RUNS (50000) inputs each: by number, because a run that is cut off by time now and then reports
# that as a failure. FUZZ_PART=N runs every Nth of them, others each day. What one finds is kept as a case in its package's testdata/fuzz, which
# ordinary test runs try from then on: commit it with the fix.
set -eu
cd "$(dirname -- "$0")/.."
part=${FUZZ_PART:-1}
today=$(($(date +%s) / 86400 % part))
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do echo "$(dirname -- "$file") $target"; done
done | awk -v part="$part" -v today="$today" 'NR % part == today' | while read -r package target; do
	echo "fuzz $package $target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_RUNS:-50000}x" "$package" </dev/null
done
