#!/bin/sh
# Prints the folder with Docker's programs that the tests start an engine of their own with: those of this machine, or the ones of Debian's
# packages, unpacked into the cache (nothing is installed, and no service is started).
set -eu

fail() {
	echo "docker-tool.sh: $*" >&2
	exit 1
}

if dockerd=$(command -v dockerd) && command -v containerd >/dev/null && command -v runc >/dev/null && command -v docker >/dev/null; then
	dirname -- "$dockerd"
	exit 0
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
tool=${HARNESS_CACHE:-$root/.cache}/tools/docker
if [ ! -d "$tool" ]; then
	command -v apt-get >/dev/null || fail "Docker is missing, and there is no apt-get to have it with; install Docker"
	made=$tool.tmp.$$
	mkdir -p "$made/packages" "$made/bin"
	trap 'rm -rf "$made"' EXIT
	(
		cd "$made/packages"
		apt-get download docker.io containerd runc tini >log 2>&1 || { apt-get update && apt-get download docker.io containerd runc tini; } >log 2>&1 ||
			{ cat log >&2; exit 1; }
		for package in *.deb; do dpkg -x "$package" .; done
	) || fail "Debian's packages of Docker could not be had; install Docker"
	for program in "$made"/packages/usr/bin/* "$made"/packages/usr/sbin/*; do
		[ -e "$made/bin/$(basename "$program")" ] || mv "$program" "$made/bin/"
	done
	rm -rf "$made/packages"
	mv "$made" "$tool"
	trap - EXIT
fi
echo "$tool/bin"
