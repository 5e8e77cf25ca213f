#!/bin/sh
# prepare-test.sh FLAGS... brings what the tests need (setup-test.sh) and meanwhile vets the code and compiles it for the race detector with
# FLAGS: the one waits for downloads, the other for the cores. Either's failure ends it with exit code 1 and with its own words.
set -eu

cd "$(dirname -- "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# each COMMAND... is waited for in the background, so that this shell's end is its end.
each() {
	"$@" &
	wait $!
}
compile() {
	trap 'kill $! 2>/dev/null; exit 1' TERM
	each env CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath" go vet ./... || return 1
	# The client alone, with the modules of its own go.mod.
	each env CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath" go -C client vet ./... || return 1
	each env CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath" go vet -tags live ./tests/e2e/live/... || return 1
	# The C compiler that links the race detector may still be on its way; go test compiles what is not compiled here.
	if command -v "$(go env CC)" >/dev/null 2>&1; then each go build -race "$@" ./...; fi
}

compiler=
if command -v go >/dev/null 2>&1; then # setup-test.sh says what to do without
	compile "$@" >"$log" 2>&1 &
	compiler=$!
fi
if ! scripts/setup-test.sh; then
	[ -z "$compiler" ] || kill "$compiler" 2>/dev/null || :
	exit 1
fi
if ! wait "$compiler"; then
	cat "$log" >&2
	exit 1
fi
