#!/bin/sh
# Installs pinned npm programs into a cache folder and prints it: clients, the generators of TypeScript and Python clients; acp-clients, clients
# of the Agent Client Protocol; mcp-clients, the inspector and the conformance tests of MCP (scripts/KIND/package-lock.json); or copilotkit, a page of CopilotKit. That page is bundled, and only the bundle is
# kept: its packages are 500 MB. A lock of them would be 14,000 lines, so .npmrc pins them to a day.
# HARNESS_CACHE names the cache folder (default: .cache in the repository). Running it again is cheap.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
kind=${1:-clients}
# npm ci wants the packages of all systems in the lock; some of acpx are in no registry. esbuild's program is an optional package.
case $kind in
clients) install='ci --omit=optional' pinned=package-lock.json ;;
copilotkit) install=install pinned='package.json .npmrc' ;;
*) install='install --omit=optional' pinned=package-lock.json ;;
esac
cache=${HARNESS_CACHE:-$here/../.cache}
mkdir -p "$cache"
cache=$(CDPATH='' cd -- "$cache" && pwd)

fail() {
	echo "clients.sh: $*" >&2
	exit 1
}

# The folder is named by what is in it, so that a newer one does not stand in an older one's place.
if command -v sha256sum >/dev/null 2>&1; then sum=sha256sum; else sum="shasum -a 256"; fi
files="$pinned $(cd "$here/$kind" && ls ./*.mjs 2>/dev/null || true)"
name=$(cd "$here/$kind" && cat $files | $sum | cut -c1-16)
target=$cache/$kind-$name
if [ ! -d "$target" ]; then
	command -v npm >/dev/null 2>&1 || fail "npm is missing; install Node.js with npm (Debian/Ubuntu: apt-get install npm, macOS: brew install node)"
	work=$(mktemp -d "$cache/.tmp-$kind-XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM HUP
	chmod 755 "$work"
	(cd "$here/$kind" && for file in package.json $files; do cp "$file" "$work/"; done)
	(cd "$work" && npm $install --silent --ignore-scripts --no-audit --no-fund >/dev/null) ||
		fail "npm $install of scripts/$kind failed; is the registry reachable?"
	if [ -f "$work/build.mjs" ]; then
		(cd "$work" && node build.mjs) || fail "esbuild could not bundle scripts/$kind/page.mjs"
		rm -rf "$work/node_modules"
	fi
	# Who came first has it: mv would move into a folder that is there.
	if [ ! -d "$target" ]; then mv "$work" "$target"; else rm -rf "$work"; fi
	trap - EXIT INT TERM HUP
fi
echo "$target"
