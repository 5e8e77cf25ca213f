#!/bin/sh
# debian-tool.sh NAME PACKAGE...: unpacks Debian's packages into the cache (nothing is installed, and no service is started) and prints the
# folder with their programs; modules of Python are in python beside it.
set -eu

name=$1
shift
fail() {
	echo "debian-tool.sh: $*" >&2
	exit 1
}

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
tool=${HARNESS_CACHE:-$root/.cache}/tools/$name
if [ ! -d "$tool" ]; then
	command -v apt-get >/dev/null || fail "$name is missing, and there is no apt-get to have it with; install $name"
	made=$tool.tmp.$$
	mkdir -p "$made/packages" "$made/bin"
	trap 'rm -rf "$made"' EXIT
	(
		cd "$made/packages"
		apt-get download "$@" >log 2>&1 || { apt-get update && apt-get download "$@"; } >log 2>&1 || { cat log >&2; exit 1; }
		for package in *.deb; do dpkg -x "$package" .; done
	) || fail "Debian's packages of $name could not be had; install $name"
	for program in "$made"/packages/usr/bin/* "$made"/packages/usr/sbin/*; do
		[ ! -e "$program" ] || [ -e "$made/bin/$(basename "$program")" ] || mv "$program" "$made/bin/"
	done
	[ ! -d "$made/packages/usr/lib/python3" ] || mv "$made/packages/usr/lib/python3/dist-packages" "$made/python"
	rm -rf "$made/packages"
	mv "$made" "$tool"
	trap - EXIT
fi
echo "$tool/bin"
