#!/bin/sh
# Installs the pinned OpenID Connect provider of the tests (scripts/oidc/package-lock.json) into a cache folder and prints it.
# HARNESS_CACHE names the cache folder (default: .cache in the repository). Running it again is cheap.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${HARNESS_CACHE:-$here/../.cache}
mkdir -p "$cache"
cache=$(CDPATH='' cd -- "$cache" && pwd)

fail() {
	echo "oidc-tool.sh: $*" >&2
	exit 1
}

# The folder is named by what is in it, so that a newer one does not stand in an older one's place.
if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum; else sum="shasum -a 256"; fi
name=$(cat "$here/oidc/package-lock.json" "$here/oidc/provider.mjs" | $sum | cut -c1-16)
target=$cache/oidc-$name
if [ ! -d "$target" ]; then
	command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js with npm (Debian/Ubuntu: apt-get install npm, macOS: brew install node)"
	work=$(mktemp -d "$cache/.tmp-oidc-XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM HUP
	chmod 755 "$work"
	cp "$here/oidc/package.json" "$here/oidc/package-lock.json" "$here/oidc/provider.mjs" "$work/"
	(cd "$work" && npm ci --silent --ignore-scripts --no-audit --no-fund >/dev/null) ||
		fail "npm ci of scripts/oidc failed; is the registry reachable?"
	# Who came first has it: mv would move into a folder that is there.
	if [ ! -d "$target" ]; then mv "$work" "$target"; else rm -rf "$work"; fi
	trap - EXIT INT TERM HUP
fi
echo "$target"
