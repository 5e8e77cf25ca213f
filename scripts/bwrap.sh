#!/bin/sh
# Prints the path of bubblewrap, which tests of the sandbox need. Where the system has none, it is unpacked into the cache from Debian's package:
# installed, it would be found by the agents of other tests, too.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if command -v bwrap; then exit 0; fi
[ "$(uname -s)" = Linux ] || exit 0 # there is none elsewhere, and no test of it
target=${HARNESS_CACHE:-$root/.cache}/bwrap
if [ ! -x "$target/bwrap" ]; then
	for program in apt-get dpkg-deb; do
		command -v "$program" >/dev/null || { echo "bwrap.sh: bubblewrap is missing; install it with your package manager" >&2; exit 1; }
	done
	echo "bwrap.sh: fetching bubblewrap" >&2
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' INT TERM HUP
	cd "$scratch"
	if ! apt-get download -q bubblewrap >log 2>&1 && ! { apt-get update && apt-get download -q bubblewrap; } >log 2>&1; then
		cat log >&2
		echo "bwrap.sh: the package bubblewrap could not be fetched; install it (Debian, as root: apt-get install bubblewrap)" >&2
		exit 1
	fi
	dpkg-deb -x bubblewrap_*.deb unpacked
	mkdir -p "$target"
	cp unpacked/usr/bin/bwrap "$target/bwrap.$$"
	mv "$target/bwrap.$$" "$target/bwrap"
fi
echo "$target/bwrap"
