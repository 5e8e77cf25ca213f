#!/bin/sh
# Installs pinned npm programs into a cache folder and prints it: clients, the generators of TypeScript and Python clients, or acp-clients, clients
# of the Agent Client Protocol (scripts/KIND/package-lock.json).
# HARNESS_CACHE names the cache folder (default: .cache in the repository). Running it again is cheap.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
kind=${1:-clients}
# npm ci wants the packages of all systems in the lock; some of acpx are in no registry.
install=ci
[ "$kind" = clients ] || install=install
cache=${HARNESS_CACHE:-$here/../.cache}
mkdir -p "$cache"
cache=$(CDPATH='' cd -- "$cache" && pwd)

fail() {
	echo "clients.sh: $*" >&2
	exit 1
}

# The folder is named by what is in it, so that a newer one does not stand in an older one's place.
if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum; else sum="shasum -a 256"; fi
name=$(cat "$here/$kind/package-lock.json" "$here/$kind"/*.mjs | $sum | cut -c1-16)
target=$cache/$kind-$name
if [ ! -d "$target" ]; then
	command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js with npm (Debian/Ubuntu: apt-get install npm, macOS: brew install node)"
	work=$(mktemp -d "$cache/.tmp-$kind-XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM HUP
	chmod 755 "$work"
	cp "$here/$kind/package.json" "$here/$kind/package-lock.json" "$here/$kind"/*.mjs "$work/"
	(cd "$work" && npm $install --silent --ignore-scripts --omit=optional --no-audit --no-fund >/dev/null) ||
		fail "npm $install of scripts/$kind failed; is the registry reachable?"
	# Who came first has it: mv would move into a folder that is there.
	if [ ! -d "$target" ]; then mv "$work" "$target"; else rm -rf "$work"; fi
	trap - EXIT INT TERM HUP
fi
echo "$target"
